//! Surveys a collection and prints its size and fingerprint, and how fast and in how much memory it was read:
//! `cargo run --release -p toller-corpus --example survey -- FILE...`

use std::error::Error;
use std::io::{Write, stdout};
use std::time::Instant;

use toller_corpus::{ReadOptions, survey};
use toller_files::{Input, expand};

fn main() -> Result<(), Box<dyn Error>> {
    let inputs = expand(std::env::args_os().skip(1).collect::<Vec<_>>())?;
    let started = Instant::now();
    let found = survey(&inputs, &ReadOptions::default(), |_| {})?;
    let seconds = started.elapsed().as_secs_f64();
    let stored: u64 = inputs.iter().filter_map(Input::size_bytes).sum();
    let mut out = stdout().lock();
    writeln!(out, "{} passages, fingerprint {}", found.passages, found.fingerprint)?;
    writeln!(out, "{seconds:.2} s, {:.0} MB/s as stored", stored as f64 / 1e6 / seconds)?;
    if let Some(peak) = peak_memory() {
        writeln!(out, "peak memory {peak}")?;
    }
    Ok(())
}

/// The most memory that the process had, if the system reports it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map(|peak| peak.trim().to_owned())
}
