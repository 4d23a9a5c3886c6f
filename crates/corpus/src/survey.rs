//! The first pass over a collection: is it sound, how large is it, and which is it?

use std::sync::atomic::Ordering;

use toller_files::Input;

use crate::collection::{CollectionFormat, CollectionReader, Location, open_collection};
use crate::duplicates::{Duplicate, DuplicateIds};
use crate::error::{BadKind, BadRecord, CorpusError, excerpt};
use crate::fingerprint::{Fingerprint, Fingerprinter};
use crate::options::{ReadOptions, SkipReport};

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
    pub duplicates: Vec<Location>,
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
/// skipped, or the first duplicate if there are more than [`DuplicateIds::CAPACITY`]. Standard input cannot be read twice, so it is refused: check it while it streams, with
/// [`DuplicateIds`] and [`Fingerprinter`].
pub fn survey(
    inputs: &[Input],
    options: &ReadOptions<CollectionFormat>,
    mut on_progress: impl FnMut(Progress),
) -> Result<Survey, CorpusError> {
    if inputs.contains(&Input::Stdin) {
        return Err(CorpusError::Unsupported {
            file: Input::Stdin.to_string(),
            reason: "it can be read only once, and a survey is a pass of its own",
            remedy: "save it as a file first",
        });
    }
    let mut reader = open_collection(inputs, options)?;
    let (mut fingerprinter, mut ids) = (Fingerprinter::new(), DuplicateIds::new());
    let mut passages = 0;
    let progress = |passages, reader: &CollectionReader| Progress {
        passages,
        bytes: reader.bytes_read().load(Ordering::Relaxed),
        total_bytes: reader.total_bytes(),
    };
    while let Some(passage) = reader.next().transpose()? {
        fingerprinter.push(&passage);
        ids.push(&passage.id, reader.location())?;
        passages += 1;
        if passages % PROGRESS_PASSAGES == 0 {
            on_progress(progress(passages, &reader));
        }
    }
    on_progress(progress(passages, &reader));
    let found = ids.finish()?;
    let mut skipped = reader.skipped().clone();
    if let Some(earliest) = found.earliest {
        let bad = duplicate_id(inputs, options, &reader, earliest)?;
        let listed = found.again.len() as u64 == found.count;
        if !options.skip_bad_lines || !listed {
            return Err(CorpusError::Bad(Box::new(bad)));
        }
        skipped.add_many(bad, found.count);
    }
    Ok(Survey {
        passages: passages - found.count,
        fingerprint: fingerprinter.finish(),
        skipped,
        duplicates: found.again,
    })
}

/// The record of a duplicate. The checker keeps hashes, so the identifier is read once more.
fn duplicate_id(
    inputs: &[Input],
    options: &ReadOptions<CollectionFormat>,
    places: &CollectionReader,
    duplicate: Duplicate,
) -> Result<BadRecord, CorpusError> {
    let mut reader = open_collection(inputs, options)?;
    let mut found = "an identifier".to_owned();
    while let Some(passage) = reader.next().transpose()? {
        if reader.location() == duplicate.again {
            found = excerpt(passage.id.as_bytes());
            break;
        }
    }
    let place = places.place(duplicate.again);
    let expected = format!("each identifier once; this one is first in {}", places.place(duplicate.first));
    Ok(BadRecord { place, kind: BadKind::DuplicateId, found, expected })
}
