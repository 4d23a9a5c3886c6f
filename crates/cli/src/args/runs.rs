//! The flags of runs that are read, and reading them.

use std::collections::HashSet;

use rayon::prelude::*;
use toller_corpus::{
    CorpusError, DprResult, QueriesOfFile, ReadOptions, RunFormat, SkipReport, read_dpr_results,
    read_run_and_format,
};
use toller_eval::none_judged;
use toller_files::{Input, expand};
use toller_ir::{Passage, Qrels, Query, Run, RunEntry, Setting};

use super::choice::by_name;
use super::input::BadLinesArgs;
use super::paths::InputPath;
use crate::error::{Context, Remedied};
use crate::ui::Ui;

/// The flag of the format of runs.
const RUN_FORMAT: &str = "--run-format";

/// Runs that are read at the same time where only one at a time is used: more would take memory.
const RUNS_READ_AHEAD: usize = 4;

/// Flags of the commands that read runs.
#[derive(Clone, Debug, clap::Args)]
pub struct RunInputArgs {
    /// Format of the runs [default: detected from the content]
    #[arg(long, value_name = "NAME", value_parser = by_name::<RunFormat>(RunFormat::NAMES))]
    run_format: Option<RunFormat>,

    #[command(flatten)]
    bad_lines: BadLinesArgs,

    /// What is done about a document that a run lists twice for a query
    #[arg(long, value_enum, default_value_t)]
    keep: Keep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Keep {
    /// It is an error
    #[default]
    Unique,
    /// The first line counts, and the others are counted and skipped
    First,
}

impl RunInputArgs {
    /// Whether bad lines are skipped.
    pub fn skip_bad_lines(&self) -> bool {
        self.bad_lines.skip_bad_lines
    }

    fn options(&self) -> ReadOptions<RunFormat> {
        ReadOptions {
            format: self.run_format,
            skip_bad_lines: self.skip_bad_lines(),
            keep_first: self.keep == Keep::First,
            ..ReadOptions::default()
        }
    }

    /// Reads a run.
    pub fn read(&self, path: &InputPath, ui: &Ui) -> crate::Result<Run> {
        Ok(self.read_with_format(path, ui)?.0)
    }

    /// Reads a run, and says which format it has.
    pub fn read_with_format(&self, path: &InputPath, ui: &Ui) -> crate::Result<(Run, RunFormat)> {
        reported(path, read_run_and_format(&path.input(), &self.options()), ui)
    }

    /// Reads runs that are used one at a time, and says which formats they have. Threads read the next ones,
    /// as far as memory allows.
    pub fn read_ahead<'a>(
        &self,
        paths: &'a [InputPath],
        ui: &'a Ui,
    ) -> impl Iterator<Item = crate::Result<(Run, RunFormat)>> + 'a {
        self.read_in_order(paths, RUNS_READ_AHEAD.min(rayon::current_num_threads()), ui)
    }

    /// Reads runs that are held at the same time, on all threads.
    pub fn read_each(&self, paths: &[InputPath], ui: &Ui) -> crate::Result<Vec<Run>> {
        self.read_in_order(paths, paths.len().max(1), ui).map(|read| Ok(read?.0)).collect()
    }

    /// Reads `at_once` runs at the same time. Errors and skipped lines are reported in the order of the runs.
    fn read_in_order<'a>(
        &self,
        paths: &'a [InputPath],
        at_once: usize,
        ui: &'a Ui,
    ) -> impl Iterator<Item = crate::Result<(Run, RunFormat)>> + 'a {
        let options = self.options();
        let read_some = move |paths: &'a [InputPath]| {
            let read = paths.par_iter().map(|path| read_run_and_format(&path.input(), &options));
            let read: Vec<_> = read.collect();
            paths.iter().zip(read).map(move |(path, read)| reported(path, read, ui))
        };
        paths.chunks(at_once).flat_map(read_some)
    }

    /// Reads DPR's results, of a file or of a folder that has a file for each file of questions, and gives
    /// each question to `take`. Returns which questions are whose.
    pub fn read_results(
        &self,
        path: &InputPath,
        ui: &Ui,
        take: impl FnMut(DprResult),
    ) -> crate::Result<Vec<QueriesOfFile>> {
        let (files, skipped) = read_dpr_results(&expand([path])?, &self.options(), take)
            .with_flag(Setting::Format, RUN_FORMAT)?;
        ui.skipped(&format!("{}: ", path.display()), &skipped);
        Ok(files)
    }

    /// Reads a run, or a folder of DPR's results as one run.
    pub fn read_file_or_folder(&self, path: &InputPath, ui: &Ui) -> crate::Result<Run> {
        if !path.is_dir() {
            return self.read(path, ui);
        }
        let mut run = Run::default();
        self.read_results(path, ui, |DprResult { query, passages }| {
            let entry = |(passage, position): (Passage, u32)| RunEntry {
                doc_id: passage.id,
                score: -f64::from(position),
            };
            run.queries.insert(query.id, passages.into_iter().zip(1..).map(entry).collect());
        })?;
        Ok(run)
    }

    /// Reads runs that are used together.
    pub fn read_all(&self, paths: &[InputPath], ui: &Ui) -> crate::Result<Vec<Run>> {
        let runs = self.read_each(paths, ui)?;
        let in_all = runs.iter().flat_map(|run| run.queries.keys()).collect::<HashSet<_>>().len();
        for (at, (path, run)) in paths.iter().zip(&runs).enumerate() {
            let others = || runs.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, run)| run);
            if !run.queries.keys().any(|query| others().any(|other| other.queries.contains_key(query))) {
                let query = run.queries.keys().next().map_or("", String::as_str);
                return Err(Remedied::new(
                    format!(
                        "{} has no query in common with the other runs, for example {query:?}",
                        path.display()
                    ),
                    "fuse runs of the same queries",
                )
                .into());
            }
            if run.queries.len() < in_all {
                let missing = in_all - run.queries.len();
                let name = path.display();
                ui.warning(format!(
                    "{name}: {missing} of {in_all} queries have no results and are fused from the other runs"
                ));
            }
        }
        Ok(runs)
    }
}

/// A run that was read. What was skipped is reported.
fn reported(
    path: &InputPath,
    read: Result<(Run, RunFormat, SkipReport), CorpusError>,
    ui: &Ui,
) -> crate::Result<(Run, RunFormat)> {
    let (run, format, skipped) = read.with_flag(Setting::Format, RUN_FORMAT)?;
    ui.skipped(&format!("{}: ", path.input()), &skipped);
    Ok((run, format))
}

/// Warns of a run and judgments that have no document in common.
pub fn warn_of_none_judged(name: &str, run: &Run, qrels: &Qrels, ui: &Ui) {
    if let Some(found) = none_judged(qrels, run) {
        ui.warning(format!("{name}: {found}"));
    }
}

/// Warns of judged queries that a run has no results for.
pub fn warn_of_missing(name: &str, run: &Run, qrels: &Qrels, ui: &Ui) {
    let missing = qrels.iter().filter(|(query, _)| !run.queries.contains_key(*query)).count();
    if missing > 0 && missing < qrels.len() {
        let judged = qrels.len();
        ui.warning(format!("{name}: {missing} of {judged} judged queries have no results and count as zero"));
    }
}

/// Checks that a run has results for questions. Returns the number of those without results.
pub fn check_questions(path: &InputPath, run: &Run, questions: &[Query]) -> Result<usize, Remedied> {
    let without = questions.iter().filter(|query| !run.queries.contains_key(&query.id)).count();
    if without == questions.len() {
        let query = run.queries.keys().next().map_or("", String::as_str);
        return Err(Remedied::new(
            format!("{} has no results for the questions; it has some for {query:?}", path.display()),
            "give the questions that were searched for, in the same files: without identifiers of their own, \
             questions are numbered by file and row",
        ));
    }
    Ok(without)
}

/// Warns of questions that a run has no results for, and says what that means.
pub fn warn_of_questions(path: &InputPath, missing: usize, all: usize, means: &str, ui: &Ui) {
    if missing > 0 {
        ui.warning(format!("{}: {missing} of {all} questions have no results{means}", path.display()));
    }
}

/// Names of runs, or of their judgments: those of their files, or their paths if two names are equal.
pub fn run_names(paths: &[InputPath]) -> Vec<String> {
    let file_name = |path: &InputPath| path.file_name().map_or(path.as_os_str(), |name| name).to_owned();
    let unique = paths.iter().map(file_name).collect::<HashSet<_>>().len() == paths.len();
    paths
        .iter()
        .map(|path| match path.input() {
            Input::Stdin => "stdin".to_owned(),
            _ if unique => file_name(path).to_string_lossy().into_owned(),
            input => input.to_string(),
        })
        .collect()
}
