//! A recipe as its file states it.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toller_files::FileError;
use toller_ir::Remedy;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Place, RecipeError};
use super::source::Source;

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
    /// What is done, in the order of the file.
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

/// A value that is expected of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The report of `toller eval --format json` in which it is found.
    pub report: String,
    /// The run, as the report calls it.
    pub run: String,
    /// The measure, as the report calls it.
    pub measure: String,
    /// Its value.
    pub value: f64,
    /// By how much it may be off.
    pub tolerance: f64,
    /// Where the value is from.
    pub source: String,
    /// Where this is written.
    pub line: usize,
}

impl Recipe {
    /// Reads a recipe.
    ///
    /// # Errors
    /// What cannot be read, is not TOML, or is not of a recipe's shape; with the line.
    pub fn read(file: &Path) -> Result<Self, RecipeError> {
        let text = fs::read_to_string(file).map_err(FileError::on("read", file))?;
        Self::parse(file, &text)
    }

    /// Reads a recipe from its text; `file` is what it is called, and where relative paths start.
    ///
    /// # Errors
    /// As [`Recipe::read`].
    pub fn parse(file: &Path, text: &str) -> Result<Self, RecipeError> {
        let source = Source { file, text };
        let document = source.parse()?;
        let table = document.get_ref();
        source.check_keys(table, "a recipe", &["title", "about", "variables", "steps", "expect"])?;
        let title = source.optional_string(table, "title")?.unwrap_or_default();
        let about = source.optional_string(table, "about")?.unwrap_or_default();
        let mut recipe = Self {
            file: file.to_owned(),
            title,
            about,
            variables: Vec::new(),
            steps: Vec::new(),
            expected: Vec::new(),
        };
        if let Some(variables) = table.get("variables") {
            for (name, value) in source.entries(source.table(variables, "variables")?) {
                recipe.variables.push(variable(source, name.get_ref(), value)?);
            }
        }
        if let Some(steps) = table.get("steps") {
            for (name, value) in source.entries(source.table(steps, "steps")?) {
                recipe.steps.push(step(source, name, value)?);
            }
        }
        if recipe.steps.is_empty() {
            return Err(source.bad(
                &(0..0),
                "a recipe without steps",
                "write [steps.NAME] with command = \"...\"",
            ));
        }
        match table.get("expect").map(|value| (value, value.get_ref())) {
            None => {}
            Some((_, DeValue::Array(array))) => {
                for value in array.iter() {
                    expect(source, value, &mut recipe.expected)?;
                }
            }
            Some((value, other)) => {
                return Err(source.wrong_type(value, "expect", "[[expect]]", other));
            }
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

/// One `[[expect]]`: a value for each of its measures.
fn expect(
    source: Source<'_>,
    value: &Spanned<DeValue<'_>>,
    expected: &mut Vec<Expected>,
) -> Result<(), RecipeError> {
    let table = source.table(value, "expect")?;
    let keys = ["report", "run", "measures", "tolerance", "source"];
    source.check_keys(table, "[[expect]]", &keys)?;
    if let Some(key) = keys.iter().find(|key| !table.contains_key(**key)) {
        let hint = "give report, run, measures, tolerance and source";
        return Err(source.bad(&value.span(), format!("[[expect]] has no {key:?}"), hint));
    }
    let text = |key: &str| Ok::<_, RecipeError>(source.optional_string(table, key)?.unwrap_or_default());
    let (report, run, from) = (text("report")?, text("run")?, text("source")?);
    let tolerance =
        table.get("tolerance").map_or(Ok(0.0), |tolerance| source.number(tolerance, "tolerance"))?;
    if tolerance < 0.0 {
        return Err(source.bad(&value.span(), format!("the tolerance is {tolerance}"), "give 0 or more"));
    }
    for (measure, value) in table.get("measures").map_or(Ok(Vec::new()), |measures| {
        Ok::<_, RecipeError>(source.entries(source.table(measures, "measures")?))
    })? {
        expected.push(Expected {
            report: report.clone(),
            run: run.clone(),
            measure: measure.get_ref().to_string(),
            value: source.number(value, measure.get_ref())?,
            tolerance,
            source: from.clone(),
            line: source.line(&measure.span()),
        });
    }
    Ok(())
}
