//! Training of a token classifier: from marked texts to the gradient of the tokens' logits.

use std::path::Path;

use rayon::prelude::*;
use toller_encoder::TokenClassifier;
use toller_files::Checksum;
use toller_tokenizer::Tokens;

use crate::TrainError;
use crate::data::{MarkedFile, MarkedText, window};

/// A token classifier, and the marked texts from which it learns which tokens are the last of a segment.
pub struct TokenTask {
    pub(crate) classifier: TokenClassifier,
    files: Vec<MarkedFile>,
}

impl TokenTask {
    /// The labels of a classifier of boundaries: of a token within a segment, and of the last of a segment.
    pub const LABELS: [&str; 2] = ["inside", "last"];

    /// # Errors
    /// When the classifier does not have two labels.
    pub fn new(classifier: TokenClassifier, files: Vec<MarkedFile>) -> Result<Self, TrainError> {
        let labels = classifier.labels().len();
        if labels != Self::LABELS.len() {
            return Err(TrainError::Labels(labels));
        }
        Ok(Self { classifier, files })
    }

    /// The files of marked texts.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(MarkedFile::path)
    }

    /// Refuses files without a text.
    pub(crate) fn check_files(&self) -> Result<(), TrainError> {
        match self.files.iter().find(|file| file.is_empty()) {
            Some(empty) => Err(TrainError::NoRecords(empty.path().to_owned())),
            None => Ok(()),
        }
    }

    /// The number of texts.
    pub(crate) fn len(&self) -> usize {
        self.files.iter().map(MarkedFile::len).sum()
    }

    fn text(&self, mut index: usize) -> Result<MarkedText, TrainError> {
        for file in &self.files {
            match index.checked_sub(file.len()) {
                None => return file.get(index),
                Some(rest) => index = rest,
            }
        }
        Ok(MarkedText { text: String::new(), ends: Vec::new() })
    }

    /// What an epoch has of a text, with the target of each token. A text that is too long for the model is
    /// divided into parts, which are shuffled once; each epoch takes the next.
    fn part(&self, index: u32, seed: u64, epoch: u64) -> Result<(Tokens, Vec<Option<usize>>), TrainError> {
        let marked = self.text(index as usize)?;
        let mut parts = self.classifier.parts(&marked.text)?;
        let labels = marked.labels(&parts.places);
        let chosen = window(parts.windows.len(), 1, seed, index.into(), epoch);
        let part = parts.windows.swap_remove(chosen.first().copied().unwrap_or_default());
        let mut targets = vec![None; part.input.len()];
        for (target, &label) in targets[part.first..].iter_mut().zip(&labels[part.tokens]) {
            *target = Some(usize::from(label));
        }
        Ok((part.input, targets))
    }

    /// The tokens of examples, and the target of each token.
    pub(crate) fn batch(
        &self,
        examples: &[u32],
        seed: u64,
        epoch: u64,
    ) -> Result<(Vec<Tokens>, Vec<Option<usize>>), TrainError> {
        let parts = examples.par_iter().map(|&index| self.part(index, seed, epoch));
        let (texts, targets): (Vec<Tokens>, Vec<_>) =
            parts.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        Ok((texts, targets.concat()))
    }

    /// Identifies the model before training, and everything here but the data that decides its gradients.
    pub(crate) fn fingerprint(&self) -> String {
        format!("{} {}", self.classifier.fingerprint(), self.classifier.max_length())
    }

    /// Identifies the data.
    pub(crate) fn fingerprint_of_data(&self) -> String {
        let parts: Vec<String> = self.files.iter().map(|file| file.checksum().to_string()).collect();
        Checksum::of(parts.join("\n").as_bytes()).to_string()
    }
}
