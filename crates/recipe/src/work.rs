//! The folder in which a recipe is carried out.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use toller_files::{DirectoryLock, FileError, parent, remove_unfinished};

use super::argument::{Argument, Piece, command_line};
use super::error::RecipeError;
use super::plan::PlannedStep;
use super::read::Recipe;
use super::state::{self, State, StepState};
use super::verdict::read_report;

/// The directories of models, by their names.
pub type Models = HashMap<String, PathBuf>;

/// The folder of the outputs, and what it remembers.
#[derive(Debug)]
pub struct Work {
    directory: PathBuf,
    state: State,
    force: bool,
    /// Held while steps are carried out.
    _lock: Option<DirectoryLock>,
}

/// Whether a step has to be carried out, and why.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// Its outputs are there, whole, and made of the present inputs.
    UpToDate {
        /// How long it took when it was carried out.
        seconds: f64,
    },
    /// It was never carried out here.
    New,
    /// It was made of something else; the options that differ.
    Changed(Vec<String>),
    /// It was begun and did not finish.
    Unfinished,
    /// An output is not there any more, or is not as it was.
    Damaged(PathBuf),
    /// It was asked for.
    Forced,
}

impl Work {
    /// Opens the folder to carry steps out there. No other process may. With `force` nothing counts as done,
    /// and what is in the way is replaced.
    ///
    /// # Errors
    /// When the folder cannot be made, another process works there, or what it remembers is damaged.
    pub fn open(directory: &Path, force: bool) -> Result<Self, RecipeError> {
        let lock =
            DirectoryLock::acquire(directory)?.ok_or_else(|| RecipeError::Busy(directory.to_owned()))?;
        let state = match State::read(directory) {
            Err(RecipeError::DamagedState(_)) if force => State::default(),
            state => state?,
        };
        // Other commands may write other files here at the same time.
        remove_unfinished(directory, |name| name == state::FILE)?;
        for output in state.unfinished_outputs() {
            let path = directory.join(output);
            remove_unfinished(parent(&path), |name| path.file_name().is_some_and(|ours| ours == name))?;
        }
        Ok(Self { directory: directory.to_owned(), state, force, _lock: Some(lock) })
    }

    /// Opens the folder, which need not exist, to find out what has to be done.
    ///
    /// # Errors
    /// When what it remembers cannot be read.
    pub fn look(directory: &Path, force: bool) -> Result<Self, RecipeError> {
        Ok(Self { directory: directory.to_owned(), state: State::read(directory)?, force, _lock: None })
    }

    /// The variables that were set when steps were carried out here.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        self.state.variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Records the variables that are set. A variable without a default keeps the value of an earlier run,
    /// which was perhaps for other cells, or of another recipe in this folder.
    pub fn set_variables(&mut self, recipe: &Recipe, set: &[(String, String)]) {
        let has_default = |name: &str| {
            recipe.variables.iter().any(|variable| variable.name == name && variable.default.is_some())
        };
        self.state.variables.retain(|name, _| !has_default(name));
        self.state.variables.extend(set.iter().cloned());
    }

    /// When a step wrote this output, in seconds since 1970, if it is as it was written.
    ///
    /// # Errors
    /// When the output cannot be read.
    pub fn written_at(&mut self, output: &Path) -> Result<Option<u64>, RecipeError> {
        let Some((checksum, at)) = self.state.finished(output) else { return Ok(None) };
        let is_same = self.state.contents.checksum(&self.directory.join(output))? == Some(checksum);
        Ok(is_same.then_some(at))
    }

    /// The folder.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether a step has to be carried out. Everything that it needs is there.
    ///
    /// # Errors
    /// When something that it reads cannot be read.
    pub fn status(&mut self, step: &PlannedStep, models: &Models) -> Result<Status, RecipeError> {
        if self.force {
            return Ok(Status::Forced);
        }
        let made_of = self.made_of(step, models)?;
        let Some(before) = self.state.of(step).cloned() else { return Ok(Status::New) };
        // The same step with another value has written it since.
        if step.outputs().any(|output| !before.outputs.contains_key(output)) {
            return Ok(Status::New);
        }
        if before.made_of != made_of {
            return Ok(Status::Changed(differences(&before.made_of, &made_of)));
        }
        if !before.finished {
            return Ok(Status::Unfinished);
        }
        for (output, checksum) in &before.outputs {
            let found = self.state.contents.checksum(&self.directory.join(output))?;
            if checksum.is_none() || found.is_none() || (found != *checksum && !step.is_filled_in) {
                return Ok(Status::Damaged(output.clone()));
            }
        }
        Ok(Status::UpToDate { seconds: before.seconds })
    }

    /// Files and directories where steps would write, and that no step made. Not those that
    /// [`Work::adoptable`] has.
    #[must_use]
    pub fn in_the_way(&self, steps: &[PlannedStep]) -> Vec<PathBuf> {
        let outputs = steps.iter().flat_map(|step| step.outputs().map(move |output| (step, output)));
        let foreign = outputs.filter(|(step, output)| self.is_foreign(step, output));
        foreign.map(|(_, output)| self.directory.join(output)).collect()
    }

    /// Steps whose store or index is there, and that no step made. The command of the step accepts what it
    /// would make itself, and knows whether that is the case.
    #[must_use]
    pub fn adoptable<'s>(&self, steps: &'s [PlannedStep]) -> Vec<&'s PlannedStep> {
        let is_there =
            |step: &PlannedStep, output: &Path| self.is_unknown(output) && self.is_adoptable(step, output);
        steps.iter().filter(|step| step.outputs().any(|output| is_there(step, output))).collect()
    }

    fn is_foreign(&self, step: &PlannedStep, output: &Path) -> bool {
        self.is_unknown(output) && !self.is_adoptable(step, output)
    }

    /// Whether an output is there that no step made.
    fn is_unknown(&self, output: &Path) -> bool {
        let is_there = self.directory.join(output).symlink_metadata().is_ok();
        is_there && !self.force && !self.state.owns(output)
    }

    fn is_adoptable(&self, step: &PlannedStep, output: &Path) -> bool {
        step.adopts && self.directory.join(output).join("manifest.json").is_file()
    }

    /// Whether people may have filled in an output that is there, since nothing says how it was written. The
    /// command of the step then decides.
    ///
    /// # Errors
    /// An output that was changed since the step wrote it.
    fn is_of_people(&mut self, step: &PlannedStep, output: &Path) -> Result<bool, RecipeError> {
        if !step.is_filled_in {
            return Ok(false);
        }
        let Some(written) = self.state.of(step).and_then(|before| *before.outputs.get(output)?) else {
            return Ok(true);
        };
        let path = self.directory.join(output);
        if self.state.contents.checksum(&path)? == Some(written) {
            return Ok(false);
        }
        Err(RecipeError::FilledIn { step: step.name.clone(), path })
    }

    /// Records that a step of this status begins, and removes outputs that the step would not resume.
    ///
    /// # Errors
    /// A file or directory in the way that no step made, or that people filled in.
    pub fn begin(&mut self, step: &PlannedStep, status: &Status, models: &Models) -> Result<(), RecipeError> {
        let goes_on = match status {
            Status::Unfinished => true,
            Status::Damaged(_) => step.resumes,
            Status::UpToDate { .. } | Status::New | Status::Changed(_) | Status::Forced => false,
        };
        for output in step.outputs() {
            let path = self.directory.join(output);
            if self.is_foreign(step, output) {
                return Err(RecipeError::Foreign(vec![path]));
            }
            let adopts = step.adopts && !self.force && !self.state.owns(output);
            // A file is written whole, so there is nothing to go on with.
            let goes_on = goes_on && !path.is_file();
            let is_there = path.symlink_metadata().is_ok();
            if is_there && !goes_on && !adopts && !self.is_of_people(step, output)? {
                remove(&path)?;
            }
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(FileError::on("create", parent))?;
            }
        }
        let made_of = self.made_of(step, models)?;
        let outputs = step.outputs().map(|output| (output.to_owned(), None)).collect();
        let begun = StepState { made_of, finished: false, seconds: 0.0, finished_at: 0, outputs };
        self.state.set(step, begun);
        self.state.write(&self.directory)
    }

    /// Records that a step finished.
    ///
    /// # Errors
    /// When an output is not there.
    pub fn finish(&mut self, step: &PlannedStep, seconds: f64) -> Result<(), RecipeError> {
        let mut outputs = BTreeMap::new();
        for output in step.outputs() {
            let path = self.directory.join(output);
            let Some(checksum) = self.state.contents.checksum(&path)? else {
                return Err(RecipeError::NotWritten { step: step.name.clone(), path });
            };
            outputs.insert(output.to_owned(), Some(checksum));
        }
        #[expect(clippy::disallowed_methods, reason = "a record of when it was done, which decides nothing")]
        let now = SystemTime::now();
        let finished_at = now.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let made_of = self.state.of(step).map_or_else(Vec::new, |begun| begun.made_of.clone());
        self.state.set(step, StepState { finished: true, seconds, finished_at, outputs, made_of });
        self.state.write(&self.directory)
    }

    /// Keeps what was learnt about files that did not change, so that they need not be read the next time.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn remember(&mut self) -> Result<(), RecipeError> {
        self.state.write(&self.directory)
    }

    /// A step's command line, with what it looks up in reports.
    ///
    /// # Errors
    /// When the value is missing from a report.
    pub fn command_line(&self, step: &PlannedStep) -> Result<Vec<OsString>, RecipeError> {
        command_line(&step.command, &step.arguments, |_, piece| {
            let reported = self.reported(piece)?.unwrap_or_default();
            Ok(piece.on_command_line(&self.directory, &reported))
        })
    }

    /// All that decides what a step writes, a line each: the version, the command, options, and the content
    /// of what is read. The folders of files do not count. Their names do, since names can decide formats.
    fn made_of(&mut self, step: &PlannedStep, models: &Models) -> Result<Vec<String>, RecipeError> {
        let mut lines =
            vec![format!("toller {}", env!("CARGO_PKG_VERSION")), format!("command {}", step.command)];
        for argument in &step.arguments {
            let of = |piece: &Piece| self.made_of_piece(step, argument, piece, models);
            if argument.pieces.is_empty() {
                lines.push(argument.option.clone());
            }
            lines
                .extend(argument.pieces.iter().map(of).collect::<Result<Vec<_>, _>>()?.into_iter().flatten());
        }
        lines.extend(step.stdout.as_ref().map(|path| format!("stdout {}", path.display())));
        Ok(lines)
    }

    /// `None` for what changes no result.
    fn made_of_piece(
        &mut self,
        step: &PlannedStep,
        argument: &Argument,
        piece: &Piece,
        models: &Models,
    ) -> Result<Option<String>, RecipeError> {
        let option = &argument.option;
        Ok(match piece {
            Piece::Text(text) => Some(format!("{option} {text}")),
            Piece::Output(path) => Some(format!("{option} {}", path.display())),
            Piece::Cache(_) => None,
            Piece::Reported { .. } => Some(format!("{option} {}", self.reported(piece)?.unwrap_or_default())),
            Piece::Input(path) => Some(format!("{option} {}", self.identity_of_input(step, path)?)),
            Piece::Upstream(path) => {
                let content = self.identity_of_input(step, &self.directory.join(path))?;
                Some(format!("{option} {} {content}", path.display()))
            }
            Piece::Model { after, name } => {
                let directory = models.get(name).cloned().unwrap_or_else(|| PathBuf::from(name));
                Some(format!("{option} {after}{}", self.identity(&directory)?))
            }
        })
    }

    /// Name and content of an input, and of the files next to it that the command reads too.
    fn identity_of_input(&mut self, step: &PlannedStep, path: &Path) -> Result<String, RecipeError> {
        let mut identity = self.identity(path)?;
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        for name in step.beside {
            let beside = folder.join(name.replace('*', &stem));
            if beside != path && beside.is_file() {
                identity += &format!(", {name}: {}", self.identity(&beside)?);
            }
        }
        Ok(identity)
    }

    /// Name and content.
    fn identity(&mut self, path: &Path) -> Result<String, RecipeError> {
        let checksum = self
            .state
            .contents
            .checksum(path)?
            .ok_or_else(|| FileError::new("open", path, io::Error::from(io::ErrorKind::NotFound)))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(format!("{name} {checksum}"))
    }

    /// The value that a piece looks up in a report.
    fn reported(&self, piece: &Piece) -> Result<Option<String>, RecipeError> {
        let Piece::Reported { report, pointer } = piece else { return Ok(None) };
        let path = self.directory.join(report);
        match read_report(&path)?.pointer(pointer) {
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            found => {
                let hint = match found {
                    None => "look into the report for where the value is",
                    Some(_) => "point at a number or a string",
                };
                let what = format!("at {pointer} that an option could take");
                Err(RecipeError::NoValue { report: path, what, remedy: hint.into() })
            }
        }
    }
}

/// The first words of the lines that only one of two lists has.
fn differences(before: &[String], now: &[String]) -> Vec<String> {
    let missing = |lines: &[String], others: &[String]| {
        lines.iter().filter(|line| !others.contains(line)).cloned().collect::<Vec<_>>()
    };
    let mut words: Vec<String> = Vec::new();
    for line in missing(now, before).into_iter().chain(missing(before, now)) {
        let word = line.split(' ').next().unwrap_or_default().to_owned();
        if !words.contains(&word) {
            words.push(word);
        }
    }
    // Only the order of values differs.
    if words.is_empty() { vec!["order".to_owned()] } else { words }
}

/// Removes a file, a directory or a link.
fn remove(path: &Path) -> Result<(), FileError> {
    let metadata = path.symlink_metadata().map_err(FileError::on("open", path))?;
    let removed = if metadata.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(FileError::on("remove", path))
}
