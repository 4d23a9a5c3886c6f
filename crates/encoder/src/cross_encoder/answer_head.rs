//! Language models as rerankers: the score is how much rather the model goes on with one token than with
//! another (Nogueira et al. 2020, "Document Ranking with a Pretrained Sequence-to-Sequence Model"; Zhang et
//! al. 2025, "Qwen3 Embedding", for the tokens yes and no).

use std::path::Path;

use toller_checkpoint::{ADAPTER_CONFIG, Fingerprint, ModelError, Parameters, Tensor, required_json};
use toller_nn::{Activation, Backend, LinearParameters, Matrix, Place, Pooling};
use toller_tokenizer::Tokenizer;

use super::FoundHead;
use super::head::output_norms;
use crate::EncoderError;
use crate::config::TransformerConfig;
use crate::head::{Head, Step};
use crate::modules::LogitScore;

/// The layer from the states to the logits of the vocabulary.
const OUTPUT: &str = "lm_head.weight";

/// The plan of such a head, before its weights are loaded: of all rows of the output layer, those of two
/// tokens are read.
#[derive(Clone, Copy)]
pub(crate) struct AnswerHead(LogitScore);

#[derive(serde::Deserialize)]
struct Raw {
    /// Whether the embeddings are the output layer, too.
    #[serde(default)]
    tie_word_embeddings: bool,
}

impl AnswerHead {
    /// The head for the answers of a module.
    ///
    /// # Errors
    /// When the vocabulary has no such tokens.
    pub(super) fn new(
        score: LogitScore,
        config: &TransformerConfig,
        path: &Path,
    ) -> Result<Self, ModelError> {
        match [Some(score.yes), score.no].into_iter().flatten().find(|id| *id as usize >= config.vocabulary) {
            None => Ok(Self(score)),
            Some(id) => {
                let problem = format!("there is no token {id} among {}", config.vocabulary);
                Err(ModelError::Config { path: path.to_owned(), problem })
            }
        }
    }

    /// The answers `yes` and `no`, as sentence-transformers has them for a language model without a module.
    ///
    /// # Errors
    /// When the tokenizer has no such tokens.
    pub(super) fn by_default(
        tokenizer: &Tokenizer,
        config: &TransformerConfig,
        path: &Path,
    ) -> Result<Self, ModelError> {
        let id = |token: &str| {
            tokenizer.id_of(token).ok_or_else(|| {
                let what = format!("a language model as a reranker without the token {token:?}");
                ModelError::unsupported(path, what, "models that answer \"yes\" or \"no\", or a LogitScore")
            })
        };
        Self::new(LogitScore { yes: id("yes")?, no: Some(id("no")?) }, config, path)
    }

    /// The name of the label: the token that says yes.
    pub(super) fn label(self, tokenizer: &Tokenizer) -> String {
        tokenizer.name_of(self.0.yes).unwrap_or_else(|| self.0.yes.to_string())
    }

    /// Loads the head from the transformer's parameters.
    pub(super) fn load<B: Backend>(
        self,
        backend: &B,
        config: &TransformerConfig,
        folder: &Path,
        parameters: Parameters,
        fingerprint: &mut Fingerprint,
    ) -> Result<(Head<B>, FoundHead), EncoderError> {
        let Self(LogitScore { yes, no }) = self;
        let answers: Vec<usize> = [Some(yes), no].into_iter().flatten().map(|id| id as usize).collect();
        let (hidden, shape) = (config.hidden, [config.vocabulary, config.hidden]);
        let (prefix, unexpected_tensors) = (parameters.prefix().to_owned(), parameters.unexpected());
        let Raw { tie_word_embeddings } = required_json(&folder.join("config.json"))?;
        let embeddings = format!("{}.weight", config.names.words);
        if tie_word_embeddings && parameters.is_adapted(&embeddings) {
            let what =
                "answers of a model whose adapter changes the word embeddings, which are its output, too,";
            let supported = "adapters of other layers; model.merge_and_unload().save_pretrained(DIR)";
            return Err(ModelError::unsupported(folder.join(ADAPTER_CONFIG), what, supported).into());
        }
        let tied = tie_word_embeddings.then(|| parameters.rows(&embeddings, shape, &answers)).transpose()?;
        let outside = parameters.outside();
        let rows = match tied.filter(|_| !outside.has(OUTPUT)) {
            Some(rows) => rows,
            None => outside.rows(OUTPUT, shape, &answers)?,
        };
        // The difference of two logits is one product with the difference of their weights.
        let (yes, no) = rows.values().split_at(hidden);
        let weights = match no {
            [] => yes.to_vec(),
            no => yes.iter().zip(no).map(|(yes, no)| (f64::from(*yes) - f64::from(*no)) as f32).collect(),
        };
        let weight = Tensor::new(vec![1, hidden], weights)?;
        fingerprint.value("head", b"answer of the last token");
        fingerprint.tensor("answer", &weight);
        let values = Matrix { values: weight.values(), rows: 1, columns: hidden };
        let layer = backend.linear(LinearParameters { weight: values, bias: None }, Place::Head)?;
        let mut head = Head::new(vec![Pooling::LastToken], hidden);
        head.push(Step::Dense(layer, Activation::Identity), 1);
        Ok((head, FoundHead { output_norms: output_norms(&weight), prefix, unexpected_tensors }))
    }
}
