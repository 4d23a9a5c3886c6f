//! `toller data stats`: what a test collection looks like.

use std::collections::HashSet;

use serde_json::json;
use toller_corpus::open_collection;
use toller_datasets::{Histogram, Profile};
use toller_engine::collection_files;
use toller_ir::{Setting, counted};
use toller_plot::{Bars, Figure, Panel, Part};

use super::folder::text;
use crate::args::input::{BadLinesArgs, CORPUS_FORMAT, CollectionArgs, QueriesArgs};
use crate::args::paths::{InputPath, Inputs};
use crate::args::plot::PlotArgs;
use crate::args::qrels::QrelsIfAnyArgs;
use crate::engine;
use crate::error::{Context, UsageError};
use crate::ui::Ui;

/// Describe any collection, queries and judgments: lengths, judged and relevant documents of a query,
/// grades.
#[derive(Debug, clap::Args)]
pub struct StatsArgs {
    /// Collection
    #[arg(long, value_name = "FILE", num_args = 1..)]
    corpus: Vec<InputPath>,

    /// Queries: files or folders of files
    #[arg(long, value_name = "FILE", num_args = 1..)]
    queries: Vec<InputPath>,

    #[command(flatten)]
    qrels: QrelsIfAnyArgs,

    /// Stores with the vectors of queries: their intra-list similarity is the mean cosine of all pairs
    #[arg(long, value_name = "STORE", num_args = 1..)]
    query_vectors: Vec<InputPath>,

    /// The lowest grade that is relevant
    #[arg(long, short = 'l', value_name = "GRADE", default_value_t = 1)]
    relevance_level: i32,

    #[command(flatten)]
    plot: PlotArgs,

    #[command(flatten)]
    collection: CollectionArgs,

    #[command(flatten)]
    queries_input: QueriesArgs,

    #[command(flatten)]
    bad_lines: BadLinesArgs,
}

/// Passages between two updates of the progress.
const PROGRESS: u64 = 4096;

/// Describes.
pub fn run(args: &StatsArgs, ui: &Ui) -> crate::Result<()> {
    Inputs::files(args.corpus.iter().chain(&args.queries).chain(&args.qrels.qrels)).check()?;
    let nothing = args.corpus.is_empty() && args.queries.is_empty() && args.query_vectors.is_empty();
    if nothing && args.qrels.qrels.is_none() {
        let message = "there is nothing to describe";
        return Err(UsageError::new(message, "give --corpus, --queries, --qrels or --query-vectors").into());
    }
    let plot = args.plot.open()?;
    let profile = read(args, ui)?;
    plot.draw(|| figure(&profile.histograms()))?;
    let statistics = profile.statistics();
    ui.show(|| json!({"statistics": statistics.to_json()}), |out| out.write_all(text(&statistics).as_bytes()))
}

fn read(args: &StatsArgs, ui: &Ui) -> crate::Result<Profile> {
    let mut profile = Profile::default();
    let skip = args.bad_lines.skip_bad_lines;
    let qrels = args.qrels.read(skip, ui)?;
    profile.add_judgments(&qrels, args.relevance_level);
    // Judged documents that the collection was not seen to have.
    let mut missing: HashSet<&str> =
        qrels.iter().flat_map(|(_, judged)| judged.keys()).map(String::as_str).collect();
    if !args.corpus.is_empty() {
        let options = args.collection.options(skip);
        let mut reader = open_collection(&collection_files(&args.corpus)?, &options)
            .with_flag(Setting::Format, CORPUS_FORMAT)?;
        let bar = ui.progress("reading", "passages", 0);
        let mut passages = 0;
        while let Some(passage) = reader.next().transpose().with_flag(Setting::Format, CORPUS_FORMAT)? {
            profile.add_passage(&passage);
            missing.remove(passage.id.as_str());
            passages += 1;
            if passages % PROGRESS == 0 {
                bar.set(passages);
            }
        }
        ui.skipped("", reader.skipped());
        if let Some(example) = missing.iter().min() {
            let documents = counted(missing.len(), "judged document");
            ui.warning(format!("the collection does not have {documents}, for example {example:?}"));
        }
    }
    if !args.queries.is_empty() {
        let queries = args.queries_input.read(&args.queries, skip, ui)?;
        queries.iter().for_each(|query| profile.add_query(query));
        let judged = queries.iter().filter(|query| qrels.query(&query.id).is_some()).count();
        if judged < qrels.len() {
            let (missing, all) = (qrels.len() - judged, qrels.len());
            ui.warning(format!("{missing} of {all} judged queries are not among --queries"));
        }
    }
    if !args.query_vectors.is_empty() {
        let store = engine::open(ui)?.open_store(&args.query_vectors, true)?;
        store.each_vector(|_, vector| profile.add_vector(vector));
    }
    Ok(profile)
}

/// A panel for each histogram.
fn figure(histograms: &[Histogram]) -> Figure {
    let panel = |histogram: &Histogram| {
        let (categories, values) =
            histogram.bars.iter().map(|(name, count)| (name.clone(), *count as f64)).unzip();
        let bars = Bars {
            x_label: histogram.x_label.to_owned(),
            y_label: histogram.y_label.to_owned(),
            categories,
            parts: vec![Part { name: histogram.y_label.to_owned(), values }],
        };
        Panel { title: histogram.title.to_owned(), content: bars.into() }
    };
    Figure {
        title: "Test collection".to_owned(),
        subtitle: "toller data stats".to_owned(),
        panels: histograms.iter().map(panel).collect(),
    }
}
