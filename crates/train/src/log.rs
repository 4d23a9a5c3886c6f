//! Logs of a run: JSON lines, each with the number of its step.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toller_files::{AtomicFile, FileError};
use toller_ir::in_words_of_json_line;

use crate::TrainError;

/// A log that grows.
pub(crate) struct Log {
    path: PathBuf,
    file: File,
}

#[derive(Deserialize)]
struct Numbered {
    step: u64,
}

impl Log {
    /// Opens a log, without the lines of steps after `last`: those are done again. `None` is before all
    /// steps.
    pub(crate) fn open(path: PathBuf, last: Option<u64>) -> Result<Self, TrainError> {
        if path.is_file() {
            let text = fs::read(&path).map_err(FileError::on("read", &path))?;
            let kept = kept(&text, last).map_err(|(line, problem)| TrainError::DamagedLog {
                path: path.clone(),
                line,
                problem,
            })?;
            if kept < text.len() {
                let mut file = AtomicFile::create(&path)?;
                file.write_all(&text[..kept]).map_err(FileError::on("write", &path))?;
                file.commit()?;
            }
        }
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(FileError::on("open", &path))?;
        Ok(Self { path, file })
    }

    /// Adds a line.
    pub(crate) fn append(&mut self, line: &impl Serialize) -> Result<(), TrainError> {
        let failed = FileError::on("write", &self.path);
        let written = serde_json::to_vec(line).map_err(Into::into).and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)
        });
        Ok(written.map_err(failed)?)
    }

    /// Returns once all lines are on the disk.
    pub(crate) fn sync(&self) -> Result<(), TrainError> {
        Ok(self.file.sync_data().map_err(FileError::on("write", &self.path))?)
    }

    /// All lines.
    pub(crate) fn lines<T: DeserializeOwned>(&self) -> Result<Vec<T>, TrainError> {
        let text = fs::read(&self.path).map_err(FileError::on("read", &self.path))?;
        let lines = serde_json::Deserializer::from_slice(&text).into_iter();
        let lines: Result<Vec<T>, serde_json::Error> = lines.collect();
        Ok(lines.map_err(|error| FileError::new("read", &self.path, error.into()))?)
    }
}

/// The length of the lines up to the step `last`. What follows the line of this step is done again, so it may
/// be damaged. Before, the end of a process may have cut the last line; another line that is not one of a log
/// is an error, with its number.
fn kept(text: &[u8], last: Option<u64>) -> Result<usize, (usize, String)> {
    let (mut length, mut reached) = (0, None);
    for (number, line) in (1..).zip(text.split_inclusive(|&byte| byte == b'\n')) {
        match serde_json::from_slice::<Numbered>(line) {
            Ok(parsed) if Some(parsed.step) <= last => {
                length += line.len();
                reached = Some(parsed.step);
            }
            Ok(_) => break,
            Err(_) if reached == last || !line.ends_with(b"\n") => break,
            Err(error) => return Err((number, in_words_of_json_line(error))),
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use serde_json::{Value, json};

    use super::Log;

    #[test]
    fn a_log_is_cut_after_the_last_step() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let mut log = Log::open(path.clone(), None).unwrap();
        (1..=3).for_each(|step| log.append(&json!({"step": step})).unwrap());
        // A line that the end of the process has cut.
        fs::write(&path, [fs::read(&path).unwrap(), b"{\"step\": 4".to_vec()].concat()).unwrap();
        let steps = |last| {
            let lines: Vec<Value> = Log::open(path.clone(), last).unwrap().lines().unwrap();
            lines.into_iter().map(|line| line["step"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(steps(Some(9)), [1, 2, 3]);
        assert_eq!(steps(Some(2)), [1, 2]);
        assert_eq!(steps(None), [0; 0]);

        // Another line was damaged otherwise, and those after it are not thrown away.
        fs::write(&path, "{\"step\": 1}\n{\"step\": 2\n{\"step\": 3}\n").unwrap();
        let error = Log::open(path.clone(), Some(3)).err().unwrap();
        assert!(error.to_string().contains("log.jsonl, line 2: the log is damaged"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
        // What is done again may be damaged.
        assert_eq!(steps(Some(1)), [1]);
    }
}
