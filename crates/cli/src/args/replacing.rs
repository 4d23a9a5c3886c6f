//! Which files that are there already a command may replace: those of the kind that it writes.

use std::io::{BufRead, Read};
use std::path::Path;

use clap::builder::TypedValueParser;
use toller_files::{Input, InputReader};
use toller_report::GENERATOR;

use super::paths::OutputPath;
use crate::error::UsageError;

/// The bytes of a file by which its kind is recognized, at most.
const LONGEST_START: u64 = 1 << 20;

/// What to do about a file that a command without --overwrite would replace.
const REMOVE: &str = "give it another name, or remove that file";

/// The flag of the commands that can replace any file.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct OverwriteArgs {
    /// Replace what is there, whatever it is
    #[arg(long)]
    overwrite: bool,
}

impl OverwriteArgs {
    /// What to do about a file that would be replaced.
    const HINT: &str = "give it another name, or add --overwrite";

    /// Whether everything may be replaced.
    pub fn is_given(self) -> bool {
        self.overwrite
    }

    /// Refuses a file that is there and is not `what`, unless the flag is given.
    pub fn check(
        self,
        output: &OutputPath,
        what: &str,
        is_of_kind: impl FnOnce(&Path) -> bool,
    ) -> Result<(), UsageError> {
        if self.overwrite { Ok(()) } else { check(output, what, is_of_kind, Self::HINT) }
    }

    /// Refuses a file that is there, of a kind that cannot be told from others, unless the flag is given.
    pub fn check_new(self, output: &OutputPath) -> Result<(), UsageError> {
        if self.overwrite || !is_lost(output) {
            return Ok(());
        }
        Err(UsageError::new(format!("{} is there already", output.display()), Self::HINT))
    }
}

impl OutputPath {
    /// Refuses a file that is there and is not `what`: it was named by mistake.
    pub fn check_replaces(
        &self,
        what: &str,
        is_of_kind: impl FnOnce(&Path) -> bool,
    ) -> Result<(), UsageError> {
        check(self, what, is_of_kind, REMOVE)
    }

    /// For clap: the name of a page.
    pub fn page() -> impl TypedValueParser<Value = Self> {
        Self::ending_in("html", PAGE)
    }

    /// Refuses a file that is there and is not a page of this program.
    pub fn check_page(&self) -> Result<(), UsageError> {
        self.check_replaces(OWN_PAGE, is_own_page)
    }
}

fn check(
    output: &OutputPath,
    what: &str,
    is_of_kind: impl FnOnce(&Path) -> bool,
    hint: &'static str,
) -> Result<(), UsageError> {
    if !is_lost(output) || is_of_kind(output) {
        return Ok(());
    }
    Err(UsageError::new(format!("{} is there already, and it is not {what}", output.display()), hint))
}

/// Whether writing would destroy something. A pipe or a device has nothing to lose.
fn is_lost(output: &OutputPath) -> bool {
    !output.is_stdout() && output.metadata().is_ok_and(|found| found.is_file() && found.len() > 0)
}

/// Whether a file, compressed or not, begins with these letters, in any case.
pub fn begins_with(file: &Path, start: impl AsRef<[u8]>) -> bool {
    let start = start.as_ref();
    let is_alike = |mut file: InputReader| file.peek(start.len()).eq_ignore_ascii_case(start);
    InputReader::open(&Input::parse(file)).is_ok_and(is_alike)
}

/// Whether the first line of a file, compressed or not, is as `is_alike` says.
pub fn has_first_line(file: &Path, is_alike: impl FnOnce(&str) -> bool) -> bool {
    has_line(file, 0, is_alike)
}

/// The same for the line after this many lines.
pub fn has_line(file: &Path, before: usize, is_alike: impl FnOnce(&str) -> bool) -> bool {
    let Ok(reader) = InputReader::open(&Input::parse(file)) else { return false };
    let line = reader.take(LONGEST_START).split(b'\n').nth(before);
    let Some(Ok(line)) = line else { return false };
    is_alike(String::from_utf8_lossy(&line).trim_end_matches('\r'))
}

/// What is in a file that ends in .html.
pub const PAGE: &str = "a page in HTML";

/// What [`is_own_page`] recognizes.
pub const OWN_PAGE: &str = "a page that toller wrote";

/// Whether a file is a web page of this program.
pub fn is_own_page(file: &Path) -> bool {
    begins_with(file, "<!doctype html") && has_in_head(file, &format!("content=\"{GENERATOR} "))
}

/// Whether a file has these letters among its first bytes.
pub fn has_in_head(file: &Path, letters: &str) -> bool {
    const HEAD: usize = 4096;
    let is_there = |head: &[u8]| head.windows(letters.len()).any(|found| found == letters.as_bytes());
    let has = |mut file: InputReader| is_there(file.peek(HEAD));
    InputReader::open(&Input::parse(file)).is_ok_and(has)
}

/// What [`is_judgments`] recognizes.
pub const JUDGMENTS: &str = "a file of judgments as toller writes them";

/// Whether a file holds judgments as this program writes them.
pub fn is_judgments(file: &Path) -> bool {
    let Ok(mut reader) = InputReader::open(&Input::parse(file)) else { return false };
    let start = reader.peek(LONGEST_START as usize);
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    // Tabs separate the columns where any identifier has spaces, not only one of the first line.
    let between = if line.contains(&b'\t') && start.contains(&b' ') { '\t' } else { ' ' };
    let line = String::from_utf8_lossy(line);
    let columns: Vec<&str> = line.trim_end_matches('\r').split(between).collect();
    matches!(columns[..], [_, "0", _, grade] if grade.parse::<i32>().is_ok())
}
