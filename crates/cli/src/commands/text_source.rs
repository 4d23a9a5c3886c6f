//! Reading what is encoded or indexed, and reporting on it.

use std::path::Path;

use toller_engine::{Engine, TextSource};

use crate::args::input::InputArgs;
use crate::args::paths::InputPath;
use crate::ui::Ui;

/// Surveys a collection.
pub fn collection(
    corpus: &[InputPath],
    output: &Path,
    input: &InputArgs,
    engine: &Engine,
    ui: &Ui,
) -> crate::Result<TextSource> {
    let source = engine.collection(&engine.collection_files(corpus)?, output, &input.options()?)?;
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
    engine: &Engine,
    ui: &Ui,
) -> crate::Result<TextSource> {
    let source = engine.queries(&engine.query_files(files)?, &input.options()?)?;
    ui.detail(format!("queries: {}, fingerprint {}", source.texts(), source.fingerprint()));
    Ok(source)
}

/// Reports what was left out.
pub fn report_skipped(source: &TextSource, ui: &Ui) {
    if source.skipped().total() > 0 {
        ui.warning(source.skipped().to_string());
    }
}
