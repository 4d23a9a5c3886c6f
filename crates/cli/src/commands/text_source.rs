//! Reading what is encoded or indexed, and reporting on it.

use std::path::Path;

use toller_corpus::ReadOptions;
use toller_engine::{Engine, TextSource};

use crate::args::input::{ColumnArgs, InputArgs};
use crate::args::paths::InputPath;
use crate::ui::Ui;

/// Surveys a collection.
pub fn collection(
    corpus: &[InputPath],
    output: &Path,
    input: &InputArgs,
    columns: &ColumnArgs,
    engine: &Engine,
    ui: &Ui,
) -> crate::Result<TextSource> {
    let options = ReadOptions { columns: columns.names(), ..input.options()? };
    let source = engine.collection(&engine.collection_files(corpus)?, output, &options)?;
    // Better now than after the search.
    if let Some((count, first)) = source.unwritable_ids() {
        ui.warning(format!(
            "{count} identifiers hold white space ({first}): a TREC run of this collection will need \
             `search --tab-separated`"
        ));
    }
    ui.detail(format!("collection: {} passages, fingerprint {}", source.texts(), source.fingerprint()));
    Ok(source)
}

/// Reads queries.
pub fn queries(
    files: &[InputPath],
    input: &InputArgs,
    columns: &ColumnArgs,
    engine: &Engine,
    ui: &Ui,
) -> crate::Result<TextSource> {
    let options = ReadOptions { columns: columns.names(), ..input.options()? };
    let source = engine.queries(&engine.query_files(files)?, &options)?;
    ui.detail(format!("queries: {}, fingerprint {}", source.texts(), source.fingerprint()));
    Ok(source)
}
