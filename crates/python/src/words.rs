//! The events of an engine as warnings and progress.

use toller_engine::{Event, Role, Work};
use toller_sparse::BuildProgress;

use crate::error::in_python;
use crate::work::Session;

/// Reports an event to a session.
pub(crate) fn in_words(event: &Event<'_>, session: &Session) {
    match *event {
        Event::Progress { work, done, total } => {
            let title = match work {
                Work::Download(file) => file,
                Work::Check => "checking",
                Work::Verify => "verifying",
                Work::Copy => "copying to the device",
                Work::IndexTexts => "indexing texts",
            };
            session.progress(title, done, total);
        }
        Event::Encoding { role, progress, rows } => {
            let title = match role {
                Role::Passage => "encoding passages",
                Role::Query => "encoding queries",
            };
            session.progress(title, progress.rows, Some(rows));
        }
        Event::Indexing { progress, passages } => match progress {
            BuildProgress::Analyzed(done) => session.progress("indexing", done, Some(passages)),
            BuildProgress::Merged(done, all) => session.progress("merging", done, Some(all)),
            BuildProgress::Vectors(done) => session.progress("document vectors", done, Some(passages)),
        },
        Event::TermsFiltered { share } => session.warn(format!(
            "rm3 leaves out {:.0} % of the terms of this index, which have characters other than a to z and 0 \
             to 9; rocchio leaves out none of them",
            share * 100.0
        )),
        Event::TextsElsewhere { directory } => session.warn(format!(
            "{} cannot be written; the texts are indexed elsewhere",
            directory.display()
        )),
        Event::Skipped { skipped, .. } => session.skipped(skipped),
        _ => {}
    }
    event.warnings().iter().for_each(|warning| session.warn(in_python(warning)));
}
