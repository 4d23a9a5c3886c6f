//! A look at all examples before the first step: what cannot be learned from is an error with its place, not
//! the end of a run in its middle.

use std::collections::HashSet;

use rayon::prelude::*;

use crate::TrainError;
use crate::data::{Candidate, Example, Source, key};
use crate::loss::{CrossLoss, DualLoss};
use crate::settings::Settings;
use crate::task::Task;

/// What the examples of a run are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inspected {
    /// All examples.
    pub examples: usize,
    /// Those that have negatives of their own.
    pub with_negatives: usize,
    /// Those with a positive that an earlier example has too, where a batch would take it for a negative.
    pub repeated: usize,
    /// Whether such examples come into different batches.
    pub is_apart: bool,
}

/// Examples that are looked at before their results are added up.
const AT_A_TIME: usize = 1 << 16;

/// What is noted of an example.
struct Noted {
    has_negatives: bool,
    /// The least and the largest label of its pairs.
    labels: (f64, f64),
    positives: Vec<u64>,
}

/// Looks at all examples.
///
/// # Errors
/// When there is none, or one that the task cannot learn from.
pub(crate) fn inspect(task: &Task, source: &Source, settings: &Settings) -> Result<Inspected, TrainError> {
    if let Some(path) = source.empty_files().next() {
        return Err(TrainError::NoRecords(path.to_owned()));
    }
    if source.is_empty() {
        return Err(TrainError::NoExamples);
    }
    task.check_settings(settings)?;
    let mut found =
        Inspected { examples: source.len(), is_apart: settings.no_duplicates, ..Inspected::default() };
    let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut seen = HashSet::new();
    for first in (0..source.len()).step_by(AT_A_TIME) {
        let block = (first..source.len().min(first + AT_A_TIME)).into_par_iter();
        let noted: Vec<_> = block.map(|index| note(task, source, settings, index)).collect();
        for noted in noted {
            let Noted { has_negatives, labels, positives } = noted?;
            found.with_negatives += usize::from(has_negatives);
            (least, largest) = (least.min(labels.0), largest.max(labels.1));
            // Not `any`: all are to be seen.
            let repeated = positives.into_iter().filter(|positive| !seen.insert(*positive)).count();
            found.repeated += usize::from(repeated > 0);
        }
    }
    let is_by_label = matches!(task, Task::Cross { loss: CrossLoss::Binary | CrossLoss::TwoLabels, .. });
    if is_by_label && (least >= 1.0 || largest <= 0.0) {
        return Err(TrainError::OneLabel(largest));
    }
    Ok(found)
}

fn note(task: &Task, source: &Source, settings: &Settings, index: usize) -> Result<Noted, TrainError> {
    let example = source.get(index)?;
    let all = || example.positives.iter().chain(&example.negatives);
    let problem = match all().find(|candidate| !source.has_text(candidate)) {
        Some(Candidate { id, .. }) => {
            let id = id.as_deref().unwrap_or_default();
            Some(format!("passage {id:?} has no text, and is not in the collection"))
        }
        None => task.problem(&example),
    };
    if let Some(problem) = problem {
        return Err(source.error(index, problem));
    }
    let has_negatives = settings.negatives > 0 && !example.negatives.is_empty();
    let label = example.positives[0].label.unwrap_or(1.0);
    let least = if has_negatives { label.min(0.0) } else { label };
    let is_shared = task.has_shared_negatives();
    let positives = if is_shared { example.positives.iter().map(key).collect() } else { Vec::new() };
    Ok(Noted { has_negatives, labels: (least, label), positives })
}

impl Task {
    /// Whether passages of other queries are negatives.
    fn has_shared_negatives(&self) -> bool {
        matches!(self, Self::Dual { loss: DualLoss::Contrastive { in_batch: true, .. }, .. })
    }

    /// Whether a query is compared with its own passages alone.
    fn compares_own(&self) -> bool {
        match self {
            Self::Dual { .. } => !self.has_shared_negatives(),
            Self::Cross { loss, .. } => !matches!(loss, CrossLoss::Binary | CrossLoss::TwoLabels),
        }
    }

    /// Refuses settings that leave nothing to learn, or that have no effect.
    fn check_settings(&self, settings: &Settings) -> Result<(), TrainError> {
        if self.compares_own() && settings.negatives == 0 {
            let problem = "the loss compares a query's own passages, and none of its negatives is taken";
            return Err(TrainError::Mismatch(problem.to_owned()));
        }
        if settings.no_duplicates && !self.has_shared_negatives() {
            let reason = "passages of other queries are not negatives";
            return Err(TrainError::NoEffect { setting: "no_duplicates", reason });
        }
        Ok(())
    }

    /// Why an example cannot be learned from.
    fn problem(&self, example: &Example) -> Option<String> {
        if self.compares_own() && example.negatives.is_empty() {
            return Some("no negative, and the loss compares a query's own passages".to_owned());
        }
        let label = example.positives.iter().find_map(|positive| positive.label);
        match self {
            Self::Dual { loss, .. } => {
                if let Some(label) = label.filter(|label| *label != 1.0) {
                    return Some(format!(
                        "the label {label}; a dual encoder learns from positives, whose label is 1"
                    ));
                }
                let needs_scores = !matches!(loss, DualLoss::Contrastive { .. });
                let mut all = example.positives.iter().chain(&example.negatives);
                let is_missing = needs_scores && all.any(|candidate| candidate.score.is_none());
                is_missing.then(|| "a passage without a score, from which the loss learns".to_owned())
            }
            Self::Cross { encoder, loss, .. } => {
                let mut labels = example.positives.iter().filter_map(|positive| positive.label);
                let (fits, takes): (fn(f64) -> bool, _) = match loss {
                    CrossLoss::Binary | CrossLoss::TwoLabels => {
                        (|label| (0.0..=1.0).contains(&label), "takes labels from 0 to 1")
                    }
                    CrossLoss::Listwise => (|label| label == 1.0, "takes the positive, whose label is 1"),
                    CrossLoss::RankNet | CrossLoss::Lambda => {
                        (|label| label > 0.0, "needs a positive's label above 0, that of negatives")
                    }
                };
                if let Some(label) = labels.find(|label| !fits(*label)) {
                    return Some(format!("the label {label}, and this loss {takes}"));
                }
                // Any passage has a token at least.
                encoder.tokenize_pair(&example.query, "x").err().map(|error| error.to_string())
            }
        }
    }
}
