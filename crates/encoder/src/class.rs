//! The classes of transformers that a model with a new classifier is saved as.

use std::path::Path;

use toller_checkpoint::ModelError;

use crate::EncoderError;

/// An architecture whose classifiers transformers has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Architecture {
    model_type: &'static str,
    /// The beginning of its classes' names.
    class: &'static str,
    /// The beginning of its tensors' names in a model with a head.
    prefix: &'static str,
}

const fn architecture(model_type: &'static str, class: &'static str, prefix: &'static str) -> Architecture {
    Architecture { model_type, class, prefix }
}

const ARCHITECTURES: [Architecture; 8] = [
    architecture("bert", "Bert", "bert."),
    architecture("electra", "Electra", "electra."),
    architecture("ernie", "Ernie", "ernie."),
    architecture("roberta", "Roberta", "roberta."),
    architecture("xlm-roberta", "XLMRoberta", "roberta."),
    architecture("camembert", "Camembert", "roberta."),
    architecture("mpnet", "MPNet", "mpnet."),
    architecture("distilbert", "DistilBert", "distilbert."),
];

/// The beginnings of the names of the tensors behind the transformer.
const HEADS: [&str; 2] = ["classifier", "pre_classifier"];

impl Architecture {
    /// That of a model_type; `what` is wanted of the model whose configuration is `config_path`.
    pub(crate) fn of(model_type: &str, what: &str, config_path: &Path) -> Result<Self, EncoderError> {
        let known = ARCHITECTURES.iter().find(|known| known.model_type == model_type);
        known.copied().ok_or_else(|| {
            let what = format!("{what} of model_type {model_type:?}");
            let supported = ARCHITECTURES.map(|known| known.model_type).join(", ");
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
