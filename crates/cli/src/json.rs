//! Results and errors as JSON, for programs. docs/json.md and docs/json.schema.json describe them.

use std::io::{self, Write};

use serde_json::{Value, json};
use toller_ir::{ErrorPlace, Position};

/// The version of all results and errors. docs/json.md says when it rises.
const VERSION: u32 = 1;

/// Writes a result, which is an object, with the version.
pub fn write(out: &mut (impl Write + ?Sized), result: Value) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &versioned(result))?;
    writeln!(out)
}

/// An error as a program reads it.
#[derive(Debug)]
pub struct JsonError<'a> {
    pub kind: Kind,
    pub message: &'a str,
    pub hint: Option<&'a str>,
    pub place: Option<&'a ErrorPlace>,
}

toller_ir::named! {
    /// What ended a command.
    pub enum Kind: "a kind of errors" {
        /// The request cannot be met as asked: exit status 2.
        Usage = "usage",
        /// The work failed: exit status 1.
        Failure = "failure",
        /// The user stopped the work: exit status 130.
        Interrupted = "interrupted",
    }
}

impl JsonError<'_> {
    /// The error on one line.
    pub fn line(&self) -> String {
        let mut error = json!({ "kind": self.kind.name(), "message": self.message });
        if let Some(hint) = self.hint {
            error["hint"] = hint.into();
        }
        if let Some(ErrorPlace { file, position }) = self.place {
            error["file"] = file.as_str().into();
            match position {
                Some(Position::Line(number)) => error["line"] = (*number).into(),
                Some(Position::Record(number)) => error["record"] = (*number).into(),
                Some(Position::Row(number)) => error["row"] = (*number).into(),
                None => {}
            }
        }
        versioned(json!({ "error": error })).to_string()
    }
}

fn versioned(mut result: Value) -> Value {
    if let Some(object) = result.as_object_mut() {
        object.insert("schema_version".to_owned(), VERSION.into());
    }
    result
}
