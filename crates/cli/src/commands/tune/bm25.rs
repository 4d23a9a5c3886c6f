//! `toller tune bm25`: k1 and b.

use std::collections::HashSet;

use serde_json::json;
use toller_ir::counted;
use toller_pipeline::tune::{Bm25Grid, Grid, Tuned, tune_bm25};
use toller_plot::{Figure, HeatMap, Panel};
use toller_sparse::{Bm25Variant, Lengths, Ranker};

use super::judging::JudgingArgs;
use super::output::{Parameter, Result as TuneResult, TuneOutputArgs};
use crate::args::analyzer::IndexAnalyzerArgs;
use crate::args::input::{BadLinesArgs, QueriesArgs};
use crate::args::paths::{InputPath, Inputs};
use crate::engine;
use crate::error::UsageError;
use crate::ui::Ui;

/// Tries every k1 with every b.
///
/// Among points of equal value the smallest k1 is chosen, then the smallest b. The value is what `toller
/// eval` gives for the output of `toller search` with these parameters.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "toller tune bm25 [OPTIONS] --sparse <DIR> --queries <FILE>...\n           --qrels <FILE>"
)]
pub struct Bm25Args {
    /// Inverted index to search
    #[arg(long, value_name = "DIR")]
    sparse: InputPath,

    /// Judged queries to tune on: files or folders of files; do not use test queries
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    queries: Vec<InputPath>,

    /// Values of k1: FROM:TO:STEP, or V,V,...
    #[arg(long, value_name = "GRID", default_value = "0.1:1.6:0.1", allow_hyphen_values = true)]
    k1: Grid,

    /// Values of b
    #[arg(long, value_name = "GRID", default_value = "0.1:1:0.1", allow_hyphen_values = true)]
    b: Grid,

    /// BM25 as Robertson published it
    #[arg(long)]
    robertson: bool,

    /// Score with exact document lengths, not Lucene's one-byte lengths
    #[arg(long)]
    exact_lengths: bool,

    /// Do not verify checksums
    #[arg(long)]
    no_verify: bool,

    #[command(flatten)]
    analyzer: IndexAnalyzerArgs,

    #[command(flatten)]
    judging: JudgingArgs,

    #[command(flatten)]
    output: TuneOutputArgs,

    #[command(flatten)]
    input: QueriesArgs,

    #[command(flatten)]
    bad_lines: BadLinesArgs,
}

impl Bm25Args {
    /// The points to try. Refuses values that BM25 does not accept.
    pub(super) fn grid(&self) -> Result<Bm25Grid<'_>, UsageError> {
        let grid = Bm25Grid {
            k1: &self.k1,
            b: &self.b,
            variant: if self.robertson { Bm25Variant::Robertson } else { Bm25Variant::Lucene },
            lengths: if self.exact_lengths { Lengths::Exact } else { Lengths::Encoded },
        };
        for (k1, b) in grid.points() {
            let ranker = Ranker::Bm25 { k1: k1 as f32, b: b as f32, variant: grid.variant };
            let hint = "give --k1 values from 0 to 1e9, and --b values from 0 to 1";
            ranker.check().map_err(|error| UsageError::new(error.to_string(), hint))?;
        }
        Ok(grid)
    }
}

/// Tunes k1 and b.
pub(super) fn run(args: &Bm25Args, ui: &Ui) -> crate::Result<()> {
    Inputs::files(args.queries.iter().chain([&args.judging.qrels.qrels])).check()?;
    let grid = args.grid()?;
    let plot = args.output.plot.open()?;
    let qrels = args.judging.qrels.read(args.bad_lines.skip_bad_lines, ui)?;
    let queries = args.input.read(&args.queries, args.bad_lines.skip_bad_lines, ui)?;
    let given: HashSet<&str> = queries.iter().map(|query| query.id.as_str()).collect();
    let missing = qrels.iter().filter(|(id, _)| !given.contains(id)).count();
    if missing > 0 {
        let judged = qrels.len();
        ui.warning(format!("{missing} of {judged} judged queries are not in --queries and count as zero"));
    }
    let analyzer = args.analyzer.analyzer.as_deref();
    let (index, analyzer) = engine::open(ui)?.open_sparse(&args.sparse, analyzer, !args.no_verify)?;
    let bar = ui.progress("tuning", "queries", qrels.len() as u64);
    let tuned = tune_bm25(&index, &analyzer, &queries, &grid, &args.judging.judging(&qrels), &|done| {
        bar.set(done);
    });
    drop(bar);
    let tuned = tuned?;
    let result = TuneResult {
        measure: &args.judging.measure,
        parameters: &[
            Parameter { name: "k1", flag: "--k1", largest: f64::INFINITY },
            Parameter { name: "b", flag: "--b", largest: 1.0 },
        ],
        points: grid.points().into_iter().map(|(k1, b)| vec![k1, b]).collect(),
        tuned: &tuned,
        about: json!({
            "index": args.sparse.display().to_string(),
            "documents": index.doc_count(),
            "judged_queries": qrels.len(),
        }),
    };
    args.output.write(&result, plot, || figure(args, &tuned, qrels.len()), ui)
}

/// The measure against k1 and b.
fn figure(args: &Bm25Args, tuned: &Tuned, queries: usize) -> Figure {
    let names = |grid: &Grid| grid.values().iter().map(ToString::to_string).collect::<Vec<_>>();
    let (columns, rows) = (names(&args.k1), names(&args.b));
    // Points are ordered by k1, but a heat map by rows, which are b.
    let (across, up) = (columns.len(), rows.len());
    let values = (0..up).flat_map(|b| (0..across).map(move |k1| k1 * up + b));
    let map = HeatMap {
        x_label: "k1".to_owned(),
        y_label: "b".to_owned(),
        values: values.filter_map(|at| tuned.values.get(at).copied()).collect(),
        columns,
        rows,
        marked: Some((tuned.best % up.max(1), tuned.best / up.max(1))),
    };
    let measure = &args.judging.measure;
    Figure {
        title: format!("{measure} by k1 and b"),
        subtitle: format!("BM25, {}, {}", counted(queries, "judged query"), args.sparse.display()),
        panels: vec![Panel { title: format!("{measure} of BM25"), content: map.into() }],
    }
}
