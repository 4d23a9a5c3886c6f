//! The events of an engine as warnings and progress.

use toller_engine::{Event, Role, Work};
use toller_ir::{Explain, counted};
use toller_sparse::BuildProgress;
use toller_train::BadRecords;

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
        Event::ModelUnconfirmed { reason } => {
            session.warn(format!("the downloaded model is used as it is: {reason}"));
        }
        Event::PoolingAssumed { model } => session.warn(format!(
            "{model} does not define its pooling: the mean is used, as in sentence-transformers; pooling chooses \
             another"
        )),
        Event::BatchesSplit(count) => session.warn(format!(
            "the GPU had too little memory for {count} batches, which were computed in halves; batch_tokens \
             makes batches smaller"
        )),
        Event::UnexpectedTensors { model, count, first } => session.warn(format!(
            "{model}: the architecture has no place for {}, for example {first:?}: without effect",
            counted(count, "tensor")
        )),
        Event::ModelUnchecked => session.warn(
            "the model of imported vectors is unknown: that one model made passages and queries is not checked",
        ),
        Event::TermsFiltered { share } => session.warn(format!(
            "rm3 leaves out {:.0} % of the terms of this index, which have characters other than a to z and 0 \
             to 9; rocchio leaves out none of them",
            share * 100.0
        )),
        Event::CpuChosen(Some(error)) => {
            let hint = error.remedy().map(|remedy| format!("; {remedy}")).unwrap_or_default();
            session.warn(format!("computing on the CPU: {error}{hint}"));
        }
        Event::TextsElsewhere { directory } => session.warn(format!(
            "{} cannot be written; the texts are indexed elsewhere",
            directory.display()
        )),
        Event::TextsOpened(texts) if texts.skipped() > 0 => {
            session.warn(format!("skipped {} of the collection", counted(texts.skipped(), "bad line")));
        }
        Event::Skipped { skipped, .. } => session.skipped(skipped),
        Event::LeftOut(left_out) => left_out.problems().for_each(|problem| session.warn(problem)),
        Event::ExamplesSkipped(BadRecords { count, first }) => {
            session.warn(format!("skipped {}, the first: {first}", counted(*count, "bad record")));
        }
        Event::ExamplesInspected(found) => {
            found.problems().for_each(|problem| session.warn(in_python(&problem)));
        }
        Event::DevQueriesMissing { missing, judged } => session.warn(format!(
            "the dev set counts {missing} of {judged} judged queries as zero, which have no results"
        )),
        Event::CheckpointDamaged(error) => {
            session.warn(format!("{error}; going on from the checkpoint before it"));
        }
        Event::ShardDamaged(damage) => {
            let rows = damage.rows.end - damage.rows.start;
            session.warn(format!("{}; its {rows} rows are written again", damage.error));
        }
        _ => {}
    }
}
