//! `toller accuracy`: whether runs retrieve passages that contain an answer.

mod results;

use toller_corpus::QueriesOfFile;
use toller_eval::{Evaluation, Measure, Report, RunReport, evaluate_first_ranks};
use toller_ir::Query;

use crate::args::answers::AnswerArgs;
use crate::args::evaluation::{
    Groups, check_group_names, check_grouped, check_runs, evaluated, grouped, read_groups,
};
use crate::args::measures::{MeasureList, of_all, of_first_rank};
use crate::args::paths::{InputPath, Inputs};
use crate::args::result::ResultArgs;
use crate::args::runs::{RunInputArgs, run_names, warn_of_questions};
use crate::error::{Remedied, UsageError};
use crate::ui::Ui;

/// Measure whether runs retrieve passages that contain an answer.
///
/// As in DPR and EntityQuestions: a question is answered at k if the text of one of the first k passages
/// contains one of its answers. A question without results is not answered. The collection is read once, and
/// no text is kept. DPR's results have questions, answers and texts themselves: without --queries and
/// --corpus, those are taken.
#[derive(Debug, clap::Args)]
pub struct AccuracyArgs {
    /// Runs (TREC, MS MARCO, Tevatron, DPR, DuReader, JSON or Parquet), or folders with DPR's results for
    /// each file of questions; `-` is stdin
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<InputPath>,

    #[command(flatten)]
    answers: AnswerArgs,

    /// Measures, separated by blanks or commas: Success@k, RR and RR@k
    #[arg(long, short, value_name = "LIST", value_parser = of_first_rank, default_value = "Success@1 Success@5 Success@20 Success@100")]
    measures: Vec<MeasureList>,

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

/// Questions, and at which rank each run has a passage with an answer.
struct Answered {
    questions: Vec<Query>,
    /// The questions of each file, if these are measured apart.
    by_file: Option<Groups>,
    runs: Vec<RunRanks>,
}

/// What a run has of the questions.
struct RunRanks {
    /// The rank of each question's first passage with an answer.
    ranks: Vec<Option<u32>>,
    /// Questions without results.
    missing: usize,
}

pub fn run(args: &AccuracyArgs, ui: &Ui) -> crate::Result<()> {
    let files = args.runs.iter().chain(args.answers.files()).chain(&args.groups);
    Inputs::files(files).check()?;
    check_runs(&args.runs)?;
    let measures = of_all(&args.measures);
    let groups = args.groups.as_ref().map(read_groups).transpose()?;

    // As deep as the measures look.
    let depths = measures.iter().map(Measure::depth).collect::<Option<Vec<usize>>>();
    let depth = depths.and_then(|depths| depths.into_iter().max()).unwrap_or(usize::MAX);
    let all = if args.answers.queries.is_empty() {
        results::answered(args, depth, ui)?
    } else {
        vec![answered(args, depth, ui)?]
    };

    let (mut runs, mut names) = (Vec::with_capacity(args.runs.len()), run_names(&args.runs).into_iter());
    for Answered { questions, by_file, runs: answered } in &all {
        let groups = groups.as_ref().or(by_file.as_ref());
        for (RunRanks { ranks, missing }, name) in answered.iter().zip(names.by_ref()) {
            let ids = questions.iter().map(|query| query.id.clone());
            let ranks = ids.zip(ranks.iter().map(|rank| rank.map(f64::from))).collect();
            let evaluation = Evaluation { missing: *missing, ..evaluate_first_ranks(ranks, &measures)? };
            let mut report = RunReport::new(name, evaluation);
            if let Some(groups) = groups {
                report.groups = grouped(&report.evaluation, groups);
                if runs.is_empty() {
                    check_grouped(&evaluated(&report.evaluation), groups, ui)?;
                }
            }
            runs.push(report);
        }
    }
    args.result.write(&Report { runs, comparisons: None }, args.per_query, ui)
}

/// Looks for the answers of the questions in the collection.
fn answered(args: &AccuracyArgs, depth: usize, ui: &Ui) -> crate::Result<Answered> {
    let (questions, files) = args.answers.questions(args.input.skip_bad_lines(), ui)?;
    let by_file = by_file(args, &files, &questions, "--queries")?;
    let mut search = args.answers.search(&questions);
    let mut missing = Vec::with_capacity(args.runs.len());
    for path in &args.runs {
        let without = args.answers.add_run(&mut search, path, &questions, depth, &args.input, ui)?;
        warn_of_questions(path, without, questions.len(), NOT_ANSWERED, ui);
        missing.push(without);
    }
    args.answers.look_into_collection(&mut search, args.input.skip_bad_lines(), ui)?;
    let of_run = |(ranks, missing): (&Vec<Option<u32>>, usize)| RunRanks { ranks: ranks.clone(), missing };
    let runs = search.first_ranks().iter().zip(missing).map(of_run).collect();
    Ok(Answered { questions, by_file, runs })
}

/// What it means that a question has no results.
const NOT_ANSWERED: &str = " and count as not answered";

/// The questions of each file, if they are to be measured apart. `named_by` gave the files.
fn by_file(
    args: &AccuracyArgs,
    files: &[QueriesOfFile],
    questions: &[Query],
    named_by: &str,
) -> crate::Result<Option<Groups>> {
    if !args.group_by_file {
        return Ok(None);
    }
    if files.len() < 2 {
        let message = "--group-by-file needs several files of questions, and there is one";
        return Err(UsageError::new(message, format!("give {named_by} a folder of several files")).into());
    }
    let mut groups = Groups::new();
    for file in files {
        let of_file = questions.get(file.places.clone()).unwrap_or_default();
        let ids = of_file.iter().map(|query| query.id.clone()).collect();
        if groups.insert(file.name.clone(), ids).is_some() {
            let message = format!("--group-by-file: two files of questions are called '{}'", file.name);
            let remedy = "give them names that differ, or name the groups by --groups";
            return Err(Remedied::new(message, remedy).into());
        }
    }
    check_group_names(&groups)?;
    Ok(Some(groups))
}
