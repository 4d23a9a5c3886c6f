//! A look at all examples before the first step: what cannot be learned from is an error with its place, not
//! the end of a run in its middle.

use std::collections::HashSet;

use rayon::prelude::*;
use toller_ir::{Remedy, Setting, counted, remedy};

use crate::TrainError;
use crate::data::{Candidate, Example, Source};
use crate::lesson::keys;
use crate::loss::{CrossLoss, DualLoss};
use crate::settings::Settings;
use crate::task::Task;

/// What the examples of a run are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspected {
    /// All examples.
    pub examples: usize,
    /// Those that have negatives of their own.
    pub with_negatives: usize,
    /// Those with a query or a passage of an earlier example in the first epoch, where a batch takes it for a
    /// negative: none, if such examples come into different batches.
    pub repeated: usize,
    /// Those with a negative that is one of their positives.
    pub contradictory: usize,
    /// Where the first of these is.
    pub first_contradictory: Option<String>,
    /// Those that are left out, as nothing can be learned from them.
    pub left_out: usize,
    /// Why, for the first of these.
    pub first_left_out: Option<String>,
}

impl Inspected {
    /// What a user should know before the model learns it, in words.
    pub fn problems(&self) -> impl Iterator<Item = Remedy> {
        let repeated = (self.repeated > 0).then(|| {
            let examples = counted(self.repeated, "example");
            remedy!(
                "{} with a query or a passage of another example; in one batch, a positive may be taken for a \
                 negative ({} keeps such examples apart)",
                examples,
                Setting::NoDuplicates
            )
        });
        let contradictory: Option<Remedy> = self.first_contradictory.as_ref().map(|first| {
            let examples = counted(self.contradictory, "example");
            format!("{examples} with a negative that is a positive of the same query, the first: {first}")
                .into()
        });
        let left_out: Option<Remedy> = self.first_left_out.as_ref().map(|first| {
            format!("left out {}, the first: {first}", counted(self.left_out, "example")).into()
        });
        left_out.into_iter().chain(contradictory).chain(repeated)
    }
}

/// Examples that are looked at before their results are added up.
const AT_A_TIME: usize = 1 << 16;

/// What is noted of an example.
struct Noted {
    has_negatives: bool,
    /// The least and the largest label of its pairs.
    labels: (f64, f64),
    is_contradictory: bool,
    /// What no other example of a batch should have.
    keys: Vec<u64>,
}

/// Looks at all examples. Those that the task cannot learn from are left out, if `source` skips them.
///
/// # Errors
/// When there is none, or one that the task cannot learn from.
pub(crate) fn inspect(
    task: &Task,
    source: &mut Source,
    settings: &Settings,
) -> Result<Inspected, TrainError> {
    if let Some(path) = source.empty_files().next() {
        return Err(TrainError::NoRecords(path.to_owned()));
    }
    if source.is_empty() {
        return Err(TrainError::NoExamples);
    }
    task.check_settings(settings)?;
    let mut found = Inspected::default();
    let (mut kept, mut first_problem) = (Vec::new(), None);
    let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut seen = HashSet::new();
    for first in (0..source.len()).step_by(AT_A_TIME) {
        let block = (first..source.len().min(first + AT_A_TIME)).into_par_iter();
        let noted: Vec<_> = block.map(|index| note(task, source, settings, index)).collect();
        for (index, noted) in (first..).zip(noted) {
            let Noted { has_negatives, labels, is_contradictory, keys } = match noted? {
                Ok(noted) => noted,
                Err(problem) if source.skips() => {
                    found.left_out += 1;
                    first_problem.get_or_insert((index, problem));
                    continue;
                }
                Err(problem) => return Err(source.error(index, problem)),
            };
            kept.extend(u32::try_from(index));
            found.with_negatives += usize::from(has_negatives);
            (least, largest) = (least.min(labels.0), largest.max(labels.1));
            if is_contradictory {
                found.contradictory += 1;
                found.first_contradictory.get_or_insert_with(|| source.place(index));
            }
            // Not `any`: all are to be seen.
            let repeated = keys.into_iter().filter(|key| !seen.insert(*key)).count();
            found.repeated += usize::from(repeated > 0);
        }
    }
    found.examples = kept.len();
    if let Some((index, problem)) = first_problem {
        let problem = source.error(index, problem);
        if kept.is_empty() {
            return Err(problem);
        }
        found.first_left_out = Some(problem.to_string());
        source.keep(kept);
    }
    let is_by_label = matches!(task, Task::Cross { loss: CrossLoss::Binary | CrossLoss::TwoLabels, .. });
    if is_by_label && (least >= 1.0 || largest <= 0.0) {
        return Err(TrainError::OneLabel(largest));
    }
    Ok(found)
}

/// Looks at an example. The inner error says why the task cannot learn from it. Its place takes long to find,
/// and is that of the first only.
fn note(
    task: &Task,
    source: &Source,
    settings: &Settings,
    index: usize,
) -> Result<Result<Noted, String>, TrainError> {
    let example = source.get(index)?;
    let all = || example.positives.iter().chain(&example.negatives);
    let problem = match all().find(|candidate| !source.has_text(candidate)) {
        Some(Candidate { id, .. }) => {
            let id = id.as_deref().unwrap_or_default();
            Some(format!("passage {id:?} has no text, and is not in the collection"))
        }
        None => task.problem(&example, settings),
    };
    if let Some(problem) = problem {
        return Ok(Err(problem));
    }
    let has_negatives = settings.negatives > 0 && !example.negatives.is_empty();
    let label = task.label_of(&example.positives[0], true);
    let least = if has_negatives { label.min(0.0) } else { label };
    let is_contradictory = settings.negatives > 0 && example.contradicts_itself();
    let can_clash = task.has_shared_negatives(settings) && !settings.no_duplicates;
    let mut keys = if can_clash { keys(index, example, settings, 0) } else { Vec::new() };
    // An example that has a text twice shares it with no other.
    keys.sort_unstable();
    keys.dedup();
    Ok(Ok(Noted { has_negatives, labels: (least, label), is_contradictory, keys }))
}

impl Task {
    /// Whether passages of other queries are negatives. A batch of one has no other queries.
    fn has_shared_negatives(&self, settings: &Settings) -> bool {
        let is_shared = matches!(self, Self::Dual { loss: DualLoss::Contrastive { in_batch: true, .. }, .. });
        is_shared && settings.batch_size > 1
    }

    /// Whether a query is compared only with its own passages.
    fn compares_own(&self, settings: &Settings) -> bool {
        match self {
            Self::Dual { .. } => !self.has_shared_negatives(settings),
            Self::Cross { loss, .. } => !matches!(loss, CrossLoss::Binary | CrossLoss::TwoLabels),
        }
    }

    /// Refuses settings that leave nothing to learn, or that have no effect.
    fn check_settings(&self, settings: &Settings) -> Result<(), TrainError> {
        if self.compares_own(settings) && settings.negatives == 0 {
            return Err(TrainError::Options {
                problem: "a query is compared with its own passages, and none of its negatives is taken".into(),
                remedy: "take a negative of each query; by the contrastive loss, a batch of several queries needs none"
                    .into(),
            });
        }
        if settings.no_duplicates && !self.has_shared_negatives(settings) {
            let reason = "passages of other queries are not negatives";
            return Err(TrainError::NoEffect { setting: "no_duplicates", reason });
        }
        Ok(())
    }

    /// Why an example cannot be learned from.
    fn problem(&self, example: &Example, settings: &Settings) -> Option<String> {
        let has_other = !example.negatives.is_empty() || self.learns_grades() && example.has_grades();
        if self.compares_own(settings) && !has_other {
            return Some("no negative, and a query is compared with its own passages".to_owned());
        }
        let mut labels = example.positives.iter().filter_map(|positive| positive.label);
        match self {
            Self::Dual { loss: DualLoss::Contrastive { .. }, .. } => {
                labels.find(|label| *label != 1.0).map(|label| {
                    format!("the label {label}; a dual encoder learns from positives, whose label is 1")
                })
            }
            Self::Dual { .. } => {
                let mut all = example.positives.iter().chain(&example.negatives);
                let is_missing = all.any(|candidate| candidate.score.is_none());
                is_missing.then(|| "a passage without a score, from which the loss learns".to_owned())
            }
            Self::Cross { encoder, loss, .. } => {
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
                let query = encoder.tokenize_query(&example.query);
                let checked = query.and_then(|query| encoder.check_room(&query));
                checked.err().map(|error| error.to_string())
            }
        }
    }
}
