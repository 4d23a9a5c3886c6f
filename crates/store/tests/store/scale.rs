//! A large store by several processes at once.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "figures of a measurement")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use toller_store::{DEFAULT_ROWS_PER_SHARD, DType, OpenOptions, Store, StoreSpec, StoreWriter, status};

use crate::common::{TestResult, part_of, spec};

/// What a child process writes, as `STORE PART PASSAGES`; unset in the parent.
const CHILD_VARIABLE: &str = "TOLLER_TEST_LARGE_STORE";

const PROCESSES: u32 = 8;
const DIM: usize = 8;

fn large_spec(passages: u64) -> StoreSpec {
    StoreSpec {
        dim: DIM,
        content: DType::F16.into(),
        rows_per_shard: DEFAULT_ROWS_PER_SHARD,
        ..spec(passages)
    }
}

/// A child: not a test of its own, but a process that [`large_store`] starts from this binary. Prints the
/// most memory that it had after its first shards, and at its end, in kilobytes.
#[test]
fn child() -> TestResult {
    let Ok(given) = env::var(CHILD_VARIABLE) else { return Ok(()) };
    let mut words = given.split(' ');
    let mut word = || words.next().ok_or("a word is missing");
    let (store, part, passages) = (PathBuf::from(word()?), word()?.parse()?, word()?.parse()?);
    let mut writer = StoreWriter::create_or_resume(&store, part_of(large_spec(passages), part, PROCESSES)?)?;
    let spec = writer.manifest().spec.clone();
    let mut early = 0;
    for row in 0..spec.expected_rows() {
        let number = spec.part.map_or(0, |part| part.first_row) + row;
        let vector: [f32; DIM] = std::array::from_fn(|column| ((number >> column) & 15) as f32);
        writer.push(&number.to_string(), &vector)?;
        if row == 4 * DEFAULT_ROWS_PER_SHARD as u64 {
            early = peak_kilobytes()?;
        }
    }
    writer.finish()?;
    fs::write(store.join(format!("memory-{part}")), format!("{early} {}", peak_kilobytes()?))?;
    Ok(())
}

fn peak_kilobytes() -> Result<u64, Box<dyn std::error::Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// The most files in one folder.
fn most_files(folder: &Path) -> std::io::Result<usize> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let folders = entries.iter().filter(|entry| entry.path().is_dir());
    let below = folders.map(|entry| most_files(&entry.path())).collect::<Result<Vec<_>, _>>()?;
    Ok(below.into_iter().fold(entries.len(), usize::max))
}

/// Eight processes write a store at once, each in flat memory; the store is ready as soon as the last ends.
fn large_store(passages: u64) -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    let began = Instant::now();
    let children = (1..=PROCESSES).map(|part| {
        Command::new(env::current_exe()?)
            .args(["--exact", "scale::child", "--test-threads", "1"])
            .env(CHILD_VARIABLE, format!("{} {part} {passages}", store.display()))
            .stdout(Stdio::null())
            .spawn()
    });
    for mut child in children.collect::<Result<Vec<_>, _>>()? {
        assert!(child.wait()?.success());
    }
    let writing = began.elapsed();
    let began = Instant::now();
    let found = status(store)?;
    assert_eq!((found.to_do(), found.rows()), (vec![], passages));
    let asking = began.elapsed();
    let began = Instant::now();
    let opened = Store::open(&[store], &OpenOptions { verify: false, progress: None })?;
    let opening = began.elapsed();
    assert_eq!(opened.count() as u64, passages);
    assert_eq!(opened.id(toller_ir::DocOrd(passages as u32 - 1)), (passages - 1).to_string());
    let (mut early, mut late) = (0, 0);
    for part in 1..=PROCESSES {
        let text = fs::read_to_string(store.join(format!("memory-{part}")))?;
        let (at_first, at_last) = text.split_once(' ').ok_or("two numbers")?;
        (early, late) = (early.max(at_first.parse()?), late.max(at_last.parse()?));
    }
    let files = most_files(store)?;
    println!(
        "{passages} rows: written in {writing:.1?}, status in {asking:.1?}, opened in {opening:.1?}, {files} files in a \
         folder, {early} kB at first and {late} kB at most"
    );
    assert!(asking + opening < Duration::from_secs(5), "{asking:?} and {opening:?}");
    assert!(files < 10_000 && late < early + (16 << 10), "{files} files, {early} kB and {late} kB");
    Ok(())
}

#[test]
fn eight_processes_write_a_store_in_flat_memory() -> TestResult {
    large_store(400_000)
}

/// `cargo test --release -p toller-store -- --ignored --nocapture sixty`
#[test]
#[ignore = "writes 2.6 GB"]
fn sixty_million_rows_by_eight_processes() -> TestResult {
    large_store(60_000_000)
}
