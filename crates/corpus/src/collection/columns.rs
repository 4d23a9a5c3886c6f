//! Which column of a collection of columns is what.

use serde::{Deserialize, Serialize};
use toller_ir::{Passage, counted};

use crate::names::{MAX_COLUMNS, Names};
use crate::text::{header_index, parse_quoted, tabs};

/// The value of a column that RocketQA leaves empty.
const NOTHING: &str = "-";

/// Which column is what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Columns {
    /// `None` where rows are numbered.
    id: Option<usize>,
    title: Option<usize>,
    text: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<usize>,
    width: usize,
}

impl Columns {
    pub(crate) const PLAIN: Self = Self { id: Some(0), title: None, text: 1, context: None, width: 2 };
    pub(crate) const DPR: Self = Self { id: Some(0), title: Some(2), text: 1, context: None, width: 3 };
    pub(crate) const ROCKETQA_TWO: Self = Self { id: None, title: Some(0), text: 1, context: None, width: 2 };
    pub(crate) const ROCKETQA_FOUR: Self =
        Self { id: None, title: Some(1), text: 2, context: None, width: 4 };

    /// The columns that a header names, if it is one.
    pub(crate) fn of_header(cells: &[impl AsRef<str>], names: &Names) -> Option<Self> {
        let (id, text) = names.of_header(cells)?;
        let title = header_index(cells, &names.title);
        let context = header_index(cells, &names.context);
        Some(Self { id: Some(id), title, text, context, width: cells.len() })
    }

    /// Whether a column holds identifiers; otherwise rows are numbered.
    pub(crate) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// The number of columns.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// What a row is to have; `delimiter` separates its columns.
    pub(crate) fn describe(&self, delimiter: char) -> String {
        let name = |index: usize| match index {
            _ if self.id == Some(index) => "id",
            _ if self.title == Some(index) => "title",
            _ if self.text == index => "text",
            _ if self.context == Some(index) => "context",
            _ => "...",
        };
        let names: Vec<_> = (0..self.width).map(name).collect();
        let columns = if delimiter == ',' { "comma-separated column" } else { "tab-separated column" };
        format!("{} ({})", counted(self.width, columns), names.join(", "))
    }

    /// The passage of an unquoted line, where it has these columns, one of them an identifier.
    pub(crate) fn passage_of_line(&self, line: &str) -> Option<Passage> {
        let mut cells = [""; MAX_COLUMNS];
        let width = tabs(line, &mut cells);
        (self.id.is_some() && width == self.width).then(|| self.passage(&cells, 0))
    }

    /// The same of a row with quoted fields, which may span lines.
    pub(crate) fn passage_of_quoted(&self, row: &str) -> Option<Passage> {
        let cells = parse_quoted(row, '\t')?;
        (self.id.is_some() && cells.len() == self.width).then(|| self.passage(&cells, 0))
    }

    /// The passage of a row with these columns. `row` numbers the rows from zero.
    pub(crate) fn passage(&self, cells: &[impl AsRef<str>], row: u64) -> Passage {
        let cell = |index: usize| cells.get(index).map_or("", AsRef::as_ref);
        let id = self.id.map_or_else(|| row.to_string(), |id| cell(id).to_owned());
        let title = self.title.map(cell);
        let absent = |title: &str| title.is_empty() || self.id.is_none() && title == NOTHING;
        Passage {
            id,
            title: title.filter(|title| !absent(title)).map(str::to_owned),
            text: cell(self.text).to_owned(),
            context: self.context.map(|context| cell(context).to_owned()),
        }
    }
}
