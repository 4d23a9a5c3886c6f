//! The options of training.

use std::path::PathBuf;

use pyo3::prelude::*;
use toller_engine::{Backend, Device, Engine, EngineError};
use toller_nn::Precision;
use toller_train::{Compute, Length, Rates, RunOptions};

use crate::error::Failed;
use crate::flat::parse_device;
use crate::models::at_least_one;
use crate::paths::Paths;
use crate::runs::GivenQrels;
use crate::training_dev::{DevOptions, MarkedDevOptions};

/// The options of all kinds of runs, as `toller.training` gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options<'py> {
    pub(crate) model: PathBuf,
    #[pyo3(default)]
    pub(crate) data: Option<Paths>,
    #[pyo3(default)]
    pub(crate) queries: Option<Bound<'py, PyAny>>,
    #[pyo3(default)]
    pub(crate) corpus: Option<Bound<'py, PyAny>>,
    #[pyo3(default)]
    pub(crate) qrels: Option<GivenQrels>,
    #[pyo3(default)]
    pub(crate) negatives: Option<PathBuf>,
    #[pyo3(default)]
    pub(crate) relevance_level: Option<i32>,
    #[pyo3(default)]
    pub(crate) epochs: Option<f64>,
    #[pyo3(default)]
    pub(crate) steps: Option<u64>,
    #[pyo3(default)]
    pub(crate) batch_size: Option<usize>,
    #[pyo3(default)]
    pub(crate) accumulate: Option<usize>,
    #[pyo3(default)]
    pub(crate) negatives_per_query: Option<usize>,
    #[pyo3(default)]
    pub(crate) lr: Option<f64>,
    #[pyo3(default)]
    pub(crate) schedule: Option<String>,
    #[pyo3(default)]
    pub(crate) warmup: Option<f64>,
    #[pyo3(default)]
    pub(crate) optimizer: Option<String>,
    #[pyo3(default)]
    pub(crate) weight_decay: Option<f64>,
    #[pyo3(default)]
    pub(crate) max_grad_norm: Option<f64>,
    #[pyo3(default)]
    pub(crate) dropout: Option<f32>,
    #[pyo3(default)]
    pub(crate) perturb: Option<f64>,
    #[pyo3(default)]
    pub(crate) seed: Option<u64>,
    #[pyo3(default)]
    pub(crate) chunk_size: Option<usize>,
    #[pyo3(default)]
    pub(crate) save_every: Option<u64>,
    #[pyo3(default)]
    pub(crate) keep_checkpoints: Option<usize>,
    #[pyo3(default)]
    pub(crate) max_length: Option<usize>,
    #[pyo3(default)]
    pub(crate) device: Option<String>,
    #[pyo3(default)]
    pub(crate) backend: Option<String>,
    #[pyo3(default)]
    pub(crate) dtype: Option<String>,
    #[pyo3(default)]
    pub(crate) skip_bad_lines: bool,
    #[pyo3(default)]
    pub(crate) title_separator: Option<String>,
    #[pyo3(default)]
    pub(crate) dev: Option<DevOptions<'py>>,
    #[pyo3(default)]
    pub(crate) marked_dev: Option<MarkedDevOptions>,
    #[pyo3(default)]
    pub(crate) loss: Option<String>,
    #[pyo3(default)]
    pub(crate) similarity: Option<String>,
    #[pyo3(default)]
    pub(crate) temperature: Option<f64>,
    #[pyo3(default)]
    pub(crate) symmetric: bool,
    #[pyo3(default)]
    pub(crate) no_in_batch: bool,
    #[pyo3(default)]
    pub(crate) no_duplicates: bool,
    #[pyo3(default)]
    pub(crate) truncation: Option<String>,
    #[pyo3(default)]
    pub(crate) title_mode: Option<String>,
    #[pyo3(default)]
    pub(crate) untie: bool,
    #[pyo3(default)]
    pub(crate) only: Option<String>,
    #[pyo3(default)]
    pub(crate) query_max_length: Option<usize>,
    #[pyo3(default)]
    pub(crate) query_prompt: Option<String>,
    #[pyo3(default)]
    pub(crate) passage_prompt: Option<String>,
    #[pyo3(default)]
    pub(crate) pooling: Option<String>,
    #[pyo3(default)]
    pub(crate) query_model: Option<PathBuf>,
    #[pyo3(default)]
    pub(crate) prefix_tokens: Option<usize>,
    #[pyo3(default)]
    pub(crate) labels: Option<usize>,
}

/// Where a model is trained.
pub(crate) struct Place {
    device: Device,
    backend: Option<Backend>,
    dtype: Option<Precision>,
}

impl Place {
    pub(crate) fn open(&self, engine: &Engine) -> Result<Compute, EngineError> {
        engine.training(self.device, self.backend, self.dtype)
    }
}

impl Options<'_> {
    /// The model's name.
    pub(crate) fn name(&self) -> String {
        self.model.to_string_lossy().into_owned()
    }

    pub(crate) fn place(&self) -> Result<Place, Failed> {
        Ok(Place {
            device: self.device.as_deref().map(parse_device).transpose()?.unwrap_or_default(),
            backend: parse(self.backend.as_deref())?,
            dtype: parse(self.dtype.as_deref())?,
        })
    }

    /// The options of every run.
    pub(crate) fn run(&self) -> Result<RunOptions, Failed> {
        let length = match (self.epochs, self.steps) {
            (Some(_), Some(_)) => {
                return Err(Failed::invalid("epochs and steps are both given").hint("give one of them"));
            }
            (epochs, steps) => epochs.map(Length::Epochs).or(steps.map(Length::Steps)),
        };
        let options = RunOptions {
            length,
            batch_size: self.batch_size,
            accumulate: self.accumulate,
            negatives: self.negatives_per_query,
            rate: self.lr,
            schedule: parse(self.schedule.as_deref())?,
            warmup: self.warmup,
            optimizer: parse(self.optimizer.as_deref())?,
            weight_decay: self.weight_decay,
            max_norm: self.max_grad_norm,
            dropout: self.dropout,
            perturbation: self.perturb,
            seed: self.seed,
            chunk_size: self.chunk_size,
            save_every: self.save_every,
            keep: self.keep_checkpoints,
            no_duplicates: self.no_duplicates,
            separator: self.title_separator.clone(),
            max_length: at_least_one("max_length", self.max_length)?,
        };
        // What is out of range is refused before a model is downloaded.
        options.settings(Rates::default())?;
        Ok(options)
    }
}

/// A value by its name.
pub(crate) fn parse<T: std::str::FromStr<Err: Into<Failed>>>(
    name: Option<&str>,
) -> Result<Option<T>, Failed> {
    name.map(str::parse).transpose().map_err(Into::into)
}
