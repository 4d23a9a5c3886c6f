//! The time of `toller compare` as a whole command, from two runs of 6,980 queries to the p-value of Fisher's
//! randomisation test with 100,000 permutations, and of pytrec_eval with SciPy on the same files. They take
//! turns.
//!
//!     cargo bench --bench compare -- [ROUNDS]

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
use serde_json::Value;
use toller_bench::Timings;

/// As many as MS MARCO's development queries.
const QUERIES: u64 = 6_980;
const DEPTH: u64 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(3_usize);
    let folder = tempfile::tempdir()?;
    let files = ["qrels.txt", "a.run", "b.run"].map(|name| folder.path().join(name));
    write_files(&files)?;
    let names = files.each_ref().map(|file| file.to_string_lossy().into_owned());
    let mut peer = Peer::start("compare.py", &names.each_ref().map(String::as_str));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let [qrels, a, b] = &names;
        let begun = Instant::now();
        let mut command = Command::new(env!("CARGO_BIN_EXE_toller"));
        command
            .args(["compare", "--measures", "RR@10", "--tests", "randomization", "--json", "--qrels", qrels]);
        let output = command.args([a, b]).output()?;
        ours.push(begun.elapsed().as_secs_f64());
        let answer: Value = serde_json::from_slice(&output.stdout)?;
        let p = answer["comparisons"][0]["tests"]["randomization"]["p"].as_f64().ok_or("no p-value")?;
        if let Some(answer) = peer.as_mut().and_then(|peer| peer.ask("go")) {
            let (seconds, their_p) = answer.split_once(' ').ok_or("no two numbers")?;
            theirs.push(seconds.parse()?);
            let their_p: f64 = their_p.parse()?;
            // Both draw 100,000 permutations: this is more than four standard errors of the difference.
            assert!((p - their_p).abs() < 0.01, "p is {p}, and SciPy's {their_p}");
        }
    }
    let ours = Timings::new(ours).ok_or("no rounds")?.median();
    println!("two runs of {QUERIES} queries, 100,000 permutations, median of {rounds} rounds");
    println!("toller compare        {ours:.3} s");
    if let Some(theirs) = Timings::new(theirs) {
        let theirs = theirs.median();
        println!("pytrec_eval + SciPy   {theirs:.3} s, {:.0} times as long", theirs / ours);
    }
    Ok(())
}

/// Judgments, and two runs that rank the relevant document of each query at random.
fn write_files([qrels, a, b]: &[impl AsRef<Path>; 3]) -> std::io::Result<()> {
    let create = |path: &dyn AsRef<Path>| File::create(path).map(BufWriter::new);
    let (mut qrels, mut runs) = (create(qrels)?, [create(a)?, create(b)?]);
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for query in 0..QUERIES {
        writeln!(qrels, "{query} 0 {query}-relevant 1")?;
        for run in &mut runs {
            let relevant = random(DEPTH);
            for rank in 0..DEPTH {
                let name = if rank == relevant { "relevant".to_owned() } else { rank.to_string() };
                writeln!(run, "{query} Q0 {query}-{name} {} {} bench", rank + 1, DEPTH - rank)?;
            }
        }
    }
    qrels.flush()?;
    runs.iter_mut().try_for_each(BufWriter::flush)
}
