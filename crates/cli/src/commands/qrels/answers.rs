//! `toller qrels answers`: judgments of what runs retrieved, by the questions' answers.

use serde_json::json;
use toller_ir::counted;

use crate::args::answers::AnswerArgs;
use crate::args::paths::{InputPath, Inputs, OutputPath};
use crate::args::qrels::write_judgments;
use crate::args::replacing::{JUDGMENTS, OverwriteArgs, is_judgments};
use crate::args::runs::{RunInputArgs, warn_of_questions};
use crate::ui::Ui;

/// Judges what runs retrieved: a passage whose text contains an answer has the grade 1, any other 0.
///
/// So DPR and EntityQuestions get positives and negatives for training, by `toller mine`. Questions are in
/// their order, and the passages of a question in the order of their best ranks in any run.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "toller qrels answers [OPTIONS] --output <FILE> --queries <FILE>...\n           --corpus <FILE>... <RUN>...",
    mut_arg("queries", |queries| queries.required(true)),
    mut_arg("corpus", |corpus| corpus.required(true))
)]
pub struct AnswersArgs {
    /// Runs (TREC, MS MARCO, Tevatron, DPR, DuReader, JSON or Parquet); `-` is stdin
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<InputPath>,

    #[command(flatten)]
    answers: AnswerArgs,

    /// Passages of each question in each run, at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    depth: u32,

    #[command(flatten)]
    input: RunInputArgs,

    /// File of the judgments; `-` is stdout
    #[arg(long, short, value_name = "FILE")]
    output: OutputPath,

    #[command(flatten)]
    overwrite: OverwriteArgs,
}

/// Judges.
pub fn run(args: &AnswersArgs, ui: &Ui) -> crate::Result<()> {
    Inputs::files(args.runs.iter().chain(args.answers.files())).check_with(&args.output, ui)?;
    args.overwrite.check(&args.output, JUDGMENTS, is_judgments)?;
    let (questions, _) = args.answers.questions(args.input.skip_bad_lines(), ui)?;
    let mut search = args.answers.search(&questions).for_judgments();
    for path in &args.runs {
        let depth = args.depth as usize;
        let missing = args.answers.add_run(&mut search, path, &questions, depth, &args.input, ui)?;
        warn_of_questions(path, missing, questions.len(), "", ui);
    }
    args.answers.look_into_collection(&mut search, args.input.skip_bad_lines(), ui)?;
    let qrels = search.judgments();
    write_judgments(&args.output, &qrels, ui)?;
    let unjudged = questions.len() - qrels.len();
    if unjudged > 0 {
        let unjudged = counted(unjudged, "question");
        ui.warning(format!(
            "{unjudged} without results in any run: the judgments do not have them, so `toller eval` does not count \
             them; `toller accuracy` does"
        ));
    }

    let grades = || qrels.iter().flat_map(|(_, judged)| judged.values());
    let (pairs, relevant) = (grades().count(), grades().filter(|grade| **grade > 0).count());
    let is_answered =
        |(_, judged): &(_, &indexmap::IndexMap<String, i32>)| judged.values().any(|grade| *grade > 0);
    let answered = qrels.iter().filter(is_answered).count();
    let output = args.output.display().to_string();
    ui.status(format!(
        "{relevant} of {} with an answer, for {answered} of {}, in {output}",
        counted(pairs, "passage"),
        counted(questions.len(), "question"),
    ));
    ui.json(|| {
        json!({
            "output": output,
            "questions": questions.len(),
            "answered": answered,
            "pairs": pairs,
            "relevant": relevant,
        })
    })
}
