//! What is shown of two runs: queries that differ, and the texts that belong to them.

use std::collections::{HashMap, HashSet};

use toller_eval::{Measure, QueryDifference, diff};
use toller_ir::Passage;

use super::{DiffArgs, Show};
use crate::args::qrels::QrelsArgs;
use crate::args::runs::run_names;
use crate::error::UsageError;
use crate::ui::Ui;

/// Two runs compared.
pub(super) struct Listing {
    /// What the runs are called.
    pub(super) names: [String; 2],
    pub(super) measure: Measure,
    /// Its value over all queries.
    pub(super) means: [f64; 2],
    /// All queries, and those that the second run loses and gains.
    pub(super) all: usize,
    pub(super) lost: usize,
    pub(super) gained: usize,
    /// The lowest relevant grade.
    pub(super) relevance_level: u32,
    pub(super) shown: Vec<QueryDifference>,
    queries: HashMap<String, String>,
    passages: HashMap<String, Passage>,
}

impl Listing {
    /// Reads and compares the runs, then reads the texts of what is shown.
    pub(super) fn read(args: &DiffArgs, qrels: &QrelsArgs, ui: &Ui) -> crate::Result<Self> {
        let qrels = qrels.read(args.input.skip_bad_lines, ui)?;
        let runs =
            args.runs.iter().map(|path| args.input.read(path, ui)).collect::<crate::Result<Vec<_>>>()?;
        let mut names = run_names(&args.runs).into_iter();
        let names = [names.next().unwrap_or_default(), names.next().unwrap_or_default()];
        let [before, after] = &runs[..] else {
            return Err(UsageError::new("a comparison needs two runs", "name two runs").into());
        };
        let top = args.top as usize;
        let differences = diff(&qrels, [before, after], &args.measure, top, &args.eval_options())?;
        let count =
            |which: fn(&QueryDifference) -> bool| differences.iter().filter(|query| which(query)).count();
        let (all, lost, gained) =
            (differences.len(), count(|query| query.gain() < 0.0), count(|query| query.gain() > 0.0));
        let mean = |run: usize| {
            // In the order in which evaluation adds them up.
            let mut values: Vec<_> =
                differences.iter().map(|query| (query.query_id.as_str(), query.values[run])).collect();
            values.sort_unstable_by_key(|(id, _)| *id);
            args.measure.aggregate(values.into_iter().map(|(_, value)| value))
        };
        let means = [mean(0), mean(1)];
        let shown = shown(differences, args.show, args.limit as usize);
        let wanted = shown.iter().map(|query| query.query_id.as_str()).collect();
        let queries = query_texts(args, &wanted, ui)?;
        let passages = passages(args, &shown, ui)?;
        let measure = args.measure.clone();
        let relevance_level = args.relevance_level;
        Ok(Self { names, measure, means, all, lost, gained, relevance_level, shown, queries, passages })
    }

    /// The query's text, if it is known.
    pub(super) fn query(&self, id: &str) -> Option<&str> {
        self.queries.get(id).map(String::as_str)
    }

    /// The passage, if its text is known.
    pub(super) fn passage(&self, id: &str) -> Option<&Passage> {
        self.passages.get(id)
    }

    /// A value with four decimals.
    pub(super) fn number(&self, value: f64) -> String {
        self.measure.format(value, 4)
    }

    /// What a grade means.
    pub(super) fn judged(&self, grade: Option<i32>) -> Judged {
        match grade {
            None => Judged::Not,
            Some(grade) if i64::from(grade) >= i64::from(self.relevance_level) => Judged::Relevant(grade),
            Some(grade) => Judged::NotRelevant(grade),
        }
    }
}

/// A document's judgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// Relevant, with this grade.
    Relevant(i32),
    /// Not relevant.
    NotRelevant(i32),
    /// Not judged.
    Not,
}

/// The queries that are shown, from `differences` in order of gain.
fn shown(differences: Vec<QueryDifference>, show: Show, limit: usize) -> Vec<QueryDifference> {
    let mut shown = differences;
    match show {
        Show::Losses => shown.retain(|query| query.gain() < 0.0),
        Show::Gains => {
            shown.retain(|query| query.gain() > 0.0);
            shown.reverse();
        }
        Show::All => {}
    }
    shown.truncate(limit);
    shown
}

fn query_texts(args: &DiffArgs, wanted: &HashSet<&str>, ui: &Ui) -> crate::Result<HashMap<String, String>> {
    let Some(path) = &args.texts.queries else { return Ok(HashMap::new()) };
    let queries = args.texts.read_queries(args.input.skip_bad_lines, ui)?;
    let texts: HashMap<_, _> = queries
        .into_iter()
        .filter(|query| wanted.contains(query.id.as_str()))
        .map(|query| (query.id, query.text))
        .collect();
    if let Some(missing) = wanted.iter().filter(|id| !texts.contains_key(**id)).min() {
        let count = wanted.len() - texts.len();
        ui.warning(format!(
            "{} does not have {count} of the queries, for example {missing:?}",
            path.display()
        ));
    }
    Ok(texts)
}

/// Reads the collection once, and keeps only what is shown.
fn passages(args: &DiffArgs, shown: &[QueryDifference], ui: &Ui) -> crate::Result<HashMap<String, Passage>> {
    if args.texts.corpus.is_empty() {
        return Ok(HashMap::new());
    }
    let retrieved = shown.iter().flat_map(|query| query.rankings.iter().flatten()).map(|found| &found.doc_id);
    let relevant = shown.iter().flat_map(|query| &query.relevant).map(|document| &document.doc_id);
    let wanted: HashSet<&str> = retrieved.chain(relevant).map(String::as_str).collect();
    let passages = args.texts.documents(&wanted, |passage| passage)?;
    if let Some(missing) = wanted.iter().filter(|id| !passages.contains_key(**id)).min() {
        let count = wanted.len() - passages.len();
        ui.warning(format!(
            "{count} of {} documents are not in the collection, for example {missing:?}",
            wanted.len()
        ));
    }
    Ok(passages)
}
