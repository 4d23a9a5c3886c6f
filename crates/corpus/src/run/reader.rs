//! Reading runs.

use toller_files::{Input, InputReader};
use toller_ir::{Position, Run};

use crate::error::CorpusError;
use crate::format::Sniff;
use crate::options::{ReadOptions, SkipReport};
use crate::run::builder::RunBuilder;
use crate::run::detect::{RunFormat, detect};
use crate::run::{columns, dpr, json, parquet};

/// Reads a run. If `options` name no format, it is detected from the content and the name.
///
/// # Errors
/// A file that cannot be read, a bad line (unless they are skipped), a document that occurs twice for a
/// query, and a run without hits.
pub fn read_run(input: &Input, options: &ReadOptions<RunFormat>) -> Result<(Run, SkipReport), CorpusError> {
    read_run_from(InputReader::open(input)?, options)
}

/// Reads a run from an input that is open already.
///
/// # Errors
/// As [`read_run`].
pub fn read_run_from(
    reader: InputReader,
    options: &ReadOptions<RunFormat>,
) -> Result<(Run, SkipReport), CorpusError> {
    let (run, _, skipped) = read(reader, options)?;
    Ok((run, skipped))
}

/// As [`read_run`], and says which format the run has.
///
/// # Errors
/// As [`read_run`].
pub fn read_run_and_format(
    input: &Input,
    options: &ReadOptions<RunFormat>,
) -> Result<(Run, RunFormat, SkipReport), CorpusError> {
    read(InputReader::open(input)?, options)
}

fn read(
    mut reader: InputReader,
    options: &ReadOptions<RunFormat>,
) -> Result<(Run, RunFormat, SkipReport), CorpusError> {
    let sniff = Sniff::new(&mut reader)?;
    let format = match options.format {
        Some(format) => format,
        None => detect(&sniff)?,
    };
    let position = match format {
        RunFormat::Dpr | RunFormat::DuReaderJson | RunFormat::Json => Position::Record,
        RunFormat::Parquet => Position::Row,
        _ => Position::Line,
    };
    let keep_first = options.keep_first || options.skip_bad_lines;
    let mut builder = RunBuilder::new(sniff.file, position, options.skip_bad_lines, keep_first);
    let max_bytes = options.max_line_bytes;
    match format {
        RunFormat::Dpr => dpr::read_dpr(reader, max_bytes, &mut builder)?,
        RunFormat::DuReaderJson => json::read_dureader(reader, max_bytes, &mut builder)?,
        RunFormat::Json => json::read_scores(reader, max_bytes, &mut builder)?,
        RunFormat::Parquet => parquet::read_rows(&reader, &mut builder)?,
        _ => columns::read_lines(reader, format, max_bytes, &mut builder)?,
    }
    let (run, skipped) = builder.finish()?;
    Ok((run, format, skipped))
}
