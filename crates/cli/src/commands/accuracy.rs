//! `toller accuracy`: whether runs retrieve passages that contain an answer.

use std::collections::HashMap;

use toller_corpus::open_collection;
use toller_datasets::{AnswerSearch, MatchMode};
use toller_eval::{
    Measure, Report, RunReport, check_first_rank_measures, evaluate_first_ranks, ranked_documents,
};
use toller_files::expand;
use toller_ir::{Passage, Query, Setting};

use crate::args::evaluation::{Groups, grouped, measures, read_groups, report_ungrouped};
use crate::args::input::{CORPUS_FORMAT, CollectionArgs, QueriesArgs};
use crate::args::paths::{InputPath, Inputs};
use crate::args::result::ResultArgs;
use crate::args::runs::{RunInputArgs, check_questions, run_names};
use crate::error::{Context, Remedied, UsageError};
use crate::interrupt;
use crate::ui::Ui;

/// Passages that are looked into at a time.
const PASSAGES_PER_BLOCK: usize = 4096;

/// Measures whether runs retrieve passages that contain an answer, as DPR and EntityQuestions do.
///
/// A question is answered at k if the text of one of the first k passages contains one of its answers. A
/// question without results is not answered. The collection is read once, and no text is kept.
#[derive(Debug, clap::Args)]
pub struct AccuracyArgs {
    /// Runs (TREC, MS MARCO or Tevatron); `-` is stdin
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<InputPath>,

    /// Questions with their answers: files or folders of DPR, EntityQuestions or JSONL
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    queries: Vec<InputPath>,

    #[command(flatten)]
    queries_input: QueriesArgs,

    /// Collection, for the texts of the passages
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    corpus: Vec<InputPath>,

    #[command(flatten)]
    collection: CollectionArgs,

    /// How answers are looked for
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    matching: Matching,

    /// Measures, separated by blanks or commas: Success@k, RR and RR@k
    #[arg(long, short, value_name = "LIST", default_value = "Success@1 Success@5 Success@20 Success@100")]
    measures: Vec<String>,

    /// Measure groups of questions too: each line has a question's identifier and the name of its group
    #[arg(long, value_name = "FILE", conflicts_with = "group_by_file")]
    groups: Option<InputPath>,

    /// Measure the questions of each file too: EntityQuestions has a file for each relation
    #[arg(long)]
    group_by_file: bool,

    /// Show the values of each question
    #[arg(long)]
    per_query: bool,

    #[command(flatten)]
    input: RunInputArgs,

    #[command(flatten)]
    result: ResultArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Matching {
    /// As sequences of words, in any case and Unicode form
    #[default]
    String,
    /// As regular expressions, in any case (CuratedTREC)
    Regex,
}

pub fn run(args: &AccuracyArgs, ui: &Ui) -> crate::Result<()> {
    let files = args.runs.iter().chain(&args.queries).chain(&args.corpus).chain(&args.groups);
    Inputs::files(files).check()?;
    let measures = measures(&args.measures)?;
    check_first_rank_measures(&measures).map_err(|error| UsageError::of(&error))?;
    let questions = questions(args, ui)?;
    let groups = match &args.groups {
        Some(file) => Some(read_groups(file)?),
        None => args.group_by_file.then(|| by_file(&questions)),
    };

    let mode = match args.matching {
        Matching::String => MatchMode::Tokens,
        Matching::Regex => MatchMode::Patterns,
    };
    let mut search = AnswerSearch::new(&questions, mode);
    for path in &args.runs {
        add_run(&mut search, path, &questions, &measures, args, ui)?;
    }
    look_into_collection(&mut search, args, ui)?;

    let mut runs = Vec::with_capacity(args.runs.len());
    for (ranks, name) in search.first_ranks().iter().zip(run_names(&args.runs)) {
        let ids = questions.iter().map(|query| query.id.clone());
        let ranks = ids.zip(ranks.iter().map(|rank| rank.map(f64::from))).collect();
        let mut report = RunReport::new(name, evaluate_first_ranks(ranks, &measures)?);
        if let Some(groups) = &groups {
            report.groups = grouped(&report.evaluation, groups)?;
        }
        runs.push(report);
    }
    if let (Some(groups), Some(first)) = (&groups, runs.first()) {
        report_ungrouped(&first.evaluation, groups, ui);
    }
    args.result.write(&Report { runs, comparisons: None }, args.per_query, ui)
}

/// Reads the questions.
fn questions(args: &AccuracyArgs, ui: &Ui) -> crate::Result<Vec<Query>> {
    let files = expand(&args.queries)?;
    if args.group_by_file && files.len() < 2 {
        let message = "--group-by-file needs several files of questions, and there is one";
        return Err(UsageError::new(message, "give --queries several files, or a folder").into());
    }
    let questions = args.queries_input.read(&files, args.input.skip_bad_lines(), ui)?;
    let without = questions.iter().filter(|query| query.answers.is_empty()).count();
    if without == questions.len() {
        let remedy = "give --queries a file with answers: DPR's, EntityQuestions', or JSONL with `answers`";
        return Err(Remedied::new("no question has answers", remedy).into());
    }
    if without > 0 {
        ui.warning(format!(
            "{without} of {} questions have no answers and count as not answered",
            questions.len()
        ));
    }
    Ok(questions)
}

/// The questions by their files: of several files, the beginning of each identifier names the file.
fn by_file(questions: &[Query]) -> Groups {
    let mut groups = Groups::new();
    for query in questions {
        if let Some((file, _)) = query.id.rsplit_once('-') {
            groups.entry(file.to_owned()).or_default().insert(query.id.clone());
        }
    }
    groups
}

/// Adds a run, as deep as the measures look.
fn add_run(
    search: &mut AnswerSearch<'_>,
    path: &InputPath,
    questions: &[Query],
    measures: &[Measure],
    args: &AccuracyArgs,
    ui: &Ui,
) -> crate::Result<()> {
    let run = args.input.read(path, ui)?;
    check_questions(path, &run, questions, ui)?;
    let depths = measures.iter().map(Measure::depth).collect::<Option<Vec<usize>>>();
    let depth = depths.and_then(|depths| depths.into_iter().max()).unwrap_or(usize::MAX);
    let rankings: HashMap<&str, Vec<&str>> = run
        .queries
        .iter()
        .map(|(query, entries)| {
            let ranked = ranked_documents(query, entries)?;
            Ok((query.as_str(), ranked.iter().take(depth).map(|entry| entry.doc_id.as_str()).collect()))
        })
        .collect::<Result<_, toller_eval::EvalError>>()
        .context(format!("cannot evaluate {}", path.input()))?;
    search.add_run(rankings);
    Ok(())
}

/// Reads the collection once.
fn look_into_collection(search: &mut AnswerSearch<'_>, args: &AccuracyArgs, ui: &Ui) -> crate::Result<()> {
    let stop = interrupt::flag(ui, "stopping")?;
    let collection =
        open_collection(&expand(&args.corpus)?, &args.collection.options(args.input.skip_bad_lines()));
    let collection = collection.with_flag(Setting::Format, CORPUS_FORMAT)?;
    let bar = ui.progress("reading", "passages retrieved", search.retrieved() as u64);
    let (mut block, mut found): (Vec<Passage>, usize) = (Vec::with_capacity(PASSAGES_PER_BLOCK), 0);
    for passage in collection {
        let passage = passage?;
        if search.is_retrieved(&passage.id) {
            block.push(passage);
        }
        if block.len() == PASSAGES_PER_BLOCK {
            interrupt::check(&stop, "nothing was measured")?;
            search.look_into(&block);
            found += block.len();
            bar.set(found as u64);
            block.clear();
        }
    }
    search.look_into(&block);
    found += block.len();
    drop(bar);
    let retrieved = search.retrieved();
    if found < retrieved {
        ui.warning(format!(
            "{} of {retrieved} retrieved passages are not in the collection and count as without an answer",
            retrieved - found
        ));
    }
    Ok(())
}
