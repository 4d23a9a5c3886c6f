//! A build from beginning to end.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use memmap2::Mmap;
use toller_analysis::Analyzer;
use toller_files::{CompleteListedFile, FileError, ListedFileWriter, OpenOptions};

use super::chunks::{Chunk, Chunks};
use super::directory::Claimed;
use super::invert::{Inverted, Inverter};
use super::merge::merge;
use super::sorted_run::Runs;
use super::vectors::write_vectors;
use crate::SparseError;
use crate::coding::StringsEncoder;
use crate::fingerprint::{analyzer_info, is_same};
use crate::index::{
    FileEntry, IDS, LENGTHS, Manifest, POSTINGS, Source, SparseIndex, TERMS, VECTORS, encode_lengths,
};
use crate::score::Statistics;

/// What to build, and how.
pub struct BuildJob<'a> {
    /// Makes the terms.
    pub analyzer: &'a Analyzer,
    /// What is indexed.
    pub source: Source,
    /// Whether the index keeps the terms of each document, for feedback.
    pub doc_vectors: bool,
    /// Bytes of memory to use, besides 5 bytes for each document and the list of one term.
    pub memory_bytes: usize,
    /// Threads that analyze. Another one reads.
    pub threads: usize,
    /// Whether an existing index is replaced.
    pub overwrite: bool,
    /// Stops the build when it is set; nothing is left of the work then.
    pub stop: &'a AtomicBool,
}

/// How far a build has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildProgress {
    /// Documents analyzed so far.
    Analyzed(u64),
    /// Postings merged so far, and all postings.
    Merged(u64, u64),
    /// Documents whose vectors are written.
    Vectors(u64),
}

/// The result of a build.
#[derive(Clone, Debug)]
pub struct BuildReport {
    /// The manifest of the index.
    pub manifest: Manifest,
    /// How long it took; zero if the index existed already.
    pub duration: Duration,
}

/// A chunk may have one part in this many of a thread's memory: a thread has one chunk in its hands and half
/// a chunk that waits, and inverting takes up to six times the text.
const CHUNK_SHARE: usize = 16;

/// Larger chunks do not make better runs, and their terms fall out of the cache.
const MOST_CHUNK_BYTES: usize = 16 << 20;

/// Indexes `documents` (identifier and text) in `output`, unless it holds an index of the same already.
///
/// # Errors
/// The first error in the order of the documents, errors of files, or an index of something else in `output`.
/// The directory then holds no index, or the one that was there before.
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
        return match difference(&manifest, job.analyzer, &job.source, job.doc_vectors) {
            Some(difference) => Err(SparseError::Exists { path: output.to_owned(), difference }.into()),
            None => {
                // Checks that its files exist and have their lengths.
                let unverified = OpenOptions { verify: false, progress: None };
                let index = SparseIndex::map(output, manifest, &unverified)?;
                // A replacement may have been killed.
                claimed.remove_leftovers(index.manifest())?;
                Ok(BuildReport { manifest: index.manifest().clone(), duration: Duration::ZERO })
            }
        };
    }
    let create = |name: &str| ListedFileWriter::create(&output.join(name)).map_err(SparseError::from);
    let inverted =
        stages(output, job, documents, create(IDS)?, |done| on_progress(BuildProgress::Analyzed(done)))?;
    let (codes, behind) = encode_lengths(&inverted.lengths);
    let mut lengths = create(LENGTHS)?;
    [&codes, &behind].into_iter().try_for_each(|part| lengths.append(part)).map_err(SparseError::from)?;
    let (mut terms, mut postings) = (create(TERMS)?, create(POSTINGS)?);
    let go_on = || if job.stop.load(Ordering::Relaxed) { Err(SparseError::Interrupted) } else { Ok(()) };
    let runs = inverted.runs.finish().map_err(SparseError::from)?;
    let term_count = merge(&runs, &codes, &mut terms, &mut postings, |done| {
        on_progress(BuildProgress::Merged(done, inverted.postings));
        go_on()
    })?;
    drop(runs);
    let statistics = Statistics {
        docs: inverted.lengths.len() as u64,
        docs_with_terms: inverted.lengths.iter().filter(|&&length| length > 0).count() as u64,
        tokens: inverted.lengths.iter().map(|&length| u64::from(length)).sum(),
        terms: term_count,
        postings: inverted.postings,
    };

    let mut files = Vec::new();
    for file in [terms, postings, lengths, inverted.ids] {
        files.push(file.complete().map_err(SparseError::from)?);
    }
    let entries = files.iter().map(entry).collect();
    let mut manifest = Manifest { analyzer, source: job.source.clone(), statistics, files: entries };
    if job.doc_vectors {
        let index = SparseIndex::map_by(output, manifest.clone(), |entry| map_complete(&files, entry))?;
        let vectors = write_vectors(&index, create(VECTORS)?, job.memory_bytes, |done| {
            on_progress(BuildProgress::Vectors(done));
            go_on()
        })?;
        let vectors = vectors.complete().map_err(SparseError::from)?;
        manifest.files.push(entry(&vectors));
        files.push(vectors);
    }

    // All is on the disk. From here on the directory holds no index, until it holds the new one.
    claimed.remove_manifest()?;
    for file in files {
        file.commit().map_err(SparseError::from)?;
    }
    claimed.remove_leftovers(&manifest)?;
    manifest.write(output)?;
    Ok(BuildReport { manifest, duration: started.elapsed() })
}

/// What the manifest says of a file.
fn entry(file: &CompleteListedFile) -> FileEntry {
    file.listed().clone().into()
}

/// Maps the file with this entry, which has its temporary name.
fn map_complete(files: &[CompleteListedFile], of: &FileEntry) -> Result<Mmap, SparseError> {
    match files.iter().find(|file| entry(file) == *of) {
        Some(file) => Ok(file.map()?),
        None => Err(FileError::new("open", &of.file, io::ErrorKind::NotFound.into()).into()),
    }
}

/// Checks, without writing, that the index in `directory` is the one that would be built of its collection.
/// Without an index there is nothing to check.
///
/// # Errors
/// [`SparseError::Exists`], and those of a manifest that cannot be read.
pub fn check_build(
    directory: &Path,
    analyzer: &Analyzer,
    title_separator: Option<&str>,
    doc_vectors: bool,
) -> Result<(), SparseError> {
    let Some(manifest) = Manifest::read(directory)? else { return Ok(()) };
    let source = Source { title_separator: title_separator.map(str::to_owned), ..manifest.source.clone() };
    match difference(&manifest, analyzer, &source, doc_vectors) {
        Some(difference) => Err(SparseError::Exists { path: directory.to_owned(), difference }),
        None => Ok(()),
    }
}

/// How an index differs from the one that is asked for.
fn difference(
    manifest: &Manifest,
    analyzer: &Analyzer,
    source: &Source,
    doc_vectors: bool,
) -> Option<String> {
    let analyzer = analyzer_info(analyzer);
    let vectors = |has: bool| if has { "with document vectors" } else { "without document vectors" };
    let has_vectors = manifest.file(VECTORS).is_some();
    let differs =
        |what: &str, there: &str, asked: &str| format!("its {what} is {there}, asked for is {asked}");
    if !is_same(&manifest.analyzer, &analyzer) {
        Some(match manifest.analyzer.name == analyzer.name {
            true => "its analyzer worked differently".to_owned(),
            false => differs("analyzer", &manifest.analyzer.name, &analyzer.name),
        })
    } else if manifest.source.title_separator != source.title_separator {
        let quoted = |separator: &Option<String>| match separator {
            Some(separator) => format!("{separator:?}"),
            None => "none (titles are left out)".to_owned(),
        };
        let (there, asked) = (&manifest.source.title_separator, &source.title_separator);
        Some(differs("title separator", &quoted(there), &quoted(asked)))
    } else if !manifest.source.is_same(source) {
        Some("its collection has another fingerprint".to_owned())
    } else if has_vectors != doc_vectors {
        Some(format!("it is {}, asked for is one {}", vectors(has_vectors), vectors(doc_vectors)))
    } else {
        None
    }
}

/// A collection, inverted.
struct Collected {
    runs: Runs,
    lengths: Vec<u32>,
    postings: u64,
    ids: ListedFileWriter,
}

/// A chunk's number, and its outcome.
type Outcome<E> = (usize, Result<Inverted, E>);

/// Reads, analyzes and inverts all documents.
fn stages<E: From<SparseError> + Send>(
    output: &Path,
    job: &BuildJob<'_>,
    documents: impl Iterator<Item = Result<(String, String), E>> + Send,
    ids: ListedFileWriter,
    mut on_progress: impl FnMut(u64),
) -> Result<Collected, E> {
    let threads = job.threads.max(1);
    let chunk_bytes = (job.memory_bytes / (CHUNK_SHARE * threads)).clamp(1, MOST_CHUNK_BYTES);
    let chunks = Chunks::new(documents, chunk_bytes);
    let failed = AtomicBool::new(false);
    let mut runs = Runs::new(output).map_err(SparseError::from)?;
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
        // Only the stages hold ends of the channels now.
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
                Ok(runs.push(sequence, &inverted.run).map_err(SparseError::from)?)
            });
            // Keep the first error in the order of the documents, not in time. Chunks are sent in order, so
            // all chunks before a failed one have been sent already.
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

/// The first stage: writes identifiers and sends chunks, until these end or fail or another stage has failed.
fn read<E: From<SparseError>>(
    chunks: impl Iterator<Item = Result<Chunk, E>>,
    mut file: ListedFileWriter,
    stop: &AtomicBool,
    failed: &AtomicBool,
    out: &Sender<Chunk>,
    outcomes: &Sender<Outcome<E>>,
) -> Result<ListedFileWriter, SparseError> {
    let mut ids = StringsEncoder::default();
    for (sequence, chunk) in chunks.enumerate() {
        let chunk = if stop.load(Ordering::Relaxed) { Err(SparseError::Interrupted.into()) } else { chunk };
        let chunk = chunk.and_then(|chunk| {
            let written = chunk.ids.iter().try_for_each(|id| file.append(ids.push(id.as_bytes(), &[])));
            written.map(|()| chunk).map_err(|error| SparseError::from(error).into())
        });
        match chunk {
            Ok(chunk) if !failed.load(Ordering::Relaxed) => {
                if out.send(chunk).is_err() {
                    break;
                }
            }
            Ok(_) => break,
            Err(error) => {
                // The receiver listens until this thread and the others have ended.
                let _ = outcomes.send((sequence, Err(error)));
                break;
            }
        }
    }
    file.append(&ids.finish())?;
    Ok(file)
}

/// The second stage: inverts chunks. A panic becomes an error, so that nobody waits for its chunk.
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
