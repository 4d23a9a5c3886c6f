//! The flags of runs that are compared on the page, and opening them.

use std::path::PathBuf;

use toller_corpus::{ReadOptions, read_qrels, read_queries};
use toller_engine::query_files;
use toller_files::Input;
use toller_ir::AnyError;
use toller_server::Runs;

use crate::args::paths::InputPath;
use crate::args::runs::run_names;

/// Flags of runs.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct RunArgs {
    /// Folder of runs to compare
    #[arg(long, value_name = "DIR", requires = "qrels")]
    runs: Option<InputPath>,

    /// Relevance judgments (TREC, BEIR TSV, or pairs of ids) of the runs
    #[arg(long, value_name = "FILE", requires = "runs")]
    qrels: Option<InputPath>,

    /// Queries of the runs, for their texts: files or folders of files
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "runs")]
    queries: Vec<InputPath>,
}

/// The files of runs.
pub(super) struct RunPaths {
    folder: PathBuf,
    qrels: Input,
    judgments: String,
    queries: Vec<PathBuf>,
}

impl RunArgs {
    /// The files that a reload would have to read again.
    pub(super) fn files(&self) -> impl Iterator<Item = (&'static str, &InputPath)> {
        let named = [("--runs", &self.runs), ("--qrels", &self.qrels)];
        let named = named.into_iter().filter_map(|(flag, path)| Some((flag, path.as_ref()?)));
        named.chain(self.queries.iter().map(|path| ("--queries", path)))
    }

    /// The files, if there are runs.
    pub(super) fn paths(&self) -> Option<RunPaths> {
        let (folder, qrels) = (self.runs.as_ref()?, self.qrels.as_ref()?);
        Some(RunPaths {
            folder: folder.to_path_buf(),
            qrels: qrels.input(),
            judgments: run_names(std::slice::from_ref(qrels)).concat(),
            queries: InputPath::all(&self.queries),
        })
    }
}

impl RunPaths {
    /// Reads judgments and queries. Runs are read when they are compared.
    pub(super) fn open(&self) -> Result<Runs, AnyError> {
        let (qrels, _) = read_qrels(&self.qrels, &ReadOptions::default())?;
        let queries = match self.queries.as_slice() {
            [] => Vec::new(),
            paths => read_queries(&query_files(paths)?, &ReadOptions::default())?.0,
        };
        let queries = queries.into_iter().map(|query| (query.id, query.text)).collect();
        Ok(Runs::open(self.folder.clone(), self.judgments.clone(), qrels, queries)?)
    }
}
