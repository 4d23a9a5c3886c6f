//! Inverting a chunk: documents in, a sorted run out.

use std::collections::HashMap;

use ahash::RandomState;
use toller_analysis::Analyzer;

use super::chunks::Chunk;
use super::sorted_run::{Run, write_posting, write_term};
use crate::SparseError;
use crate::fingerprint::is_impact;

/// An inverted chunk.
#[derive(Debug)]
pub(super) struct Inverted {
    pub(super) run: Run,
    /// The lengths of the documents.
    pub(super) lengths: Vec<u32>,
    /// Distinct pairs of a term and a document.
    pub(super) postings: u64,
}

/// A term in a document of the chunk, and how often.
#[derive(Clone, Copy)]
struct Occurrence {
    term: u32,
    doc: u32,
    tf: u32,
}

/// Inverts one chunk after another with the same buffers.
pub(super) struct Inverter {
    analyzer: Analyzer,
    terms: HashMap<Box<str>, u32, RandomState>,
    /// The numbers of the current document's terms.
    document: Vec<u32>,
    /// The same of a document with impacts, with these.
    impacts: Vec<(u32, u32)>,
    occurrences: Vec<Occurrence>,
}

impl Inverter {
    pub(super) fn new(analyzer: Analyzer) -> Self {
        Self {
            analyzer,
            terms: HashMap::default(),
            document: Vec::new(),
            impacts: Vec::new(),
            occurrences: Vec::new(),
        }
    }

    /// Inverts `chunk`.
    pub(super) fn invert(&mut self, chunk: &Chunk) -> Result<Inverted, SparseError> {
        self.terms.clear();
        self.occurrences.clear();
        let has_impacts = is_impact(&self.analyzer);
        let mut lengths = Vec::with_capacity(chunk.texts.len());
        for ((doc, id), text) in (0..).zip(&chunk.ids).zip(&chunk.texts) {
            let length = if has_impacts { self.weigh(doc, text) } else { self.count(doc, text) };
            lengths.push(length.ok_or_else(|| SparseError::DocumentTooLong(id.clone()))?);
        }
        let run = Run { first: chunk.first, bytes: self.sorted() };
        let postings = self.occurrences.len() as u64;
        Ok(Inverted { run, lengths, postings })
    }

    /// Counts the terms of a document. Returns its length, unless that is too large.
    fn count(&mut self, doc: u32, text: &str) -> Option<u32> {
        let Self { analyzer, terms, document, occurrences, .. } = self;
        document.clear();
        analyzer.tokenize(text, &mut |term| document.push(number_of(terms, term)));
        let length = fitting(document.len() as u64)?;
        document.sort_unstable();
        occurrences.extend(
            document
                .chunk_by(|a, b| a == b)
                .filter_map(|same| Some(Occurrence { term: *same.first()?, doc, tf: same.len() as u32 })),
        );
        Some(length)
    }

    /// Takes the impacts of a document's terms for their frequencies. Returns its length, the sum of these,
    /// unless that is too large.
    fn weigh(&mut self, doc: u32, text: &str) -> Option<u32> {
        let Self { analyzer, terms, impacts, occurrences, .. } = self;
        impacts.clear();
        analyzer.weigh(text, &mut |term, impact| impacts.push((number_of(terms, term), impact)));
        let length = fitting(impacts.iter().map(|(_, impact)| u64::from(*impact)).sum())?;
        impacts.sort_unstable();
        occurrences.extend(impacts.chunk_by(|a, b| a.0 == b.0).filter_map(|same| {
            let tf = same.iter().map(|(_, impact)| impact).sum();
            Some(Occurrence { term: same.first()?.0, doc, tf })
        }));
        Some(length)
    }

    /// The occurrences as a run.
    fn sorted(&self) -> Vec<u8> {
        // A counting sort by term, which keeps the documents of a term in order.
        let mut ends = vec![0_usize; self.terms.len()];
        for occurrence in &self.occurrences {
            ends[occurrence.term as usize] += 1;
        }
        let mut start = 0;
        for end in &mut ends {
            start += std::mem::replace(end, start);
        }
        let mut by_term = vec![(0_u32, 0_u32); self.occurrences.len()];
        for &Occurrence { term, doc, tf } in &self.occurrences {
            let place = &mut ends[term as usize];
            by_term[*place] = (doc, tf);
            *place += 1;
        }
        let mut terms: Vec<(&[u8], u32)> =
            self.terms.iter().map(|(term, &number)| (term.as_bytes(), number)).collect();
        terms.sort_unstable();

        let (mut run, mut list): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
        let mut before: &[u8] = &[];
        for (term, number) in terms {
            let number = number as usize;
            let start = number.checked_sub(1).map_or(0, |before| ends[before]);
            list.clear();
            let mut last = 0;
            for &(doc, tf) in &by_term[start..ends[number]] {
                write_posting(doc - last, tf, &mut list);
                last = doc;
            }
            write_term(before, term, &list, &mut run);
            before = term;
        }
        run
    }
}

/// The number of a term in the chunk.
fn number_of(terms: &mut HashMap<Box<str>, u32, RandomState>, term: &str) -> u32 {
    let next = terms.len() as u32;
    match terms.get(term) {
        Some(&number) => number,
        None => *terms.entry(term.into()).or_insert(next),
    }
}

/// A length, if it is one.
fn fitting(length: u64) -> Option<u32> {
    u32::try_from(length).ok().filter(|&length| length <= i32::MAX as u32)
}
