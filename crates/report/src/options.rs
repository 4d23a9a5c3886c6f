//! What a report is about.

use std::collections::{BTreeMap, HashSet};

use toller_eval::{EvalOptions, Measure, Test};

/// How to make a report.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// The page's title.
    pub title: String,
    /// What the judgments are called.
    pub judgments: String,
    /// What is measured. The first measure is the one of the figures about queries.
    pub measures: Vec<Measure>,
    /// The lowest relevant grade.
    pub relevance_level: u32,
    /// The significance test of all pairs of runs.
    pub test: Test,
    /// How many queries are shown for each run: as many losses and as many gains.
    pub queries: usize,
    /// How many documents of each ranking are shown.
    pub documents: usize,
    /// The queries of each group, for figures by group. A query may be in several groups.
    pub groups: Option<BTreeMap<String, HashSet<String>>>,
}

impl ReportOptions {
    /// How measures are computed: a judged query without results counts as zero.
    pub(crate) fn eval(&self) -> EvalOptions {
        EvalOptions { relevance_level: self.relevance_level, ..EvalOptions::default() }
    }
}
