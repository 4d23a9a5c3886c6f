//! The flags of runs that are compared on the page, and opening them.

use std::path::PathBuf;

use toller_corpus::{ReadOptions, read_qrels, read_queries};
use toller_engine::query_files;
use toller_files::Input;
use toller_ir::AnyError;
use toller_server::Runs;

use crate::args::paths::InputPath;
use crate::args::runs::run_names;
use crate::ui::Ui;

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
    skip_bad_lines: bool,
}

impl RunArgs {
    /// The files that a reload would have to read again.
    pub(super) fn files(&self) -> impl Iterator<Item = (&'static str, &InputPath)> {
        let named = [("--runs", &self.runs), ("--qrels", &self.qrels)];
        let named = named.into_iter().filter_map(|(flag, path)| Some((flag, path.as_ref()?)));
        named.chain(self.queries.iter().map(|path| ("--queries", path)))
    }

    /// The files, if there are runs.
    pub(super) fn paths(&self, skip_bad_lines: bool) -> Option<RunPaths> {
        let (folder, qrels) = (self.runs.as_ref()?, self.qrels.as_ref()?);
        Some(RunPaths {
            folder: folder.to_path_buf(),
            qrels: qrels.input(),
            judgments: run_names(std::slice::from_ref(qrels)).concat(),
            queries: InputPath::all(&self.queries),
            skip_bad_lines,
        })
    }
}

impl RunPaths {
    /// Reads judgments and queries. Runs are read when they are compared; one with a bad line is refused.
    pub(super) fn open(&self, ui: &Ui) -> Result<Runs, AnyError> {
        let skip_bad_lines = self.skip_bad_lines;
        let options = ReadOptions { skip_bad_lines, ..ReadOptions::default() };
        let (qrels, skipped) = read_qrels(&self.qrels, &options)?;
        ui.skipped("--qrels: ", &skipped);
        let queries = match self.queries.as_slice() {
            [] => Vec::new(),
            paths => {
                let options = ReadOptions { skip_bad_lines, ..ReadOptions::default() };
                let (queries, skipped) = read_queries(&query_files(paths)?, &options)?;
                ui.skipped("--queries: ", &skipped);
                queries
            }
        };
        let queries = queries.into_iter().map(|query| (query.id, query.text)).collect();
        Ok(Runs::open(self.folder.clone(), self.judgments.clone(), qrels, queries)?)
    }
}
