//! The time of `toller eval` as a whole command, from a run of 6,980 queries with 1,000 documents each to the
//! table, and of pytrec_eval on the same files in the same process group. They take turns.
//!
//!     cargo bench --bench evaluate -- [ROUNDS]

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its results")]

#[path = "support/peer.rs"]
mod peer;

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use peer::Peer;
use toller_bench::Timings;

/// As many as MS MARCO's development queries.
const QUERIES: u64 = 6_980;
const DEPTH: u64 = 1_000;
const MEASURES: &str = "nDCG@10 RR AP R@100 R@1000";

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(5_usize);
    let folder = tempfile::tempdir()?;
    let (qrels, run) = (folder.path().join("qrels.txt"), folder.path().join("run.txt"));
    write_files(&qrels, &run)?;
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let mut peer = Peer::start("evaluate.py", &[&path(&qrels), &path(&run)]);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let begun = Instant::now();
        let mut command = Command::new(env!("CARGO_BIN_EXE_toller"));
        command.args(["eval", "--measures", MEASURES, "--format", "csv", "--digits", "12", "--qrels"]);
        let output = command.arg(&qrels).arg(&run).output()?;
        ours.push(begun.elapsed().as_secs_f64());
        let text = String::from_utf8(output.stdout)?;
        let ap = text.lines().last().and_then(|line| line.split(',').nth(4)).ok_or("no value")?.to_owned();
        if let Some(answer) = peer.as_mut().and_then(|peer| peer.ask("go")) {
            let (seconds, their_ap) = answer.split_once(' ').ok_or("no two numbers")?;
            theirs.push(seconds.parse()?);
            let (ap, their_ap): (f64, f64) = (ap.parse()?, their_ap.parse()?);
            assert!((ap - their_ap).abs() < 1e-9, "AP is {ap}, and pytrec_eval's {their_ap}");
        }
    }
    let ours = Timings::new(ours).ok_or("no rounds")?.median();
    println!("{QUERIES} queries x {DEPTH} documents, median of {rounds} rounds");
    println!("toller eval   {ours:.2} s");
    if let Some(theirs) = Timings::new(theirs) {
        let theirs = theirs.median();
        println!("pytrec_eval   {theirs:.2} s, {:.1} times as long", theirs / ours);
    }
    Ok(())
}

/// A run of documents drawn from 8.8 million, and one or two relevant documents for each query.
fn write_files(qrels: &Path, run: &Path) -> std::io::Result<()> {
    let (mut qrels, mut run) = (BufWriter::new(File::create(qrels)?), BufWriter::new(File::create(run)?));
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for query in (0..QUERIES).map(|query| 1_000_000 + 13 * query) {
        // A step without a common divisor with the number of documents repeats none.
        let (first, relevant) = (random(8_841_823), random(DEPTH));
        for rank in 0..DEPTH {
            let document = (first + rank * 104_729) % 8_841_823;
            let score = 90.0 - rank as f64 * 0.031 - random(1000) as f64 * 1e-5;
            writeln!(run, "{query} Q0 {document} {} {score:.6} bench", rank + 1)?;
            if rank == relevant {
                writeln!(qrels, "{query} 0 {document} 1")?;
            }
        }
    }
    qrels.flush()?;
    run.flush()
}
