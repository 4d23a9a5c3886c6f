//! Runs as columns.

use toller_files::InputReader;
use toller_ir::counted;

use crate::error::{BadKind, CorpusError, Wrong, excerpt};
use crate::run::builder::RunBuilder;
use crate::run::detect::RunFormat;
use crate::text::{LineReader, parse_score, tabs, tabs_or_spaces};

/// Reads the lines of a run in one of the column formats. Comments (`#`) and blank lines are skipped, as in
/// trec_eval 10.
pub(crate) fn read_lines(
    reader: InputReader,
    format: RunFormat,
    max_line_bytes: usize,
    builder: &mut RunBuilder,
) -> Result<(), CorpusError> {
    let mut lines = LineReader::new(reader, max_line_bytes);
    loop {
        let number = lines.line() + 1;
        let line = match lines.next() {
            Ok(None) => return Ok(()),
            Ok(Some(line)) => line,
            Err(error) => {
                builder.skip(error)?;
                continue;
            }
        };
        if matches!(line.bytes().find(|byte| !byte.is_ascii_whitespace()), None | Some(b'#')) {
            continue;
        }
        let added = match format {
            RunFormat::MsMarco => msmarco(line, number, builder),
            RunFormat::Tevatron => tevatron(line, number, builder),
            RunFormat::DuReader => dureader(line, number, builder),
            RunFormat::Trec
            | RunFormat::Dpr
            | RunFormat::DuReaderJson
            | RunFormat::Json
            | RunFormat::Parquet => trec(line, number, builder),
        };
        if let Err(wrong) = added {
            builder.wrong(wrong, number)?;
        }
    }
}

const TREC: &str = "6 columns: query, Q0, document, rank, score, tag";

fn trec(line: &str, number: u64, builder: &mut RunBuilder) -> Result<(), Wrong> {
    let mut cells = [""; 6];
    // What follows the tag is ignored, as by trec_eval.
    let width = tabs_or_spaces(line, &mut cells);
    if width < 6 {
        return Err(Wrong::width(width, 6, line, TREC));
    }
    let [query, _, document, rank, score, tag] = cells;
    if width > 6 && (rank.parse::<u64>().is_err() || parse_score(score).is_none()) {
        let columns = line.split_ascii_whitespace().count();
        let found = format!("{} in {}", counted(columns, "column"), excerpt(line.as_bytes()));
        return Err(Wrong::new(BadKind::SpacedId, found, TREC));
    }
    // Otherwise all lines but the first of an old Mac's file would be what follows the tag.
    if line.trim_end().contains('\r') {
        let found = format!("a carriage return inside {}", excerpt(line.as_bytes()));
        return Err(Wrong::new(BadKind::Malformed, found, "a line feed at the end of each line"));
    }
    builder.add(query, document, score_of(score)?, number)?;
    builder.tag(tag.split_ascii_whitespace().next().unwrap_or_default());
    Ok(())
}

fn msmarco(line: &str, number: u64, builder: &mut RunBuilder) -> Result<(), Wrong> {
    let mut cells = [""; 3];
    let width = tabs_or_spaces(line, &mut cells);
    if width != 3 {
        return Err(Wrong::width(width, 3, line, "3 columns: query, document, rank"));
    }
    let [query, document, rank] = cells;
    let rank = rank.parse::<u32>().ok().filter(|rank| *rank > 0).ok_or_else(|| {
        let found = format!("{} as the rank", excerpt(rank.as_bytes()));
        Wrong::new(BadKind::BadNumber, found, "an integer from 1")
    })?;
    builder.add(query, document, -f64::from(rank), number)
}

fn tevatron(line: &str, number: u64, builder: &mut RunBuilder) -> Result<(), Wrong> {
    let mut cells = [""; 3];
    let width = tabs_or_spaces(line, &mut cells);
    if width != 3 {
        return Err(Wrong::width(width, 3, line, "3 columns: query, document, score"));
    }
    let [query, document, score] = cells;
    builder.add(query, document, score_of(score)?, number)
}

fn dureader(line: &str, number: u64, builder: &mut RunBuilder) -> Result<(), Wrong> {
    let mut cells = [""; 4];
    let width = tabs(line, &mut cells);
    if width != 4 {
        return Err(Wrong::width(width, 4, line, "4 tab-separated columns: query, document, rank, score"));
    }
    let [query, document, _, score] = cells;
    builder.add(query, document, score_of(score)?, number)
}

pub(crate) fn score_of(text: &str) -> Result<f64, Wrong> {
    parse_score(text).ok_or_else(|| {
        let found = format!("{} as the score", excerpt(text.as_bytes()));
        Wrong::new(BadKind::BadNumber, found, "a finite number")
    })
}
