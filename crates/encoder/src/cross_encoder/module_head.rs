//! Heads that are modules of sentence-transformers: poolings, layers and norms, and a last layer whose
//! outputs are the logits.

use std::path::PathBuf;

use toller_checkpoint::{Fingerprint, ModelError, Parameters};
use toller_nn::{Backend, Pooling};

use super::FoundHead;
use super::head::output_norms;
use crate::EncoderError;
use crate::config::TransformerConfig;
use crate::head::Head;
use crate::layout::Layout;
use crate::modules::Module;

/// The plan of such a head, before its weights are loaded.
#[derive(Clone)]
pub(crate) struct ModuleHead {
    poolings: Vec<Pooling>,
    modules: Vec<Module>,
    /// The folder of the last module, and the shape of its weight: labels and inputs.
    folder: PathBuf,
    shape: [usize; 2],
}

impl ModuleHead {
    /// The head of a layout, if its last module makes logits.
    pub(super) fn of(layout: &Layout) -> Option<Self> {
        let (folder, config) = layout.scores()?;
        Some(Self {
            poolings: layout.pooling.clone()?,
            modules: layout.modules.clone(),
            folder: folder.to_owned(),
            shape: [config.out_features, config.in_features],
        })
    }

    /// The number of labels.
    ///
    /// # Errors
    /// When there are none, or more than a model can have.
    pub(super) fn labels(&self) -> Result<usize, ModelError> {
        let labels = self.shape[0];
        if (1..=usize::from(u16::MAX)).contains(&labels) {
            return Ok(labels);
        }
        let (path, problem) = (self.folder.join("config.json"), format!("{labels} labels"));
        Err(ModelError::Config { path, problem })
    }

    /// Loads the modules behind the transformer whose parameters these are.
    pub(super) fn load<B: Backend>(
        &self,
        backend: &B,
        config: &TransformerConfig,
        parameters: &Parameters,
        fingerprint: &mut Fingerprint,
    ) -> Result<(Head<B>, FoundHead), EncoderError> {
        let names: Vec<_> = self.poolings.iter().map(|pooling| pooling.name()).collect();
        fingerprint.value("head", names.join("+").as_bytes());
        let mut head = Head::new(self.poolings.clone(), config.hidden);
        for module in &self.modules {
            head.push_module(backend, module, fingerprint)?;
        }
        let output_norms = output_norms(&Parameters::open(&self.folder)?.get("linear.weight", &self.shape)?);
        let (prefix, unexpected_tensors) = (parameters.prefix().to_owned(), parameters.unexpected());
        Ok((head, FoundHead { output_norms, prefix, unexpected_tensors }))
    }
}
