//! Runs in a folder, compared as `toller report` and `toller diff` compare them.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use toller_corpus::{ReadOptions, read_run};
use toller_eval::{EvalOptions, Measure, Test};
use toller_files::{FileError, Input};
use toller_ir::{Explain, Qrels, Run};
use toller_report::{Analyst, Choice, Contrast, ContrastOptions, Report, ReportOptions, Texts, Wanted};

use crate::failure::{Failure, Reason};

/// The runs of a folder, with the judgments that measure them. Files are found and read when they are asked
/// for, so a run that was written a moment ago is there.
pub struct Runs {
    folder: PathBuf,
    judgments: String,
    qrels: Qrels,
    queries: HashMap<String, String>,
    /// Comparisons have the runs in memory: one at a time.
    turn: Arc<Semaphore>,
}

/// A run of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunFile {
    pub(crate) name: String,
    pub(crate) bytes: u64,
}

/// What is compared, and how much of it is shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// The baseline first.
    pub(crate) runs: Vec<String>,
    pub(crate) measures: Vec<Measure>,
    /// Queries of each run: as many losses and as many gains.
    pub(crate) queries: usize,
    /// Documents of each ranking.
    pub(crate) documents: usize,
    /// The lowest relevant grade.
    pub(crate) relevance_level: u32,
}

impl Runs {
    /// The runs in `folder`, measured by `qrels`, which are called `judgments`; `queries` has texts by
    /// identifier.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn open(
        folder: PathBuf,
        judgments: String,
        qrels: Qrels,
        queries: HashMap<String, String>,
    ) -> Result<Self, FileError> {
        let runs = Self { folder, judgments, qrels, queries, turn: Arc::new(Semaphore::new(1)) };
        runs.files()?;
        Ok(runs)
    }

    pub(crate) fn judgments(&self) -> (&str, usize) {
        (&self.judgments, self.qrels.len())
    }

    /// The files of the folder by name, hidden ones left out.
    pub(crate) fn files(&self) -> Result<Vec<RunFile>, FileError> {
        let failed = || FileError::on("read", &self.folder);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            // A link counts as what it leads to; a file that was removed meanwhile is not there.
            let Ok(about) = fs::metadata(entry.path()) else { continue };
            let Ok(name) = entry.file_name().into_string() else { continue };
            if about.is_file() && !name.starts_with('.') {
                files.push(RunFile { name, bytes: about.len() });
            }
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    }

    /// Waits until no other comparison is made.
    pub(crate) async fn turn(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, Failure> {
        match tokio::time::timeout_at(deadline.into(), self.turn.clone().acquire_owned()).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => {
                Err(Failure::new(Reason::Timeout, "other comparisons took until the deadline"))
            }
        }
    }

    /// The report of runs, and the texts that its page shows.
    pub(crate) fn report(
        &self,
        asked: Comparison,
        collection: Option<&toller_texts::Texts>,
    ) -> Result<(Report, Texts), Failure> {
        let options = ReportOptions {
            title: self.judgments.clone(),
            judgments: self.judgments.clone(),
            measures: asked.measures,
            relevance_level: asked.relevance_level,
            test: Test::T,
            queries: asked.queries,
            documents: asked.documents,
            groups: None,
        };
        let mut runs = asked.runs.into_iter();
        let baseline = runs.next().ok_or_else(|| Failure::new(Reason::Empty, "`run` is missing"))?;
        let run = self.read(&baseline)?;
        let mut analyst =
            Analyst::new(&self.qrels, options, baseline, run).map_err(|error| unusable(&error))?;
        for name in runs {
            let run = self.read(&name)?;
            analyst.add(name, &run).map_err(|error| unusable(&error))?;
        }
        let report = analyst.finish().map_err(|error| unusable(&error))?;
        let texts = self.texts(&report.wanted(), collection)?;
        Ok((report, texts))
    }

    /// The queries on which the second of two runs loses or gains most, and their texts.
    pub(crate) fn contrast(
        &self,
        asked: Comparison,
        collection: Option<&toller_texts::Texts>,
    ) -> Result<(Contrast, Texts), Failure> {
        let names: Result<[String; 2], _> = asked.runs.try_into();
        let names = names.map_err(|_| Failure::invalid("`run` has to name two runs"))?;
        let measure = asked.measures.into_iter().next();
        let measure = measure.ok_or_else(|| Failure::new(Reason::Empty, "`measures` is empty"))?;
        let options = ContrastOptions {
            measure,
            choice: Choice::Ends,
            limit: asked.queries,
            documents: asked.documents,
            eval: EvalOptions { relevance_level: asked.relevance_level, ..EvalOptions::default() },
        };
        let [before, after] = [self.read(&names[0])?, self.read(&names[1])?];
        let contrast = Contrast::new(&self.qrels, names, [&before, &after], &options);
        let contrast = contrast.map_err(|error| unusable(&error))?;
        let mut wanted = Wanted::default();
        contrast.want(&mut wanted);
        let texts = self.texts(&wanted, collection)?;
        Ok((contrast, texts))
    }

    fn read(&self, name: &str) -> Result<Run, Failure> {
        let files = self.files().map_err(|error| Failure::of(Reason::Backend, &error))?;
        if !files.iter().any(|file| file.name == name) {
            return Err(Failure::new(Reason::NotFound, format!("there is no run {name:?}")));
        }
        // Messages have the name of the run, not its place.
        let input = Input::Spooled { path: self.folder.join(name), name: name.to_owned() };
        let (run, _) = read_run(&input, &ReadOptions::default()).map_err(|error| unusable(&error))?;
        Ok(run)
    }

    fn texts(&self, wanted: &Wanted<'_>, collection: Option<&toller_texts::Texts>) -> Result<Texts, Failure> {
        let query = |id: &&str| Some(((*id).to_owned(), self.queries.get(*id)?.clone()));
        let mut texts =
            Texts { queries: wanted.queries.iter().filter_map(query).collect(), ..Texts::default() };
        if let Some(collection) = collection {
            let ids: Vec<&str> = wanted.documents.iter().copied().collect();
            let found = collection.get_many(&ids).map_err(|error| Failure::of(Reason::Backend, &error))?;
            let found = found.into_iter().flatten().map(|passage| (passage.id.clone(), passage));
            texts.passages = found.collect();
        }
        Ok(texts)
    }
}

/// A run that cannot be used as asked.
fn unusable(error: &dyn Explain) -> Failure {
    Failure::of(Reason::Invalid, error)
}
