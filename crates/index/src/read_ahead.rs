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
    /// For `store`, if it is larger than the memory that is left. The system then reads the store again for
    /// every search, and without advice in pieces that are too small. A store that fits stays in memory,
    /// where advice costs time and gains nothing.
    pub(crate) fn new(store: &Store) -> Option<Self> {
        let bytes: u64 =
            store.manifests().iter().flat_map(|manifest| &manifest.shards).map(|shard| shard.bytes).sum();
        if available_memory().is_none_or(|available| bytes <= available) {
            return None;
        }
        let mut maps: Vec<(Range<usize>, usize)> = Vec::new();
        for (number, shard) in store.shards().iter().enumerate() {
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
