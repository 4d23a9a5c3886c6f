//! The memory of this process.

use std::fs;

/// Bytes of physical memory that this process holds now; `None` if the system does not report them.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::resident_bytes;

    #[test]
    fn memory_that_is_written_counts() {
        let before = resident_bytes().expect("Linux tells");
        let written = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = resident_bytes().expect("Linux tells");
        assert!(after >= before + (48 << 20), "{before} and {after} with {}", written.len());
    }
}
