//! Scores on disk, for a job that is resumed and for jobs that score the same pairs again.
//!
//! The key of a score is a hash of all that decides it: the model, how it scores, the text of the query and
//! the text of the passage. So jobs can share a cache without knowing each other.
//!
//! New scores are appended to `scores.log`. When a cache is opened, the whole records of the log are sorted
//! into a segment, which is memory-mapped and searched. Segments are merged when there are many. Every record
//! has a checksum: torn or damaged records are ignored, and their scores are computed again.

mod record;
mod segments;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use toller_files::{DirectoryLock, FileError};
use toller_ir::locked;

pub(super) use self::record::PairKey;
use self::record::{RECORD_BYTES, Record};
use self::segments::{LOG, Segments};
use super::error::RerankError;

/// Scores by pair, in a directory that one process at a time uses.
#[derive(Debug)]
pub struct ScoreCache {
    directory: PathBuf,
    segments: Segments,
    log: Mutex<File>,
    lock: DirectoryLock,
}

impl ScoreCache {
    /// Opens the cache in `directory`, which is created if necessary.
    ///
    /// # Errors
    /// When the directory holds something else, another process uses it, or a file cannot be read or written.
    pub fn open(directory: &Path) -> Result<Self, RerankError> {
        segments::check(directory)?;
        let lock =
            DirectoryLock::acquire(directory)?.ok_or_else(|| RerankError::Locked(directory.to_owned()))?;
        let segments = Segments::open(directory)?;
        let path = directory.join(LOG);
        let log = OpenOptions::new().create(true).append(true).open(&path);
        let log = Mutex::new(log.map_err(FileError::on("create", &path))?);
        Ok(Self { directory: directory.to_owned(), segments, log, lock })
    }

    /// The number of scores when the cache was opened.
    #[must_use]
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether there were none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes the cache with all that is in it: a journal whose job is done.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn remove(self) -> Result<(), RerankError> {
        let Self { segments, log, lock, .. } = self;
        drop((segments, log));
        Ok(lock.remove_directory()?)
    }

    /// Removes the cache if no score was ever added: a journal whose job has failed at its beginning.
    ///
    /// # Errors
    /// When a file cannot be read or removed.
    pub fn remove_if_unused(self) -> Result<(), RerankError> {
        let path = self.directory.join(LOG);
        let added = path.metadata().map_err(FileError::on("read", &path))?.len();
        if self.is_empty() && added == 0 { self.remove() } else { Ok(()) }
    }

    /// The score of a pair, if it was there when the cache was opened.
    pub(super) fn get(&self, key: PairKey) -> Option<f32> {
        self.segments.get(key)
    }

    /// Adds scores. They survive the end of the process from here on.
    pub(super) fn append(&self, scores: impl Iterator<Item = (PairKey, f32)>) -> Result<(), RerankError> {
        let mut bytes = Vec::with_capacity(scores.size_hint().0 * RECORD_BYTES);
        for (key, score) in scores {
            bytes.extend_from_slice(&Record { key, score }.bytes());
        }
        // A thread that panicked while it held the log may have torn a record, which is noticed when the log
        // is read.
        let mut log = locked(&self.log);
        let path = || self.directory.join(LOG);
        log.write_all(&bytes).map_err(|error| FileError::new("write", path(), error).into())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::segments::{LOG, MOST_SEGMENTS};
    use super::{PairKey, RECORD_BYTES, RerankError, ScoreCache};

    fn key(number: u64) -> PairKey {
        PairKey::of("model", &number.to_string(), "passage")
    }

    fn fill(cache: &ScoreCache, numbers: std::ops::Range<u64>) -> Result<(), RerankError> {
        cache.append(numbers.map(|number| (key(number), number as f32)))
    }

    #[test]
    fn what_was_appended_is_there_when_opened_again() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let directory = folder.path().join("cache");
        let rounds = 3 * MOST_SEGMENTS as u64;
        for round in 0..rounds {
            let cache = ScoreCache::open(&directory)?;
            assert_eq!(cache.len() as u64, 10 * round);
            for number in 0..10 * rounds {
                let expected = (number < 10 * round).then_some(number as f32);
                assert_eq!(cache.get(key(number)), expected, "{number} in round {round}");
            }
            fill(&cache, 10 * round..10 * round + 10)?;
            assert!(fs::read_dir(&directory)?.count() <= MOST_SEGMENTS + 3);
        }
        ScoreCache::open(&directory)?.remove_if_unused()?;
        assert!(directory.exists());
        ScoreCache::open(&directory)?.remove()?;
        assert!(!directory.exists());
        Ok(())
    }

    #[test]
    fn torn_and_damaged_records_are_none() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let log = folder.path().join(LOG);
        fill(&ScoreCache::open(folder.path())?, 0..5)?;
        let whole = fs::read(&log)?;
        for cut in 0..whole.len() {
            fs::write(&log, &whole[..cut])?;
            let cache = ScoreCache::open(folder.path())?;
            let there: Vec<_> = (0..5).filter(|number| cache.get(key(*number)).is_some()).collect();
            assert_eq!(there, (0..cut as u64 / RECORD_BYTES as u64).collect::<Vec<_>>());
            // What is appended behind a torn tail is found.
            fill(&cache, 5..6)?;
            drop(cache);
            assert_eq!(ScoreCache::open(folder.path())?.get(key(5)), Some(5.0));
            ScoreCache::open(folder.path())?.remove()?;
            fs::create_dir(folder.path())?;
        }
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            fs::write(&log, &damaged)?;
            let cache = ScoreCache::open(folder.path())?;
            for number in 0..5 {
                let expected = (place / RECORD_BYTES != number as usize).then_some(number as f32);
                assert_eq!(cache.get(key(number)), expected, "byte {place}");
            }
            cache.remove()?;
            fs::create_dir(folder.path())?;
        }
        Ok(())
    }

    #[test]
    fn one_process_at_a_time_and_nothing_but_scores() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let cache = ScoreCache::open(folder.path())?;
        assert!(matches!(ScoreCache::open(folder.path()), Err(RerankError::Locked(_))));
        drop(cache);
        fs::File::create(folder.path().join("thesis.txt"))?.write_all(b"do not touch")?;
        assert!(matches!(ScoreCache::open(folder.path()), Err(RerankError::DirectoryInUse { .. })));
        Ok(())
    }
}
