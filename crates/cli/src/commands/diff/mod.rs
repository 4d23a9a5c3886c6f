//! `toller diff`: where one run loses against another, query by query, for an analysis of errors.

mod failures;
mod listing;
mod report;
mod sheet;
mod tally;

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use toller_eval::{EvalOptions, Measure};
use toller_report::{Choice, Contrast, ContrastOptions, diff_page};

use self::listing::Listing;
use crate::args::measures::measure;
use crate::args::paths::{InputPath, Inputs, OutputPath};
use crate::args::qrels::QrelsArgs;
use crate::args::replacing::{OWN_PAGE, OverwriteArgs, PAGE, is_own_page};
use crate::args::runs::RunInputArgs;
use crate::args::texts::TextsArgs;
use crate::error::{UsageError, of_csv};
use crate::printable::write_printable;
use crate::ui::Ui;

/// Show where one run loses against another, query by query.
///
/// The queries on which the second run loses most come first. Each is shown with its relevant documents,
/// their ranks in both runs, and the first documents of both runs side by side. The page (--format html) and
/// the sheet (--format csv) have a field for the category of each error; --tally counts the categories.
/// --failed-at shows what a single run fails on.
#[derive(Debug, clap::Args)]
pub struct DiffArgs {
    /// The baseline, and the run to compare with it; with --failed-at, the run whose failures are shown
    #[arg(value_name = "RUN", num_args = 1..=2, required_unless_present = "tally")]
    runs: Vec<InputPath>,

    #[command(flatten)]
    qrels: Option<QrelsArgs>,

    /// The measure that is compared
    #[arg(long, short, value_name = "MEASURE", value_parser = measure, default_value = "nDCG@10")]
    measure: Measure,

    #[command(flatten)]
    texts: TextsArgs,

    /// Which queries to show
    #[arg(long, value_enum, default_value_t)]
    show: Show,

    /// The most queries to show
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    /// Documents of each run to show
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,

    /// Show the queries of one run without a relevant document among the first N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with_all = ["measure", "show", "limit", "top"])]
    failed_at: Option<u32>,

    /// Show this many of the failed queries, drawn at random
    #[arg(long, value_name = "N", requires = "failed_at", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,

    /// Seed of the random sample
    #[arg(long, value_name = "N", requires = "sample", default_value_t = 42)]
    seed: u64,

    /// Sort into categories each of the first N documents of a failed query, and not only the query
    #[arg(long, requires = "failed_at")]
    per_pair: bool,

    /// How the result is written (`--json` is the same as `--format json`)
    #[arg(long, value_enum, default_value_t)]
    format: FormatArg,

    /// File to write to; - for stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: OutputPath,

    #[command(flatten)]
    overwrite: OverwriteArgs,

    /// The lowest grade that is relevant, for measures that do not name their own
    #[arg(long, short = 'l', value_name = "GRADE", default_value_t = 1)]
    relevance_level: u32,

    /// Only count the categories in this sheet, which --format csv or the page wrote and you filled in
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["runs", "qrels", "queries", "corpus", "output", "overwrite", "failed_at", "measure", "show", "limit", "top", "relevance_level"])]
    tally: Option<InputPath>,

    #[command(flatten)]
    input: RunInputArgs,
}

/// Which queries are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Show {
    /// Those on which the second run loses, the greatest loss first
    #[default]
    Losses,
    /// Those on which it gains, the greatest gain first
    Gains,
    /// All, from the greatest loss to the greatest gain
    All,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum FormatArg {
    /// To read in a terminal
    #[default]
    Text,
    /// A sheet with empty columns for a category and a note
    Csv,
    /// A web page with fields for both
    Html,
    /// Everything, for programs
    Json,
}

/// Compares, or counts categories.
pub fn run(args: &DiffArgs, ui: &Ui) -> crate::Result<()> {
    if let Some(sheet) = &args.tally {
        return tally::run(sheet, args.format, ui);
    }
    let qrels = check_usage(args, ui)?;
    if let Some(cutoff) = args.failed_at {
        return failures::run(args, cutoff, qrels, ui);
    }
    let listing = args.output.write(ui, |out, _| {
        let listing = Listing::read(args, qrels, ui)?;
        write(&listing, args.format(ui), out)?;
        Ok(listing)
    })?;
    if !args.output.is_stdout() {
        let Contrast { ref shown, all, lost, gained, .. } = listing.contrast;
        let (of, what) = match args.show {
            Show::Losses => (lost, "losses"),
            Show::Gains => (gained, "gains"),
            Show::All => (all, "queries"),
        };
        let more = if shown.len() < of { "; --limit shows more" } else { "" };
        ui.status(format!("{} of {of} {what} in {}{more}", shown.len(), args.output.display()));
    }
    Ok(())
}

fn write(listing: &Listing, format: FormatArg, mut out: &mut dyn Write) -> crate::Result<()> {
    match format {
        FormatArg::Text => write_printable(out, |shown| report::text(listing, shown)),
        FormatArg::Json => report::json(listing, &mut out),
        FormatArg::Csv => Ok(sheet::write(listing, &mut out).map_err(of_csv)?),
        FormatArg::Html => Ok(out.write_all(diff_page(&listing.contrast, &listing.texts).as_bytes())?),
    }
}

/// What [`tally::is_empty`] recognizes.
const EMPTY_SHEET: &str = "a sheet of `toller diff` in which nothing is filled in";

/// Refuses wrong usage before anything is read; returns the judgments.
fn check_usage<'a>(args: &'a DiffArgs, ui: &Ui) -> Result<&'a QrelsArgs, UsageError> {
    let Some(qrels) = &args.qrels else {
        return Err(UsageError::new("a comparison needs judgments", "give --qrels FILE"));
    };
    let read = args.runs.iter().chain([&qrels.qrels]).chain(args.texts.files());
    let inputs = Inputs::files(read);
    inputs.check()?;
    inputs.check_kept(&args.output)?;
    match args.format(ui) {
        FormatArg::Html => {
            args.output.check_ending(PAGE, "html")?;
            args.overwrite.check(&args.output, OWN_PAGE, is_own_page)?;
        }
        FormatArg::Csv => {
            args.output.check_ending("a sheet in CSV", "csv")?;
            args.overwrite.check(&args.output, EMPTY_SHEET, tally::is_empty)?;
        }
        FormatArg::Text | FormatArg::Json if args.per_pair => {
            let message = "--per-pair is for sheets and pages to fill in";
            return Err(UsageError::new(message, "add --format csv or html, or leave --per-pair out"));
        }
        FormatArg::Text => {
            if let Some(ending @ ("csv" | "html" | "json")) = args.output.extension().and_then(OsStr::to_str)
            {
                let message = format!("{} would hold plain text", args.output.display());
                return Err(UsageError::new(
                    message,
                    format!("add --format {ending}, or give it another name"),
                ));
            }
            args.overwrite.check_new(&args.output)?;
        }
        FormatArg::Json => args.overwrite.check_new(&args.output)?,
    }
    Ok(qrels)
}

impl DiffArgs {
    /// The format that was asked for.
    fn format(&self, ui: &Ui) -> FormatArg {
        if ui.json { FormatArg::Json } else { self.format }
    }

    fn options(&self) -> ContrastOptions {
        ContrastOptions {
            measure: self.measure.clone(),
            choice: match self.show {
                Show::Losses => Choice::Losses,
                Show::Gains => Choice::Gains,
                Show::All => Choice::All,
            },
            limit: self.limit as usize,
            documents: self.top as usize,
            eval: EvalOptions { relevance_level: self.relevance_level, ..EvalOptions::default() },
        }
    }
}

/// A path's file name, for messages.
fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
