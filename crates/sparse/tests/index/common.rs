//! Small indexes.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use toller_analysis::Analyzer;
use toller_files::OpenOptions;
use toller_sparse::{BuildJob, BuildProgress, BuildReport, Source, SparseError, SparseIndex, build};

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// What tests vary of a build.
#[derive(Clone, Copy)]
pub(crate) struct Building {
    pub(crate) threads: usize,
    pub(crate) memory_bytes: usize,
    pub(crate) doc_vectors: bool,
    pub(crate) overwrite: bool,
    /// Whether the texts have impacts.
    pub(crate) impacts: bool,
}

pub(crate) const PLAIN: Building =
    Building { threads: 2, memory_bytes: 1 << 24, doc_vectors: false, overwrite: false, impacts: false };

/// Indexes `texts`, whose identifiers are their ordinals, by white space or impacts.
pub(crate) fn build_texts(
    directory: &Path,
    texts: &[String],
    building: Building,
) -> Result<BuildReport, SparseError> {
    build_watched(directory, texts, building, &AtomicBool::new(false), |_| ())
}

/// [`build_texts`], which `stop` stops and `on_progress` follows.
pub(crate) fn build_watched(
    directory: &Path,
    texts: &[String],
    building: Building,
    stop: &AtomicBool,
    on_progress: impl FnMut(BuildProgress),
) -> Result<BuildReport, SparseError> {
    let analyzer = match building.impacts {
        true => Analyzer::impact(),
        false => Analyzer::by_name("whitespace").map_err(|_| SparseError::WorkerPanicked)?,
    };
    let job = BuildJob {
        analyzer: &analyzer,
        source: Source {
            fingerprint: format!("{texts:?}").len().to_string(),
            passages: texts.len() as u64,
            title_separator: Some(" ".to_owned()),
            model: None,
        },
        doc_vectors: building.doc_vectors,
        memory_bytes: building.memory_bytes,
        threads: building.threads,
        overwrite: building.overwrite,
        stop,
    };
    let documents = texts.iter().enumerate().map(|(id, text)| Ok((format!("d{id}"), text.clone())));
    build(directory, &job, documents, on_progress)
}

/// An index of `texts`, opened. (Its files stay mapped when the directory is gone.)
pub(crate) fn index_of(texts: &[String], building: Building) -> Result<SparseIndex, SparseError> {
    let directory =
        tempfile::tempdir().map_err(|error| toller_files::FileError::new("create", "a directory", error))?;
    build_texts(directory.path(), texts, building)?;
    SparseIndex::open(directory.path(), &OpenOptions::default())
}

/// Texts of `count` documents over `words` words, the first ones frequent; `seed` decides.
pub(crate) fn random_texts(count: usize, words: u64, longest: u64, seed: u64) -> Vec<String> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below.max(1)
    };
    (0..count)
        .map(|_| {
            let length = next(longest + 1);
            let word = |_| {
                let (a, b) = (next(words), next(words));
                format!("w{}", a * b / words.max(1))
            };
            (0..length).map(word).collect::<Vec<_>>().join(" ")
        })
        .collect()
}
