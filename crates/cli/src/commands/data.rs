//! `toller data`: benchmarks from the files that their authors publish.

use serde_json::json;
use toller_datasets::{QuestionKey, Reqa, ReqaOptions, build_reqa, read_squad, write_squad_paragraphs};

use crate::args::paths::{InputPath, OutputPath};
use crate::ui::Ui;

#[derive(Clone, Debug, clap::Subcommand)]
pub enum DataCommand {
    Reqa(ReqaArgs),
    Squad(SquadArgs),
}

/// ReQA: questions retrieve the sentences that answer them.
///
/// Reads SQuAD JSON (1.1 or 2) with the field `sentence_breaks`, as XQuAD-R has it, and writes corpus.jsonl,
/// queries.jsonl and qrels.txt, and paragraphs.jsonl and paragraphs.qrels.txt for paragraphs.
#[derive(Clone, Debug, clap::Args)]
pub struct ReqaArgs {
    /// SQuAD JSON, compressed or not; `-` is stdin
    #[arg(value_name = "INPUT")]
    input: InputPath,

    /// The directory to write to
    #[arg(long, short, value_name = "DIR")]
    output: OutputPath,

    /// Make questions of the same text one query, as the paper does (default: one query for each id)
    #[arg(long)]
    unique_questions: bool,
}

/// Paragraph retrieval: questions retrieve the paragraph that they were asked about.
///
/// Reads SQuAD JSON (1.1 or 2; CMRC 2018, DRCD, JaQuAD and others have this form), and writes corpus.jsonl,
/// queries.jsonl and qrels.txt.
#[derive(Clone, Debug, clap::Args)]
pub struct SquadArgs {
    /// SQuAD JSON files, compressed or not; `-` is stdin
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<InputPath>,

    /// The directory to write to
    #[arg(long, short, value_name = "DIR")]
    output: OutputPath,

    /// Leave out the titles of articles
    #[arg(long)]
    no_titles: bool,
}

pub fn run(command: &DataCommand, ui: &Ui) -> crate::Result<()> {
    match command {
        DataCommand::Reqa(args) => reqa(args, ui),
        DataCommand::Squad(args) => squad(args, ui),
    }
}

fn squad(args: &SquadArgs, ui: &Ui) -> crate::Result<()> {
    let sets = args.inputs.iter().map(|path| read_squad(&path.input()));
    let sets = sets.collect::<Result<Vec<_>, _>>()?;
    let written = write_squad_paragraphs(&sets, !args.no_titles, &args.output)?;
    let (paragraphs, questions) = (written.paragraphs, written.questions);
    let output = args.output.display().to_string();
    ui.status(format!("{paragraphs} paragraphs, {questions} questions in {output}"));
    ui.json(|| json!({"output": output, "paragraphs": paragraphs, "questions": questions}))
}

fn reqa(args: &ReqaArgs, ui: &Ui) -> crate::Result<()> {
    let squad = read_squad(&args.input.input())?;
    let question_key = if args.unique_questions { QuestionKey::Text } else { QuestionKey::Id };
    let reqa = build_reqa(&squad, &ReqaOptions { question_key })?;
    reqa.write(&args.output)?;
    report(&reqa, args, ui)
}

/// Reports what was built and what was left out.
fn report(reqa: &Reqa, args: &ReqaArgs, ui: &Ui) -> crate::Result<()> {
    let judgments: usize = reqa.questions.iter().map(|question| question.answers.len()).sum();
    let (sentences, paragraphs, questions) =
        (reqa.sentences.len(), reqa.paragraphs.len(), reqa.questions.len());
    ui.status(format!(
        "{sentences} sentences of {paragraphs} paragraphs, {questions} questions, {judgments} judgments in {}",
        args.output.display()
    ));
    let skipped = reqa.skipped;
    if skipped.impossible > 0 {
        ui.status(format!("left out {} questions that are marked impossible", skipped.impossible));
    }
    if skipped.unanswered > 0 {
        ui.warning(format!(
            "left out {} questions without an answer that starts in a sentence",
            skipped.unanswered
        ));
    }
    ui.json(|| {
        json!({
            "output": args.output.display().to_string(),
            "sentences": sentences,
            "paragraphs": paragraphs,
            "questions": questions,
            "judgments": judgments,
            "skipped": {"impossible": skipped.impossible, "unanswered": skipped.unanswered},
        })
    })
}
