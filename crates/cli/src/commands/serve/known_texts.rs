//! Whether the collection has what is searched.

use toller_engine::{DocOrd, Searcher};
use toller_texts::Texts;

use crate::ui::Ui;

/// Documents that are looked up.
const SAMPLE: usize = 100;

/// Warns if texts of some documents, evenly spread, are missing: their hits would have no title and no text.
pub(super) fn check(flag: &str, searched: &dyn Searcher, texts: &Texts, ui: &Ui) {
    let documents = searched.doc_count();
    let sampled = documents.min(SAMPLE);
    let is_missing = |place: &usize| {
        let document = place * documents / sampled;
        u32::try_from(document).is_ok_and(|document| !texts.contains(&searched.doc_id(DocOrd(document))))
    };
    let missing = (0..sampled).filter(is_missing).count();
    if missing > 0 {
        ui.warning(format!(
            "--corpus does not have {missing} of {sampled} documents of {flag} that were looked up: hits will miss \
             their titles and texts; give the collection that {flag} was made from"
        ));
    }
}
