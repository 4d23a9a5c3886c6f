//! Reading ahead in stores that do not fit into memory.

use std::fs;
use std::ops::Range;
use std::path::Path;

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
/// available, or the limit of its control groups if that is less. `None` if the system does not say.
#[must_use]
pub fn available_memory() -> Option<u64> {
    let system = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
    });
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    least_limit(Path::new("/sys/fs/cgroup"), &groups).into_iter().chain(system).min()
}

/// The least memory limit of the control groups that `groups` lists, as /proc/self/cgroup does, and of those
/// around them: Slurm limits a job, and its steps are groups in the job's. `root` holds the groups' files.
fn least_limit(root: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        // `0::/path` in version 2, `4:memory:/path` in version 1.
        let (root, file, path) = match line.splitn(3, ':').collect::<Vec<_>>()[..] {
            [_, "", path] => (root.to_owned(), "memory.max", path),
            [_, kinds, path] if kinds.split(',').any(|kind| kind == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes", path)
            }
            _ => return Vec::new(),
        };
        let limit =
            |group: &Path| fs::read_to_string(root.join(group).join(file)).ok()?.trim().parse::<u64>().ok();
        Path::new(path.trim_start_matches('/')).ancestors().filter_map(limit).collect::<Vec<_>>()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use toller_store::{
        DType, Encoding, ModelInfo, OpenOptions, Role, Source, Store, StoreSpec, StoreWriter,
    };

    use super::{ReadAhead, least_limit};

    #[test]
    fn the_least_limit_of_all_control_groups_counts() -> Result<(), Box<dyn Error>> {
        let root = tempfile::tempdir()?;
        let write = |group: &str, file: &str, limit: &str| {
            let folder = root.path().join(group);
            std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(folder.join(file), limit))
        };
        write("job/step/task", "memory.max", "max\n")?;
        write("job", "memory.max", "1000\n")?;
        assert_eq!(least_limit(root.path(), "0::/job/step/task\n"), Some(1000));
        write("job/step", "memory.max", "700\n")?;
        assert_eq!(least_limit(root.path(), "0::/job/step/task\n"), Some(700));
        assert_eq!(least_limit(root.path(), "0::/other\n"), None);
        write("memory/job", "memory.limit_in_bytes", "500\n")?;
        assert_eq!(least_limit(root.path(), "4:cpu:/job\n3:memory:/job/step\n"), Some(500));
        Ok(())
    }

    #[test]
    fn only_the_rows_that_are_searched_count() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("store");
        let mut writer = StoreWriter::create_or_resume(
            &path,
            StoreSpec {
                model: ModelInfo::new("m", "m"),
                encoding: Encoding::unknown(Role::Passage, false),
                dim: 8,
                content: DType::F32.into(),
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
