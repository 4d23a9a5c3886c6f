//! What a run learns: a task with its examples.

use std::path::Path;

use rayon::prelude::*;

use crate::TrainError;
use crate::data::{Candidate, Example, Order, Source, key, key_of_query, window};
use crate::inspect::{Inspected, inspect};
use crate::loss::token_loss;
use crate::model::{Graded, Inputs, Model};
use crate::save::{save, save_token_classifier};
use crate::settings::Settings;
use crate::task::{Picked, Task};
use crate::token_task::TokenTask;

/// A task with its examples.
#[expect(clippy::large_enum_variant, reason = "a run has one")]
pub(crate) enum Lesson {
    /// To tell the passages that answer a query from others.
    Ranking(Task, Source),
    /// To tell the last tokens of segments from others.
    Tokens(TokenTask),
}

/// From the results of the networks for a batch to the loss and its gradient.
pub(crate) type Grade<'a> = Box<dyn FnOnce([Vec<f64>; 2]) -> Result<Graded, TrainError> + 'a>;

impl Lesson {
    /// The number of examples.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Ranking(_, source) => source.len(),
            Self::Tokens(task) => task.len(),
        }
    }

    /// Identifies the model before training, and everything here but the data that decides its gradients.
    pub(crate) fn fingerprint(&self) -> String {
        match self {
            Self::Ranking(task, _) => task.fingerprint(),
            Self::Tokens(task) => task.fingerprint(),
        }
    }

    /// Identifies the data.
    pub(crate) fn fingerprint_of_data(&self) -> String {
        match self {
            Self::Ranking(_, source) => source.fingerprint(),
            Self::Tokens(task) => task.fingerprint_of_data(),
        }
    }

    /// Looks at all examples, and leaves bad ones out if its source does. `None` for those of a token
    /// classifier: they are checked when they are read.
    pub(crate) fn inspect(&mut self, settings: &Settings) -> Result<Option<Inspected>, TrainError> {
        match self {
            Self::Ranking(task, source) => inspect(task, source, settings).map(Some),
            Self::Tokens(task) => task.check_files().map(|()| None),
        }
    }

    /// The order of the examples in an epoch.
    pub(crate) fn order(&self, settings: &Settings, epoch: u64) -> Result<Order, TrainError> {
        let Settings { seed, batch_size, no_duplicates, .. } = *settings;
        match self {
            Self::Ranking(_, source) if no_duplicates => {
                let keys = |index| Ok(keys(index, source.get(index)?, settings, epoch));
                let keys = (0..source.len()).into_par_iter().map(keys);
                let keys = keys.collect::<Result<Vec<Vec<u64>>, TrainError>>()?;
                Ok(Order::apart(&keys, batch_size, seed, epoch))
            }
            _ => Ok(Order::new(self.len(), seed, epoch)),
        }
    }

    /// The tokens of examples in an epoch, and how the results are graded.
    pub(crate) fn batch(
        &self,
        examples: &[u32],
        settings: &Settings,
        epoch: u64,
    ) -> Result<(Inputs, Grade<'_>), TrainError> {
        match self {
            Self::Ranking(task, source) => {
                let by_grade = task.learns_grades();
                let pick = |&example| pick(source, example, settings, epoch, by_grade);
                let picked = examples.par_iter().map(pick);
                let (inputs, groups) = task.inputs(&picked.collect::<Result<Vec<_>, _>>()?)?;
                Ok((inputs, Box::new(move |results| task.grade(&groups, results))))
            }
            Self::Tokens(task) => {
                let (texts, targets) = task.batch(examples, settings.seed, epoch)?;
                let inputs = Inputs { texts: [texts, Vec::new()], first: [0, 0] };
                Ok((inputs, Box::new(move |[logits, _]| Ok(token_loss(&targets, logits)))))
            }
        }
    }

    /// Writes the trained model, with `card` as its README.
    pub(crate) fn save(&self, model: &Model, output: &Path, card: &str) -> Result<(), TrainError> {
        match self {
            Self::Ranking(task, _) => save(task, model, output, card),
            Self::Tokens(task) => save_token_classifier(&task.classifier, model, output, card),
        }
    }
}

/// An example with its passages of an epoch.
fn pick(
    source: &Source,
    index: u32,
    settings: &Settings,
    epoch: u64,
    by_grade: bool,
) -> Result<Picked, TrainError> {
    let index = index as usize;
    let (query, passages) = choose(index, source.get(index)?, settings, epoch, by_grade);
    let candidates = passages.into_iter().map(|candidate| source.fill(candidate));
    Ok(Picked { query, candidates: candidates.collect::<Result<_, _>>()? })
}

/// What two examples of a batch should not have in common: the query, all positives, of which none is a
/// negative of the other, and the negatives of an epoch.
pub(crate) fn keys(index: usize, example: Example, settings: &Settings, epoch: u64) -> Vec<u64> {
    let positives: Vec<u64> = example.positives.iter().map(key).collect();
    let (query, passages) = choose(index, example, settings, epoch, false);
    let negatives = passages.iter().skip(1).map(key);
    positives.into_iter().chain(negatives).chain([key_of_query(&query)]).collect()
}

/// The query of an example, and its passages of an epoch, which may be without their texts: a positive, then
/// negatives. With `by_grade`, positives of another grade are among these.
fn choose(
    index: usize,
    example: Example,
    settings: &Settings,
    epoch: u64,
    by_grade: bool,
) -> (String, Vec<Candidate>) {
    let Settings { seed, negatives, .. } = *settings;
    let Example { query, positives, negatives: mut others } = example;
    let chosen = window(positives.len(), 1, seed, index as u64, epoch).into_iter();
    let mut chosen: Vec<Candidate> = chosen.map(|at| positives[at].clone()).collect();
    if by_grade && let Some(positive) = chosen.first() {
        let grade = positive.relevance();
        others.extend(positives.into_iter().filter(|other| other.relevance() != grade));
    }
    let taken = window(others.len(), negatives, seed, index as u64, epoch);
    chosen.extend(taken.into_iter().map(|at| others[at].clone()));
    (query, chosen)
}

#[cfg(test)]
mod tests {
    use super::{choose, keys};
    use crate::dropout::Rates;
    use crate::{Candidate, Example, Settings};

    fn candidate(text: &str, grade: Option<f64>) -> Candidate {
        Candidate { grade, ..Candidate::plain(text) }
    }

    fn settings(negatives: usize) -> Settings {
        Settings { negatives, ..Settings::new(Rates::default()) }
    }

    #[test]
    fn all_positives_and_the_negatives_of_an_epoch_are_keys() {
        let of = |id: &str, text: &str| Candidate { id: Some(id.to_owned()), ..Candidate::plain(text) };
        let example = |query: &str, positives: &[Candidate], negatives: &[Candidate]| Example {
            query: query.to_owned(),
            positives: positives.to_vec(),
            negatives: negatives.to_vec(),
        };
        let example = [
            example("q", &[of("1", "a"), of("2", "b")], &[of("3", "n"), of("4", "m")]),
            example("r", &[of("5", "a")], &[]),
            example("s", &[of("6", "b")], &[]),
            example("t", &[of("1", "c"), of("7", "n"), of("8", "m")], &[]),
            example("u", &[of("1", "e")], &[]),
        ];
        let keys = example.map(|example| keys(0, example, &settings(1), 0));
        let shared =
            |one: usize, other: usize| keys[one].iter().filter(|key| keys[other].contains(key)).count();
        assert_eq!(keys[0].len(), 4, "a query, two positives and one of two negatives");
        assert_eq!([1, 2, 3, 4].map(|other| shared(0, other)), [1, 1, 1, 0]);
    }

    #[test]
    fn grades_are_compared_where_they_are_learned() {
        let positives = [("a", 3.0), ("b", 2.0), ("c", 2.0)];
        let example = Example {
            query: "q".to_owned(),
            positives: positives.map(|(text, grade)| candidate(text, Some(grade))).into(),
            negatives: vec![candidate("n", Some(0.0))],
        };
        let texts = |epoch: u64, by_grade: bool| {
            let (_, chosen) = choose(0, example.clone(), &settings(9), epoch, by_grade);
            let mut texts: Vec<String> = chosen.into_iter().filter_map(|own| own.text).collect();
            texts[1..].sort();
            texts.concat()
        };
        let sorted = |by_grade: bool| {
            let mut all: Vec<String> = (0..3).map(|epoch| texts(epoch, by_grade)).collect();
            all.sort();
            all
        };
        assert_eq!(sorted(true), ["abcn", "ban", "can"]);
        assert_eq!(sorted(false), ["an", "bn", "cn"]);
    }
}
