//! A run's options from a TOML file: each is a flag without its dashes.

use std::ffi::OsString;

use clap::{Args, FromArgMatches};
use toller_files::FileError;
use toml::{Table, Value};

use crate::args::paths::InputPath;
use crate::error::UsageError;

/// Reads options from a file, as if they were flags.
pub fn read<A: Args + FromArgMatches>(path: &InputPath) -> crate::Result<A> {
    let text = std::fs::read_to_string(path.as_ref()).map_err(FileError::on("read", path.as_ref()))?;
    let in_file = |problem: String| {
        UsageError::new(format!("{}: {problem}", path.display()), "correct the file").at_file(path.display())
    };
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line =
            error.span().and_then(|span| text.get(..span.start)).map(|before| before.split('\n').count());
        let wrong = in_file(error.to_string());
        match line {
            Some(line) => wrong.at_line(path.display(), line),
            None => wrong,
        }
    })?;
    let command = A::augment_args(clap::Command::new("config").disable_help_flag(true));
    let mut flags = vec![OsString::from("config")];
    for (name, value) in &table {
        if name == "config" {
            return Err(in_file("a file of options names no other".to_owned()).into());
        }
        let option = command.get_arguments().find(|option| option.get_long() == Some(name));
        let Some(option) = option else {
            let dashed = name.replace('_', "-");
            let is_option = command.get_arguments().any(|option| option.get_long() == Some(&dashed));
            let remedy = if is_option { format!("write {dashed:?}") } else { "correct the file".to_owned() };
            let message = format!("{}: there is no option {name:?}", path.display());
            return Err(UsageError::new(message, remedy).at_file(path.display()).into());
        };
        let is_switch = !option.get_action().takes_values();
        let values = match value {
            Value::Boolean(_) if !is_switch => {
                return Err(in_file(format!("{name} = {value}: expected text or a number")).into());
            }
            Value::Boolean(false) => continue,
            Value::Boolean(true) => {
                flags.push(OsString::from(format!("--{name}")));
                continue;
            }
            Value::Array(values) => values.clone(),
            value => vec![value.clone()],
        };
        for value in values {
            let text = match value {
                Value::String(text) => text,
                Value::Integer(_) | Value::Float(_) => value.to_string(),
                other => return Err(in_file(format!("{name} = {other}: expected text or a number")).into()),
            };
            // In one word, so that a value that begins with a dash is not taken for a flag.
            flags.push(format!("--{name}={text}").into());
        }
    }
    let matches =
        command.try_get_matches_from(flags).and_then(|mut found| A::from_arg_matches_mut(&mut found));
    let problem = |error: clap::Error| error.to_string().trim_start_matches("error: ").trim_end().to_owned();
    Ok(matches.map_err(|error| in_file(problem(error)))?)
}
