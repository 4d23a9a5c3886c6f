//! Collections, queries, qrels and runs: readers of every common format, which stream, check, and say what is
//! wrong and where; and a writer of TREC runs.
//!
//! The formats are described in docs/formats.md, and in short at the variants of [`CollectionFormat`],
//! [`QueryFormat`], [`QrelsFormat`] and [`RunFormat`]. For all of them:
//!
//! - Input is a file, several files and directories ([`toller_files::expand`]), or standard input; gzip, zstd
//!   and xz are decompressed, whatever the name of the file.
//! - Text is UTF-8, with or without a byte order mark, with `\n` or `\r\n` at line ends.
//! - The format is detected from the first 64 KiB and the name. If they leave a choice, the error names the
//!   candidates, and [`ReadOptions::format`] decides.
//! - A bad record is an error ([`CorpusError::Bad`]) with its place, what was found and what was expected; or
//!   it is counted and skipped ([`ReadOptions::skip_bad_lines`], [`SkipReport`]). Damage that cannot be
//!   confined to a record (truncated compression, broken JSON arrays) is always an error.
//! - A line or record over [`ReadOptions::max_line_bytes`] is a bad record, and is not held in memory.
//!
//! A collection is read passage by passage ([`open_collection`]) in constant memory, most often twice: once
//! by [`survey`], which validates, counts, fingerprints and finds duplicate identifiers, and once to use it.

mod collection;
mod duplicates;
mod error;
mod fingerprint;
mod format;
mod json_id;
mod locations;
mod names;
mod options;
pub mod parquet;
mod qrels;
mod queries;
mod run;
mod sample;
mod survey;
mod text;

pub use collection::{
    Cells, CollectionFormat, CollectionReader, Columns, Location, RecordLayout, RecordPlace, Table,
    open_collection, open_table, read_collection_from, reopen_collection,
};
pub use duplicates::{Duplicate, DuplicateIds, FoundDuplicates};
pub use error::{BadKind, BadRecord, CorpusError, Place};
pub use fingerprint::{Fingerprint, Fingerprinter};
pub use format::check_text;
pub use json_id::JsonId;
pub use locations::Locations;
pub use names::{ColumnNames, Names};
pub use options::{NumberedQueries, ReadOptions, SkipReport};
pub use qrels::{QrelsFormat, qrels_separator, read_qrels, read_qrels_from};
pub use queries::{QueriesOfFile, QueryFormat, read_queries, read_queries_by_file, read_queries_from};
pub use run::{
    DprResult, MaxPassage, PARTIAL_RUN, RunFormat, RunLayout, RunWriteError, Score, TrecRunWriter,
    are_three_column_hits, id_flaw, is_trec_run, read_dpr_results, read_run, read_run_and_format,
    read_run_from,
};
pub use sample::Sample;
pub use survey::{Progress, SpacedId, Survey, survey, survey_table};
pub use text::{QuotedRows, column_index};
