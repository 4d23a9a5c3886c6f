//! The partial runs of all shares become the run of one machine.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use toller_corpus::TrecRunWriter;
use toller_ir::Hit;

use crate::{Header, MergeError, PartialRunReader, Record};

/// What was merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The number of shares.
    pub shards: u32,
    /// The number of queries.
    pub queries: u64,
    /// The hits of a query, at most.
    pub k: u64,
    /// The documents that were searched.
    pub documents: u64,
    /// The hits of all queries together.
    pub hits: u64,
}

/// Writes the `k` best hits of all shares for each query: the bytes that a search on one machine writes. One
/// query of each share is in memory.
///
/// # Errors
/// When a share is missing, there twice, damaged or of another search, when the run cannot be written, or
/// once `stop` is set. The run is then not to be used.
pub fn merge<W: Write>(
    paths: &[impl AsRef<Path>],
    run: &mut TrecRunWriter<W>,
    stop: &AtomicBool,
) -> Result<Merged, MergeError> {
    let mut parts = open(paths)?;
    let Header { of, k, queries, documents, .. } = match parts.first() {
        Some(first) => first.header().clone(),
        None => return Err(MergeError::Missing { missing: vec![1], of: 1 }),
    };
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(MergeError::Stopped);
        }
        let mut records = Vec::with_capacity(parts.len());
        for part in &mut parts {
            records.extend(part.next_record()?);
        }
        let Some(first) = records.first() else {
            return Ok(Merged { shards: of, queries, k, documents, hits: run.hits() });
        };
        // As many as there are parts: all have the same number of queries.
        if let Some((other, what)) =
            records.iter().enumerate().find_map(|(at, record)| Some((at, difference(first, record)?)))
        {
            return Err(foreign(parts, other, what));
        }
        let best = best_of(&records, usize::try_from(k).unwrap_or(usize::MAX));
        run.write_query(
            &first.query,
            best.iter().map(|(hit, share, place)| (records[*share].id(*place), hit.score)),
        )?;
    }
}

/// The parts in the order of their shares: all of one search, each once.
fn open(paths: &[impl AsRef<Path>]) -> Result<Vec<PartialRunReader>, MergeError> {
    let mut parts: BTreeMap<u32, PartialRunReader> = BTreeMap::new();
    let mut first: Option<(PathBuf, Header)> = None;
    for path in paths {
        let part = PartialRunReader::open(path.as_ref())?;
        let (first_path, first_header) =
            first.get_or_insert_with(|| (part.path().to_owned(), part.header().clone()));
        let fields = first_header.common().into_iter().zip(part.header().common());
        if let Some(((name, expected), (_, found))) = fields.into_iter().find(|((_, a), (_, b))| a != b) {
            let what = format!("{name}: {expected}, and {found}");
            let (first, second) = (first_path.clone(), part.path().to_owned());
            return Err(MergeError::Foreign { first, second, what });
        }
        let index = part.header().index;
        if let Some(doubled) = parts.get(&index) {
            let (first, second) = (doubled.path().to_owned(), part.path().to_owned());
            return Err(MergeError::Doubled { first, second, index });
        }
        parts.insert(index, part);
    }
    let of = first.map_or(1, |(_, header)| header.of);
    let missing: Vec<u32> = (1..=of).filter(|index| !parts.contains_key(index)).collect();
    if !missing.is_empty() {
        return Err(MergeError::Missing { missing, of });
    }
    Ok(parts.into_values().collect())
}

/// In what two shares of one query differ, except in their hits.
fn difference(first: &Record, other: &Record) -> Option<String> {
    if first.query != other.query {
        return Some(format!("query {:?} in place of {:?}", other.query, first.query));
    }
    let is_same = first.identity == other.identity;
    (!is_same).then(|| format!("query {:?} has another vector, or leaves out other documents", first.query))
}

/// The error that part `other` is of another search than the first, unless one of the two is damaged.
fn foreign(mut parts: Vec<PartialRunReader>, other: usize, what: String) -> MergeError {
    let (first, second) = (parts[0].path().to_owned(), parts[other].path().to_owned());
    for at in [0, other] {
        loop {
            match parts[at].next_record() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => return error.into(),
            }
        }
    }
    MergeError::Foreign { first, second, what }
}

/// The `k` best hits, each with its record's place and its own place in the record.
fn best_of(records: &[Record], k: usize) -> Vec<(Hit, usize, usize)> {
    let placed = records.iter().enumerate().flat_map(|(share, record)| {
        record.hits.iter().enumerate().map(move |(place, hit)| (*hit, share, place))
    });
    let mut best: Vec<_> = placed.collect();
    // The lists are in order: a stable sort merges them. Ordinals differ, so no two hits are equal.
    best.sort_by_key(|(hit, ..)| *hit);
    best.truncate(k);
    best
}
