//! Making an index: one streaming pass over the collection.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::Ordering;

use toller_corpus::{CollectionFormat, Fingerprinter, Progress, ReadOptions, open_collection, survey};
use toller_files::{AtomicFile, ExternalSort, FileError, Input, ListedFileWriter, SortEntry};

use crate::TextsError;
use crate::frames::FrameWriter;
use crate::ids::{self, IdHash, Place};
use crate::manifest::{FORMAT, FRAMES, FileEntry, IDS, MANIFEST, Manifest, OFFSETS, Source};

/// What is reported while texts are opened.
#[derive(Clone, Copy, Debug)]
pub enum TextsEvent<'a> {
    /// An index is about to be built: there is none, or the present one cannot be used.
    Building {
        /// The directory.
        directory: &'a Path,
        /// What is wrong with the present index, if there is one.
        instead_of: Option<&'a str>,
    },
    /// Another process is writing the index, and is waited for.
    Waiting {
        /// The directory.
        directory: &'a Path,
    },
    /// A directory cannot be written, so that the index is made elsewhere.
    Elsewhere {
        /// That directory.
        directory: &'a Path,
    },
    /// How far the index is.
    Progress(Progress),
    /// The index is built.
    Built {
        /// Its passages.
        passages: u64,
        /// Its bytes.
        bytes: u64,
    },
}

/// Passages between two reports of progress.
const PROGRESS_PASSAGES: u64 = 4096;

/// Builds the index of `inputs`, which `sources` describes, in `directory`, which is locked.
pub(crate) fn build(
    directory: &Path,
    inputs: &[Input],
    sources: Vec<Source>,
    options: &ReadOptions<CollectionFormat>,
    on_event: &mut dyn FnMut(TextsEvent<'_>),
) -> Result<Manifest, TextsError> {
    // From here on the old index cannot be opened.
    let old = directory.join(MANIFEST);
    match fs::remove_file(&old) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(FileError::new("remove", old, error).into());
        }
        _ => {}
    }
    let mut manifest = Manifest::new(sources, options);
    let frames_path = directory.join(FRAMES);
    let frames_failed = |error| FileError::new("write", &frames_path, error);
    let mut frames = FrameWriter::new(AtomicFile::create(&frames_path)?);
    let mut entries = ExternalSort::default();
    let mut fingerprinter = Fingerprinter::new();
    let mut reader = open_collection(inputs, options)?;
    let mut read = 0;
    while let Some(passage) = reader.next().transpose()? {
        fingerprinter.push(&passage);
        let file = reader.location().input;
        let (position, length) = match reader.record() {
            Some(record) => {
                manifest.sources[file as usize].layout = Some(record.layout);
                let length = record.bytes.end - record.bytes.start;
                // A record is no longer than the longest line that is accepted.
                (record.bytes.start, u32::try_from(length).unwrap_or(u32::MAX))
            }
            None => frames.push(&passage).map_err(frames_failed)?,
        };
        entries.push(ids::entry(&passage.id, Place { file, position, length }))?;
        read += 1;
        if read % PROGRESS_PASSAGES == 0 {
            on_event(TextsEvent::Progress(Progress {
                passages: read,
                bytes: reader.bytes_read().load(Ordering::Relaxed),
                total_bytes: reader.total_bytes(),
            }));
        }
    }
    let (frames, offsets) = frames.finish().map_err(frames_failed)?;
    manifest.frames_bytes = offsets.last().copied().unwrap_or_default();
    manifest.fingerprint = fingerprinter.finish().to_string();

    let written = write_entries(&directory.join(IDS), entries)?;
    if written.duplicates > 0 && !options.skip_bad_lines {
        return Err(duplicate(inputs, options));
    }
    manifest.passages = read - written.duplicates;
    manifest.skipped = reader.skipped().total() + written.duplicates;
    manifest.ids = written.file;
    manifest.offsets = write_words(&directory.join(OFFSETS), &offsets)?;
    // The largest file is the last, so that little is left where a disk is full.
    frames.commit()?;
    FORMAT.write(&directory.join(MANIFEST), &manifest)?;
    let bytes = manifest.ids.bytes + manifest.offsets.bytes + manifest.frames_bytes;
    on_event(TextsEvent::Built { passages: manifest.passages, bytes });
    Ok(manifest)
}

struct Written {
    file: FileEntry,
    /// Passages whose identifier an earlier passage has.
    duplicates: u64,
}

/// Writes entries in order; of equal identifiers, the first in the collection.
fn write_entries(path: &Path, entries: ExternalSort) -> Result<Written, TextsError> {
    let mut file = ListedFileWriter::create(path)?;
    let mut duplicates = 0;
    let mut pending: Option<SortEntry> = None;
    entries.finish(|entry| {
        match &mut pending {
            Some(first) if IdHash::of_entry(first) == IdHash::of_entry(&entry) => {
                duplicates += 1;
                // The last word of an entry is in the order of the collection.
                if entry[2] < first[2] {
                    *first = entry;
                }
                Ok(())
            }
            _ => pending.replace(entry).map_or(Ok(()), |before| append(&mut file, &before)),
        }
    })?;
    if let Some(last) = pending {
        append(&mut file, &last)?;
    }
    Ok(Written { file: file.commit()?.into(), duplicates })
}

fn write_words(path: &Path, words: &[u64]) -> Result<FileEntry, FileError> {
    let mut file = ListedFileWriter::create(path)?;
    words.iter().try_for_each(|word| file.append(&word.to_le_bytes()))?;
    Ok(file.commit()?.into())
}

/// Appends an entry of a sorted file.
fn append(file: &mut ListedFileWriter, entry: &SortEntry) -> Result<(), FileError> {
    file.append(entry.map(u64::to_le_bytes).as_flattened())
}

/// The error of a duplicate identifier. Entries have only hashes, so a survey finds the lines.
fn duplicate(inputs: &[Input], options: &ReadOptions<CollectionFormat>) -> TextsError {
    match survey(inputs, options, |_| {}) {
        Err(error) => error.into(),
        Ok(_) => TextsError::ChangedMeanwhile,
    }
}
