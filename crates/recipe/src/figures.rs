//! Figures by id: what papers and other programs reported.
//!
//! A file of figures has tables as they are printed. The id of a figure is
//! `paper.table.system.collection.measure`, so that a recipe names a value instead of copying it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use toller_files::FileError;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::closest::closest;
use super::error::RecipeError;
use super::source::Source;

/// Tables of figures, from one file or several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// The tables in the order of the files.
    pub tables: Vec<FigureTable>,
    /// What papers, systems and collections are called, by their names in ids.
    pub names: HashMap<String, String>,
    /// Why no recipe has a system, and the way around, by `paper.system`.
    pub absent: HashMap<String, String>,
    /// The place of each figure: its table, and its number there.
    places: HashMap<String, (usize, usize)>,
}

/// A table as it is printed.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureTable {
    /// What it is called.
    pub title: String,
    /// What a reader has to know about it.
    pub note: String,
    /// Row by row.
    pub figures: Vec<Figure>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its id.
    pub id: FigureId,
    /// The row as it is printed.
    pub row: String,
    /// The value as it is printed; `None` for an empty cell.
    pub printed: Option<String>,
    /// The value as Toller measures it: a share instead of a percentage.
    pub value: Option<f64>,
    /// The decimals of that value which were printed.
    pub decimals: usize,
}

/// The parts of an id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FigureId {
    /// The paper, or another source.
    pub paper: String,
    /// The table.
    pub table: String,
    /// The system.
    pub system: String,
    /// What was searched, or asked.
    pub collection: String,
    /// The measure, in Toller's notation.
    pub measure: String,
}

impl FigureId {
    /// Parses an id; the measure, which is last, may have dots.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        let mut parts = id.splitn(5, '.').map(str::to_owned);
        let mut next = || parts.next().filter(|part| !part.is_empty());
        Some(Self { paper: next()?, table: next()?, system: next()?, collection: next()?, measure: next()? })
    }
}

impl std::fmt::Display for FigureId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}.{}.{}", self.paper, self.table, self.system, self.collection, self.measure)
    }
}

impl Figures {
    /// Reads files of figures.
    ///
    /// # Errors
    /// A file that cannot be read or is not of this shape, and an id with two values.
    pub fn read<'p>(files: impl IntoIterator<Item = &'p PathBuf>) -> Result<Self, RecipeError> {
        let mut figures = Self::default();
        for file in files {
            let text = fs::read_to_string(file).map_err(FileError::on("read", file))?;
            figures.add(Source { file, text: &text })?;
        }
        Ok(figures)
    }

    /// The figure of this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Figure> {
        let (table, figure) = self.places.get(id)?;
        self.tables.get(*table)?.figures.get(*figure)
    }

    /// The table of a figure.
    #[must_use]
    pub fn table_of(&self, id: &str) -> Option<&FigureTable> {
        self.tables.get(self.places.get(id)?.0)
    }

    /// A known id like this one.
    pub(super) fn closest(&self, id: &str) -> Option<&str> {
        closest(id, self.places.keys().map(String::as_str))
    }

    fn add(&mut self, source: Source<'_>) -> Result<(), RecipeError> {
        let document = source.parse()?;
        let root = document.get_ref();
        source.check_keys(root, "a file of figures", &["table", "names", "absent"])?;
        for (key, map) in [("names", &mut self.names), ("absent", &mut self.absent)] {
            let Some(table) = root.get(key) else { continue };
            for (name, value) in source.entries(source.table(table, key)?) {
                map.insert(name.get_ref().to_string(), source.string(value, name.get_ref())?);
            }
        }
        for table in source.array(root, "table", "[[table]]")? {
            self.add_table(source, source.table(table, "table")?, table)?;
        }
        Ok(())
    }

    fn add_table(
        &mut self,
        source: Source<'_>,
        table: &DeTable<'_>,
        whole: &Spanned<DeValue<'_>>,
    ) -> Result<(), RecipeError> {
        source.check_keys(table, "a table", &["id", "title", "note", "percent", "columns", "rows"])?;
        let text = |key: &str| Ok::<_, RecipeError>(source.optional_string(table, key)?.unwrap_or_default());
        let (id, title, note) = (text("id")?, text("title")?, text("note")?);
        let is_percent = matches!(table.get("percent").map(Spanned::get_ref), Some(DeValue::Boolean(true)));
        let columns = source.strings(table, "columns")?;
        let mut figures = Vec::new();
        let rows = table.get("rows").map_or(Ok(Vec::new()), |rows| {
            Ok::<_, RecipeError>(source.entries(source.table(rows, "rows")?))
        })?;
        for (name, row) in rows {
            let cells = source.texts_of(row, name.get_ref())?;
            let [printed_name, values] = &cells[..] else {
                return Err(source.bad(&row.span(), "a row has two strings", "give its name and its values"));
            };
            let values: Vec<&str> = values.split_whitespace().collect();
            if values.len() != columns.len() {
                let message = format!("a row of {} values in {} columns", values.len(), columns.len());
                return Err(source.bad(&row.span(), message, "write - for an empty cell"));
            }
            for (column, printed) in columns.iter().zip(values) {
                let id = id.replace("{row}", name.get_ref()).replace("{column}", column);
                let Some(id) = FigureId::parse(&id) else {
                    let hint = "ids are paper.table.system.collection.measure";
                    return Err(source.bad(&whole.span(), format!("the id {id:?}"), hint));
                };
                let printed = (printed != "-").then(|| printed.to_owned());
                // A decimal exponent, since a division would round.
                let (exponent, shift) = if is_percent { ("e-2", 2) } else { ("", 0) };
                let decimals = printed.as_ref().and_then(|printed| Some(printed.split_once('.')?.1.len()));
                let decimals = decimals.unwrap_or(0) + shift;
                let value = printed.as_ref().map(|printed| format!("{printed}{exponent}").parse::<f64>());
                let Ok(value) = value.transpose() else {
                    let message = format!("{} is not a number", printed.unwrap_or_default());
                    return Err(source.bad(&row.span(), message, "write - for an empty cell"));
                };
                figures.push(Figure { id, row: printed_name.clone(), printed, value, decimals });
            }
        }
        // Papers repeat rows; they must not contradict each other.
        for (at, figure) in figures.iter().enumerate() {
            let id = figure.id.to_string();
            match self.get(&id) {
                Some(known) if known.value != figure.value => {
                    let message = format!("{id} has two values");
                    return Err(source.bad(&whole.span(), message, "give one of them another id"));
                }
                Some(_) => {}
                None => drop(self.places.insert(id, (self.tables.len(), at))),
            }
        }
        self.tables.push(FigureTable { title, note, figures });
        Ok(())
    }
}

/// Whether a file is one of figures, and not a recipe: it has tables and no steps.
///
/// # Errors
/// A file that cannot be read or is not TOML.
pub fn is_of_figures(file: &Path) -> Result<bool, RecipeError> {
    let text = fs::read_to_string(file).map_err(FileError::on("read", file))?;
    let source = Source { file, text: &text };
    Ok(source.parse()?.get_ref().contains_key("table"))
}
