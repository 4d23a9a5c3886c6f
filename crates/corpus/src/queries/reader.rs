//! Reading query files into memory.

use std::ops::Range;

use toller_files::{Input, InputReader};
use toller_ir::Query;

use crate::error::CorpusError;
use crate::format::Sniff;
use crate::options::{ReadOptions, SkipReport};
use crate::queries::detect::{QueryFormat, detect};
use crate::queries::sink::{QuerySink, stems};
use crate::queries::{json, parquet, trec, tsv};

/// Which queries of several files are one file's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueriesOfFile {
    /// The file's name up to its first dot; of standard input, what messages call it.
    pub name: String,
    /// The places of its queries among those of all files.
    pub places: Range<usize>,
}

/// Reads the queries of one or several inputs, in order. If `options` name no format, each file's is detected
/// from its content and name.
///
/// Queries without identifiers get row numbers from zero. With several inputs, these begin with the name of
/// the file and a hyphen (`P36-0`): up to its first dot, or up to the last where another file has the same.
///
/// # Errors
/// An input that cannot be read, a bad record (unless they are skipped), an identifier that occurs twice, and
/// no queries at all.
pub fn read_queries(
    inputs: &[Input],
    options: &ReadOptions<QueryFormat>,
) -> Result<(Vec<Query>, SkipReport), CorpusError> {
    let (queries, _, skipped) = read_queries_by_file(inputs, options)?;
    Ok((queries, skipped))
}

/// As [`read_queries`], and says which queries are whose.
///
/// # Errors
/// As [`read_queries`].
pub fn read_queries_by_file(
    inputs: &[Input],
    options: &ReadOptions<QueryFormat>,
) -> Result<(Vec<Query>, Vec<QueriesOfFile>, SkipReport), CorpusError> {
    let mut sink = QuerySink::new(options.skip_bad_lines);
    let mut files = Vec::with_capacity(inputs.len());
    for (input, stem) in inputs.iter().zip(stems(inputs)) {
        let first = sink.count();
        sink.begin(input, stem.filter(|_| inputs.len() > 1));
        read_into(InputReader::open(input)?, options, &mut sink)?;
        let name = stem.map_or_else(|| input.to_string(), str::to_owned);
        files.push(QueriesOfFile { name, places: first..sink.count() });
    }
    let (queries, skipped) = sink.finish(inputs)?;
    Ok((queries, files, skipped))
}

/// Reads the queries of one input that is open already.
///
/// # Errors
/// As [`read_queries`].
pub fn read_queries_from(
    reader: InputReader,
    options: &ReadOptions<QueryFormat>,
) -> Result<(Vec<Query>, SkipReport), CorpusError> {
    let input = reader.input().clone();
    let mut sink = QuerySink::new(options.skip_bad_lines);
    sink.begin(&input, None);
    read_into(reader, options, &mut sink)?;
    sink.finish(&[input])
}

fn read_into(
    mut reader: InputReader,
    options: &ReadOptions<QueryFormat>,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    let sniff = Sniff::new(&mut reader)?;
    let format = options.format.map_or_else(|| detect(&sniff, &options.columns), Ok)?;
    let (max_bytes, columns) = (options.max_line_bytes, &options.columns);
    match format {
        QueryFormat::Jsonl => json::read_lines(reader, max_bytes, columns, sink),
        QueryFormat::Json => json::read_objects(reader, max_bytes, columns, sink),
        QueryFormat::Tsv => tsv::read_columns(reader, max_bytes, columns, sink),
        QueryFormat::Csv => tsv::read_csv(reader, max_bytes, columns, sink),
        QueryFormat::Dpr => tsv::read_dpr(reader, max_bytes, sink),
        QueryFormat::RocketQa => tsv::read_rocketqa(reader, max_bytes, sink),
        QueryFormat::Parquet => parquet::read_rows(&reader, columns, sink),
        QueryFormat::Trec => trec::read_topics(reader, max_bytes, columns, sink),
    }
}
