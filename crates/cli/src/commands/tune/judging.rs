//! The flags of the judgments by which parameters are chosen.

use toller_eval::Measure;
use toller_ir::Qrels;
use toller_pipeline::tune::Judging;

use crate::args::measures::measure;
use crate::args::qrels::QrelsArgs;

/// Flags of the judgments and the measure.
#[derive(Debug, clap::Args)]
pub(super) struct JudgingArgs {
    #[command(flatten)]
    pub(super) qrels: QrelsArgs,

    /// The measure to maximize
    #[arg(long, short, value_name = "M", default_value = "RR@100", value_parser = measure)]
    pub(super) measure: Measure,

    /// The most hits of a query that count
    #[arg(long, short, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) k: u32,

    /// The lowest grade that is relevant, unless the measure names its own
    #[arg(long, short = 'l', value_name = "GRADE", default_value_t = 1)]
    relevance_level: u32,
}

impl JudgingArgs {
    /// The measure on these judgments.
    pub(super) fn judging<'a>(&'a self, qrels: &'a Qrels) -> Judging<'a> {
        let Self { measure, relevance_level, k, .. } = self;
        Judging { qrels, measure, relevance_level: *relevance_level, k: *k as usize }
    }
}
