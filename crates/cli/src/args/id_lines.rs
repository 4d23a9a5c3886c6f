//! Files of lines: of one or two identifiers, or of any text.

use std::collections::HashSet;
use std::io::{self, BufRead};
use std::path::Path;

use toller_files::{Input, InputReader};
use toller_ir::counted;

use crate::error::Remedied;

/// Lines of two cells, separated by a tab or, where there is none, by blanks. `expected` says what the cells
/// are.
pub fn pairs(path: &Path, expected: &str) -> crate::Result<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    each_line(path, |number, line| {
        let mut columns: Vec<&str> =
            if line.contains('\t') { line.split('\t').collect() } else { line.split_whitespace().collect() };
        columns.iter_mut().for_each(|column| *column = column.trim());
        match columns[..] {
            [first, second] if !first.is_empty() && !second.is_empty() => {
                pairs.push((first.to_owned(), second.to_owned()));
                Ok(())
            }
            _ => Err(Remedied::new(
                format!(
                    "{}, line {number}: expected {expected}, found {}",
                    path.display(),
                    counted(columns.len(), "column")
                ),
                "write one pair a line, separated by a tab",
            )
            .at_line(path.display(), number)),
        }
    })?;
    Ok(pairs)
}

/// Lines of one identifier.
pub fn ids(path: &Path) -> crate::Result<HashSet<String>> {
    let mut ids = HashSet::new();
    each_line(path, |_, line| {
        ids.insert(line.to_owned());
        Ok(())
    })?;
    Ok(ids)
}

/// Calls `take` with the number, from one, and the text of each line that is not empty.
fn each_line(path: &Path, mut take: impl FnMut(usize, &str) -> Result<(), Remedied>) -> crate::Result<()> {
    lines(&Input::parse(path), |number, line| {
        let text = line.trim_start_matches('\u{feff}').trim();
        if !text.is_empty() {
            take(number, text)?;
        }
        Ok(())
    })
}

/// Calls `take` with the number, from one, and the text of each line, without its end.
pub fn lines(input: &Input, mut take: impl FnMut(usize, &str) -> crate::Result<()>) -> crate::Result<()> {
    let mut reader = InputReader::open(input)?;
    let mut line = String::new();
    for number in 1.. {
        line.clear();
        match reader.read_line(&mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(not_utf8(input, number, &error).into());
            }
            Err(error) => return Err(reader.error(error).into()),
        }
        let text = line.strip_suffix('\n').unwrap_or(&line);
        take(number, text.strip_suffix('\r').unwrap_or(text))?;
    }
    Ok(())
}

/// The error of a line of other bytes than UTF-8.
pub fn not_utf8(input: &Input, number: usize, error: &io::Error) -> Remedied {
    let message = format!("{input}, line {number}: not UTF-8: {error}");
    Remedied::new(message, "convert the file to UTF-8 (iconv -f ENCODING -t UTF-8)").at_line(input, number)
}
