//! Reading ahead in stores that do not fit into memory.

use std::fs;
use std::ops::Range;

use toller_store::{Shard, Store};

/// The store's bytes that a scan reads, as places in memory.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    /// Where the shards' files are mapped, in the order of memory, with each shard's number.
    maps: Vec<(Range<usize>, usize)>,
}

impl ReadAhead {
    /// For `rows` of `store`, if they are larger than the `available` memory. The system then reads them
    /// again for every search, and without advice in pieces that are too small. Rows that fit stay in memory,
    /// where advice costs time and gains nothing.
    pub(crate) fn new(store: &Store, rows: &Range<usize>, available: Option<u64>) -> Option<Self> {
        let bytes = (rows.len() * store.dim() * store.dtype().size()) as u64;
        if available.is_none_or(|available| bytes <= available) {
            return None;
        }
        let mut maps: Vec<(Range<usize>, usize)> = Vec::new();
        let shards = store.shards().iter().enumerate();
        for (number, shard) in shards.filter(|(_, shard)| !shard.rows_within(rows).is_empty()) {
            maps.extend(shard.maps().map(|bytes| {
                let start = bytes.as_ptr().addr();
                (start..start + bytes.len(), number)
            }));
        }
        maps.sort_unstable_by_key(|(range, _)| range.start);
        Some(Self { maps })
    }

    /// Asks the system for `bytes`, which are in one of the shards.
    pub(crate) fn will_need(&self, shards: &[Shard], bytes: &[u8]) {
        let start = bytes.as_ptr().addr();
        let next = self.maps.partition_point(|(range, _)| range.start <= start);
        if let Some((range, shard)) = next.checked_sub(1).and_then(|at| self.maps.get(at))
            && range.contains(&start)
            && let Some(shard) = shards.get(*shard)
        {
            shard.will_need(bytes);
        }
    }
}

/// Bytes of memory that this process may still fill, the system's file cache included: what the system has
/// available, or what its control group leaves if that is less. `None` if the system does not say.
#[must_use]
pub fn available_memory() -> Option<u64> {
    let system = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
    });
    let limit = |path: String| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().filter_map(|line| {
        // `0::/path` in version 2, `4:memory:/path` in version 1.
        match line.splitn(3, ':').collect::<Vec<_>>()[..] {
            [_, "", path] => limit(format!("/sys/fs/cgroup{path}/memory.max")),
            [_, "memory", path] => limit(format!("/sys/fs/cgroup/memory{path}/memory.limit_in_bytes")),
            _ => None,
        }
    });
    limits.chain(system).min()
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use toller_store::{
        DType, Encoding, ModelInfo, OpenOptions, Role, Source, Store, StoreSpec, StoreWriter,
    };

    use super::ReadAhead;

    #[test]
    fn only_the_rows_that_are_searched_count() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("store");
        let mut writer = StoreWriter::create_or_resume(
            &path,
            StoreSpec {
                model: ModelInfo { name: "m".to_owned(), fingerprint: "m".to_owned(), passage_encoder: None },
                encoding: Encoding::unknown(Role::Passage, false),
                dim: 8,
                dtype: DType::F32,
                rows_per_shard: 10,
                source: Source { fingerprint: "s".to_owned(), passages: 40 },
                part: None,
            },
        )?;
        for row in 0..40 {
            writer.push(&row.to_string(), &[1.0; 8])?;
        }
        writer.finish()?;
        let store = Store::open(&[path], &OpenOptions::default())?;
        let shards = |rows, available| {
            let read_ahead = ReadAhead::new(&store, &rows, available)?;
            let mut shards: Vec<usize> = read_ahead.maps.iter().map(|(_, shard)| *shard).collect();
            shards.sort_unstable();
            Some(shards)
        };
        let row = 4 * 8;
        assert_eq!(shards(0..40, Some(40 * row - 1)), Some(vec![0, 1, 2, 3]));
        assert_eq!(shards(0..40, Some(40 * row)), None);
        assert_eq!(shards(12..25, Some(40 * row - 1)), None, "a share that fits");
        assert_eq!(shards(12..25, Some(0)), Some(vec![1, 2]));
        assert_eq!(shards(0..40, None), None);
        Ok(())
    }
}
