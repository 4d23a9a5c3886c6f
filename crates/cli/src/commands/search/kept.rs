//! Keeping the hits of each searcher in a run of its own.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use toller_corpus::TrecRunWriter;
use toller_files::{AtomicFile, FileError, commit_together};
use toller_ir::{DocOrd, SearchError, SearchRequest, SearchResponse, Searcher, locked};

use crate::args::run_output::RunOutputArgs;
use crate::error::Remedied;

/// The run of all searchers together.
pub(super) const FIRST_STAGE_RUN: &str = "first-stage.run";
/// The run of an inverted index, before fusion.
pub(super) const SPARSE_RUN: &str = "sparse.run";
/// The run of a dense search, before fusion.
pub(super) const DENSE_RUN: &str = "dense.run";
/// The files that may be written.
pub(in crate::commands) const KEPT_RUNS: [&str; 3] = [FIRST_STAGE_RUN, SPARSE_RUN, DENSE_RUN];

/// Any searcher.
pub(in crate::commands) type AnySearcher = Arc<dyn Searcher>;

/// The runs of searchers in one directory. They appear together, when all are whole.
pub(in crate::commands) struct KeptRuns<'a> {
    /// The directory, and how the command writes runs.
    to: Option<(&'a Path, &'a RunOutputArgs)>,
    runs: Vec<(PathBuf, Arc<Mutex<TrecRunWriter<AtomicFile>>>)>,
}

impl<'a> KeptRuns<'a> {
    /// Keeps nothing.
    pub(in crate::commands) fn none() -> Self {
        Self { to: None, runs: Vec::new() }
    }

    /// Keeps runs in a directory, which is created if it does not exist.
    pub(in crate::commands) fn in_directory(
        directory: &'a Path,
        output: &'a RunOutputArgs,
    ) -> Result<Self, FileError> {
        std::fs::create_dir_all(directory).map_err(FileError::on("create", directory))?;
        Ok(Self { to: Some((directory, output)), runs: Vec::new() })
    }

    /// The searcher; if runs are kept, its hits are written to a file of this name as they are found.
    pub(super) fn keep(&mut self, file: &str, searcher: AnySearcher) -> crate::Result<AnySearcher> {
        let Some((directory, output)) = self.to else { return Ok(searcher) };
        let path = directory.join(file);
        let run = Arc::new(Mutex::new(output.writer(AtomicFile::create(&path)?, &path)?));
        self.runs.push((path, run.clone()));
        Ok(Arc::new(Kept { searcher, run }))
    }

    /// Commits the runs, once every searcher is dropped.
    pub(in crate::commands) fn commit(self) -> crate::Result<()> {
        let mut complete = Vec::new();
        for (path, run) in self.runs {
            let still_written =
                || Remedied::without_remedy(format!("{} is still being written", path.display()));
            let run = Arc::into_inner(run).ok_or_else(still_written)?;
            complete.push(run.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?.complete()?);
        }
        Ok(commit_together(complete)?)
    }
}

/// A searcher that writes its hits to a run. Its queries come block by block, in the order of the run.
struct Kept {
    searcher: AnySearcher,
    run: Arc<Mutex<TrecRunWriter<AtomicFile>>>,
}

impl Searcher for Kept {
    fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResponse, SearchError> {
        let response = self.searcher.search(request)?;
        let mut run = locked(&self.run);
        run.write_rankings(request.queries, &response.rankings, &*self.searcher)?;
        Ok(response)
    }

    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        self.searcher.doc_id(doc)
    }

    fn doc_count(&self) -> usize {
        self.searcher.doc_count()
    }

    fn queries_at_once(&self) -> Option<usize> {
        self.searcher.queries_at_once()
    }
}
