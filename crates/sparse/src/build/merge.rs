//! Merging sorted runs into the dictionary and the posting lists.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use toller_files::ListedFileWriter;

use super::sorted_run::SortedRuns;
use crate::SparseError;
use crate::dictionary::{DictionaryEncoder, NewEntry};
use crate::postings::ListEncoder;

/// Terms between two calls of `on_progress`.
const PROGRESS_TERMS: u64 = 1 << 12;

/// Writes the terms and the postings of all runs; returns the number of terms. `on_progress` is called with
/// the number of postings merged so far, and stops the work with an error.
pub(super) fn merge(
    runs: &SortedRuns,
    codes: &[u8],
    terms: &mut ListedFileWriter,
    postings: &mut ListedFileWriter,
    mut on_progress: impl FnMut(u64) -> Result<(), SparseError>,
) -> Result<u64, SparseError> {
    let mut readers = runs.readers();
    // The term and the number of each reader: among equal terms, earlier documents come first.
    let mut heap = BinaryHeap::with_capacity(readers.len());
    for (place, reader) in readers.iter_mut().enumerate() {
        if reader.advance().is_some() {
            heap.push(Reverse((reader.term().to_vec(), place)));
        }
    }
    let mut dictionary = DictionaryEncoder::default();
    let (mut encoder, mut record) = (ListEncoder::new(), Vec::new());
    let mut done = 0;
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
        let entry = match encoder.finish(codes, &mut record) {
            Some(posting) => NewEntry::One(posting),
            None => NewEntry::Record(record.len() as u64),
        };
        terms.append(dictionary.push(&at, entry))?;
        postings.append(&record)?;
        if dictionary.terms().is_multiple_of(PROGRESS_TERMS) {
            on_progress(done)?;
        }
    }
    let count = dictionary.terms();
    terms.append(&dictionary.finish())?;
    on_progress(done)?;
    Ok(count)
}
