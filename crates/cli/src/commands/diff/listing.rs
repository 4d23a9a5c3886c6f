//! What is shown of two runs: queries that differ, and the texts that belong to them.

use std::collections::{HashMap, HashSet};

use toller_eval::{Measure, QueryDifference, diff};
use toller_files::expand;
use toller_ir::Passage;
use toller_pipeline::wanted_passages;

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
    /// How many queries there are, and how many of them the second run loses, gains, and has the same.
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
            return Err(UsageError::new("two runs are compared", "name two runs").into());
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

/// What the judgments say of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// Relevant, with this grade.
    Relevant(i32),
    /// Not relevant.
    NotRelevant(i32),
    /// Nothing.
    Not,
}

/// What is shown of differences that go from the greatest loss to the greatest gain.
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
    let Some(path) = &args.queries else { return Ok(HashMap::new()) };
    let queries = args.queries_input.read(path, args.input.skip_bad_lines, ui)?;
    let texts: HashMap<_, _> = queries
        .into_iter()
        .filter(|query| wanted.contains(query.id.as_str()))
        .map(|query| (query.id, query.text))
        .collect();
    if let Some(lacking) = wanted.iter().filter(|id| !texts.contains_key(**id)).min() {
        let count = wanted.len() - texts.len();
        ui.warning(format!("{} lacks {count} of the queries, for one {lacking:?}", path.display()));
    }
    Ok(texts)
}

/// One pass over the collection: only what is shown is kept.
fn passages(args: &DiffArgs, shown: &[QueryDifference], ui: &Ui) -> crate::Result<HashMap<String, Passage>> {
    if args.corpus.is_empty() {
        return Ok(HashMap::new());
    }
    let retrieved = shown.iter().flat_map(|query| query.rankings.iter().flatten()).map(|found| &found.doc_id);
    let relevant = shown.iter().flat_map(|query| &query.relevant).map(|document| &document.doc_id);
    let wanted: HashSet<&str> = retrieved.chain(relevant).map(String::as_str).collect();
    let inputs = expand(&args.corpus)?;
    let passages = wanted_passages(&inputs, &args.collection.options(), &wanted, |passage| passage)?;
    if let Some(lacking) = wanted.iter().filter(|id| !passages.contains_key(**id)).min() {
        let count = wanted.len() - passages.len();
        ui.warning(format!(
            "the collection lacks {count} of {} documents, for one {lacking:?}",
            wanted.len()
        ));
    }
    Ok(passages)
}
