//! What a model that ranks passages learns from, from its options.

use std::path::PathBuf;
use std::sync::Arc;

use toller_corpus::{CollectionFormat, QueryFormat, ReadOptions};
use toller_engine::{TextFiles, TrainingData, collection_files, query_files};

use super::args::RankingArgs;
use super::dev;
use crate::args::paths::InputPath;
use crate::args::qrels::read_judgments;
use crate::error::UsageError;
use crate::ui::Ui;

/// The examples and the dev set.
pub fn data(args: &RankingArgs, ui: &Ui) -> crate::Result<TrainingData> {
    let qrels =
        args.qrels.as_ref().map(|qrels| read_judgments(qrels, None, args.skip_bad_lines, ui)).transpose()?;
    Ok(TrainingData {
        data: InputPath::all(&args.data),
        queries: args.queries.as_ref().map(|path| queries(path, args.skip_bad_lines)).transpose()?,
        corpus: collection(&args.corpus, args.skip_bad_lines)?,
        qrels: qrels.map(Arc::new),
        qrels_file: args.qrels.as_ref().map(PathBuf::from),
        negatives: args.negatives.as_ref().map(PathBuf::from),
        relevance_level: args.relevance_level,
        skip_bad_lines: args.skip_bad_lines,
        dev: dev::ranked(args, ui)?,
    })
}

/// Refuses data that can be read only once: a run reads them several times.
pub fn check_data<'a>(paths: impl IntoIterator<Item = &'a InputPath>) -> Result<(), UsageError> {
    match paths.into_iter().find(|path| path.input().reads_once()) {
        None => Ok(()),
        Some(once) => Err(UsageError::new(
            format!("training data are read several times, and {} can be read only once", once.input()),
            "save it as a file first; compressed files are read as they are",
        )),
    }
}

/// A file or a folder of queries.
pub fn queries(path: &InputPath, skip_bad_lines: bool) -> crate::Result<TextFiles<QueryFormat>> {
    let reading = ReadOptions { skip_bad_lines, ..ReadOptions::default() };
    let paths = std::slice::from_ref(path);
    Ok(TextFiles::new(paths, query_files(paths)?, reading))
}

/// A collection, if there is one.
pub fn collection(
    paths: &[InputPath],
    skip_bad_lines: bool,
) -> crate::Result<Option<TextFiles<CollectionFormat>>> {
    if paths.is_empty() {
        return Ok(None);
    }
    let reading = ReadOptions { skip_bad_lines, ..ReadOptions::default() };
    Ok(Some(TextFiles::new(paths, collection_files(paths)?, reading)))
}
