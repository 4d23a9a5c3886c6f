//! `toller data reqa` and `toller data squad`: retrieval from reading comprehension sets.

use std::io::Write;

use serde_json::json;
use toller_datasets::{
    Misplaced, QuestionKey, Reqa, ReqaOptions, SentenceRules, Squad, build_reqa, mark_sentences,
    read_natural_questions, read_squad, write_squad_paragraphs,
};
use toller_files::expand;
use toller_ir::counted;

use super::folder::{self, FolderArgs};
use crate::args::choice::by_name;
use crate::args::paths::InputPath;
use crate::error::UsageError;
use crate::ui::Ui;

/// Build ReQA: questions retrieve the sentences that answer them.
///
/// The input is SQuAD JSON (1.1 or 2) or Natural Questions (JSONL, original or simplified), the output
/// corpus.jsonl, queries.jsonl and qrels.txt, and paragraphs.jsonl and paragraphs.qrels.txt for paragraphs.
/// The field `sentence_breaks`, as XQuAD-R has it, marks the sentences; other paragraphs are split by rules.
#[derive(Clone, Debug, clap::Args)]
pub struct ReqaArgs {
    /// SQuAD JSON, Hugging Face's rows of it, or files and folders of Natural Questions, compressed or not;
    /// `-` is stdin
    #[arg(value_name = "INPUT", required = true)]
    input: Vec<InputPath>,

    #[command(flatten)]
    folder: FolderArgs,

    /// The input is Natural Questions; its sentences are split by the English rules, unless --sentences
    /// names others
    #[arg(long)]
    natural_questions: bool,

    /// Split paragraphs without marked sentences by these rules
    #[arg(long, value_name = "RULES", value_parser = by_name::<SentenceRules>(SentenceRules::NAMES))]
    sentences: Option<SentenceRules>,

    /// Make questions of the same text one query, as the paper does (default: one query for each id)
    #[arg(long)]
    unique_questions: bool,

    /// Make a sentence that a paragraph repeats one candidate, as the paper's script does
    #[arg(long)]
    unique_sentences: bool,
}

/// Build paragraph retrieval: questions retrieve the paragraph that they were asked about.
///
/// The input is SQuAD JSON (1.1 or 2; CMRC 2018, DRCD, JaQuAD and others have this form), or Hugging Face's
/// rows of it (JSONL or Parquet), the output corpus.jsonl, queries.jsonl and qrels.txt.
#[derive(Clone, Debug, clap::Args)]
pub struct SquadArgs {
    /// SQuAD JSON, or Hugging Face's rows of it: files, compressed or not, or folders; `-` is stdin
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<InputPath>,

    #[command(flatten)]
    folder: FolderArgs,

    /// Leave out the titles of articles
    #[arg(long)]
    no_titles: bool,
}

/// Builds paragraphs.
pub fn squad(args: &SquadArgs, ui: &Ui) -> crate::Result<()> {
    let _claim = args.folder.claim(&args.inputs, ui)?;
    let sets = expand(&args.inputs)?.iter().map(read_squad).collect::<Result<Vec<_>, _>>()?;
    let written = write_squad_paragraphs(&sets, !args.no_titles, &args.folder.output)?;
    let (paragraphs, questions) = (written.paragraphs, written.questions);
    let output = args.folder.output.display().to_string();
    ui.status(format!(
        "{} and {} in {output}",
        counted(paragraphs, "paragraph"),
        counted(questions, "question")
    ));
    if written.unanswered > 0 {
        ui.status(format!(
            "{} marked impossible or without an answer, judged as the others",
            counted(written.unanswered, "question")
        ));
    }
    ui.json(|| json!({"output": output, "paragraphs": paragraphs, "questions": questions}))
}

/// Builds sentences.
pub fn reqa(args: &ReqaArgs, ui: &Ui) -> crate::Result<()> {
    let _claim = args.folder.claim(&args.input, ui)?;
    let mut squad = read(args, ui)?;
    let rules = args.sentences.or(args.natural_questions.then_some(SentenceRules::English));
    if let Some(rules) = rules {
        let split = mark_sentences(&mut squad, rules);
        ui.status(format!("split {} into sentences", counted(split, "paragraph")));
    }
    let question_key = if args.unique_questions { QuestionKey::Text } else { QuestionKey::Id };
    let reqa = build_reqa(&squad, &ReqaOptions { question_key, unique_sentences: args.unique_sentences })?;
    reqa.write(&args.folder.output)?;
    report(&reqa, args, ui)
}

/// Reads the input.
fn read(args: &ReqaArgs, ui: &Ui) -> crate::Result<Squad> {
    let inputs = expand(&args.input)?;
    if args.natural_questions {
        let found = read_natural_questions(&inputs)?;
        ui.status(format!(
            "{} of {} questions have one short answer in a paragraph; left out: {} without one, {} whose long answer is \
             not a paragraph",
            found.squad.data.len(),
            found.examples,
            found.without_answer,
            found.outside_paragraph
        ));
        return Ok(found.squad);
    }
    match inputs.as_slice() {
        [input] => Ok(read_squad(input)?),
        _ => {
            Err(UsageError::new("a SQuAD set is one file", "give one file, or add --natural-questions")
                .into())
        }
    }
}

/// Reports what was built and what was left out.
fn report(reqa: &Reqa, args: &ReqaArgs, ui: &Ui) -> crate::Result<()> {
    let judgments: usize = reqa.questions.iter().map(|question| question.answers.len()).sum();
    let (sentences, paragraphs, questions) =
        (reqa.sentences.len(), reqa.paragraphs.len(), reqa.questions.len());
    ui.status(format!(
        "{} of {}, {}, {}\nin {}",
        counted(sentences, "sentence"),
        counted(paragraphs, "paragraph"),
        counted(questions, "question"),
        counted(judgments, "judgment"),
        args.folder.output.display()
    ));
    let skipped = reqa.skipped;
    if skipped.impossible > 0 {
        ui.status(format!("left out {} marked impossible", counted(skipped.impossible, "question")));
    }
    if skipped.unanswered > 0 {
        ui.warning(format!(
            "left out {} without an answer that starts in a sentence",
            counted(skipped.unanswered, "question")
        ));
    }
    if let Misplaced { count, answers, example: Some((question, answer)) } = &reqa.misplaced {
        ui.warning(format!(
            "{count} of {answers} answers do not begin at their answer_start, for example {answer:?} of question '{question}'"
        ));
    }
    let statistics = reqa.statistics();
    let text = |out: &mut dyn Write| out.write_all(folder::text(&statistics).as_bytes());
    let object = || {
        json!({
            "output": args.folder.output.display().to_string(),
            "sentences": sentences,
            "paragraphs": paragraphs,
            "questions": questions,
            "judgments": judgments,
            "skipped": {"impossible": skipped.impossible, "unanswered": skipped.unanswered},
            "statistics": statistics.to_json(),
        })
    };
    ui.show(object, text)
}
