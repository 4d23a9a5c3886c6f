//! The sets of questions as files.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::Serialize;

use crate::entity::buckets::buckets;
use crate::entity::relations::{Relation, question};
use crate::entity::triples::{Fact, Facts, sample, without_overlap};
use crate::error::DatasetError;
use crate::folder::Folder;
use crate::statistics::{Part, Statistics, mean};

/// A question of a set, in the paper's own format.
#[derive(Serialize)]
struct Question<'a> {
    question: String,
    answers: &'a [String],
}

/// How the sets of [`write_question_sets`] are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuestionSets {
    /// Questions of a relation's test set, at most.
    pub test: usize,
    /// Questions of a relation's training set, at most; with 0 there is none.
    pub train: usize,
    /// Questions of a relation's development set, at most; with 0 there is none.
    pub dev: usize,
    /// Write the training and development questions in other words, too.
    pub similar: bool,
    /// Of the samples.
    pub seed: u64,
}

impl QuestionSets {
    /// The number of development questions where `facts` facts are left: all that are asked for, or their
    /// share if the facts do not suffice for both sets.
    fn dev_of(&self, facts: usize) -> usize {
        let (train, dev) = (self.train as u128, self.dev as u128);
        if train + dev <= facts as u128 {
            return self.dev;
        }
        usize::try_from(facts as u128 * dev / (train + dev)).unwrap_or(self.dev)
    }
}

/// Writes for each relation `P19.test.json`; if asked for, `P19.train.json` and `P19.dev.json`, which share
/// no token with the test set's facts, and `P19.similar.train.json`. A development set and a training set
/// have no fact in common; too few facts are shared out in proportion. Returns the names of the files, and a
/// part for each set.
///
/// # Errors
/// If a file cannot be written.
pub fn write_question_sets(
    facts: &Facts,
    sets: &QuestionSets,
    output: &Path,
) -> Result<(Vec<String>, Statistics), DatasetError> {
    let mut folder = Folder::create(output)?;
    let mut statistics = Statistics::default();
    for (relation, facts) in relations(facts) {
        let test = sample(&facts, sets.test, sets.seed);
        let set = |name: String, of: &[&Fact]| part(name, facts.len(), of);
        questions(&mut folder, &format!("{}.test.json", relation.id), relation.template, &test)?;
        statistics.0.push(set(format!("{} test", relation.id), &test));
        if sets.train == 0 && sets.dev == 0 {
            continue;
        }
        let rest = without_overlap(&facts, &test);
        let dev = sample(&rest, sets.dev_of(rest.len()), sets.seed);
        let in_dev: HashSet<&str> = dev.iter().map(|fact| fact.subject.as_str()).collect();
        let rest: Vec<&Fact> =
            rest.into_iter().filter(|fact| !in_dev.contains(fact.subject.as_str())).collect();
        let train = sample(&rest, sets.train, sets.seed);
        for (name, facts, wanted) in [("train", &train, sets.train), ("dev", &dev, sets.dev)] {
            if wanted == 0 {
                continue;
            }
            statistics.0.push(set(format!("{} {name}", relation.id), facts));
            if facts.is_empty() {
                continue;
            }
            questions(&mut folder, &format!("{}.{name}.json", relation.id), relation.template, facts)?;
            if let Some(template) = relation.similar.filter(|_| sets.similar) {
                questions(&mut folder, &format!("{}.similar.{name}.json", relation.id), template, facts)?;
            }
        }
    }
    let names = folder.commit()?;
    Ok((names, statistics))
}

/// How the sets of [`write_popularity_buckets`] are made.
#[derive(Clone, Debug)]
pub struct PopularityBuckets<'a> {
    /// How often each subject occurs, such as the links to its page.
    pub frequencies: &'a HashMap<String, u64>,
    /// How many buckets a relation has.
    pub count: usize,
    /// Questions of a bucket, at most.
    pub sample: usize,
    /// Subjects that training questions name: all their facts make sets of their own.
    pub seen: Option<&'a HashSet<String>>,
    /// Of the samples.
    pub seed: u64,
}

/// Writes for each relation and bucket `P19.bucket-1.json`, the most popular first, a sample of the bucket;
/// and `P19.seen.bucket-1.json`, all facts about subjects that training questions name.
///
/// # Errors
/// If a file cannot be written.
pub fn write_popularity_buckets(
    facts: &Facts,
    wanted: &PopularityBuckets<'_>,
    output: &Path,
) -> Result<(Vec<String>, Statistics), DatasetError> {
    let mut folder = Folder::create(output)?;
    let mut statistics = Statistics::default();
    for (relation, facts) in relations(facts) {
        for (bucket, number) in buckets(&facts, wanted.frequencies, wanted.count).iter().zip(1..) {
            let of = |fact: &&Fact| wanted.frequencies.get(&fact.subject).copied().unwrap_or(0);
            let questions_of = sample(bucket, wanted.sample, wanted.seed);
            let name = format!("{}.bucket-{number}.json", relation.id);
            questions(&mut folder, &name, relation.template, &questions_of)?;
            let mut part = Part::new(format!("{} bucket {number}", relation.id))
                .count("facts", bucket.len())
                .count("questions", questions_of.len())
                .count("frequency", bucket.iter().map(|fact| u128::from(of(fact))).sum::<u128>())
                .count("highest", bucket.iter().map(of).max().unwrap_or(0))
                .count("lowest", bucket.iter().map(of).min().unwrap_or(0));
            if let Some(seen) = wanted.seen {
                let seen: Vec<&Fact> =
                    bucket.iter().copied().filter(|fact| seen.contains(&fact.subject)).collect();
                let name = format!("{}.seen.bucket-{number}.json", relation.id);
                questions(&mut folder, &name, relation.template, &seen)?;
                part = part.count("seen", seen.len());
            }
            statistics.0.push(part);
        }
    }
    let names = folder.commit()?;
    Ok((names, statistics))
}

fn relations(facts: &Facts) -> impl Iterator<Item = (Relation, Vec<&Fact>)> {
    facts.iter().filter_map(|(id, facts)| Some((Relation::of(id)?, facts.iter().collect())))
}

fn part(name: String, facts: usize, set: &[&Fact]) -> Part {
    let answers: usize = set.iter().map(|fact| fact.objects.len()).sum();
    let answers = mean(answers as f64, set.len());
    Part::new(name).count("facts", facts).count("questions", set.len()).real("answers_per_question", answers)
}

/// Writes an array, a question a line.
fn questions(folder: &mut Folder, name: &str, template: &str, facts: &[&Fact]) -> Result<(), DatasetError> {
    let mut file = folder.file(name)?;
    let questions = facts
        .iter()
        .map(|fact| Question { question: question(template, &fact.subject), answers: &fact.objects });
    file.array(questions)
}
