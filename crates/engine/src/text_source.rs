//! What is encoded or indexed: a collection or queries, surveyed before work on the first text begins.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use toller_corpus::{
    CollectionFormat, CollectionReader, CorpusError, Fingerprint, Fingerprinter, Locations, QueryFormat,
    ReadOptions, SkipReport, Survey, Table, open_table, read_queries, reopen_collection, survey,
    survey_table,
};
use toller_encoder::{TextInput, TitleMode};
use toller_files::{FileError, Input, SpoolGuard, Stamp, parent, spool};
use toller_ir::{Passage, Query, Role};
use toller_pipeline::PipelineError;

use crate::event::{Event, Work};
use crate::{Engine, EngineError};

/// Texts with their identifiers.
type Texts<'a> = Box<dyn Iterator<Item = Result<(String, TextInput), PipelineError>> + Send + 'a>;

/// Passages, in order.
type Passages<'a> = Box<dyn Iterator<Item = Result<Passage, PipelineError>> + Send + 'a>;

/// Checked texts, with their number and fingerprint.
pub struct TextSource {
    kind: Kind,
    texts: u64,
    fingerprint: Fingerprint,
    skipped: SkipReport,
    /// The number of identifiers that hold white space, and the place of the first.
    spaced_ids: Option<(u64, String)>,
    has_vectors: bool,
    /// Copies of input that can be read only once.
    _spools: Vec<SpoolGuard>,
}

enum Kind {
    Collection {
        origin: Origin,
        options: ReadOptions<CollectionFormat>,
        duplicates: Locations,
        stamps: Vec<Option<Stamp>>,
    },
    Queries(Vec<Query>),
}

/// Where passages are.
enum Origin {
    Files(Vec<Input>),
    Table(Arc<dyn Table>),
}

impl Origin {
    fn open(
        &self,
        options: &ReadOptions<CollectionFormat>,
        stamps: &[Option<Stamp>],
    ) -> Result<CollectionReader, CorpusError> {
        match self {
            Self::Files(inputs) => reopen_collection(inputs, options, stamps),
            Self::Table(table) => Ok(open_table(Arc::clone(table), options)),
        }
    }
}

impl Engine {
    /// Surveys a collection: every line is checked, counted and fingerprinted. Input that can be read only
    /// once is copied to the folder that will hold `output`, whose disk has to hold the result anyway.
    ///
    /// # Errors
    /// What cannot be read, and bad lines unless the options skip them.
    pub fn collection(
        &self,
        inputs: &[Input],
        output: &Path,
        options: &ReadOptions<CollectionFormat>,
    ) -> Result<TextSource, EngineError> {
        let directory = parent(output);
        std::fs::create_dir_all(directory).map_err(FileError::on("create", directory))?;
        let mut spools = Vec::new();
        let mut inputs = inputs.to_vec();
        for input in &mut inputs {
            let (readable, guard) = spool(input, directory)?;
            *input = readable;
            spools.push(guard);
        }
        let total = inputs.iter().map(Input::size_bytes).sum();
        let progress = |done| self.notify(Event::Progress { work: Work::Check, done, total });
        progress(0);
        let surveyed = survey(&inputs, options, |surveyed| progress(surveyed.bytes));
        self.notify(Event::Finished);
        Ok(TextSource::surveyed(Origin::Files(inputs), options, surveyed?, spools))
    }

    /// Surveys a collection in memory.
    ///
    /// # Errors
    /// Bad rows, unless the options skip them.
    pub fn table(
        &self,
        table: Arc<dyn Table>,
        options: &ReadOptions<CollectionFormat>,
    ) -> Result<TextSource, EngineError> {
        let total = Some(table.rows());
        let progress = |done| self.notify(Event::Progress { work: Work::Check, done, total });
        let surveyed = survey_table(&table, options, |surveyed| progress(surveyed.passages));
        self.notify(Event::Finished);
        Ok(TextSource::surveyed(Origin::Table(table), options, surveyed?, Vec::new()))
    }

    /// Reads queries.
    ///
    /// # Errors
    /// As [`read_queries`].
    pub fn queries(
        &self,
        inputs: &[Input],
        options: &ReadOptions<QueryFormat>,
    ) -> Result<TextSource, EngineError> {
        let (queries, skipped) = read_queries(inputs, options)?;
        let mut fingerprinter = Fingerprinter::new();
        for query in &queries {
            fingerprinter.push(&Passage {
                id: query.id.clone(),
                text: query.text.clone(),
                ..Passage::default()
            });
        }
        Ok(TextSource {
            texts: queries.len() as u64,
            kind: Kind::Queries(queries),
            fingerprint: fingerprinter.finish(),
            skipped,
            spaced_ids: None,
            has_vectors: false,
            _spools: Vec::new(),
        })
    }
}

impl TextSource {
    fn surveyed(
        origin: Origin,
        options: &ReadOptions<CollectionFormat>,
        surveyed: Survey,
        spools: Vec<SpoolGuard>,
    ) -> Self {
        let Survey { spaced_ids, first_spaced_id, has_vectors, .. } = surveyed;
        Self {
            kind: Kind::Collection {
                origin,
                options: options.clone(),
                duplicates: surveyed.duplicates,
                stamps: surveyed.stamps,
            },
            texts: surveyed.passages,
            fingerprint: surveyed.fingerprint,
            skipped: surveyed.skipped,
            spaced_ids: first_spaced_id.map(|first| (spaced_ids, first.to_string())),
            has_vectors,
            _spools: spools,
        }
    }

    /// The number of texts.
    #[must_use]
    pub fn texts(&self) -> u64 {
        self.texts
    }

    /// Identifies the texts and their order.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// What was left out.
    #[must_use]
    pub fn skipped(&self) -> &SkipReport {
        &self.skipped
    }

    /// The number of identifiers that a TREC run can hold only between tabs, for their white space, and the
    /// place of the first.
    #[must_use]
    pub fn spaced_ids(&self) -> Option<&(u64, String)> {
        self.spaced_ids.as_ref()
    }

    /// Whether passages have vectors of terms and weights that are not read
    /// ([`CollectionReader::has_vectors`]).
    #[must_use]
    pub fn has_vectors(&self) -> bool {
        self.has_vectors
    }

    /// Whether these are passages or queries.
    #[must_use]
    pub fn role(&self) -> Role {
        match self.kind {
            Kind::Collection { .. } => Role::Passage,
            Kind::Queries(_) => Role::Query,
        }
    }

    /// Reads the texts of `rows`, ranges in order, with their identifiers, as the model is given them.
    ///
    /// # Errors
    /// What cannot be read, or has changed since the survey; [`PipelineError::Contexts`]; in the texts also
    /// [`PipelineError::CollectionChanged`].
    pub fn read<'a>(
        &'a self,
        rows: Vec<Range<u64>>,
        titles: &'a TitleMode,
    ) -> Result<Texts<'a>, PipelineError> {
        let read = match &self.kind {
            Kind::Collection { options, .. } => options.columns.context.as_deref(),
            Kind::Queries(_) => None,
        };
        let wanted = titles.context_field();
        if read != wanted {
            let (read, wanted) = (read.map(str::to_owned), wanted.map(str::to_owned));
            return Err(PipelineError::Contexts { read, wanted });
        }
        match &self.kind {
            Kind::Collection { .. } => Ok(Box::new(self.passages(rows)?.map(|passage| {
                let passage = passage?;
                let text = titles.text_of(&passage);
                Ok((passage.id, text))
            }))),
            Kind::Queries(queries) => {
                let wanted = queries.iter().zip(0..).filter(move |(_, row)| is_in(&rows, *row));
                Ok(Box::new(
                    wanted.map(|(query, _)| Ok((query.id.clone(), TextInput::Plain(query.text.clone())))),
                ))
            }
        }
    }

    /// Reads the passages of `rows`, ranges in order; of queries, none.
    ///
    /// # Errors
    /// As [`TextSource::read`].
    pub fn passages(&self, rows: Vec<Range<u64>>) -> Result<Passages<'_>, PipelineError> {
        let Kind::Collection { origin, options, duplicates, stamps } = &self.kind else {
            return Ok(Box::new(std::iter::empty()));
        };
        let end = rows.last().map_or(0, |last| last.end) as usize;
        // What ends before the last text has no fingerprint to compare with.
        let is_whole = end as u64 == self.texts && duplicates.is_empty();
        let passages = origin.open(options, stamps)?.without(duplicates.clone());
        let mut fingerprinter = Fingerprinter::new();
        let passages = passages.take(end).zip(0_u64..).map(move |(passage, row)| {
            let passage = passage?;
            if is_whole {
                fingerprinter.push(&passage);
                if row + 1 == self.texts && fingerprinter.finish() != self.fingerprint {
                    return Err(PipelineError::CollectionChanged);
                }
            }
            Ok((passage, row))
        });
        Ok(Box::new(passages.filter_map(move |read| match read {
            Ok((passage, row)) => is_in(&rows, row).then_some(Ok(passage)),
            Err(error) => Some(Err(error)),
        })))
    }
}

/// Whether a row is in one of the ranges, which are in order.
fn is_in(ranges: &[Range<u64>], row: u64) -> bool {
    let at = ranges.partition_point(|range| range.end <= row);
    ranges.get(at).is_some_and(|range| range.start <= row)
}
