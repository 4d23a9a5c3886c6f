//! Queries as columns: tab-separated, CSV, DPR's with answers, RocketQA's.

use toller_files::InputReader;
use toller_ir::{Query, counted};

use crate::ColumnNames;
use crate::error::{BadKind, CorpusError, Wrong, excerpt};
use crate::names::MAX_COLUMNS;
use crate::queries::lines::for_each_line;
use crate::queries::sink::QuerySink;
use crate::text::{QuotedRows, RecordLines, parse_string_list, tabs};

/// Reads `id<TAB>text`, or the columns that a header names.
pub(crate) fn read_columns(
    reader: InputReader,
    max_bytes: usize,
    columns: &ColumnNames,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    let (names, file) = (columns.in_header_of_queries(), reader.input().to_string());
    let mut missing = None;
    // The indexes of identifier and text, and the number of columns; unknown until the first line.
    let mut layout: Option<(usize, usize, usize)> = None;
    for_each_line(RecordLines::new(reader, max_bytes), sink, |line, _, _| {
        if missing.is_some() {
            return Ok(None);
        }
        let mut cells = [""; MAX_COLUMNS];
        let width = tabs(line, &mut cells);
        if layout.is_none() {
            let row: Vec<&str> = line.split('\t').collect();
            if let Some((id, text)) = names.of_header(&row) {
                layout = Some((id, text, width));
                return Ok(None);
            }
            if names.are_given || names.begin_header(&row) {
                missing = Some(names.missing(file.clone(), "tsv", &row));
                return Ok(None);
            }
        }
        let (id, text, wanted) = *layout.get_or_insert((0, 1, 2));
        if width != wanted {
            return Err(Wrong::width(
                width,
                wanted,
                line,
                "id<TAB>text, or the columns of the file's header",
            ));
        }
        let cell = |index: usize| cells.get(index).copied().unwrap_or_default().to_owned();
        Ok(Some(Query { id: cell(id), text: cell(text), answers: Vec::new() }))
    })?;
    missing.map_or(Ok(()), Err)
}

/// Reads CSV with a header.
pub(crate) fn read_csv(
    reader: InputReader,
    max_bytes: usize,
    columns: &ColumnNames,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    const EXPECTED: &str = "the columns of the file's header";
    let (names, file) = (columns.in_header_of_queries(), reader.input().to_string());
    let mut layout: Option<(usize, usize, usize)> = None;
    for_each_row(QuotedRows::new(reader, max_bytes, ','), sink, |fields, _| {
        let Some((id, text, width)) = layout else {
            let (id, text) =
                names.of_header(fields).ok_or_else(|| names.missing(file.clone(), "csv", fields))?;
            layout = Some((id, text, fields.len()));
            return Ok(None);
        };
        let cells = fields.get(id).zip(fields.get(text)).filter(|_| fields.len() == width);
        let first = || fields.first().map_or("", String::as_str);
        Ok(Some(match cells {
            Some((id, text)) => Ok(Query { id: id.clone(), text: text.clone(), answers: Vec::new() }),
            None => Err(Wrong::width(fields.len(), width, first(), EXPECTED)),
        }))
    })
}

/// Reads RocketQA's one or four columns; the first line says how many.
pub(crate) fn read_rocketqa(
    reader: InputReader,
    max_bytes: usize,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    let mut wanted = None;
    for_each_line(RecordLines::new(reader, max_bytes), sink, |line, row, sink| {
        let mut cells = [""; MAX_COLUMNS];
        let width = tabs(line, &mut cells);
        let wanted = *wanted.get_or_insert(if width == 4 { 4 } else { 1 });
        if width != wanted {
            return Err(Wrong::width(
                width,
                wanted,
                line,
                "text, or text<TAB>-<TAB>-<TAB>0, as on the first line",
            ));
        }
        let [text, rest @ ..] = cells;
        if wanted == 4 && !rest.starts_with(&["-", "-", "0"]) {
            let found = excerpt(line.as_bytes());
            return Err(Wrong::new(BadKind::Malformed, found, "text<TAB>-<TAB>-<TAB>0"));
        }
        Ok(Some(Query { id: sink.row_id(row), text: text.to_owned(), answers: Vec::new() }))
    })
}

/// Reads DPR's `question<TAB>['answer', ...]`, quoted as Python's csv module quotes.
pub(crate) fn read_dpr(
    reader: InputReader,
    max_bytes: usize,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    const EXPECTED: &str = "question<TAB>['answer', ...]";
    let mut row = 0;
    for_each_row(QuotedRows::new(reader, max_bytes, '\t'), sink, |fields, sink| {
        let id = sink.row_id(row);
        row += 1;
        let bad = |kind, found| Err(Wrong::new(kind, found, EXPECTED));
        Ok(Some(match fields {
            [question, answers] => match parse_string_list(answers) {
                Some(answers) => Ok(Query { id, text: question.clone(), answers }),
                None => bad(BadKind::Malformed, format!("{} as the answers", excerpt(answers.as_bytes()))),
            },
            [only] => bad(BadKind::MissingColumn, format!("1 column, {}", excerpt(only.as_bytes()))),
            more => bad(BadKind::ExtraColumn, counted(more.len(), "column")),
        }))
    })
}

/// Calls `parse` with the fields of each row, which may span lines, and passes the query to `sink`. If
/// `parse` returns nothing, the row is a header. Its errors end the reading of the file.
fn for_each_row(
    mut rows: QuotedRows,
    sink: &mut QuerySink,
    mut parse: impl FnMut(&[String], &QuerySink) -> Result<Option<Result<Query, Wrong>>, CorpusError>,
) -> Result<(), CorpusError> {
    loop {
        match rows.advance() {
            Ok(false) => return Ok(()),
            Err(error) => sink.take(rows.place_of_reading(), Err(error))?,
            Ok(true) => {
                if let Some(query) = parse(rows.fields(), sink)? {
                    let place = rows.place();
                    sink.take(place.clone(), query.map_err(|wrong| wrong.at(place)))?;
                }
            }
        }
    }
}
