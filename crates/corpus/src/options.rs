//! How input is read, and what was skipped of it.

use std::collections::BTreeMap;
use std::fmt;

use toller_ir::counted;

use crate::ColumnNames;
use crate::error::{BadKind, BadRecord, CorpusError, listed};

/// How to read a file of a kind whose formats are `F`.
#[derive(Clone, Debug)]
pub struct ReadOptions<F> {
    /// The format; `None` to detect it from the content and the name.
    pub format: Option<F>,
    /// Count and skip bad records instead of stopping at the first. Damaged files (truncated or corrupt
    /// compression, broken JSON arrays) remain errors.
    pub skip_bad_lines: bool,
    /// Of a document that occurs twice for a query of a run, keep the first, and count the others as skipped.
    pub keep_first: bool,
    /// The longest line or record that is accepted, in bytes. A longer one is a bad record, and no more
    /// than this is held in memory.
    pub max_line_bytes: usize,
    /// The names of fields, elements and columns, where they are not usual ones. Files without a header have
    /// no names.
    pub columns: ColumnNames,
}

impl<F> ReadOptions<F> {
    /// The default bound on a line: 64 MiB.
    pub const MAX_LINE_BYTES: usize = 64 << 20;
}

impl<F> Default for ReadOptions<F> {
    fn default() -> Self {
        Self {
            format: None,
            skip_bad_lines: false,
            keep_first: false,
            max_line_bytes: Self::MAX_LINE_BYTES,
            columns: ColumnNames::default(),
        }
    }
}

/// What [`skip_bad_lines`](ReadOptions::skip_bad_lines) skipped: a count by kind, and the first few. And
/// which files had no identifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkipReport {
    counts: BTreeMap<BadKind, u64>,
    examples: Vec<BadRecord>,
    numbered: Option<NumberedQueries>,
}

/// Files with named fields whose queries have no identifiers, and so are numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedQueries {
    /// The first of the files.
    pub file: String,
    /// The fields of its first record.
    pub fields: Vec<String>,
    /// How many more files there are.
    pub others: usize,
}

impl NumberedQueries {
    /// What a user should know; `setting` is what a front calls the name of identifiers.
    #[must_use]
    pub fn message(&self, setting: &str) -> String {
        let Self { file, fields, others } = self;
        let have = match others {
            0 => "has no identifiers: its".to_owned(),
            others => format!("and {} have no identifiers: their", counted(*others, "more file")),
        };
        format!(
            "{file} {have} queries are numbered from 0 (fields: {}; {setting} names one)",
            listed(fields.iter().map(String::as_str))
        )
    }
}

impl SkipReport {
    /// How many bad records are kept as examples.
    pub const EXAMPLES: usize = 5;

    /// The number of skipped records.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The number of skipped records of each kind.
    pub fn counts(&self) -> impl Iterator<Item = (BadKind, u64)> {
        self.counts.iter().map(|(kind, count)| (*kind, *count))
    }

    /// The first [`SkipReport::EXAMPLES`] of them.
    #[must_use]
    pub fn examples(&self) -> &[BadRecord] {
        &self.examples
    }

    /// The files whose queries are numbered, since they have no identifiers.
    #[must_use]
    pub fn numbered(&self) -> Option<&NumberedQueries> {
        self.numbered.as_ref()
    }

    /// Adds a file without identifiers, whose first record has these fields.
    pub(crate) fn add_numbered(&mut self, file: String, fields: Vec<String>) {
        match &mut self.numbered {
            Some(first) => first.others += 1,
            none => *none = Some(NumberedQueries { file, fields, others: 0 }),
        }
    }

    /// Counts a bad record.
    pub(crate) fn add(&mut self, record: BadRecord) {
        self.add_many(record, 1);
    }

    /// Counts `count` bad records; `record` is the first of them.
    pub(crate) fn add_many(&mut self, record: BadRecord, count: u64) {
        *self.counts.entry(record.kind).or_default() += count;
        if self.examples.len() < Self::EXAMPLES {
            self.examples.push(record);
        }
    }

    /// Counts `error` if it is a bad record and bad records are skipped; otherwise returns it.
    pub(crate) fn take(&mut self, error: CorpusError, skip_bad_lines: bool) -> Result<(), CorpusError> {
        match error {
            CorpusError::Bad(record) if skip_bad_lines => {
                self.add(*record);
                Ok(())
            }
            error => Err(error),
        }
    }

    /// For the message that nothing was found.
    pub(crate) fn after(&self) -> String {
        match self.total() {
            0 => String::new(),
            skipped => format!(" after skipping {}", counted(skipped as usize, "bad line")),
        }
    }
}

impl fmt::Display for SkipReport {
    /// One line per kind and one per example; nothing if nothing was skipped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.total() == 0 {
            return Ok(());
        }
        let kinds: Vec<_> = self.counts().map(|(kind, count)| format!("{count} {kind}")).collect();
        write!(f, "skipped {} ({})", counted(self.total() as usize, "bad line"), kinds.join(", "))?;
        for example in &self.examples {
            write!(f, "\n  {example}")?;
        }
        if self.total() > self.examples.len() as u64 {
            f.write_str("\n  ...")?;
        }
        Ok(())
    }
}
