//! What a cross-encoder is made of, before its weights are loaded.

use std::path::{Path, PathBuf};

use toller_checkpoint::Fingerprint;
use toller_nn::Backend;

use super::NewHead;
use super::answer_head::AnswerHead;
use super::config::ClassifierConfig;
use super::head::ClassifierHead;
use super::module_head::ModuleHead;
use super::pair_input::PairInput;
use crate::EncoderError;
use crate::compute::Plan;
use crate::config::TransformerConfig;
use crate::layout::Layout;
use crate::modules::LogitScore;
use crate::network::Network;

/// Where a head comes from.
pub(super) enum HeadSource {
    /// The logits of a language model for these tokens, or for its own of yes and no.
    Answer(Option<LogitScore>),
    /// Modules of sentence-transformers.
    Modules(ModuleHead),
    /// The classifier of the files.
    Classifier,
    /// A new classifier.
    New(NewHead),
}

impl HeadSource {
    pub(super) fn of(
        layout: &Layout,
        modules: Option<ModuleHead>,
        reranks: bool,
        new_head: Option<NewHead>,
    ) -> Self {
        match (reranks, modules, new_head) {
            (true, ..) => Self::Answer(layout.logit_score),
            (false, Some(modules), _) => Self::Modules(modules),
            (false, None, Some(new_head)) => Self::New(new_head),
            (false, None, None) => Self::Classifier,
        }
    }
}

impl HeadPlan {
    /// Plans a head, and gives `classifier` its labels.
    pub(super) fn new(
        source: HeadSource,
        config: &TransformerConfig,
        classifier: ClassifierConfig,
        input: &PairInput,
        config_path: &Path,
    ) -> Result<(Self, ClassifierConfig), EncoderError> {
        let classifier = match source {
            HeadSource::Answer(score) => {
                let head = match score {
                    Some(score) => AnswerHead::new(score, config, config_path)?,
                    None => AnswerHead::by_default(&input.tokenizer, config, config_path)?,
                };
                let labels = vec![head.label(&input.tokenizer)];
                return Ok((Self::Answer(head), ClassifierConfig { labels, ..classifier }));
            }
            HeadSource::Modules(modules) => {
                let labels = modules.labels()?;
                return Ok((Self::Modules(modules), classifier.with_new_labels(labels)));
            }
            HeadSource::New(new_head) => classifier.with_new_labels(new_head.labels),
            HeadSource::Classifier => classifier,
        };
        let head = ClassifierHead::new(config, &classifier, config_path)?;
        head.check_last_of_pairs(input.last(), &classifier, config_path)?;
        Ok((Self::Classifier(head), classifier))
    }
}

/// The plan of a head, before its weights are loaded.
pub(super) enum HeadPlan {
    Answer(AnswerHead),
    Classifier(ClassifierHead),
    Modules(ModuleHead),
}

/// The plan of a classifier, before its parameters are loaded.
pub(crate) struct ClassifierPlan {
    pub(super) folder: PathBuf,
    pub(super) config: TransformerConfig,
    pub(super) head: HeadPlan,
    pub(super) labels: usize,
    /// The seed of a new head.
    pub(super) seed: Option<u64>,
}

impl Plan for ClassifierPlan {
    type Found = FoundHead;

    fn load<B: Backend>(
        &self,
        backend: B,
        fingerprint: &mut Fingerprint,
    ) -> Result<(Network<B>, FoundHead), EncoderError> {
        Network::load(backend, &self.folder, &self.config, fingerprint, |backend, parameters, fingerprint| {
            match &self.head {
                HeadPlan::Answer(head) => {
                    head.load(backend, &self.config, &self.folder, parameters, fingerprint)
                }
                HeadPlan::Classifier(head) => head.load(backend, self, parameters, fingerprint),
                HeadPlan::Modules(head) => head.load(backend, &self.config, &parameters, fingerprint),
            }
        })
    }
}

/// What loading the head finds.
pub(crate) struct FoundHead {
    /// The length of the weights that make a label's logit, for each label.
    pub(crate) output_norms: Vec<f64>,
    /// The beginning of the transformer's tensors' names in the files.
    pub(super) prefix: String,
    /// Tensors of the transformer that its architecture has no place for.
    pub(super) unexpected_tensors: Vec<String>,
}
