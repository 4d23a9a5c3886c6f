//! Two outputs of one command have two names.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command};

use super::paths::OutputPath;
use crate::error::UsageError;

/// Refuses one file, or stdout, for two outputs of the command that was given: the second would replace the
/// first.
pub fn check(command: &Command, matches: &ArgMatches) -> Result<(), UsageError> {
    let (mut command, mut matches) = (command, matches);
    while let Some((name, inner)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else { break };
        (command, matches) = (found, inner);
    }
    let mut outputs: Vec<(String, &OutputPath)> = Vec::new();
    for argument in command.get_arguments().filter(|argument| is_output(argument)) {
        let paths = matches.get_many::<OutputPath>(argument.get_id().as_str());
        for path in paths.into_iter().flatten() {
            let flag = flag(argument);
            let same = |(_, other): &&(String, &OutputPath)| !is_device(path) && is_same_place(other, path);
            if let Some((other, _)) = outputs.iter().find(same) {
                let message = format!("{other} and {flag} would both write to {}", path.name());
                return Err(UsageError::new(message, format!("give {flag} another name")));
            }
            outputs.push((flag, path));
        }
    }
    Ok(())
}

/// Whether a path is a device or a pipe, which keeps nothing that could be replaced.
fn is_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

fn is_output(argument: &Arg) -> bool {
    argument.get_value_parser().type_id() == TypeId::of::<OutputPath>()
}

fn flag(argument: &Arg) -> String {
    argument.get_long().map_or_else(|| argument.get_id().to_string(), |long| format!("--{long}"))
}

/// Whether two paths lead to one file or directory, which need not be there.
pub fn is_same_place(one: &Path, other: &Path) -> bool {
    place(one) == place(other)
}

/// Where a path leads, whether or not something is there.
fn place(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().map(OsString::from).unwrap_or_default();
    let written = || folder.canonicalize().map(|folder| folder.join(name));
    path.canonicalize().or_else(|_| written()).unwrap_or_else(|_| path.to_owned())
}
