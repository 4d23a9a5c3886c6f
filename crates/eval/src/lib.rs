//! Retrieval measures as trec_eval computes them, significance tests between runs, and reports.
//!
//! A [`Measure`] is a declaration in the notation of ir_measures that parses and prints itself:
//! `nDCG@10`, `AP(rel=2)`, `RR@10`. [`evaluate`] gives every measure of a run, over all queries and
//! per query. docs/measures.md defines each of them and states the conventions.

mod compare;
mod declarations;
mod depth;
mod diff;
mod error;
mod evaluate;
mod exact;
mod graded;
mod measure;
mod measures;
mod parameters;
mod parse;
mod qrels_diff;
mod ranking;
mod report;
mod stats;
pub mod trec_eval;

pub use compare::{CompareOptions, Outcome, PairComparison, Pairs, Test, Tested, compare_pairs};
pub use depth::{Depth, DepthOrder, depth_curve};
pub use diff::{QueryDifference, RankedDocument, RelevantDocument, query_difference};
pub use error::{CompareError, EvalError, MeasureError, StatsError};
pub use evaluate::{
    EvalOptions, Evaluation, MissingQueries, NoneJudged, QueryEvaluation, QueryJudge,
    check_first_rank_measures, evaluate, evaluate_first_ranks, none_judged,
};
pub use exact::exact;
pub use graded::{GradedDocument, GradedRanking, graded_rankings, map_graded_rankings, ranked_documents};
pub use measure::Measure;
pub use parse::parse_measures;
pub use qrels_diff::{QrelsDifference, diff_qrels};
pub use report::{Compared, Format, Report, ReportOptions, RunReport};
pub use stats::{
    BootstrapTest, Correction, EffectSize, Equivalence, Interval, MOST_SAMPLES, RandomizationTest, TTest,
    WilcoxonTest, adjust_p_values, bootstrap_test, detectable_effect, paired_t_test, power, queries_needed,
    randomization_test, tukey_test, wilcoxon_test,
};
