//! What templates expect of Python: methods of strings, Jinja's tests of them, and transformers' filters.

use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Output, State};

/// Python's white space: that of Unicode, and four control characters.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Teaches an environment to run templates that were written for Python.
pub(crate) fn teach(environment: &mut Environment<'_>) {
    environment.set_unknown_method_callback(method);
    environment.set_formatter(write);
    environment.add_filter("trim", |text: &str, characters: Option<&str>| match characters {
        None => text.trim_matches(is_space).to_owned(),
        Some(characters) => text.trim_matches(|c| characters.contains(c)).to_owned(),
    });
    environment.add_filter("tojson", json);
    // A string is one in Python.
    environment.add_test("sequence", |value: &Value| {
        matches!(value.kind(), ValueKind::String | ValueKind::Seq | ValueKind::Map)
    });
}

/// A method of a value, as in Python.
fn method(state: &mut State<'_, '_>, value: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    match (value.as_str(), name, arguments) {
        (Some(text), "strip", []) => Ok(text.trim_matches(is_space).into()),
        (Some(text), "lstrip", []) => Ok(text.trim_start_matches(is_space).into()),
        (Some(text), "rstrip", []) => Ok(text.trim_end_matches(is_space).into()),
        (Some(text), "split", []) => Ok(text.split(is_space).filter(|word| !word.is_empty()).collect()),
        // Its widths can ask for any memory.
        (Some(_), "format", _) => Err(Error::new(ErrorKind::UnknownMethod, "the method format")),
        _ => minijinja_contrib::pycompat::unknown_method_callback(state, value, name, arguments),
    }
}

/// Writes text, numbers and what is missing. Lists and maps are refused: they may contain themselves.
fn write(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable | ValueKind::Plain => {
            let message = format!("a value that is not text is written ({})", value.kind());
            Err(Error::new(ErrorKind::InvalidOperation, message))
        }
        _ => minijinja::escape_formatter(out, state, value),
    }
}

/// Text as transformers' `tojson` writes it.
fn json(value: &Value) -> Result<String, Error> {
    let text = value.as_str().ok_or_else(|| {
        Error::new(ErrorKind::InvalidOperation, "tojson of a value that is not a string is not supported")
    })?;
    Ok(serde_json::Value::from(text).to_string())
}
