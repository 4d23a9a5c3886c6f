//! Where scores are kept while a run is reranked: in a lasting cache, or next to the output until the run is
//! written.

use std::path::{Path, PathBuf};

use toller_pipeline::rerank::{Reranker, ScoreCache};

use crate::engine::BITS_OF_BATCHES;
use crate::ui::Ui;

/// The suffix of the directory next to an output.
const SUFFIX: &str = ".scores";

/// Where scores are kept.
pub(in crate::commands) enum Journal {
    /// A cache that other jobs share.
    Cache(PathBuf),
    /// Next to the output, until the output is written.
    NextTo(PathBuf),
    /// Nowhere: the output is stdout or a device.
    Nowhere,
}

impl Journal {
    /// The cache, if there is one; else next to the output, if that is a file.
    pub(in crate::commands) fn of(cache: Option<&Path>, output: Option<&Path>) -> Self {
        let is_file = |path: &Path| path.metadata().map_or(true, |found| found.is_file());
        match (cache, output) {
            (Some(cache), _) => Self::Cache(cache.to_owned()),
            (None, Some(output)) if is_file(output) => {
                let mut path = output.as_os_str().to_owned();
                path.push(SUFFIX);
                Self::NextTo(path.into())
            }
            (None, _) => Self::Nowhere,
        }
    }

    /// Opens the scores for a reranker.
    pub(in crate::commands) fn open(
        &self,
        reranker: &Reranker,
        ui: &Ui,
    ) -> crate::Result<Option<ScoreCache>> {
        let path = match self {
            Self::Cache(path) | Self::NextTo(path) => path,
            Self::Nowhere => return Ok(None),
        };
        let cache = ScoreCache::open(path)?;
        if !cache.is_empty() {
            let (scores, path) = (cache.len(), path.display());
            match self {
                Self::NextTo(_) => {
                    ui.status(format!(
                        "{path} has {scores} scores of an interrupted run; those that apply are used"
                    ));
                }
                _ => ui.detail(format!("{path} has {scores} scores")),
            }
            if !reranker.keeps_bits() {
                ui.status(BITS_OF_BATCHES);
            }
        }
        Ok(Some(cache))
    }

    /// How to go on after the work was stopped.
    pub(in crate::commands) fn resume_hint(&self) -> &'static str {
        match self {
            Self::Nowhere => "no score was kept, because the output is stdout and there is no --cache",
            Self::Cache(_) | Self::NextTo(_) => "run the same command again to go on",
        }
    }

    /// The message when the work was stopped after `done` of `all` pairs.
    pub(in crate::commands) fn resume(&self, done: u64, all: u64) -> String {
        format!("{done} of {all} pairs are scored; {}", self.resume_hint())
    }

    /// The work has failed: without a score, nothing of the journal stays.
    pub(in crate::commands) fn abandon(&self, cache: Option<ScoreCache>) {
        if let (Self::NextTo(_), Some(cache)) = (self, cache) {
            // The failure of the work is what is reported.
            let _ = cache.remove_if_unused();
        }
    }

    /// The run is written: scores that were kept only for it are removed.
    pub(in crate::commands) fn end(&self, cache: Option<ScoreCache>) -> crate::Result<()> {
        match (self, cache) {
            (Self::NextTo(_), Some(cache)) => Ok(cache.remove()?),
            _ => Ok(()),
        }
    }
}
