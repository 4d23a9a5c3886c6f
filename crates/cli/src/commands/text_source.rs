//! Reading what is encoded or indexed, and reporting on it.

use std::path::Path;

use toller_corpus::{CollectionFormat, QueryFormat, ReadOptions};
use toller_engine::{Engine, TextSource, beir_corpus, query_files};
use toller_files::is_data_below;
use toller_ir::{Setting, counted};

use crate::args::input::{CORPUS_FORMAT, with_query_flags};
use crate::args::paths::InputPath;
use crate::error::{Context, UsageError};
use crate::interrupt;
use crate::ui::Ui;

/// Refuses an output in a folder that is read: the next command would take its files for texts.
fn check_outside(corpus: &[InputPath], output: &Path) -> Result<(), UsageError> {
    let holds = |folder: &&InputPath| beir_corpus(folder).is_none() && is_data_below(folder, output);
    let Some(folder) = corpus.iter().find(holds) else { return Ok(()) };
    let (output, folder) = (output.display(), folder.display());
    Err(UsageError::new(
        format!("--output {output} lies in {folder}, whose files are all read as the collection"),
        "give --output a folder elsewhere, or name the files of the collection",
    ))
}

/// Surveys a collection.
pub fn collection(
    corpus: &[InputPath],
    output: &Path,
    reading: &ReadOptions<CollectionFormat>,
    engine: &Engine,
    ui: &Ui,
) -> crate::Result<TextSource> {
    check_outside(corpus, output)?;
    let files = engine.collection_files(corpus)?;
    // A survey may take minutes.
    let source = interrupt::at_once(|| engine.collection(&files, output, reading))?;
    let source = source.with_flag(Setting::Format, CORPUS_FORMAT)?;
    // Better now than after the search.
    if let Some((count, first)) = source.spaced_ids() {
        ui.warning(format!(
            "{} with white space ({first}): a TREC run of this collection will need \
             `search --tab-separated`, whose columns are separated only by tabs",
            counted(*count, "identifier")
        ));
    }
    ui.detail(format!(
        "collection: {}, fingerprint {}",
        counted(source.texts(), "passage"),
        source.fingerprint()
    ));
    Ok(source)
}

/// Reads queries.
pub fn queries(
    files: &[InputPath],
    reading: &ReadOptions<QueryFormat>,
    engine: &Engine,
    ui: &Ui,
) -> crate::Result<TextSource> {
    let source = with_query_flags(engine.queries(&query_files(files)?, reading))?;
    ui.detail(format!("queries: {}, fingerprint {}", source.texts(), source.fingerprint()));
    Ok(source)
}
