//! A dev set of marked texts, in which a token classifier finds the boundaries.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use toller_encoder::Document;
use toller_files::ChecksumHasher;
use toller_tokenizer::Tokens;

use crate::TrainError;
use crate::data::MarkedFile;
use crate::dev::{BLOCK, add};
use crate::model::Model;
use crate::token_task::TokenTask;

/// Marked texts, tokenized, in memory. Long texts are in windows that overlap.
pub struct MarkedSet {
    documents: Vec<Document>,
    /// Whether each token of a document is the last of a segment.
    labels: Vec<Vec<bool>>,
}

/// How boundaries and those that were found agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Boundaries.
    all: usize,
    found: usize,
    /// Found boundaries that are right.
    right: usize,
}

impl MarkedSet {
    /// The measure that decides which model is the best.
    pub(crate) const DECIDES: &str = "F1";

    /// Tokenizes all texts of files.
    ///
    /// # Errors
    /// When the texts have no boundary before their ends, or a record is bad.
    pub fn new(task: &TokenTask, files: &[MarkedFile]) -> Result<Self, TrainError> {
        let texts = files.par_iter().flat_map(|file| {
            (0..file.len()).into_par_iter().map(|index| {
                let marked = file.get(index)?;
                let document = task.classifier.document(&marked.text, None)?;
                let labels = marked.labels(&document.places);
                Ok((document, labels))
            })
        });
        let (documents, labels) = texts.collect::<Result<Vec<_>, TrainError>>()?.into_iter().unzip();
        let set = Self { documents, labels };
        if set.labels.iter().all(|labels| !without_last(labels).contains(&true)) {
            return Err(TrainError::NoBoundary);
        }
        Ok(set)
    }

    pub(super) fn fingerprint(&self) -> String {
        let mut hasher = ChecksumHasher::default();
        for (document, labels) in self.documents.iter().zip(&self.labels) {
            hasher.update(format!("{labels:?}").as_bytes());
            document.windows.iter().for_each(|window| add(&mut hasher, &window.input));
        }
        hasher.finish().to_string()
    }

    /// Precision, recall and F1 of the boundaries with a share above one half, over all texts together.
    pub(super) fn evaluate(
        &self,
        model: &Model,
        stop: &AtomicBool,
    ) -> Result<Option<BTreeMap<String, f64>>, TrainError> {
        let mut counts = Counts::default();
        for (documents, labels) in self.documents.chunks(BLOCK).zip(self.labels.chunks(BLOCK)) {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let windows = documents.iter().flat_map(|document| &document.windows);
            let inputs: Vec<Tokens> = windows.map(|window| window.input.clone()).collect();
            let rows = model.results(0, &inputs)?;
            let (width, mut rest) = (TokenTask::LABELS.len(), rows.as_slice());
            for (document, labels) in documents.iter().zip(labels) {
                let (own, after) = rest.split_at(document.rows() * width);
                rest = after;
                let logits = document.gather(own, width);
                let found: Vec<bool> = logits.chunks_exact(width).map(is_boundary).collect();
                counts.add(labels, &found);
            }
        }
        Ok(Some(counts.measures()))
    }
}

/// Whether a token is found to be a boundary. Equal logits say nothing: as by transformers' argmax, the first
/// label counts, so that a new classifier, whose weights are zeros, finds none.
fn is_boundary(logits: &[f32]) -> bool {
    logits[1] > logits[0]
}

/// All tokens but the last, at which a text ends anyway.
fn without_last(labels: &[bool]) -> &[bool] {
    &labels[..labels.len().saturating_sub(1)]
}

impl Counts {
    fn add(&mut self, labels: &[bool], found: &[bool]) {
        for (&label, &found) in without_last(labels).iter().zip(found) {
            self.all += usize::from(label);
            self.found += usize::from(found);
            self.right += usize::from(label && found);
        }
    }

    fn measures(self) -> BTreeMap<String, f64> {
        let share = |part: usize, of: usize| part as f64 / of.max(1) as f64;
        let values = [
            ("precision", share(self.right, self.found)),
            ("recall", share(self.right, self.all)),
            (MarkedSet::DECIDES, share(2 * self.right, self.all + self.found)),
        ];
        values.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, is_boundary};

    #[test]
    fn measures_are_over_all_tokens_but_the_last_of_each_text() {
        let mut counts = Counts::default();
        counts.add(&[true, false, true, true], &[true, true, false, true]);
        counts.add(&[false, true, false], &[false, true, true]);
        counts.add(&[], &[]);
        assert_eq!(counts, Counts { all: 3, found: 3, right: 2 });
        let measures = counts.measures();
        assert!(measures.values().all(|value| (value - 2.0 / 3.0).abs() < 1e-15), "{measures:?}");
        assert_eq!(Counts::default().measures()["F1"], 0.0);
    }

    #[test]
    fn equal_logits_are_no_boundary() {
        assert_eq!(
            [[0.0, 0.0], [0.5, 0.25], [0.25, 0.5]].map(|logits| is_boundary(&logits)),
            [false, false, true]
        );
    }
}
