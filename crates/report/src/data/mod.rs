//! What a report says, as numbers: the pages and the files are made from it.

mod analyst;
mod difficulty;
mod estimate;
mod groups;
mod names;
mod pairs;
mod ranks;
mod run;

use serde::Serialize;
use toller_eval::Test;

pub use analyst::Analyst;
pub use difficulty::{Difficulty, QueryDifficulty};
pub use estimate::Estimate;
pub use groups::{Group, Groups};
pub use pairs::{Pair, Pairs};
pub use ranks::RankHistogram;

use crate::contrast::Contrast;
use crate::texts::Wanted;

/// What a report says about runs. The first run is the baseline.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What it is called.
    pub title: String,
    /// What the judgments are called.
    pub judgments: String,
    /// The lowest relevant grade, for measures without their own.
    pub relevance_level: u32,
    /// The significance test of the pairs.
    pub test: &'static str,
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// The measures.
    pub measures: Vec<MeasureName>,
    /// The judged queries, in the order of their bytes.
    pub queries: Vec<String>,
    /// Each query's values, `[runs][measures][queries]`.
    pub values: Vec<Vec<Vec<f64>>>,
    /// All pairs of runs, by each measure that is a mean.
    pub pairs: Vec<Pairs>,
    /// Measures by cutoff.
    pub curves: Vec<DepthCurves>,
    /// Precision at the recall levels 0, 0.1 and so on to 1, `[runs][levels]`.
    pub precision_recall: Vec<Vec<f64>>,
    /// Where the first relevant document is.
    pub ranks: RankHistogram,
    /// The first measure by group of queries.
    pub groups: Option<Groups>,
    /// How hard each query is, by the first measure.
    pub difficulty: Difficulty,
    /// The baseline against each other run, with the queries that differ most.
    #[serde(skip)]
    pub contrasts: Vec<Contrast>,
}

/// A run in a report.
#[derive(Clone, Debug, Serialize)]
pub struct RunSummary {
    /// The name of its file.
    pub file: String,
    /// A short name.
    pub name: String,
    /// The letter that stands for the run in tables and figures.
    pub letter: String,
    /// How many judged queries have no results; they count as zero.
    pub missing: usize,
    /// How many queries are not judged; they are ignored.
    pub unjudged: usize,
    /// The value of each measure.
    pub estimates: Vec<Estimate>,
}

/// A measure in a report.
#[derive(Clone, Debug, Serialize)]
pub struct MeasureName {
    /// In the notation of ir_measures.
    pub name: String,
    /// What is measured, in one line.
    pub summary: &'static str,
    /// Whether its value is the mean over the queries.
    pub is_mean: bool,
}

/// A measure by cutoff.
#[derive(Clone, Debug, Serialize)]
pub struct DepthCurves {
    /// The measure, with `k` for the cutoff.
    pub measure: String,
    /// The cutoffs.
    pub depths: Vec<usize>,
    /// The values, `[runs][depths]`.
    pub values: Vec<Vec<f64>>,
}

impl Report {
    /// The texts that the page shows.
    #[must_use]
    pub fn wanted(&self) -> Wanted<'_> {
        let mut wanted = Wanted::default();
        for contrast in &self.contrasts {
            contrast.want(&mut wanted);
        }
        wanted.queries.extend(self.queries.iter().map(String::as_str));
        wanted
    }

    /// Whether the p-values are corrected for the number of pairs: Tukey's test covers all pairs at once.
    pub(crate) fn is_corrected(&self) -> bool {
        self.test != Test::Tukey.name()
    }

    /// The first measure's name.
    pub(crate) fn main_measure(&self) -> &str {
        self.measures.first().map_or("", |measure| &measure.name)
    }

    /// The values of a run's queries by the first measure.
    pub(crate) fn main_values(&self, run: usize) -> &[f64] {
        self.values.get(run).and_then(|values| values.first()).map_or(&[], Vec::as_slice)
    }

    /// The measures that are means, with their places.
    pub(crate) fn means(&self) -> impl Iterator<Item = (usize, &MeasureName)> {
        self.measures.iter().enumerate().filter(|(_, measure)| measure.is_mean)
    }
}
