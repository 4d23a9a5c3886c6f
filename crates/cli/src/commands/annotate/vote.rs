//! `toller annotate vote`: judgments from the grades of several annotators.

use toller_annotation::{Vote, vote};
use toller_ir::counted;

use super::sheets::SheetsArgs;
use crate::args::paths::{Inputs, OutputPath};
use crate::args::qrels::write_judgments;
use crate::args::replacing::{JUDGMENTS, OverwriteArgs, is_judgments};
use crate::error::{Remedied, UsageError};
use crate::ui::Ui;

/// Make judgments of filled sheets by a vote.
///
/// They are written as TREC qrels. A grade wins if it has at least --votes votes and more than any other.
/// Pairs on which no grade wins are left out of the judgments. --undecided lists them, for another annotator:
/// `toller annotate packages --pairs`.
#[derive(Debug, clap::Args)]
pub struct VoteArgs {
    #[command(flatten)]
    sheets: SheetsArgs,

    /// The votes that a grade needs
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    votes: u32,

    /// File to write the judgments to; - for stdout
    #[arg(short, long, value_name = "QRELS", default_value = "-")]
    output: OutputPath,

    /// File to write the pairs without a winner to: a query's id and a document's on each line
    #[arg(long, value_name = "FILE")]
    undecided: Option<OutputPath>,

    #[command(flatten)]
    overwrite: OverwriteArgs,
}

fn check_usage(args: &VoteArgs, ui: &Ui) -> Result<(), UsageError> {
    let sheets = Inputs::files(&args.sheets.sheets);
    sheets.check_with(&args.output, ui)?;
    args.overwrite.check(&args.output, JUDGMENTS, is_judgments)?;
    let Some(undecided) = &args.undecided else { return Ok(()) };
    sheets.check_kept_by("--undecided", undecided)?;
    // Pairs of identifiers could be judgments just as well.
    args.overwrite.check_new(undecided)
}

/// Reads the sheets and writes the judgments.
pub fn run(args: &VoteArgs, ui: &Ui) -> crate::Result<()> {
    check_usage(args, ui)?;
    let ratings = args.sheets.read(ui)?;
    let Vote { qrels, decided, undecided } = vote(&ratings, args.votes as usize);
    if decided == 0 && args.undecided.is_none() {
        let message = format!("no pair has the {} that decide it", counted(args.votes as usize, "vote"));
        return Err(Remedied::new(message, "give more sheets, or lower --votes").into());
    }
    // The judgments last: where they are new, all is written.
    if let Some(path) = &args.undecided {
        path.write(ui, |out, _| {
            for pair in &undecided {
                writeln!(out, "{}\t{}", pair.query_id, pair.doc_id)?;
            }
            Ok(())
        })?;
    }
    write_judgments(&args.output, &qrels, ui)?;
    let pairs = decided + undecided.len();
    ui.status(format!(
        "{decided} of {pairs} pairs have a grade; {} are undecided and left out",
        undecided.len()
    ));
    ui.json(|| {
        serde_json::json!({
            "qrels": args.output.display().to_string(),
            "pairs": pairs,
            "decided": decided,
            "undecided": undecided.len(),
        })
    })
}
