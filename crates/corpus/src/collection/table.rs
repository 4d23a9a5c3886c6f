//! Collections in memory: the rows of a table that another library holds.

use std::borrow::Cow;
use std::sync::Arc;

use toller_ir::{Passage, Position};

use crate::collection::source::PassageSource;
use crate::error::{BadRecord, CorpusError, Place};

/// A table of passages in memory.
pub trait Table: Send + Sync {
    /// What messages call the table.
    fn name(&self) -> &str;

    /// The number of rows.
    fn rows(&self) -> u64;

    /// The values of a row, counted from 0.
    fn cells(&self, row: u64) -> Cells<'_>;
}

/// The values of a row, `None` for null.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells<'a> {
    /// The identifier.
    pub id: Option<Cow<'a, str>>,
    /// The title.
    pub title: Option<Cow<'a, str>>,
    /// The text.
    pub text: Option<Cow<'a, str>>,
    /// The context, if the table has a column of them.
    pub context: Option<Cow<'a, str>>,
}

/// Reads a table row by row.
pub(crate) struct TablePassages {
    pub(crate) table: Arc<dyn Table>,
    /// The rows so far.
    pub(crate) row: u64,
}

impl PassageSource for TablePassages {
    fn next(&mut self) -> Result<Option<Passage>, CorpusError> {
        if self.row >= self.table.rows() {
            return Ok(None);
        }
        let cells = self.table.cells(self.row);
        self.row += 1;
        let null = |what| {
            let place = Place { file: self.table.name().to_owned(), position: self.position() };
            CorpusError::Bad(Box::new(BadRecord::null(place, what)))
        };
        let id = cells.id.ok_or_else(|| null("identifier"))?.into_owned();
        let text = cells.text.ok_or_else(|| null("text"))?.into_owned();
        let title = cells.title.filter(|title| !title.is_empty()).map(Cow::into_owned);
        Ok(Some(Passage { id, title, text, context: cells.context.map(Cow::into_owned) }))
    }

    fn position(&self) -> Position {
        Position::Row(self.row)
    }

    fn rows(&self) -> u64 {
        self.row
    }
}
