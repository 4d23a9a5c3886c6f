//! A recipe as its file states it.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toller_files::FileError;
use toller_ir::Remedy;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Place, RecipeError};
use super::expect::{Expected, expect};
use super::figures::Figures;
use super::matrix::{Cell, Matrix};
use super::source::Source;
use super::variables::Variables;

/// A recipe, checked as far as that needs no knowledge of commands.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Its file.
    pub file: PathBuf,
    /// What is done, in a line.
    pub title: String,
    /// More about it.
    pub about: String,
    /// What can be set from outside.
    pub variables: Vec<Variable>,
    /// The axes; each value of an axis has its own steps.
    pub matrix: Matrix,
    /// What is done, in the order of the file, for every chosen cell of the matrix.
    pub steps: Vec<Step>,
    /// The expected measures.
    pub expected: Vec<Expected>,
}

/// A variable, written `${name}` in strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value, unless one is set.
    pub default: Option<String>,
    /// What it means.
    pub about: String,
    /// Where to get it.
    pub source: String,
}

/// A step: a command with its options.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// The cell of the matrix that it belongs to.
    pub cell: Cell,
    /// Where it is.
    pub line: usize,
    /// The command.
    pub command: String,
    /// The file for what the command writes to stdout.
    pub stdout: Option<(String, usize)>,
    /// Options in the order of the file, with their lines.
    pub options: Vec<(String, Value, usize)>,
}

/// What an option is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Whether a flag is given.
    Flag(bool),
    /// One value or several, as they are written.
    Texts(Vec<String>),
    /// A value in a report that an earlier step writes.
    Reported {
        /// The report, JSON.
        report: String,
        /// Where in it, as a JSON pointer (RFC 6901).
        pointer: String,
    },
}

impl Recipe {
    /// Reads a recipe, for the chosen values of its axes: `("language", "ar")`. Of an axis that is not named,
    /// all values count.
    ///
    /// # Errors
    /// What cannot be read, is not TOML, or is not of a recipe's shape; with the line. An unknown axis or
    /// value, and an expectation of an unknown figure.
    pub fn read(file: &Path, chosen: &[(String, String)]) -> Result<Self, RecipeError> {
        let text = fs::read_to_string(file).map_err(FileError::on("read", file))?;
        let source = Source { file, text: &text };
        let document = source.parse()?;
        let table = document.get_ref();
        let keys = ["title", "about", "figures", "variables", "matrix", "steps", "expect"];
        source.check_keys(table, "a recipe", &keys)?;
        let title = source.optional_string(table, "title")?.unwrap_or_default();
        let about = source.optional_string(table, "about")?.unwrap_or_default();
        let mut recipe = Self {
            file: file.to_owned(),
            title,
            about,
            variables: Vec::new(),
            matrix: Matrix::default(),
            steps: Vec::new(),
            expected: Vec::new(),
        };
        if let Some(variables) = table.get("variables") {
            for (name, value) in source.entries(source.table(variables, "variables")?) {
                let variable = variable(source, name.get_ref(), value)?;
                let line = source.line(&value.span());
                // So none can lead back to itself.
                let known = |name: &&str| recipe.variables.iter().any(|before| before.name == *name);
                let default = variable.default.as_deref().unwrap_or_default();
                if let Some(other) = Variables::names_in(default).find(|name| !known(name)) {
                    let message = format!("there is no variable {other:?} before {:?}", variable.name);
                    return Err(source.bad_line(
                        line,
                        message,
                        "a default names variables that come before it",
                    ));
                }
                recipe.variables.push(variable);
            }
        }
        if let Some(matrix) = table.get("matrix") {
            recipe.matrix = Matrix::parse(source, matrix)?;
        }
        recipe.matrix.choose(source, chosen)?;
        if let Some(steps) = table.get("steps") {
            for (name, value) in source.entries(source.table(steps, "steps")?) {
                recipe.steps.extend(recipe.matrix.expand(&step(source, name, value)?));
            }
        }
        if recipe.steps.is_empty() {
            return Err(source.bad(
                &(0..0),
                "a recipe without steps",
                "write [steps.NAME] with command = \"...\"",
            ));
        }
        let folder = file.parent().unwrap_or(Path::new(""));
        let files: Vec<PathBuf> = match table.get("figures") {
            Some(value) => source.texts_of(value, "figures")?.iter().map(|name| folder.join(name)).collect(),
            None => Vec::new(),
        };
        let figures = Figures::read(&files)?;
        for value in source.array(table, "expect", "[[expect]]")? {
            expect(source, value, &recipe.matrix, &figures, &mut recipe.expected)?;
        }
        Ok(recipe)
    }

    /// An error at a line.
    pub(super) fn bad(
        &self,
        line: usize,
        message: impl Into<String>,
        remedy: impl Into<Remedy>,
    ) -> RecipeError {
        let place = Place { file: self.file.clone(), line };
        RecipeError::Bad { place, message: message.into(), remedy: Some(remedy.into()) }
    }
}

impl Step {
    /// All texts in which variables and axes can be named.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> + Clone {
        let of_options = self.options.iter().flat_map(|(_, value, _)| match value {
            Value::Texts(texts) => texts.as_slice(),
            Value::Reported { report, .. } => std::slice::from_ref(report),
            Value::Flag(_) => &[],
        });
        of_options.map(String::as_str).chain(self.stdout.iter().map(|(name, _)| name.as_str()))
    }
}

fn variable(source: Source<'_>, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Variable, RecipeError> {
    let name = name.to_owned();
    if let DeValue::String(default) = value.get_ref() {
        let (about, source) = (String::new(), String::new());
        return Ok(Variable { name, default: Some(default.to_string()), about, source });
    }
    let table = source.table(value, &format!("variable {name:?}"))?;
    source.check_keys(table, "a variable", &["default", "about", "source"])?;
    Ok(Variable {
        name,
        default: source.optional_string(table, "default")?,
        about: source.optional_string(table, "about")?.unwrap_or_default(),
        source: source.optional_string(table, "source")?.unwrap_or_default(),
    })
}

fn step<'a>(
    source: Source<'a>,
    name: &Spanned<toml::de::DeString<'a>>,
    value: &Spanned<DeValue<'a>>,
) -> Result<Step, RecipeError> {
    let name_text = name.get_ref().to_string();
    let table = source.table(value, &format!("step {name_text:?}"))?;
    let Some(command) = table.get("command") else {
        let message = format!("step {name_text} has no command");
        return Err(source.bad(&name.span(), message, "add command = \"search\" or another one"));
    };
    let mut step = Step {
        line: source.line(&name.span()),
        name: name_text,
        cell: Cell::default(),
        command: source.string(command, "command")?,
        stdout: None,
        options: Vec::new(),
    };
    for (key, value) in source.entries(table) {
        let line = source.line(&key.span());
        match key.get_ref().as_ref() {
            "command" => {}
            "stdout" => step.stdout = Some((source.string(value, "stdout")?, line)),
            option => step.options.push((option.to_owned(), option_value(source, option, value)?, line)),
        }
    }
    Ok(step)
}

fn option_value(
    source: Source<'_>,
    option: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<Value, RecipeError> {
    match value.get_ref() {
        DeValue::Boolean(given) => Ok(Value::Flag(*given)),
        DeValue::Array(values) => {
            let texts = values.iter().map(|value| scalar(source, option, value));
            Ok(Value::Texts(texts.collect::<Result<_, _>>()?))
        }
        DeValue::Table(table) => reported(source, option, table, &value.span()),
        _ => Ok(Value::Texts(vec![scalar(source, option, value)?])),
    }
}

/// `{ report = "tuned.json", pointer = "/best/alpha" }`
fn reported(
    source: Source<'_>,
    option: &str,
    table: &DeTable<'_>,
    span: &Range<usize>,
) -> Result<Value, RecipeError> {
    source.check_keys(table, &format!("{option:?}, a table,"), &["report", "pointer"])?;
    let report = source.optional_string(table, "report")?;
    let pointer = source.optional_string(table, "pointer")?;
    match (report, pointer) {
        (Some(report), Some(pointer)) if pointer.starts_with('/') => Ok(Value::Reported { report, pointer }),
        _ => Err(source.bad(
            span,
            format!("{option:?} does not say where in a report its value is"),
            "write { report = \"tuned.json\", pointer = \"/best/alpha\" }",
        )),
    }
}

fn scalar(source: Source<'_>, option: &str, value: &Spanned<DeValue<'_>>) -> Result<String, RecipeError> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        other => Err(source.wrong_type(value, option, "a string or a number", other)),
    }
}
