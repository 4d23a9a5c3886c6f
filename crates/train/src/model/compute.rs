//! Where a model is trained.

use toller_checkpoint::ModelError;
use toller_encoder::{CrossEncoder, DualEncoder, EncoderError, Network, TokenClassifier};
use toller_ir::Role;
use toller_nn::Backend;
#[cfg(feature = "candle")]
use toller_nn::{CandleDevice, Precision};

use super::{Division, Graded, Model};
use crate::TrainError;
use crate::dropout::Places;
use crate::network::{Gradients, Texts, Tower};

/// Where a model is trained.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Compute {
    /// On the CPU: the same bits whatever the threads and chunks.
    #[default]
    Cpu,
    /// On candle's devices, each with the whole model. The last bits depend on chunks and devices.
    #[cfg(feature = "candle")]
    Candle {
        /// The devices.
        devices: Vec<CandleDevice>,
        /// What factors of products are rounded to: f32 or bf16. States and parameters are f32.
        dtype: Precision,
    },
}

/// Copies of a model on devices.
pub(crate) trait Devices: Send + Sync {
    /// The number of devices.
    fn count(&self) -> usize;

    /// Where gradients come from, for what is kept.
    fn name(&self) -> &str;

    /// Adds the gradient of a batch to `gradients`, and returns the loss.
    fn gradient(
        &self,
        model: &Model,
        division: &Division<'_>,
        grade: Grade<'_>,
        gradients: &mut [Gradients],
    ) -> Result<f64, TrainError>;

    /// The rows of a tower's result.
    fn results(&self, tower: usize, texts: Texts<'_>) -> Result<Vec<f32>, EncoderError>;

    /// Copies the parameters of all towers to the devices.
    fn follow(&self, towers: &[Tower]) -> Result<(), EncoderError>;
}

/// From all results to the loss and its gradient.
pub(crate) type Grade<'a> = Box<dyn FnOnce([Vec<f64>; 2]) -> Result<Graded, TrainError> + 'a>;

/// A model whose towers can be laid out for a backend.
pub(super) trait LayOut {
    /// Where a tower has dropout.
    fn dropped(&self, tower: usize) -> Result<Places, ModelError>;

    /// The network of a tower.
    fn lay_out<B: Backend>(&self, tower: usize, backend: B) -> Result<Network<B>, EncoderError>;
}

impl LayOut for DualEncoder {
    fn dropped(&self, tower: usize) -> Result<Places, ModelError> {
        Places::of_model(self.tower([Role::Query, Role::Passage][tower]).folder(), false)
    }

    fn lay_out<B: Backend>(&self, tower: usize, backend: B) -> Result<Network<B>, EncoderError> {
        self.tower([Role::Query, Role::Passage][tower]).on(backend)
    }
}

impl LayOut for CrossEncoder {
    fn dropped(&self, _: usize) -> Result<Places, ModelError> {
        Places::of_model(self.folder(), true)
    }

    fn lay_out<B: Backend>(&self, _: usize, backend: B) -> Result<Network<B>, EncoderError> {
        self.on(backend)
    }
}

impl LayOut for TokenClassifier {
    fn dropped(&self, _: usize) -> Result<Places, ModelError> {
        Places::of_model(self.folder(), true)
    }

    fn lay_out<B: Backend>(&self, _: usize, backend: B) -> Result<Network<B>, EncoderError> {
        self.on(backend)
    }
}

impl Compute {
    /// Copies of the towers of a model on the devices; `None` on the CPU.
    #[cfg_attr(not(feature = "candle"), expect(unused_variables, reason = "there is the CPU alone"))]
    pub(super) fn open(
        &self,
        model: &impl LayOut,
        towers: &[Tower],
    ) -> Result<Option<Box<dyn Devices>>, TrainError> {
        match self {
            Self::Cpu => Ok(None),
            #[cfg(feature = "candle")]
            Self::Candle { devices, dtype } => {
                Ok(Some(Box::new(super::candle::Replicas::open(model, towers, devices, *dtype)?)))
            }
        }
    }
}
