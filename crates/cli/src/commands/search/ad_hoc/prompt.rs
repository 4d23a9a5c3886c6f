//! Where queries are typed: a prompt with a history in a terminal, lines of stdin elsewhere.

use std::fs;
use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use toller_engine::ResolveOptions;
use toller_files::{FileError, Input};

use crate::args::id_lines::not_utf8;
use crate::error::Failure;

/// Typed lines that are not empty.
pub(super) enum Lines {
    /// A prompt, and the file that keeps its history.
    Terminal(Box<DefaultEditor>, PathBuf),
    /// Lines of stdin, and the number of the last one.
    Pipe(io::Lines<io::StdinLock<'static>>, usize),
}

impl Lines {
    /// Of a terminal, if stdin is one.
    pub(super) fn open() -> crate::Result<Self> {
        if !io::stdin().is_terminal() {
            return Ok(Self::Pipe(io::stdin().lock().lines(), 0));
        }
        let history = ResolveOptions::from_env().toller_cache.join("search-history");
        let mut editor = DefaultEditor::new().map_err(of_terminal)?;
        // There is none the first time, and a prompt without a history is still of use.
        let _ = editor.load_history(&history);
        Ok(Self::Terminal(Box::new(editor), history))
    }

    /// Whether somebody types.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(..))
    }

    /// The next line; `None` at the end of the input, or when Ctrl-D or Ctrl-C is typed.
    pub(super) fn next(&mut self) -> crate::Result<Option<String>> {
        loop {
            let line = match self {
                Self::Pipe(lines, number) => {
                    *number += 1;
                    lines.next().transpose().map_err(|error| of_stdin(error, *number))?
                }
                Self::Terminal(editor, history) => match editor.readline("search> ") {
                    Ok(line) => {
                        let _ = editor.add_history_entry(&line);
                        Some(line)
                    }
                    Err(ReadlineError::Eof | ReadlineError::Interrupted) => {
                        // As above.
                        let _ = history.parent().map(fs::create_dir_all);
                        let _ = editor.append_history(history);
                        None
                    }
                    Err(error) => return Err(of_terminal(error).into()),
                },
            };
            match line {
                Some(line) if line.trim().is_empty() => {}
                line => return Ok(line),
            }
        }
    }
}

/// An error of a line of stdin.
fn of_stdin(error: io::Error, number: usize) -> Failure {
    if error.kind() == io::ErrorKind::InvalidData {
        return not_utf8(&Input::Stdin, number, &error).into();
    }
    Input::Stdin.error("read", error).into()
}

fn of_terminal(error: ReadlineError) -> FileError {
    FileError::new("read", "the terminal", io::Error::other(error))
}
