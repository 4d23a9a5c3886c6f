//! What `toller encode` reads: a collection or queries, surveyed before the first text is encoded.

use std::ops::Range;
use std::path::Path;

use toller_corpus::{
    CollectionFormat, Fingerprint, Fingerprinter, Location, QueryFormat, ReadOptions, SkipReport, Survey,
    open_collection, read_queries, survey,
};
use toller_encoder::TextInput;
use toller_files::{Input, SpoolGuard, spool};
use toller_ir::{Passage, Query};
use toller_pipeline::{PipelineError, TitleMode};

use super::encode::spool_directory;
use crate::ui::Ui;

/// Texts with their identifiers.
type Texts<'a> = Box<dyn Iterator<Item = Result<(String, TextInput), PipelineError>> + Send + 'a>;

/// Passages, in order.
pub type Passages<'a> = Box<dyn Iterator<Item = Result<Passage, PipelineError>> + Send + 'a>;

/// Texts that are known to be sound, how many they are, and which.
pub struct TextSource {
    kind: Kind,
    texts: u64,
    fingerprint: Fingerprint,
    skipped: SkipReport,
    /// Hold what can be read only once, until the command ends.
    _spools: Vec<SpoolGuard>,
}

enum Kind {
    Collection { inputs: Vec<Input>, options: ReadOptions<CollectionFormat>, duplicates: Vec<Location> },
    Queries(Vec<Query>),
}

impl TextSource {
    /// Surveys a collection: every line checked, counted and fingerprinted before anything is encoded.
    pub fn collection(
        inputs: &[Input],
        output: &Path,
        options: &ReadOptions<CollectionFormat>,
        ui: &Ui,
    ) -> crate::Result<Self> {
        let directory = spool_directory(output)?;
        let mut spools = Vec::new();
        let mut inputs = inputs.to_vec();
        for input in &mut inputs {
            let (readable, guard) = spool(input, directory)?;
            *input = readable;
            spools.push(guard);
        }
        let total: Option<u64> = inputs.iter().map(Input::size_bytes).sum();
        let bar = ui.progress("checking", "bytes", total.unwrap_or(0));
        let surveyed = survey(&inputs, options, |progress| bar.set(progress.bytes));
        bar.finish();
        let surveyed = surveyed?;
        warn_of_unwritable_ids(&surveyed, ui);
        ui.detail(format!(
            "collection: {} passages, fingerprint {}",
            surveyed.passages, surveyed.fingerprint
        ));
        Ok(Self {
            kind: Kind::Collection { inputs, options: options.clone(), duplicates: surveyed.duplicates },
            texts: surveyed.passages,
            fingerprint: surveyed.fingerprint,
            skipped: surveyed.skipped,
            _spools: spools,
        })
    }

    /// Reads queries.
    pub fn queries(inputs: &[Input], options: &ReadOptions<QueryFormat>, ui: &Ui) -> crate::Result<Self> {
        let (queries, skipped) = read_queries(inputs, options)?;
        let mut fingerprinter = Fingerprinter::new();
        for query in &queries {
            fingerprinter.push(&Passage { id: query.id.clone(), title: None, text: query.text.clone() });
        }
        let fingerprint = fingerprinter.finish();
        ui.detail(format!("queries: {}, fingerprint {fingerprint}", queries.len()));
        Ok(Self {
            texts: queries.len() as u64,
            kind: Kind::Queries(queries),
            fingerprint,
            skipped,
            _spools: Vec::new(),
        })
    }

    /// The number of texts.
    pub fn texts(&self) -> u64 {
        self.texts
    }

    /// Identifies the texts and their order.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// What was left out.
    pub fn skipped(&self) -> &SkipReport {
        &self.skipped
    }

    /// What is counted.
    pub fn unit(&self) -> &'static str {
        match self.kind {
            Kind::Collection { .. } => "passages",
            Kind::Queries(_) => "queries",
        }
    }

    /// Tells what was left out.
    pub fn report_skipped(&self, ui: &Ui) {
        if self.skipped.total() > 0 {
            ui.warning(self.skipped.to_string());
        }
    }

    /// Reads the texts of `rows`, ranges in order, with their identifiers, as the model is given them.
    pub fn read<'a>(
        &'a self,
        rows: Vec<Range<u64>>,
        titles: &'a TitleMode,
    ) -> Result<Texts<'a>, PipelineError> {
        match &self.kind {
            Kind::Collection { .. } => Ok(Box::new(self.passages(rows)?.map(|passage| {
                let passage = passage?;
                let text = titles.text_of(&passage);
                Ok((passage.id, text))
            }))),
            Kind::Queries(queries) => {
                let wanted = move |row: u64| rows.iter().any(|range| range.contains(&row));
                let texts =
                    queries.iter().zip(0..).filter(move |(_, row)| wanted(*row)).map(|(query, _)| query);
                let input = |query: &Query| TextInput::Plain(query.text.clone());
                Ok(Box::new(texts.map(move |query| Ok((query.id.clone(), input(query))))))
            }
        }
    }

    /// Reads the passages of `rows`, ranges in order; of queries, none.
    pub fn passages(&self, rows: Vec<Range<u64>>) -> Result<Passages<'_>, PipelineError> {
        let Kind::Collection { inputs, options, duplicates } = &self.kind else {
            return Ok(Box::new(std::iter::empty()));
        };
        let end = rows.last().map_or(0, |last| last.end) as usize;
        // A part, or what a resumed job still lacks, has no fingerprint to compare with.
        let is_whole = matches!(rows.as_slice(), [all] if *all == (0..self.texts)) && duplicates.is_empty();
        let wanted = move |row: u64| rows.iter().any(|range| range.contains(&row));
        let passages = open_collection(inputs, options)?.without(duplicates.clone());
        let mut fingerprinter = Fingerprinter::new();
        let passages =
            passages.take(end).zip(0..).filter(move |(passage, row)| passage.is_err() || wanted(*row));
        Ok(Box::new(passages.map(move |(passage, row)| {
            let passage = passage?;
            fingerprinter.push(&passage);
            if is_whole && row + 1 == self.texts && fingerprinter.finish() != self.fingerprint {
                return Err(PipelineError::CollectionChanged);
            }
            Ok(passage)
        })))
    }
}

/// Better now than after the search.
fn warn_of_unwritable_ids(surveyed: &Survey, ui: &Ui) {
    if let Some(first) = &surveyed.first_unwritable_id {
        ui.warning(format!(
            "{} identifiers hold white space ({first}): a TREC run of this collection will need `search --tab-separated`",
            surveyed.unwritable_ids
        ));
    }
}
