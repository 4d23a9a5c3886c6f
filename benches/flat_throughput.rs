//! Whether an encode of many short passages stays as fast and as small as it began.
//!
//! `cargo bench --bench flat_throughput -- --model DIR [--passages N] [--texts FILE...] [--threads T]`
//! encodes N / 10 and N passages (1,000,000), each in a process of its own, as `toller encode` does:
//! surveyed, read, tokenized, encoded and written to a store. Passages are 6 to 10 words in a row from the
//! texts of a collection (SciFact's, in the folder that TOLLER_SHARED names). Prints the throughput of each
//! tenth of the job by the clock and by the time that the process had on a CPU (which other programs on the
//! machine disturb less), the last over the first, and both peaks of memory.
#![allow(clippy::print_stdout, missing_docs)]

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::Parser;
use toller_bench::encode::scratch_spec;
use toller_corpus::{ReadOptions, open_collection, survey};
use toller_encoder::{DualEncoder, LoadOptions, Role, TitleMode};
use toller_files::Input;
use toller_pipeline::{EncodeJob, PipelineError};
use toller_store::StoreWriter;

// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Parts of a job whose throughput is reported.
const TENTHS: u64 = 10;

/// Words of a passage, in turn.
const WORDS: std::ops::RangeInclusive<usize> = 6..=10;

/// Measures whether an encode of many short passages stays as fast and as small as it began.
#[derive(Parser)]
struct Options {
    /// The model's directory
    #[arg(long, env = "TOLLER_MINILM")]
    model: PathBuf,

    /// Passages to encode
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(TENTHS..))]
    passages: u64,

    /// Collections whose texts the passages are cut from [default: SciFact]
    #[arg(long)]
    texts: Vec<PathBuf>,

    /// Threads that encode [default: all]
    #[arg(long)]
    threads: Option<usize>,

    /// In the process that encodes: the collection
    #[arg(long, hide = true)]
    encode: Option<PathBuf>,
}

/// Writes `count` short passages cut from the texts, in turn and from the start again.
fn write_collection(path: &Path, texts: &[PathBuf], count: u64) -> Result<(), Box<dyn Error>> {
    let inputs: Vec<Input> = texts.iter().map(Input::parse).collect();
    let mut words = Vec::new();
    for passage in open_collection(&inputs, &ReadOptions::default())? {
        words.extend(passage?.text.split_whitespace().map(str::to_owned));
    }
    if words.len() < *WORDS.end() {
        return Err("the texts have too few words".into());
    }
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut next = 0;
    for (row, length) in (0..count).zip(WORDS.cycle()) {
        if next + length > words.len() {
            next = 0;
        }
        let text = words[next..next + length].join(" ");
        writeln!(file, "{}", serde_json::json!({ "_id": row.to_string(), "text": text }))?;
        next += length;
    }
    Ok(file.flush()?)
}

/// Peak memory of this process, in MiB; `None` where the system does not report it.
fn peak_memory() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? / 1024.0)
}

/// Seconds that all threads of this process have had on a CPU; `None` where the system does not report it.
fn cpu_secs() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // After the name in brackets: user and system time are the 14th and 15th field of all, in hundredths.
    let mut times = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some((times.next()?.parse::<f64>().ok()? + times.next()?.parse::<f64>().ok()?) / 100.0)
}

/// How far a tenth was when it began.
struct Mark {
    at: Instant,
    cpu_secs: f64,
    rows: u64,
}

impl Mark {
    fn new(rows: u64) -> Self {
        Self { at: Instant::now(), cpu_secs: cpu_secs().unwrap_or(f64::NAN), rows }
    }
}

/// Numbers on a line.
fn line(numbers: &[f64]) -> String {
    numbers.iter().map(|number| format!("{number:.0}")).collect::<Vec<_>>().join(" ")
}

/// Encodes the collection. Prints the rate of each tenth in passages/s, then in passages per CPU second, then
/// the number of tokens, then the peak.
fn encode(options: &Options, threads: usize, collection: &Path) -> Result<(), Box<dyn Error>> {
    let encoder = DualEncoder::load(&options.model, &LoadOptions::default())?;
    let (inputs, read) = (vec![Input::parse(collection)], ReadOptions::default());
    let surveyed = survey(&inputs, &read, |_| {})?;
    let titles = TitleMode::default();
    let spec = scratch_spec(&encoder, surveyed.passages);
    let folder = tempfile::tempdir()?;
    let writer = StoreWriter::create_or_resume(&folder.path().join("store"), spec)?;
    let stop = AtomicBool::new(false);
    let job = EncodeJob {
        encoder: &encoder,
        role: Role::Passage,
        threads,
        stop: &stop,
        drops_current_shard: false,
    };
    let texts = open_collection(&inputs, &read)?.map(|passage| {
        let passage = passage.map_err(PipelineError::from)?;
        let text = titles.text_of(&passage);
        Ok((passage.id, text))
    });
    let (mut rates, mut cpu_rates, mut tenth) = (Vec::new(), Vec::new(), Mark::new(0));
    let report = toller_pipeline::encode(&job, texts, writer, |progress| {
        if progress.rows >= (rates.len() as u64 + 1) * options.passages / TENTHS {
            let now = Mark::new(progress.rows);
            let rows = (now.rows - tenth.rows) as f64;
            rates.push(rows / (now.at - tenth.at).as_secs_f64());
            cpu_rates.push(rows / (now.cpu_secs - tenth.cpu_secs));
            tenth = now;
        }
    })?;
    println!("{}\n{}", line(&rates), line(&cpu_rates));
    println!("{}", report.tokens);
    println!("{:.1}", peak_memory().unwrap_or(f64::NAN));
    Ok(())
}

/// Encodes `passages` in a process of its own, and prints a row; returns the peak in MiB.
fn run(options: &Options, threads: usize, passages: u64, folder: &Path) -> Result<f64, Box<dyn Error>> {
    let collection = folder.join(format!("{passages}.jsonl"));
    write_collection(&collection, &options.texts, passages)?;
    let child = Command::new(std::env::current_exe()?)
        .args(["--passages", &passages.to_string(), "--threads", &threads.to_string()])
        .arg("--model")
        .arg(&options.model)
        .arg("--encode")
        .arg(&collection)
        .stderr(std::process::Stdio::inherit())
        .output()?;
    fs::remove_file(&collection)?;
    if !child.status.success() {
        return Err(format!("the process that encodes failed: {}", child.status).into());
    }
    let said = String::from_utf8(child.stdout)?;
    let mut lines = said.lines();
    let mut rates = || -> Result<Vec<f64>, Box<dyn Error>> {
        Ok(lines.next().unwrap_or("").split(' ').map(str::parse).collect::<Result<_, _>>()?)
    };
    let (rates, cpu_rates) = (rates()?, rates()?);
    let tokens: f64 = lines.next().ok_or("no number of tokens")?.parse()?;
    let peak: f64 = lines.next().ok_or("no peak of memory")?.parse()?;
    let last_over_first = |rates: &[f64]| Some(rates.last()? / rates.first()?);
    let (by_clock, by_cpu) = (last_over_first(&rates), last_over_first(&cpu_rates));
    println!(
        "| {passages} | {:.1} | {} | {:.3} | {} | {:.3} | {peak:.0} |",
        tokens / passages as f64,
        line(&rates),
        by_clock.ok_or("no rates")?,
        line(&cpu_rates),
        by_cpu.ok_or("no rates")?,
    );
    Ok(peak)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = Options::parse_from(std::env::args().filter(|argument| argument != "--bench"));
    if options.texts.is_empty() {
        options.texts.push(toller_testing::shared_path("data/scifact/corpus.jsonl.gz"));
    }
    let threads = options.threads.unwrap_or(std::thread::available_parallelism()?.get());
    if let Some(collection) = &options.encode {
        return encode(&options, threads, collection);
    }
    let folder = tempfile::tempdir()?;
    println!("{}, {} threads, f32", toller_simd::Isa::active(), threads);
    println!(
        "| passages | tokens each | passages/s of each tenth | last / first | per CPU second | last / first | peak MiB |"
    );
    println!("|--:|--:|--|--:|--|--:|--:|");
    let few = run(&options, threads, options.passages / TENTHS, folder.path())?;
    let many = run(&options, threads, options.passages, folder.path())?;
    println!("\npeak memory of all over that of a tenth: {:.3}", many / few);
    Ok(())
}
