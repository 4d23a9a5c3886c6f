//! The TOML of recipes and figures: typed access to tables, with the line of everything that is wrong.

use std::ops::Range;
use std::path::Path;

use toller_ir::Remedy;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::closest::did_you_mean;
use super::error::{Place, RecipeError};

/// The text of a file, for lines.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) file: &'a Path,
    pub(super) text: &'a str,
}

/// A key and its value.
pub(super) type Entry<'t, 'a> = (&'t Spanned<DeString<'a>>, &'t Spanned<DeValue<'a>>);

impl<'a> Source<'a> {
    /// The document's table.
    pub(super) fn parse(self) -> Result<Spanned<DeTable<'a>>, RecipeError> {
        DeTable::parse(self.text).map_err(|error| RecipeError::Bad {
            place: self.place(&error.span().unwrap_or_default()),
            message: error.message().trim_end().to_owned(),
            remedy: Some("recipes are TOML; docs/recipes.md has the format".into()),
        })
    }

    pub(super) fn line(self, span: &Range<usize>) -> usize {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        before.bytes().filter(|byte| *byte == b'\n').count() + 1
    }

    fn place(self, span: &Range<usize>) -> Place {
        Place { file: self.file.to_owned(), line: self.line(span) }
    }

    /// An error at a span.
    pub(super) fn bad(
        self,
        span: &Range<usize>,
        message: impl Into<String>,
        remedy: impl Into<Remedy>,
    ) -> RecipeError {
        RecipeError::Bad { place: self.place(span), message: message.into(), remedy: Some(remedy.into()) }
    }

    /// An error at a line.
    pub(super) fn bad_line(
        self,
        line: usize,
        message: impl Into<String>,
        remedy: impl Into<Remedy>,
    ) -> RecipeError {
        let place = Place { file: self.file.to_owned(), line };
        RecipeError::Bad { place, message: message.into(), remedy: Some(remedy.into()) }
    }

    /// The entries of a table in the order of the file.
    pub(super) fn entries<'t>(self, table: &'t DeTable<'a>) -> Vec<Entry<'t, 'a>> {
        let mut entries: Vec<Entry<'t, 'a>> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
    }

    /// Refuses keys that have no meaning in a table.
    pub(super) fn check_keys(
        self,
        table: &DeTable<'_>,
        of_what: &str,
        known: &[&str],
    ) -> Result<(), RecipeError> {
        match table.iter().find(|(key, _)| !known.contains(&key.get_ref().as_ref())) {
            None => Ok(()),
            Some((key, _)) => {
                let name = key.get_ref().as_ref();
                let hint = did_you_mean(name, known.iter().copied());
                Err(self.bad(&key.span(), format!("{of_what} has no {name:?}"), hint))
            }
        }
    }

    pub(super) fn string(self, value: &Spanned<DeValue<'_>>, of_what: &str) -> Result<String, RecipeError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            other => Err(self.wrong_type(value, of_what, "a string", other)),
        }
    }

    pub(super) fn number(self, value: &Spanned<DeValue<'_>>, of_what: &str) -> Result<f64, RecipeError> {
        let text = match value.get_ref() {
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            other => return Err(self.wrong_type(value, of_what, "a number", other)),
        };
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| self.bad(&value.span(), format!("{of_what} is {text}"), "give a finite number"))
    }

    pub(super) fn table<'t>(
        self,
        value: &'t Spanned<DeValue<'a>>,
        of_what: &str,
    ) -> Result<&'t DeTable<'a>, RecipeError> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            other => Err(self.wrong_type(value, of_what, "a table", other)),
        }
    }

    /// The tables under a key that may be left out, as in `[[expect]]`.
    pub(super) fn array<'t>(
        self,
        table: &'t DeTable<'a>,
        key: &str,
        shape: &str,
    ) -> Result<Vec<&'t Spanned<DeValue<'a>>>, RecipeError> {
        match table.get(key).map(|value| (value, value.get_ref())) {
            None => Ok(Vec::new()),
            Some((_, DeValue::Array(array))) => Ok(array.iter().collect()),
            Some((value, other)) => Err(self.wrong_type(value, key, shape, other)),
        }
    }

    /// A string, or the strings of a list.
    pub(super) fn texts_of(
        self,
        value: &Spanned<DeValue<'_>>,
        of_what: &str,
    ) -> Result<Vec<String>, RecipeError> {
        match value.get_ref() {
            DeValue::Array(values) => values.iter().map(|value| self.string(value, of_what)).collect(),
            _ => Ok(vec![self.string(value, of_what)?]),
        }
    }

    /// The strings under a key that may be left out.
    pub(super) fn strings(self, table: &DeTable<'_>, key: &str) -> Result<Vec<String>, RecipeError> {
        table.get(key).map_or(Ok(Vec::new()), |value| self.texts_of(value, key))
    }

    /// The string under a key that may be left out.
    pub(super) fn optional_string(
        self,
        table: &DeTable<'_>,
        key: &str,
    ) -> Result<Option<String>, RecipeError> {
        table.get(key).map(|value| self.string(value, key)).transpose()
    }

    pub(super) fn wrong_type(
        self,
        value: &Spanned<DeValue<'_>>,
        of_what: &str,
        expected: &str,
        found: &DeValue<'_>,
    ) -> RecipeError {
        let found = match found {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.bad(&value.span(), format!("{of_what} is {found}"), format!("write {expected}"))
    }
}
