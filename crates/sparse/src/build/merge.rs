//! Runs become the dictionary and the lists.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::path::Path;

use fst::MapBuilder;
use toller_files::FileError;

use super::output::OutputFile;
use super::run::SortedRuns;
use crate::SparseError;
use crate::postings::ListEncoder;

/// Terms between two calls of `on_progress`.
const PROGRESS_TERMS: u64 = 1 << 12;

/// Writes the terms of all runs, each with the postings of all; returns the dictionary's file and the number of terms. `on_progress` is called with
/// the number of postings merged so far, and stops the work with an error.
pub(super) fn merge(
    runs: &SortedRuns,
    codes: &[u8],
    terms: OutputFile,
    postings: &mut OutputFile,
    mut on_progress: impl FnMut(u64) -> Result<(), SparseError>,
) -> Result<(OutputFile, u64), SparseError> {
    let mut readers = runs.readers();
    // The term that each reader is at, and the reader: equal terms come in the order of their documents.
    let mut heap = BinaryHeap::with_capacity(readers.len());
    for (place, reader) in readers.iter_mut().enumerate() {
        if reader.advance().is_some() {
            heap.push(Reverse((reader.term().to_vec(), place)));
        }
    }
    let path = terms.path().to_owned();
    let dictionary_error = |error| dictionary_error(&path, error);
    let mut dictionary = MapBuilder::new(terms).map_err(dictionary_error)?;
    let (mut encoder, mut record) = (ListEncoder::new(), Vec::new());
    let (mut count, mut done) = (0_u64, 0);
    let mut at: Vec<u8> = Vec::new();
    while let Some(Reverse((term, _))) = heap.peek() {
        at.clone_from(term);
        while let Some(mut top) = heap.peek_mut() {
            let Reverse((term, place)) = &mut *top;
            if *term != at {
                break;
            }
            let reader = &mut readers[*place];
            reader.for_each(|posting| {
                encoder.push(posting, codes);
                done += 1;
            });
            if reader.advance().is_some() {
                term.clear();
                term.extend_from_slice(reader.term());
            } else {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
        record.clear();
        encoder.finish(codes, &mut record);
        dictionary.insert(&at, postings.bytes()).map_err(dictionary_error)?;
        postings.write_all(&record).map_err(|error| postings.failed(error))?;
        count += 1;
        if count.is_multiple_of(PROGRESS_TERMS) {
            on_progress(done)?;
        }
    }
    on_progress(done)?;
    Ok((dictionary.into_inner().map_err(dictionary_error)?, count))
}

/// The dictionary's own errors are those of writing its file: terms come in order, each once.
fn dictionary_error(path: &Path, error: fst::Error) -> SparseError {
    let source = match error {
        fst::Error::Io(error) => error,
        fst::Error::Fst(error) => io::Error::other(error),
    };
    FileError::new("write", path, source).into()
}
