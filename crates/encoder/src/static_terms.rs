//! Weights of terms that depend on nothing but the term: queries of a sparse encoder that needs no model for
//! them (Geng et al. 2024, "Towards competitive search relevance for inference-free learned sparse
//! retrievers", section 3).

use std::path::Path;

use serde::Deserialize;
use toller_checkpoint::{Fingerprint, ModelError, Parameters, read_json};
use toller_nn::{Backend, Cpu, Precision, Work};

use crate::EncoderError;
use crate::network::{Encode, Output, Request};

/// A weight for each term of a vocabulary: sentence-transformers' SparseStaticEmbedding.
pub(crate) struct StaticTerms {
    /// `[terms]`.
    weights: Vec<f32>,
}

#[derive(Deserialize)]
struct Config {
    path: Option<String>,
}

impl StaticTerms {
    /// Loads the weights of `count` terms, and adds them to the fingerprint.
    pub(crate) fn load(
        folder: &Path,
        count: usize,
        fingerprint: &mut Fingerprint,
    ) -> Result<Self, EncoderError> {
        let path = folder.join("config.json");
        if read_json::<Config>(&path)?.is_some_and(|config| config.path.is_some()) {
            let what = "weights in another file (path) of SparseStaticEmbedding";
            return Err(ModelError::unsupported(path, what, "weights in model.safetensors").into());
        }
        let weights = Parameters::open(folder)?.get("weight", &[count])?;
        fingerprint.value("pooling", b"static");
        fingerprint.tensor("weight", &weights);
        Ok(Self { weights: weights.values().to_vec() })
    }
}

impl Encode for StaticTerms {
    fn work(&self) -> Work {
        Cpu::new(Precision::F32).work()
    }

    fn dim(&self) -> usize {
        self.weights.len()
    }

    fn normalizes(&self) -> bool {
        false
    }

    fn truncates(&self) -> bool {
        false
    }

    fn prefix_tokens(&self) -> usize {
        0
    }

    fn shares_beginnings(&self, _: usize, _: Output) -> bool {
        false
    }

    fn split_batches(&self) -> usize {
        0
    }

    /// A term that occurs several times counts once.
    fn encode(&self, request: Request<'_>, rows: &mut Vec<f32>) -> Result<(), EncoderError> {
        if request.output == Output::States {
            return Err(EncoderError::Static);
        }
        for text in request.texts {
            let start = rows.len();
            rows.resize(start + self.weights.len(), 0.0);
            for &id in &text.input_ids {
                let vocabulary = self.weights.len();
                let weight = self.weights.get(id as usize).ok_or(EncoderError::TokenId { id, vocabulary })?;
                rows[start + id as usize] = *weight;
            }
        }
        Ok(())
    }
}
