//! `toller index`: texts in, an inverted index out.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ArgGroup;
use toller_analysis::Analyzer;
use toller_corpus::{ColumnNames, SkipReport};
use toller_engine::{Engine, EngineError, IndexOptions, Role};
use toller_ir::counted;
use toller_sparse::{BuildReport, SparseError, check_build};
use toller_store::ImpactStore;

use super::text_source;
use crate::args::analyzer::AnalyzerArgs;
use crate::args::input::{BadLinesArgs, CollectionArgs};
use crate::args::paths::{InputPath, OutputPath};
use crate::engine;
use crate::error::UsageError;
use crate::interrupt::{self, Interrupted};
use crate::ui::{Ui, per_second};

#[derive(Debug, clap::Args)]
#[command(
    group = ArgGroup::new("indexed").args(["corpus", "vectors"]).required(true),
    override_usage = "toller index [OPTIONS] --output <DIR>\n           <--corpus <FILE>...|--vectors <STORE>>"
)]
pub struct IndexArgs {
    /// Collection: JSONL, TSV, CSV, TREC or Parquet files, directories of them, or - for stdin; .gz, .zst and
    /// .xz are read
    #[arg(long, value_name = "FILE", num_args = 1..)]
    corpus: Vec<InputPath>,

    /// Store of impacts, which `toller encode` makes with a sparse model (SPLADE), instead of a collection.
    /// Searches of the index then take texts as queries: they are encoded with the same model
    #[arg(long, value_name = "STORE", conflicts_with_all = ["impact", "language", "analyzer", "doc_vectors", "title_separator",
        "no_title", "title_column", "text_column", "id_column", "corpus_format", "skip_bad_lines"])]
    vectors: Option<InputPath>,

    /// Directory to write the index to
    #[arg(short, long, value_name = "DIR")]
    output: OutputPath,

    #[command(flatten)]
    analyzer: AnalyzerArgs,

    /// Index impacts in place of texts: the weights of terms in the field `vector`, as learned sparse models
    /// give them and Pyserini writes them, {"id": ..., "vector": {"term": 12, ...}}
    #[arg(long, conflicts_with_all = ["language", "analyzer", "doc_vectors", "title_separator", "no_title", "title_column", "text_column"])]
    impact: bool,

    /// Memory to use; sorted runs go to a temporary file in the index's directory. K, M and G are 2^10, 2^20
    /// and 2^30 bytes
    #[arg(long, value_name = "BYTES", default_value = "2G")]
    memory: Memory,

    /// Also keep the terms of each document, for feedback (RM3, Rocchio)
    #[arg(long)]
    doc_vectors: bool,

    /// Text between a title and its text
    #[arg(long, value_name = "TEXT", default_value = " ", allow_hyphen_values = true)]
    title_separator: String,

    /// Leave titles out
    #[arg(long, conflicts_with = "title_separator")]
    no_title: bool,

    /// Replace the index that is there
    #[arg(long)]
    overwrite: bool,

    #[command(flatten)]
    collection: CollectionArgs,

    #[command(flatten)]
    bad_lines: BadLinesArgs,
}

impl IndexArgs {
    /// Refuses options that do not go together.
    pub fn check_options(&self) -> Result<(), UsageError> {
        self.output.check_directory("an index")?;
        if self.has_impacts() { Ok(()) } else { self.analyzer.check() }
    }

    fn has_impacts(&self) -> bool {
        self.impact || self.vectors.is_some()
    }

    fn title_separator(&self) -> Option<&str> {
        (!self.no_title && !self.has_impacts()).then_some(&*self.title_separator)
    }

    fn analyzer(&self, engine: &Engine) -> crate::Result<Analyzer> {
        if self.has_impacts() { Ok(Analyzer::impact()) } else { self.analyzer.load(engine) }
    }

    fn options(&self) -> IndexOptions {
        IndexOptions {
            title_separator: self.title_separator().map(str::to_owned),
            doc_vectors: self.doc_vectors,
            memory_bytes: self.memory.0,
            overwrite: self.overwrite,
        }
    }
}

/// Bytes as given on the command line.
#[derive(Clone, Copy, Debug)]
struct Memory(usize);

/// Less than this is not enough for the queues.
const LEAST_MEMORY: usize = 16 << 20;

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim_end_matches(['B', 'b']).trim_end_matches(['i']);
        let digits = text.trim_end_matches(|last: char| last.is_ascii_alphabetic());
        let shift = match text.get(digits.len()..).unwrap_or_default().to_ascii_uppercase().as_str() {
            "" => 0,
            "K" => 10,
            "M" => 20,
            "G" => 30,
            _ => return Err("a number of bytes, as 512M or 2G".to_owned()),
        };
        let number: usize = digits.parse().map_err(|_| "a number of bytes, as 512M or 2G".to_owned())?;
        match number.checked_mul(1 << shift) {
            Some(bytes) if bytes >= LEAST_MEMORY => Ok(Self(bytes)),
            Some(_) => Err("at least 16M".to_owned()),
            None => Err("fewer bytes than that".to_owned()),
        }
    }
}

/// Builds the index.
pub fn run(args: &IndexArgs, ui: &Ui) -> crate::Result<()> {
    args.check_options()?;
    // First, so that Ctrl-C leaves nothing behind from here on.
    let stop = interrupt::flag(ui, "stopping; an unfinished index is not kept")?;
    let engine = engine::open(ui)?;
    if let Some(store) = &args.vectors {
        let store = open_passages(store, &engine)?;
        let built = engine.index_impacts(&store, &args.output, &args.options(), &stop);
        return print_report(args, &finished(args, built)?, &SkipReport::default(), ui);
    }
    let analyzer = args.analyzer(&engine)?;
    let mut reading = args.collection.options(args.bad_lines.skip_bad_lines);
    reading.columns.vector = args.impact.then(|| ColumnNames::VECTOR.to_owned());
    let source = text_source::collection(&args.corpus, &args.output, &reading, &engine, ui)?;
    if source.has_vectors() {
        ui.warning("passages have weights of terms (vector), which are not indexed; --impact indexes them");
    }
    let report = finished(args, engine.index(&source, &analyzer, &args.output, &args.options(), &stop))?;
    ui.skipped("", source.skipped());
    print_report(args, &report, source.skipped(), ui)
}

/// Opens the store of the passages' impacts.
fn open_passages(path: &InputPath, engine: &Engine) -> crate::Result<ImpactStore> {
    let store = engine.open_impacts(path, true)?;
    if store.manifest().spec.encoding.role == Role::Passage {
        return Ok(store);
    }
    let message = format!("{} holds queries, and passages are indexed", path.display());
    Err(UsageError::new(message, "encode the collection: `toller encode --corpus`").into())
}

/// What was built. An interruption says what to do.
fn finished(args: &IndexArgs, built: Result<BuildReport, EngineError>) -> crate::Result<BuildReport> {
    match built {
        Err(EngineError::Sparse(SparseError::Interrupted)) => {
            let kept = if args.overwrite { "an index that was there is as it was; " } else { "" };
            let resume = format!("{kept}run the same command again to start over");
            Err(Interrupted { resume }.into())
        }
        built => Ok(built?),
    }
}

/// What is wrong with the index that is there, if this command would not build such an index of the same
/// texts.
pub fn other_index(args: &IndexArgs, ui: &Ui) -> crate::Result<Option<(PathBuf, String)>> {
    let analyzer = args.analyzer(&engine::open(ui)?)?;
    let checked = check_build(&args.output, &analyzer, args.title_separator(), args.doc_vectors);
    Ok(checked.err().map(|error| (args.output.to_path_buf(), error.to_string())))
}

fn print_report(args: &IndexArgs, report: &BuildReport, skipped: &SkipReport, ui: &Ui) -> crate::Result<()> {
    let seconds = report.duration.as_secs_f64();
    let rate = |count| per_second(count, seconds);
    let statistics = &report.manifest.statistics;
    if report.duration.is_zero() {
        ui.status(format!(
            "{} is complete; nothing to do (--overwrite builds it again)",
            args.output.display()
        ));
    } else {
        ui.status(format!(
            "indexed {} in {seconds:.1} s: {:.0} passages/s\n{}, {}, {:.1} MB in {}",
            counted(statistics.docs, "passage"),
            rate(statistics.docs),
            counted(statistics.terms, "term"),
            counted(statistics.postings, "posting"),
            report.manifest.bytes() as f64 / 1e6,
            args.output.display(),
        ));
    }
    if statistics.terms == 0 {
        ui.warning(
            "no text of the collection has a term, so searches find nothing: check the texts and the analyzer",
        );
    }
    ui.json(|| {
        serde_json::json!({
            "index": args.output.display().to_string(),
            "analyzer": report.manifest.analyzer.name,
            "source_fingerprint": report.manifest.source.fingerprint,
            "passages": statistics.docs,
            "passages_with_terms": statistics.docs_with_terms,
            "tokens": statistics.tokens,
            "terms": statistics.terms,
            "postings": statistics.postings,
            "bytes": report.manifest.bytes(),
            "seconds": seconds,
            "passages_per_second": rate(statistics.docs),
            "skipped": skipped.total(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::Memory;

    #[test]
    fn memory_has_units() {
        for (text, bytes) in [("16777216", 1 << 24), ("16m", 1 << 24), ("2G", 2 << 30), ("512MiB", 512 << 20)]
        {
            assert_eq!(text.parse::<Memory>().map(|memory| memory.0), Ok(bytes), "{text}");
        }
        for wrong in ["", "G", "2T", "1M", "-1G", "1.5G", "99999999999G"] {
            assert!(wrong.parse::<Memory>().is_err(), "{wrong}");
        }
    }
}
