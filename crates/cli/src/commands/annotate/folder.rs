//! The folder of packages, which people fill in: what is in it is kept.

use std::fs;
use std::io::{ErrorKind, Write};

use toller_files::{AtomicFile, FileError, commit_together, names_in, remove_durably};

use crate::args::paths::OutputPath;
use crate::args::replacing::OverwriteArgs;
use crate::error::UsageError;

/// A package as it will be written: its name and its content.
pub(super) type File = (String, Vec<u8>);

/// Writes packages, and removes others that are there. Without --overwrite, refuses a folder in which any
/// package is not one of these to the byte: it may be filled in, and one of another pool would be voted on
/// with these. The packages appear when all are complete.
pub(super) fn write(directory: &OutputPath, files: &[File], overwrite: OverwriteArgs) -> crate::Result<()> {
    fs::create_dir_all(directory).map_err(FileError::on("create", directory))?;
    let mut others = names_in(directory)?;
    others.retain(|name| is_package(name) && !files.iter().any(|(written, _)| written == name));
    if !overwrite.is_given() {
        check(directory, files, &others)?;
    }
    let mut complete = Vec::with_capacity(files.len());
    for (name, content) in files {
        let path = directory.file(name);
        let mut file = AtomicFile::create(&*path)?;
        file.write_all(content).map_err(FileError::on("write", &path))?;
        complete.push(file.complete()?);
    }
    // First of all, so that none is among the new ones if the process is killed.
    for name in others {
        remove_durably(&directory.file(name))?;
    }
    Ok(commit_together(complete)?)
}

fn check(directory: &OutputPath, files: &[File], others: &[String]) -> Result<(), UsageError> {
    let is_changed =
        // What cannot be read may be filled in.
        |(name, content): &&File| match fs::read(directory.file(name)) {
            Ok(old) => old != *content,
            Err(error) => error.kind() != ErrorKind::NotFound,
        };
    let changed = files.iter().find(is_changed).map(|(name, _)| name);
    let Some(name) = changed.or(others.first()) else { return Ok(()) };
    Err(UsageError::new(
        format!(
            "{} is there already, and it is not what would be written: people may have filled it in",
            directory.file(name).display()
        ),
        "give --output another directory, or add --overwrite, which removes the packages that are there",
    ))
}

/// Whether a file of this name is a page or a sheet of a package.
fn is_package(name: &str) -> bool {
    let number = name.strip_prefix("package-");
    let number = number.and_then(|rest| rest.strip_suffix(".csv").or(rest.strip_suffix(".html")));
    number.is_some_and(|number| number.len() >= 4 && number.bytes().all(|byte| byte.is_ascii_digit()))
}
