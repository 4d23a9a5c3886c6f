//! Where scores are kept while a run is reranked: in a cache that stays, or beside the output until the run is there.

use std::path::{Path, PathBuf};

use toller_pipeline::rerank::ScoreCache;

use crate::ui::Ui;

/// What the directory beside an output has appended to the output's name.
const SUFFIX: &str = ".scores";

/// Where scores are kept.
pub(in crate::commands) enum Journal {
    /// A cache that other jobs share.
    Cache(PathBuf),
    /// Beside the output, until that is there.
    Beside(PathBuf),
    /// Nowhere: the output is stdout.
    Nowhere,
}

impl Journal {
    /// The place: the cache, if there is one, else beside the output, if that is a file.
    pub(in crate::commands) fn of(cache: Option<&Path>, output: Option<&Path>) -> Self {
        match (cache, output) {
            (Some(cache), _) => Self::Cache(cache.to_owned()),
            (None, Some(output)) => {
                let mut path = output.as_os_str().to_owned();
                path.push(SUFFIX);
                Self::Beside(path.into())
            }
            (None, None) => Self::Nowhere,
        }
    }

    /// Opens it.
    pub(in crate::commands) fn open(&self, ui: &Ui) -> crate::Result<Option<ScoreCache>> {
        let path = match self {
            Self::Cache(path) | Self::Beside(path) => path,
            Self::Nowhere => return Ok(None),
        };
        let cache = ScoreCache::open(path)?;
        if !cache.is_empty() {
            let (scores, path) = (cache.len(), path.display());
            match self {
                Self::Beside(_) => {
                    ui.status(format!(
                        "{path} has {scores} scores of an interrupted run; those that apply are used"
                    ));
                }
                _ => ui.detail(format!("{path} has {scores} scores")),
            }
        }
        Ok(Some(cache))
    }

    /// What to say when the work was stopped.
    pub(in crate::commands) fn resume_hint(&self) -> &'static str {
        match self {
            Self::Nowhere => "nothing was kept, since the output is stdout and there is no --cache",
            Self::Cache(_) | Self::Beside(_) => "run the same command again to go on",
        }
    }

    /// What to say of `done` pairs of `all` when the work was stopped.
    pub(in crate::commands) fn resume(&self, done: u64, all: u64) -> String {
        format!("{done} of {all} pairs are scored; {}", self.resume_hint())
    }

    /// The run is there: what was kept for it alone goes.
    pub(in crate::commands) fn end(&self, cache: Option<ScoreCache>) -> crate::Result<()> {
        match (self, cache) {
            (Self::Beside(_), Some(cache)) => Ok(cache.remove()?),
            _ => Ok(()),
        }
    }
}
