//! The classes of transformers that a model with a new classifier is saved as.

use std::path::Path;

use toller_checkpoint::{ModelError, ModelType};

use crate::EncoderError;

/// An architecture whose classifiers transformers has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Architecture {
    /// The beginning of its classes' names.
    class: &'static str,
    /// The beginning of its tensors' names in a model with a head.
    prefix: &'static str,
}

/// The beginnings of the names of the tensors behind the transformer.
const HEADS: [&str; 2] = ["classifier", "pre_classifier"];

impl Architecture {
    /// That of a model type, if transformers has classifiers of it that can be written.
    fn new(model_type: ModelType) -> Option<Self> {
        let (class, prefix) = match model_type {
            ModelType::Bert => ("Bert", "bert."),
            ModelType::Electra => ("Electra", "electra."),
            ModelType::Ernie => ("Ernie", "ernie."),
            ModelType::Roberta => ("Roberta", "roberta."),
            ModelType::XlmRoberta => ("XLMRoberta", "roberta."),
            ModelType::Camembert => ("Camembert", "roberta."),
            ModelType::Mpnet => ("MPNet", "mpnet."),
            ModelType::DistilBert => ("DistilBert", "distilbert."),
            ModelType::Dpr
            | ModelType::Realm
            | ModelType::ModernBert
            | ModelType::NomicBert
            | ModelType::Gte
            | ModelType::New
            | ModelType::T5
            | ModelType::Mt5
            | ModelType::EuroBert
            | ModelType::Gemma3Text
            | ModelType::Llama
            | ModelType::Mistral
            | ModelType::Qwen2
            | ModelType::Qwen3 => return None,
        };
        Some(Self { class, prefix })
    }

    /// That of a model type; `what` is wanted of the model whose configuration is `config_path`.
    pub(crate) fn of(model_type: ModelType, what: &str, config_path: &Path) -> Result<Self, EncoderError> {
        Self::new(model_type).ok_or_else(|| {
            let what = format!("{what} of model_type {:?}", model_type.name());
            let supported = ModelType::names_that(|known| Self::new(known).is_some());
            ModelError::unsupported(config_path, what, supported).into()
        })
    }
}

/// A class of transformers, for a model whose files may hold a transformer without a head, or with another.
#[derive(Clone, Debug)]
pub struct Class {
    pub(crate) architecture: Architecture,
    /// The end of its name.
    pub(crate) task: &'static str,
    /// The beginning of the transformer's tensors' names in the files.
    pub(crate) prefix: String,
}

impl Class {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}{}", self.architecture.class, self.task)
    }

    /// The name that a tensor of the model's files has in this class.
    #[must_use]
    pub fn name_of(&self, tensor: &str) -> String {
        let is_head = |name: &str| HEADS.iter().any(|head| name.starts_with(head));
        let inside = match tensor.strip_prefix(&self.prefix) {
            Some(inside) if !is_head(inside) => inside,
            _ => return tensor.to_owned(),
        };
        let parts = [(".gamma", ".weight"), (".beta", ".bias")];
        let renamed = parts.iter().find_map(|(old, new)| Some(format!("{}{new}", inside.strip_suffix(old)?)));
        format!("{}{}", self.architecture.prefix, renamed.as_deref().unwrap_or(inside))
    }
}
