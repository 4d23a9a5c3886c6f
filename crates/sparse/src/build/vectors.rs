//! Writing the terms of each document, from the posting lists of a finished index.
//!
//! ```text
//! vectors.bin := (number of terms, (gap of the term's number, frequency - 1) * terms) * documents   (varint)
//!                places of every 16th document (a `Table`)
//! ```
//!
//! Terms are numbered in the order of their bytes. All lists are read once for every part of the collection
//! whose vectors fit in memory together.

use toller_files::ListedFileWriter;

use crate::SparseError;
use crate::coding::packed::Table;
use crate::coding::write_varint;
use crate::dictionary::{Damaged, Entries};
use crate::index::SparseIndex;
use crate::vectors::STRIDE;

/// Bytes of memory for a posting while vectors are put together, sorting included.
const BYTES_A_POSTING: usize = 32;

/// A document, the number of a term, and its frequency there.
type Occurrence = (u32, u64, u32);

/// Writes the vectors of all documents in about `memory_bytes` of memory.
pub(super) fn write_vectors(
    index: &SparseIndex,
    mut file: ListedFileWriter,
    memory_bytes: usize,
    mut on_progress: impl FnMut(u64) -> Result<(), SparseError>,
) -> Result<ListedFileWriter, SparseError> {
    let most = (memory_bytes / BYTES_A_POSTING).max(1) as u64;
    let docs = index.doc_count();
    let (mut places, mut bytes) = (Vec::new(), Vec::new());
    let mut first = 0;
    while first < docs {
        // A document's length is at least the number of its distinct terms.
        let (mut end, mut postings) = (first, 0);
        while end < docs && (end == first || postings + u64::from(index.exact_length(end)) <= most) {
            postings += u64::from(index.exact_length(end));
            end += 1;
        }
        let mut occurrences = part(index, first as u32, end as u32)?;
        // The numbers of the terms stay ascending, since the sort is stable.
        occurrences.sort_by_key(|(doc, ..)| *doc);
        let mut rest = occurrences.as_slice();
        for doc in first..end {
            if doc.is_multiple_of(STRIDE) {
                places.push(file.bytes());
            }
            let (terms, others) = rest.split_at(rest.partition_point(|(of, ..)| *of as usize <= doc));
            rest = others;
            bytes.clear();
            write_varint(terms.len() as u64, &mut bytes);
            let mut before = 0;
            for &(_, number, tf) in terms {
                write_varint(number - before, &mut bytes);
                write_varint(u64::from(tf - 1), &mut bytes);
                before = number;
            }
            file.append(&bytes)?;
        }
        first = end;
        on_progress(first as u64)?;
    }
    bytes.clear();
    Table::write(places.iter().copied(), &mut bytes);
    file.append(&bytes)?;
    Ok(file)
}

/// The occurrences of all terms in the documents from `first` to `end`.
fn part(index: &SparseIndex, first: u32, end: u32) -> Result<Vec<Occurrence>, SparseError> {
    let mut occurrences = Vec::new();
    let mut entries = Entries::new(index.dictionary());
    let mut number = 0;
    while let Some(entry) = entries.advance().map_err(|Damaged| index.damaged_dictionary())? {
        index.term_of(entry)?.for_each_posting(|posting| {
            if (first..end).contains(&posting.doc) {
                occurrences.push((posting.doc, number, posting.tf));
            }
        })?;
        number += 1;
    }
    Ok(occurrences)
}
