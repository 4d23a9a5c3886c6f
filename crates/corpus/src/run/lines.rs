//! The lines of a run.

use toller_ir::named;

use super::score::Digits;
use super::{MaxPassage, RunWriteError, Score};
use crate::error::{BadKind, Wrong, excerpt};

named! {
    /// The formats in which runs are written.
    pub enum RunLayout: "a format in which runs are written" {
        /// TREC's six columns.
        Trec = "trec",
        /// MS MARCO's three columns, separated by tabs: query, document, rank.
        MsMarco = "msmarco",
        /// Tevatron's three columns, separated by tabs: query, document, score.
        Tevatron = "tevatron",
    }
}

/// How the lines of a run are written.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    pub(super) layout: RunLayout,
    pub(super) tag: String,
    pub(super) separator: char,
    pub(super) max_passage: Option<MaxPassage>,
}

impl Lines {
    /// Appends the lines of a query's hits, best first; ranks count from one.
    pub(super) fn append<D: AsRef<str>, S: Into<Score>>(
        &self,
        lines: &mut String,
        query: &str,
        hits: impl IntoIterator<Item = (D, S)>,
    ) -> Result<Appended, RunWriteError> {
        let Some(max_passage) = &self.max_passage else {
            return Ok(Appended { hits: self.append_hits(lines, query, hits)?, passages: 0 });
        };
        let mut passages = 0;
        let hits = hits.into_iter().inspect(|(id, _)| {
            passages += u64::from(max_passage.document(id.as_ref()) != id.as_ref());
        });
        let hits = self.append_hits(lines, query, max_passage.documents(hits))?;
        Ok(Appended { hits, passages })
    }

    /// Returns how many there are.
    fn append_hits<D: AsRef<str>, S: Into<Score>>(
        &self,
        lines: &mut String,
        query: &str,
        hits: impl IntoIterator<Item = (D, S)>,
    ) -> Result<u64, RunWriteError> {
        let (tab, layout) = (self.separator, self.layout);
        self.check_id("query", query)?;
        let (head, tail) = match layout {
            RunLayout::Trec => (format!("{query}{tab}Q0{tab}"), format!("{tab}{}\n", self.tag)),
            RunLayout::MsMarco | RunLayout::Tevatron => (format!("{query}{tab}"), "\n".to_owned()),
        };
        let (mut ranks, mut scores) = (itoa::Buffer::new(), Digits::default());
        let mut rank = 0;
        for (document, score) in hits {
            rank += 1;
            let (document, score) = (document.as_ref(), score.into());
            self.check_id("document", document)?;
            if !score.is_finite() {
                let (query, document) = (query.to_owned(), document.to_owned());
                return Err(RunWriteError::Score { query, document, score });
            }
            lines.push_str(&head);
            lines.push_str(document);
            if layout != RunLayout::Tevatron {
                lines.push(tab);
                lines.push_str(ranks.format(rank));
            }
            if layout != RunLayout::MsMarco {
                lines.push(tab);
                lines.push_str(scores.of(score));
            }
            lines.push_str(&tail);
        }
        Ok(rank)
    }

    /// Checks the identifiers of a query and its hits.
    pub(super) fn check_ids<'a>(
        &self,
        query: &str,
        hits: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), RunWriteError> {
        self.check_id("query", query)?;
        let written = |id: &'a str| self.max_passage.as_ref().map_or(id, |passages| passages.document(id));
        hits.into_iter().try_for_each(|id| self.check_id("document", written(id)))
    }

    fn check_id(&self, what: &'static str, id: &str) -> Result<(), RunWriteError> {
        // Almost all identifiers have only these bytes.
        if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
            return Ok(());
        }
        let bad = |why, tabs_help| Err(RunWriteError::Id { what, id: id.to_owned(), why, tabs_help });
        if let Some(flaw) = id_flaw(what, id) {
            bad(flaw, false)
        } else if self.separator != '\t' && holds_white_space(id) {
            bad("holds white space", true)
        } else {
            Ok(())
        }
    }
}

/// What was appended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Appended {
    /// Lines.
    pub(super) hits: u64,
    /// Hits that gave way to their documents.
    pub(super) passages: u64,
}

impl std::ops::AddAssign for Appended {
    fn add_assign(&mut self, other: Self) {
        self.hits += other.hits;
        self.passages += other.passages;
    }
}

/// What keeps an identifier of a "query" or "document" out of all runs, however their columns are separated:
/// "is empty", for example.
#[must_use]
pub fn id_flaw(what: &str, id: &str) -> Option<&'static str> {
    if id.trim().is_empty() {
        Some("is empty")
    } else if id.contains(['\t', '\n', '\r']) {
        Some("holds a tab or a line end")
    } else if id.trim() != id {
        Some("begins or ends with white space")
    } else if id.starts_with('#') && what == "query" {
        Some("begins with #, which makes the line a comment")
    } else {
        None
    }
}

/// Refuses an identifier of a "query" or "document" that no run can hold: the search would end with an error.
pub(crate) fn check_writable(what: &'static str, id: &str) -> Result<(), Wrong> {
    id_flaw(what, id).map_or(Ok(()), |flaw| {
        let found = format!("{}, which {flaw}", excerpt(id.as_bytes()));
        Err(Wrong::new(BadKind::UnwritableId, found, "an identifier that a run can hold"))
    })
}

/// Whether an identifier would fall apart between the spaces of a TREC run.
pub(crate) fn holds_white_space(id: &str) -> bool {
    id.contains(char::is_whitespace)
}
