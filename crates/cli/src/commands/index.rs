//! `toller index`: texts in, an inverted index out.

use std::str::FromStr;

use toller_files::expand;
use toller_pipeline::{PipelineError, joined_text};
use toller_sparse::{BuildJob, BuildProgress, BuildReport, Source, SparseError, build};

use super::encode::beir_corpus;
use super::encode_source::TextSource;
use crate::analyzer::AnalyzerArgs;
use crate::args::input::InputArgs;
use crate::args::paths::{InputPath, OutputPath};
use crate::interrupt::{self, Interrupted};
use crate::ui::Ui;

/// Arguments of `toller index`.
#[derive(Debug, clap::Args)]
pub struct IndexArgs {
    /// Collection: JSONL, TSV or Parquet files, directories of them, or - for stdin; .gz, .zst and .xz are read
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    corpus: Vec<InputPath>,

    /// Directory to write the index to
    #[arg(short, long, value_name = "DIR")]
    output: OutputPath,

    #[command(flatten)]
    analyzer: AnalyzerArgs,

    /// Memory to do with: beyond it, sorted runs go to a temporary file in the index's directory. K, M and G are 2^10, 2^20
    /// and 2^30 bytes
    #[arg(long, value_name = "BYTES", default_value = "2G")]
    memory: Memory,

    /// Keep the terms of each document too, for feedback (RM3, Rocchio)
    #[arg(long)]
    doc_vectors: bool,

    /// Text to put between a title and its text
    #[arg(
        long,
        value_name = "TEXT",
        default_value = " ",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    title_separator: String,

    /// Replace the index that is there
    #[arg(long)]
    overwrite: bool,

    #[command(flatten)]
    input: InputArgs,
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
pub fn run(args: &IndexArgs, threads: usize, ui: &Ui) -> crate::Result<()> {
    args.output.check_directory("an index")?;
    // First, so that Ctrl-C leaves nothing behind from here on.
    let stop = interrupt::flag(ui, "stopping; nothing is kept of an unfinished index")?;
    let analyzer = args.analyzer.load()?;
    let inputs = expand(args.corpus.iter().map(|path| beir_corpus(path, ui)))?;
    let source = TextSource::collection(&inputs, &args.output, &args.input.options()?, ui)?;
    let job = BuildJob {
        analyzer: &analyzer,
        source: Source {
            fingerprint: source.fingerprint().to_string(),
            passages: source.texts(),
            title_separator: args.title_separator.clone(),
        },
        doc_vectors: args.doc_vectors,
        memory_bytes: args.memory.0,
        threads,
        overwrite: args.overwrite,
        stop: &stop,
    };
    let report = match index(args, &job, &source, ui) {
        Err(PipelineError::Sparse(SparseError::Interrupted)) => {
            let resume = "run the same command again to begin anew".to_owned();
            return Err(Interrupted { resume }.into());
        }
        built => built?,
    };
    source.report_skipped(ui);
    print_report(args, &report, &source, ui)
}

fn index(
    args: &IndexArgs,
    job: &BuildJob<'_>,
    source: &TextSource,
    ui: &Ui,
) -> Result<BuildReport, PipelineError> {
    let all = std::iter::once(0..source.texts()).collect();
    let passages = source.passages(all)?;
    let documents = passages.map(|passage| {
        let passage = passage?;
        let text = joined_text(&args.title_separator, &passage);
        Ok((passage.id, text))
    });
    let mut stage = Stage::None;
    let mut bar = None;
    let report = build(&args.output, job, documents, |progress| {
        let (now, title, unit, done, of) = match progress {
            BuildProgress::Analyzed(done) => (Stage::Analyzing, "indexing", "passages", done, source.texts()),
            BuildProgress::Merged(done, all) => (Stage::Merging, "merging", "postings", done, all),
            BuildProgress::Vectors(done) => (Stage::Vectors, "doc vectors", "passages", done, source.texts()),
        };
        if now != stage {
            stage = now;
            if let Some(finished) = bar.replace(ui.progress(title, unit, of)) {
                finished.finish();
            }
        }
        if let Some(bar) = &bar {
            bar.set(done);
        }
    });
    if let Some(bar) = bar {
        bar.finish();
    }
    report
}

/// What a build is doing.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    None,
    Analyzing,
    Merging,
    Vectors,
}

/// The result: a sentence on stderr, or JSON on stdout.
fn print_report(args: &IndexArgs, report: &BuildReport, source: &TextSource, ui: &Ui) -> crate::Result<()> {
    let seconds = report.duration.as_secs_f64();
    let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let statistics = &report.manifest.statistics;
    if report.duration.is_zero() {
        ui.status(format!(
            "{} is complete; nothing to do (--overwrite builds it again)",
            args.output.display()
        ));
    } else {
        ui.status(format!(
            "indexed {} passages in {seconds:.1} s: {:.0} passages/s; {} terms, {} postings, {:.1} MB in {}",
            statistics.docs,
            rate(statistics.docs),
            statistics.terms,
            statistics.postings,
            report.manifest.bytes() as f64 / 1e6,
            args.output.display(),
        ));
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
            "skipped": source.skipped().total(),
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
