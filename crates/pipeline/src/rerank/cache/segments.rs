//! The files of a score cache.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use toller_files::{
    AtomicFile, DirectoryLock, ExternalSort, FileError, SortedEntries, names_in, open_regular,
    remove_unfinished, unfinished,
};

use super::record::{PairKey, Record};
use crate::rerank::error::RerankError;

/// Where scores are appended.
pub(super) const LOG: &str = "scores.log";

/// More segments than this are merged into one.
pub(super) const MOST_SEGMENTS: usize = 8;

/// Sorted records in memory maps.
#[derive(Debug, Default)]
pub(super) struct Segments(Vec<(PathBuf, Mmap)>);

impl Segments {
    /// Opens the segments in `directory`, which is locked; the log becomes a segment.
    pub(super) fn open(directory: &Path) -> Result<Self, RerankError> {
        remove_unfinished(directory, is_ours)?;
        let mut numbers: Vec<u64> =
            names_in(directory)?.iter().filter_map(|name| segment_number(name)).collect();
        numbers.sort_unstable();
        let path = |number: u64| directory.join(segment_name(number));
        let mut segments = Self::default();
        for number in &numbers {
            segments.0.push((path(*number), map(&path(*number))?));
        }
        let next = numbers.last().map_or(1, |last| last + 1);
        let log = directory.join(LOG);
        let logged = log.exists().then(|| map(&log)).transpose()?.filter(|map| !map.is_empty());
        let merges = segments.0.len() + usize::from(logged.is_some()) > MOST_SEGMENTS;
        if logged.is_some() || merges {
            let mut sort = ExternalSort::default();
            let merged: &[(PathBuf, Mmap)] = if merges { &segments.0 } else { &[] };
            let all = merged.iter().map(|(_, map)| map).chain(&logged);
            for record in all.flat_map(|map| SortedEntries::new(map).iter()).filter_map(Record::of_entry) {
                sort.push(record.entry())?;
            }
            write(&path(next), sort)?;
            if merges {
                for (old, map) in std::mem::take(&mut segments.0) {
                    drop(map);
                    fs::remove_file(&old).map_err(FileError::on("remove", &old))?;
                }
            }
            segments.0.push((path(next), map(&path(next))?));
        }
        drop(logged);
        if log.exists() {
            // If the process is killed before this, the same records are sorted again.
            fs::remove_file(&log).map_err(FileError::on("remove", &log))?;
        }
        Ok(segments)
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|(_, map)| SortedEntries::new(map).len()).sum()
    }

    pub(super) fn get(&self, key: PairKey) -> Option<f32> {
        // The latest first: it is needed most often.
        self.0.iter().rev().find_map(|(_, map)| {
            let record = Record::of_entry(SortedEntries::new(map).first_from(key.words())?)?;
            (record.key == key).then_some(record.score)
        })
    }
}

/// Writes records in order, each key once.
fn write(path: &Path, records: ExternalSort) -> Result<(), RerankError> {
    let mut file = AtomicFile::create(path)?;
    let mut last = None;
    records.finish(|entry| {
        let record = Record::of_entry(entry).filter(|record| last != Some(record.key));
        let Some(record) = record else { return Ok(()) };
        last = Some(record.key);
        file.write_all(&record.bytes()).map_err(FileError::on("write", path))
    })?;
    Ok(file.commit()?)
}

/// Maps a segment, or the log under the lock of the one process that would write it.
fn map(path: &Path) -> Result<Mmap, RerankError> {
    let file = open_regular(path).map_err(FileError::on("open", path))?;
    Ok(toller_files::map(&file, path)?)
}

/// Checks that a directory holds nothing but a score cache.
pub(super) fn check(directory: &Path) -> Result<(), RerankError> {
    let foreign = names_in(directory)?.into_iter().find(|name| !is_ours(unfinished(name).unwrap_or(name)));
    foreign.map_or(Ok(()), |entry| Err(RerankError::DirectoryInUse { path: directory.to_owned(), entry }))
}

fn is_ours(name: &str) -> bool {
    name == LOG || name == DirectoryLock::FILE || segment_number(name).is_some()
}

fn segment_name(number: u64) -> String {
    format!("segment-{number:05}.bin")
}

/// The number of a segment, from its name as [`segment_name`] writes it.
fn segment_number(name: &str) -> Option<u64> {
    let number = name.strip_prefix("segment-")?.strip_suffix(".bin")?.parse().ok()?;
    (segment_name(number) == name).then_some(number)
}
