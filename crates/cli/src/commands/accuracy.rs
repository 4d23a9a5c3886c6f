//! `toller accuracy`: whether runs retrieve passages that contain an answer.

use toller_corpus::QueriesOfFile;
use toller_engine::query_files;
use toller_eval::{Measure, Report, RunReport, check_first_rank_measures, evaluate_first_ranks};
use toller_ir::Query;

use crate::args::answers::AnswerArgs;
use crate::args::evaluation::{
    Groups, check_group_names, check_grouped, check_runs, evaluated, grouped, measures, read_groups,
};
use crate::args::paths::{InputPath, Inputs};
use crate::args::result::ResultArgs;
use crate::args::runs::{RunInputArgs, run_names};
use crate::error::{Remedied, UsageError};
use crate::ui::Ui;

/// Measures whether runs retrieve passages that contain an answer, as DPR and EntityQuestions do.
///
/// A question is answered at k if the text of one of the first k passages contains one of its answers. A
/// question without results is not answered. The collection is read once, and no text is kept.
#[derive(Debug, clap::Args)]
pub struct AccuracyArgs {
    /// Runs (TREC, MS MARCO, Tevatron, DPR or DuReader); `-` is stdin
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<InputPath>,

    #[command(flatten)]
    answers: AnswerArgs,

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

pub fn run(args: &AccuracyArgs, ui: &Ui) -> crate::Result<()> {
    let files = args.runs.iter().chain(args.answers.files()).chain(&args.groups);
    Inputs::files(files).check()?;
    check_runs(&args.runs)?;
    let measures = measures(&args.measures)?;
    check_first_rank_measures(&measures).map_err(|error| UsageError::of(&error))?;
    let (questions, files) = questions(args, ui)?;
    let groups = match &args.groups {
        Some(file) => Some(read_groups(file)?),
        None if args.group_by_file => Some(by_file(&files, &questions)?),
        None => None,
    };

    groups.iter().try_for_each(check_group_names)?;

    // As deep as the measures look.
    let depths = measures.iter().map(Measure::depth).collect::<Option<Vec<usize>>>();
    let depth = depths.and_then(|depths| depths.into_iter().max()).unwrap_or(usize::MAX);
    let mut search = args.answers.search(&questions);
    for path in &args.runs {
        args.answers.add_run(&mut search, path, &questions, depth, &args.input, ui)?;
    }
    args.answers.look_into_collection(&mut search, args.input.skip_bad_lines(), ui)?;

    let mut runs = Vec::with_capacity(args.runs.len());
    for (ranks, name) in search.first_ranks().iter().zip(run_names(&args.runs)) {
        let ids = questions.iter().map(|query| query.id.clone());
        let ranks = ids.zip(ranks.iter().map(|rank| rank.map(f64::from))).collect();
        let mut report = RunReport::new(name, evaluate_first_ranks(ranks, &measures)?);
        if let Some(groups) = &groups {
            report.groups = grouped(&report.evaluation, groups);
        }
        runs.push(report);
    }
    if let (Some(groups), Some(first)) = (&groups, runs.first()) {
        check_grouped(&evaluated(&first.evaluation), groups, ui)?;
    }
    args.result.write(&Report { runs, comparisons: None }, args.per_query, ui)
}

/// Reads the questions, and which of them are whose.
fn questions(args: &AccuracyArgs, ui: &Ui) -> crate::Result<(Vec<Query>, Vec<QueriesOfFile>)> {
    if args.group_by_file && query_files(&args.answers.queries)?.len() < 2 {
        let message = "--group-by-file needs several files of questions, and there is one";
        return Err(UsageError::new(message, "give --queries several files, or a folder").into());
    }
    args.answers.questions(args.input.skip_bad_lines(), ui)
}

/// The questions of each file.
fn by_file(files: &[QueriesOfFile], questions: &[Query]) -> Result<Groups, Remedied> {
    let mut groups = Groups::new();
    for file in files {
        let of_file = questions.get(file.places.clone()).unwrap_or_default();
        let ids = of_file.iter().map(|query| query.id.clone()).collect();
        if groups.insert(file.name.clone(), ids).is_some() {
            return Err(Remedied::new(
                format!("--group-by-file: two files of --queries are called '{}'", file.name),
                "give them names that differ, or name the groups by --groups",
            ));
        }
    }
    Ok(groups)
}
