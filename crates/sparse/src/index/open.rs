//! Opening an index, and its properties.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use rayon::prelude::*;
use toller_analysis::Analyzer;
use toller_files::{FileError, ListedFile, ListedFileError, OpenOptions, Verifier};
use toller_ir::DocOrd;

use super::ids::Ids;
use super::term::Term;
use super::{FileEntry, IDS, LENGTHS, Manifest, POSTINGS, TERMS, VECTORS, lengths};
use crate::coding::SLACK;
use crate::dictionary::{self, Dictionary, Entry};
use crate::fingerprint::{analyzer_info, is_same};
use crate::postings::Record;
use crate::score::Statistics;
use crate::{Lengths, Ranker, Scoring, SparseError};

/// An inverted index in memory maps.
#[derive(Debug)]
pub struct SparseIndex {
    path: PathBuf,
    manifest: Manifest,
    dictionary: Dictionary,
    postings: Mmap,
    lengths: Mmap,
    ids: Ids,
    pub(crate) vectors: Option<Mmap>,
    /// From the least code of a length up to the largest.
    pub(crate) codes_used: Range<usize>,
}

impl SparseIndex {
    /// Opens the index in a directory and, unless `options` say otherwise, verifies its checksums in rayon's
    /// current pool. Of the document vectors, which only feedback reads, it checks the length: see
    /// [`SparseIndex::verify_doc_vectors`].
    ///
    /// # Errors
    /// When there is no index, it is damaged, or a file cannot be read.
    pub fn open(path: &Path, options: &OpenOptions<'_>) -> Result<Self, SparseError> {
        match Manifest::read(path)? {
            Some(manifest) => Self::map(path, manifest, options),
            None => Err(match path.metadata() {
                Ok(_) => SparseError::NotAnIndex(path.to_owned()),
                Err(error) => FileError::new("open", path, error).into(),
            }),
        }
    }

    /// Opens the index that `manifest` describes.
    pub(crate) fn map(
        path: &Path,
        manifest: Manifest,
        options: &OpenOptions<'_>,
    ) -> Result<Self, SparseError> {
        let vectors = manifest.file(VECTORS).map_or(0, |entry| entry.bytes);
        let verifier = Verifier::new(options, manifest.bytes().saturating_sub(vectors));
        let by_length = Verifier::new(&OpenOptions { verify: false, progress: None }, 0);
        Self::map_by(path, manifest, |entry| {
            map(path, entry, if entry.file == VECTORS { &by_length } else { &verifier })
        })
    }

    /// Verifies the checksum of the document vectors, if the index has them and unless `options` say
    /// otherwise.
    ///
    /// # Errors
    /// When they are damaged.
    pub fn verify_doc_vectors(&self, options: &OpenOptions<'_>) -> Result<(), SparseError> {
        let Some((entry, vectors)) = self.manifest.file(VECTORS).zip(self.vectors.as_deref()) else {
            return Ok(());
        };
        let file = entry.listed(&self.path);
        let verified = file.verify(vectors, &Verifier::new(options, entry.bytes));
        verified.map_err(|error| unusable(file, error))
    }

    /// The same, of files that `map` maps. They may have other names, and the manifest may not be in the
    /// directory yet.
    pub(crate) fn map_by(
        path: &Path,
        manifest: Manifest,
        map: impl Fn(&FileEntry) -> Result<Mmap, SparseError> + Sync,
    ) -> Result<Self, SparseError> {
        let names = [TERMS, POSTINGS, LENGTHS, IDS, VECTORS];
        let maps: Vec<Result<Option<Mmap>, SparseError>> =
            names.par_iter().map(|name| manifest.file(name).map(&map).transpose()).collect();
        let mut maps = maps.into_iter();
        let mut next = || maps.next().transpose().map(Option::flatten);
        let damaged = |name: &str, reason: &str| SparseError::Damaged {
            path: path.join(name),
            reason: reason.to_owned(),
        };
        let needed =
            |name, map: Option<Mmap>| map.ok_or_else(|| damaged(name, "the manifest does not list it"));
        let terms = needed(TERMS, next()?)?;
        let postings = needed(POSTINGS, next()?)?;
        let lengths = needed(LENGTHS, next()?)?;
        let ids = needed(IDS, next()?)?;
        let vectors = next()?;

        let docs = manifest.statistics.docs as usize;
        let dictionary = Dictionary::new(terms, manifest.statistics.terms)
            .map_err(|dictionary::Damaged| damaged(TERMS, "it is too short for the terms"))?;
        if !lengths::is_sound(&lengths, docs) {
            return Err(damaged(LENGTHS, "its length does not fit the number of documents"));
        }
        let ids = Ids::new(ids, docs).ok_or_else(|| damaged(IDS, "it is too short for the documents"))?;
        let codes = lengths::codes(&lengths, docs).get(..docs).unwrap_or_default();
        let (least, most) = codes.iter().fold((u8::MAX, 0), |(least, most), &c| (least.min(c), most.max(c)));
        let codes_used = usize::from(least)..usize::from(most) + 1;
        Ok(Self { path: path.to_owned(), manifest, dictionary, postings, lengths, ids, vectors, codes_used })
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the index says about itself.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The name of the analyzer that made the terms, for [`Analyzer::by_name`].
    #[must_use]
    pub fn analyzer_name(&self) -> &str {
        &self.manifest.analyzer.name
    }

    /// Checks that `analyzer` is the one that made the terms. Its model may have another place.
    ///
    /// # Errors
    /// [`SparseError::WrongAnalyzer`] when it is another, or makes other terms.
    pub fn check_analyzer(&self, analyzer: &Analyzer) -> Result<(), SparseError> {
        let given = analyzer_info(analyzer);
        let indexed = &self.manifest.analyzer;
        if is_same(&given, indexed) {
            return Ok(());
        }
        let named = |info: &super::AnalyzerInfo| format!("{} ({})", info.name, info.fingerprint);
        Err(SparseError::WrongAnalyzer {
            path: self.path.clone(),
            indexed: named(indexed),
            given: named(&given),
        })
    }

    /// Whether the frequencies of terms are impacts: weights that a learned sparse model has given.
    #[must_use]
    pub fn has_impacts(&self) -> bool {
        self.manifest.has_impacts()
    }

    /// Checks that documents can be scored in this way, and its parameters.
    ///
    /// # Errors
    /// [`SparseError::HoldsImpacts`] for another ranker than [`Ranker::Impact`], or exact lengths, where the
    /// index holds impacts; [`SparseError::NoImpacts`]; [`SparseError::Parameter`].
    pub fn check_scoring(&self, scoring: &Scoring) -> Result<(), SparseError> {
        match (self.has_impacts(), scoring.ranker) {
            (true, Ranker::Impact) if scoring.lengths == Lengths::Exact => {
                Err(self.holds_impacts("these do not depend on lengths"))
            }
            (true, Ranker::Impact) => Ok(()),
            (true, _) => Err(self.holds_impacts("only the ranker impact scores these")),
            (false, Ranker::Impact) => Err(SparseError::NoImpacts { path: self.path.clone() }),
            (false, ranker) => ranker.check(),
        }
    }

    /// Checks that queries can be expanded by documents.
    ///
    /// # Errors
    /// [`SparseError::HoldsImpacts`], and [`SparseError::NoVectors`].
    pub fn check_feedback(&self) -> Result<(), SparseError> {
        if self.has_impacts() {
            return Err(self.holds_impacts("queries are not expanded by these"));
        }
        match self.vectors {
            Some(_) => Ok(()),
            None => Err(SparseError::NoVectors { path: self.path.clone() }),
        }
    }

    fn holds_impacts(&self, refused: &'static str) -> SparseError {
        SparseError::HoldsImpacts { path: self.path.clone(), refused }
    }

    /// What scores depend on.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.manifest.statistics
    }

    /// The number of documents.
    #[must_use]
    pub fn doc_count(&self) -> usize {
        self.manifest.statistics.docs as usize
    }

    /// The identifier of a document; U+FFFD if the index is damaged and was opened without verification.
    ///
    /// # Panics
    /// If `doc` is not below [`SparseIndex::doc_count`].
    #[must_use]
    pub fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        assert!(doc.index() < self.doc_count(), "document {} of {}", doc.0, self.doc_count());
        self.ids.get(doc.index())
    }

    /// The number of terms of a document, as rankers with `lengths` see it.
    ///
    /// # Panics
    /// If `doc` is not below [`SparseIndex::doc_count`].
    #[must_use]
    pub fn length(&self, doc: DocOrd, lengths: Lengths) -> u32 {
        assert!(doc.index() < self.doc_count(), "document {} of {}", doc.0, self.doc_count());
        crate::score::seen_length(lengths, self.exact_length(doc.index()))
    }

    /// The number of terms of a document; 0 after the last.
    #[inline]
    pub(crate) fn exact_length(&self, doc: usize) -> u32 {
        lengths::exact(&self.lengths, self.doc_count(), doc).unwrap_or_default()
    }

    /// The codes of the lengths, padded to a multiple of [`WINDOW`](crate::search::WINDOW).
    pub(crate) fn codes(&self) -> &[u8] {
        lengths::codes(&self.lengths, self.doc_count())
    }

    /// The term, if a document has it.
    ///
    /// # Errors
    /// When the index is damaged and was opened without verification.
    pub fn term(&self, term: &str) -> Result<Option<Term<'_>>, SparseError> {
        let found = self.dictionary.find(term.as_bytes());
        let entry = found.map_err(|dictionary::Damaged| self.damaged_dictionary())?;
        entry.map(|entry| self.term_of(entry)).transpose()
    }

    /// The term with this entry of the dictionary.
    pub(crate) fn term_of(&self, entry: Entry) -> Result<Term<'_>, SparseError> {
        let record = match entry {
            // Checked here, where the damaged file is known.
            Entry::One(posting) if posting.doc as usize >= self.doc_count() => {
                return Err(self.damaged_dictionary());
            }
            Entry::One(posting) => Record::of_one(posting),
            Entry::Record { start, end } => {
                let end = end.saturating_add(SLACK as u64).min(self.postings.len() as u64);
                let bytes = self.postings.get(start as usize..end as usize);
                let record = bytes.and_then(|bytes| Record::read(bytes, self.doc_count() as u32));
                record.ok_or_else(|| self.damaged_postings())?
            }
        };
        Ok(Term { index: self, record })
    }

    pub(crate) fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    pub(crate) fn damaged_dictionary(&self) -> SparseError {
        self.damaged(TERMS, "a term cannot be read")
    }

    pub(crate) fn damaged_postings(&self) -> SparseError {
        self.damaged(POSTINGS, "a list cannot be unpacked")
    }

    pub(crate) fn damaged(&self, file: &str, reason: &str) -> SparseError {
        SparseError::Damaged { path: self.path.join(file), reason: reason.to_owned() }
    }
}

/// Maps a file of the index, and verifies it.
fn map(directory: &Path, entry: &FileEntry, verifier: &Verifier<'_>) -> Result<Mmap, SparseError> {
    let file = entry.listed(directory);
    file.map(verifier).map_err(|error| unusable(file, error))
}

fn unusable(file: ListedFile, error: ListedFileError) -> SparseError {
    match error {
        ListedFileError::File(error) => error.into(),
        ListedFileError::Damaged(reason) => SparseError::Damaged { path: file.path, reason },
    }
}
