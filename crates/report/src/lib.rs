//! Runs compared on web pages that need no network, and the data of these pages.
//!
//! An [`Analyst`] takes runs one after the other and makes a [`Report`], which holds only numbers.
//! [`report_page`] is its page and [`data_files`] are its files. [`diff_page`] shows two runs query by query,
//! [`failures_page`] what one run fails on, and [`annotation_page`] what people are to judge.
//! [`reproduction_page`] shows published figures next to measured ones. Texts come from the caller
//! ([`Texts`]), who reads what [`Report::wanted`] and [`Contrast::want`] name.

mod contrast;
mod data;
mod error;
mod export;
mod failures;
mod figure;
mod options;
mod page;
mod reproduction;
mod texts;

pub use contrast::{Choice, Contrast, ContrastOptions};
pub use data::{
    Analyst, DepthCurves, Difficulty, Estimate, Group, Groups, MeasureName, Pair, Pairs, QueryDifficulty,
    RankHistogram, Report, RunSummary,
};
pub use error::ReportError;
pub use export::{DataFile, data_files};
pub use failures::{FailedQuery, Failures, RelevantRank, RetrievedDocument, Sample};
pub use options::ReportOptions;
pub use page::{
    FrameSources, GENERATOR, GradeLabel, Judged, STYLE, annotation_page, diff_page, failures_page,
    frame_sources, report_page, reproduction_page,
};
pub use reproduction::{
    Experiment, MeasuredValue, Outcome, ReproducedPaper, ReproducedTable, ReproducedValue, Reproduction,
};
pub use texts::{Texts, Wanted};
