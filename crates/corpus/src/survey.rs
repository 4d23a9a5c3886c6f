//! The first pass over a collection: is it sound, how large is it, and which is it?

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use toller_files::{Input, Stamp};

use crate::collection::{CollectionFormat, CollectionReader, Table, open_collection, open_table};
use crate::duplicates::{Duplicate, DuplicateIds};
use crate::error::{BadKind, BadRecord, CorpusError, Place, excerpt};
use crate::fingerprint::{Fingerprint, Fingerprinter};
use crate::locations::Locations;
use crate::options::{ReadOptions, SkipReport};
use crate::run::holds_white_space;

/// What a pass over a whole collection found.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The number of passages, without what was skipped.
    pub passages: u64,
    /// The fingerprint of all well-formed passages; with `skip_bad_lines`, later duplicates included.
    pub fingerprint: Fingerprint,
    /// What was skipped, duplicates included.
    pub skipped: SkipReport,
    /// With `skip_bad_lines`, the later ones of duplicates, for [`CollectionReader::without`]; else empty.
    pub duplicates: Locations,
    /// The size and age of each input, for regular files; a later pass gives them to
    /// [`reopen_collection`](crate::reopen_collection).
    pub stamps: Vec<Option<Stamp>>,
    /// The number of passages (later duplicates included) whose identifiers hold white space inside. A
    /// [`TrecRunWriter`](crate::TrecRunWriter) needs tabs between its columns for them, so warn before the
    /// search.
    pub spaced_ids: u64,
    /// The first of these.
    pub first_spaced_id: Option<SpacedId>,
    /// Whether passages had vectors that were not read ([`CollectionReader::has_vectors`]).
    pub has_vectors: bool,
}

/// An identifier that a TREC run can hold only between tabs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpacedId {
    /// The identifier.
    pub id: String,
    /// Where its passage is.
    pub place: Place,
}

impl fmt::Display for SpacedId {
    /// The identifier shortened and quoted, and its place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", excerpt(self.id.as_bytes()), self.place)
    }
}

/// How far a survey is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Passages so far.
    pub passages: u64,
    /// Bytes read so far, as stored.
    pub bytes: u64,
    /// Bytes of all inputs as stored, if they are regular files.
    pub total_bytes: Option<u64>,
}

/// How many passages go by between two calls of `on_progress`.
const PROGRESS_PASSAGES: u64 = 4096;

/// Reads a collection once from end to end: checks every record, counts them, finds duplicate identifiers (in
/// bounded memory, see [`DuplicateIds`]) and computes the fingerprint. Calls `on_progress` now and then.
///
/// # Errors
/// The first bad record, or the first duplicate with both places; with `skip_bad_lines`, only what cannot be
/// skipped. What can be read only once ([`Input::reads_once`]) is refused, since a survey is a pass of its
/// own: [`toller_files::spool`] it first.
pub fn survey(
    inputs: &[Input],
    options: &ReadOptions<CollectionFormat>,
    on_progress: impl FnMut(Progress),
) -> Result<Survey, CorpusError> {
    if let Some(once) = inputs.iter().find(|input| input.reads_once()) {
        return Err(CorpusError::Unsupported {
            file: once.to_string(),
            reason: "it can be read only once, and a survey is a pass of its own",
            remedy: "save it as a file first".into(),
        });
    }
    survey_of(|| open_collection(inputs, options), options.skip_bad_lines, on_progress)
}

/// [`survey`] of a table in memory.
///
/// # Errors
/// As [`survey`].
pub fn survey_table(
    table: &Arc<dyn Table>,
    options: &ReadOptions<CollectionFormat>,
    on_progress: impl FnMut(Progress),
) -> Result<Survey, CorpusError> {
    survey_of(|| Ok(open_table(Arc::clone(table), options)), options.skip_bad_lines, on_progress)
}

fn survey_of(
    open: impl Fn() -> Result<CollectionReader, CorpusError>,
    skip_bad_lines: bool,
    mut on_progress: impl FnMut(Progress),
) -> Result<Survey, CorpusError> {
    let mut reader = open()?;
    let (mut fingerprinter, mut ids) = (Fingerprinter::new(), DuplicateIds::new());
    let mut passages = 0;
    let (mut spaced_ids, mut first_spaced_id) = (0, None);
    let progress = |passages, reader: &CollectionReader| Progress {
        passages,
        bytes: reader.bytes_read().load(Ordering::Relaxed),
        total_bytes: reader.total_bytes(),
    };
    while let Some(passage) = reader.next().transpose()? {
        fingerprinter.push(&passage);
        ids.push(&passage.id, reader.location())?;
        if holds_white_space(&passage.id) {
            spaced_ids += 1;
            first_spaced_id.get_or_insert_with(|| SpacedId { id: passage.id.clone(), place: reader.place() });
        }
        passages += 1;
        if passages % PROGRESS_PASSAGES == 0 {
            on_progress(progress(passages, &reader));
        }
    }
    on_progress(progress(passages, &reader));
    let found = ids.finish()?;
    let (mut skipped, stamps) = (reader.skipped().clone(), reader.stamps().to_vec());
    if let Some(earliest) = found.earliest {
        let bad = duplicate_id(open()?, earliest)?;
        if !skip_bad_lines {
            return Err(CorpusError::Bad(Box::new(bad)));
        }
        skipped.add_many(bad, found.again.len());
    }
    Ok(Survey {
        passages: passages - found.again.len(),
        fingerprint: fingerprinter.finish(),
        skipped,
        duplicates: found.again,
        stamps,
        spaced_ids,
        first_spaced_id,
        has_vectors: reader.has_vectors(),
    })
}

/// The record of a duplicate. The checker keeps hashes and locations, so the identifier and the two places
/// are read again.
fn duplicate_id(mut reader: CollectionReader, duplicate: Duplicate) -> Result<BadRecord, CorpusError> {
    let mut first = None;
    while let Some(passage) = reader.next().transpose()? {
        if reader.location() == duplicate.first {
            first = Some((passage.id, reader.place()));
        } else if reader.location() == duplicate.again
            && let Some((id, first)) = first.take_if(|(id, _)| *id == passage.id)
        {
            return Ok(BadRecord {
                place: reader.place(),
                kind: BadKind::DuplicateId,
                found: excerpt(id.as_bytes()),
                expected: format!("each identifier once; this one is first in {first}"),
            });
        }
    }
    Err(CorpusError::Unsupported {
        file: reader.name(duplicate.again.input),
        reason: "it changed while it was read",
        remedy: "run the same command again, and leave the file as it is meanwhile".into(),
    })
}
