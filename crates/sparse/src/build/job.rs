//! The stages of a build.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use toller_files::{FileError, OpenOptions};

use super::chunk::{Chunk, Chunks};
use super::directory::Claimed;
use super::invert::{Inverted, Inverter};
use super::merge::merge;
use super::output::OutputFile;
use super::run::Runs;
use super::vectors::write_vectors;
use crate::SparseError;
use crate::dictionary::DictionaryWriter;
use crate::fingerprint::analyzer_info;
use crate::index::{
    IDS, IdsWriter, LENGTHS, Manifest, POSTINGS, Source, SparseIndex, TERMS, VECTORS, write_lengths,
};
use crate::score::Statistics;
use toller_analysis::Analyzer;

/// What to build, and with what.
pub struct BuildJob<'a> {
    /// Makes the terms.
    pub analyzer: &'a Analyzer,
    /// What is indexed.
    pub source: Source,
    /// Whether the index keeps the terms of each document, for feedback.
    pub doc_vectors: bool,
    /// Bytes of memory to do with, beside 5 bytes a document and the list of one term.
    pub memory_bytes: usize,
    /// Threads that analyze. One more reads.
    pub threads: usize,
    /// Whether an index that is there is replaced.
    pub overwrite: bool,
    /// Set from outside to stop; nothing is left of the work then.
    pub stop: &'a AtomicBool,
}

/// How far a build is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildProgress {
    /// Documents analyzed so far.
    Analyzed(u64),
    /// Postings merged so far, of so many.
    Merged(u64, u64),
    /// Documents whose vectors are written.
    Vectors(u64),
}

/// What a build did.
#[derive(Clone, Debug)]
pub struct BuildReport {
    /// The manifest of the index.
    pub manifest: Manifest,
    /// How long it took; nothing, if the index was there already.
    pub duration: Duration,
}

/// The share of the memory that the sorted runs may have: one in so many. The others are the chunks' and the inverters'.
const RUNS_SHARE: usize = 2;

/// A thread has a chunk in work and half of another waiting, and inverting takes up to six times the text.
const CHUNK_SHARE: usize = 16;

/// Larger chunks make no better runs, but their terms fall out of the cache.
const MOST_CHUNK_BYTES: usize = 16 << 20;

/// Indexes `documents` (identifier and text) in `output`, unless an index of the same is there.
///
/// # Errors
/// The first error in the order of the documents, errors of files, or an index of something else in `output`; the directory
/// is then left without one, or with the one that was there.
pub fn build<E: From<SparseError> + Send>(
    output: &Path,
    job: &BuildJob<'_>,
    documents: impl Iterator<Item = Result<(String, String), E>> + Send,
    mut on_progress: impl FnMut(BuildProgress),
) -> Result<BuildReport, E> {
    let started = Instant::now();
    let analyzer = analyzer_info(job.analyzer);
    let claimed = Claimed::new(output)?;
    if !job.overwrite
        && let Some(manifest) = Manifest::read(output)?
    {
        return match difference(&manifest, job) {
            Some(difference) => Err(SparseError::Exists { path: output.to_owned(), difference }.into()),
            None => {
                // Whether its files are there, and as long as they should be.
                let index = SparseIndex::map(output, manifest, &unverified())?;
                // Of a replacement that was killed.
                claimed.remove_leftovers(index.manifest())?;
                Ok(BuildReport { manifest: index.manifest().clone(), duration: Duration::ZERO })
            }
        };
    }
    let ids = OutputFile::create(output, IDS)?;
    let inverted = stages(output, job, documents, ids, |done| on_progress(BuildProgress::Analyzed(done)))?;
    let statistics = |terms| Statistics {
        docs: inverted.lengths.len() as u64,
        docs_with_terms: inverted.lengths.iter().filter(|&&length| length > 0).count() as u64,
        tokens: inverted.lengths.iter().map(|&length| u64::from(length)).sum(),
        terms,
        postings: inverted.postings,
    };
    let mut lengths = OutputFile::create(output, LENGTHS)?;
    let codes = write_lengths(&inverted.lengths, &mut lengths).map_err(|error| lengths.failed(error))?;
    let (mut terms, mut postings) =
        (OutputFile::create(output, TERMS)?, OutputFile::create(output, POSTINGS)?);
    let mut dictionary = DictionaryWriter::new(output)?;
    let go_on = || if job.stop.load(Ordering::Relaxed) { Err(SparseError::Interrupted) } else { Ok(()) };
    let runs = inverted.runs.finish()?;
    merge(&runs, &codes, &mut dictionary, &mut postings, |done| {
        on_progress(BuildProgress::Merged(done, inverted.postings));
        go_on()
    })?;
    drop(runs);
    let term_count = dictionary.terms();
    let path = terms.path().to_owned();
    let failed = |error| FileError::new("write", &path, error).into();
    dictionary.finish(codes.len() as u32, &mut terms, failed, go_on)?;

    // From here on the directory holds no index, until it holds the new one.
    claimed.remove_manifest()?;
    let mut files = Vec::new();
    for file in [terms, postings, lengths, inverted.ids] {
        files.push(file.commit()?);
    }
    let statistics = statistics(term_count);
    let mut manifest = Manifest { analyzer, source: job.source.clone(), statistics, files };
    if job.doc_vectors {
        let index = SparseIndex::map(output, manifest.clone(), &unverified())?;
        let file = OutputFile::create(output, VECTORS)?;
        let file = write_vectors(&index, file, job.memory_bytes, |done| {
            on_progress(BuildProgress::Vectors(done));
            go_on()
        })?;
        manifest.files.push(file.commit()?);
    }
    claimed.remove_leftovers(&manifest)?;
    manifest.write(output)?;
    Ok(BuildReport { manifest, duration: started.elapsed() })
}

/// What this process has just written needs no check.
fn unverified() -> OpenOptions<'static> {
    OpenOptions { verify: false, progress: None }
}

/// In what an index differs from what is asked for.
fn difference(manifest: &Manifest, job: &BuildJob<'_>) -> Option<String> {
    let analyzer = analyzer_info(job.analyzer);
    let vectors = |has: bool| if has { "with document vectors" } else { "without document vectors" };
    let has_vectors = manifest.file(VECTORS).is_some();
    let differs =
        |what: &str, there: &str, asked: &str| format!("its {what} is {there}, asked for is {asked}");
    if manifest.analyzer.name != analyzer.name {
        Some(differs("analyzer", &manifest.analyzer.name, &analyzer.name))
    } else if manifest.analyzer != analyzer {
        Some("its analyzer has worked otherwise".to_owned())
    } else if manifest.source.title_separator != job.source.title_separator {
        let quoted = |separator: &str| format!("{separator:?}");
        let (there, asked) = (&manifest.source.title_separator, &job.source.title_separator);
        Some(differs("title separator", &quoted(there), &quoted(asked)))
    } else if manifest.source != job.source {
        Some("its collection has another fingerprint".to_owned())
    } else if has_vectors != job.doc_vectors {
        Some(format!("it is {}, asked for is one {}", vectors(has_vectors), vectors(job.doc_vectors)))
    } else {
        None
    }
}

/// A collection, inverted.
struct Collected {
    runs: Runs,
    lengths: Vec<u32>,
    postings: u64,
    ids: OutputFile,
}

/// A chunk's place, and what has become of it.
type Outcome<E> = (usize, Result<Inverted, E>);

/// Reads, analyzes and inverts all documents.
fn stages<E: From<SparseError> + Send>(
    output: &Path,
    job: &BuildJob<'_>,
    documents: impl Iterator<Item = Result<(String, String), E>> + Send,
    ids: OutputFile,
    mut on_progress: impl FnMut(u64),
) -> Result<Collected, E> {
    let threads = job.threads.max(1);
    let chunk_bytes = (job.memory_bytes / (CHUNK_SHARE * threads)).clamp(1, MOST_CHUNK_BYTES);
    let chunks = Chunks::new(documents, chunk_bytes);
    let failed = AtomicBool::new(false);
    let mut runs = Runs::new(output, job.memory_bytes / RUNS_SHARE);
    let (mut lengths, mut postings, mut done) = (Vec::new(), 0, 0);
    let mut error: Option<(usize, E)> = None;
    let ids = std::thread::scope(|scope| {
        let (chunks_in, chunks_out) = bounded(threads.div_ceil(2));
        let (inverted_in, inverted_out) = bounded(threads);
        let (failed, outcomes) = (&failed, inverted_in.clone());
        let reader = scope.spawn(move || read(chunks, ids, job.stop, failed, &chunks_in, &outcomes));
        for _ in 0..threads {
            let (chunks_out, inverted_in) = (chunks_out.clone(), inverted_in.clone());
            scope.spawn(move || work(job.analyzer, &chunks_out, &inverted_in));
        }
        // The stages hold the only ends now.
        drop((chunks_out, inverted_in));
        for (sequence, outcome) in inverted_out {
            let kept = outcome.and_then(|inverted| {
                let first = inverted.run.first as usize;
                let end = first + inverted.lengths.len();
                if lengths.len() < end {
                    lengths.resize(end, 0);
                }
                lengths[first..end].copy_from_slice(&inverted.lengths);
                postings += inverted.postings;
                done += inverted.lengths.len() as u64;
                on_progress(done);
                Ok(runs.push(sequence, inverted.run)?)
            });
            // The first in the order of the documents, not in time. Chunks are handed on in order, so those before
            // a failed one are under way already.
            if let Err(found) = kept
                && error.as_ref().is_none_or(|(first, _)| sequence < *first)
            {
                failed.store(true, Ordering::Relaxed);
                error = Some((sequence, found));
            }
        }
        reader.join()
    });
    match (error, ids) {
        (Some((_, error)), _) => Err(error),
        (None, Ok(ids)) => Ok(Collected { runs, lengths, postings, ids: ids? }),
        (None, Err(_)) => Err(SparseError::WorkerPanicked.into()),
    }
}

/// The first stage: chunks, until they end, fail, or are wanted no more. Writes the identifiers.
fn read<E: From<SparseError>>(
    chunks: impl Iterator<Item = Result<Chunk, E>>,
    ids: OutputFile,
    stop: &AtomicBool,
    failed: &AtomicBool,
    out: &Sender<Chunk>,
    outcomes: &Sender<Outcome<E>>,
) -> Result<OutputFile, SparseError> {
    let mut ids = IdsWriter::new(ids);
    for (sequence, chunk) in chunks.enumerate() {
        let chunk = if stop.load(Ordering::Relaxed) { Err(SparseError::Interrupted.into()) } else { chunk };
        let chunk = chunk.and_then(|chunk| {
            let written = chunk.ids.iter().try_for_each(|id| ids.push(id));
            written.map_err(|error| ids.out().failed(error))?;
            Ok(chunk)
        });
        match chunk {
            Ok(chunk) if !failed.load(Ordering::Relaxed) => {
                if out.send(chunk).is_err() {
                    break;
                }
            }
            Ok(_) => break,
            Err(error) => {
                // It is listened to until this thread and the others have ended.
                let _ = outcomes.send((sequence, Err(error)));
                break;
            }
        }
    }
    ids.finish().map_err(|error| ids.out().failed(error))?;
    Ok(ids.into_out())
}

/// The second stage. A panic becomes an error, so that nobody waits for a chunk that never comes.
fn work<E: From<SparseError>>(analyzer: &Analyzer, from: &Receiver<Chunk>, to: &Sender<Outcome<E>>) {
    let mut inverter = Inverter::new(analyzer.clone());
    for chunk in from {
        let inverted = catch_unwind(AssertUnwindSafe(|| inverter.invert(&chunk)));
        let inverted = inverted.unwrap_or(Err(SparseError::WorkerPanicked)).map_err(E::from);
        if to.send((chunk.sequence, inverted)).is_err() {
            return;
        }
    }
}
