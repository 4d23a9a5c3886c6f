//! Queries as columns: plain, DPR's with answers, RocketQA's.

use toller_files::InputReader;
use toller_ir::Query;

use crate::ColumnNames;
use crate::error::{BadKind, CorpusError, Wrong, counted, excerpt};
use crate::names::Usual;
use crate::queries::lines::for_each_line;
use crate::queries::sink::QuerySink;
use crate::text::{QuotedRow, RecordLines, header_index, parse_string_list, tabs};

/// The names of columns in headers; T2Ranking has `qid text`.
pub(crate) const HEADER: Usual = Usual {
    id: &["qid", "id", "_id", "query_id", "query-id", "question_id"],
    title: &[],
    text: &["text", "query", "question"],
};

/// The most columns that a header may name.
const MAX_COLUMNS: usize = 8;

/// Reads `id<TAB>text`, or the columns that a header names.
pub(crate) fn read_columns(
    reader: InputReader,
    max_bytes: usize,
    columns: &ColumnNames,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    let names = columns.or(HEADER);
    // The indexes of identifier and text, and the number of columns; unknown until the first line.
    let mut layout: Option<(usize, usize, usize)> = None;
    for_each_line(RecordLines::new(reader, max_bytes), sink, |line, _, _| {
        let mut cells = [""; MAX_COLUMNS];
        let width = tabs(line, &mut cells);
        if layout.is_none() {
            let row = cells.get(..width).unwrap_or_default();
            let found = (header_index(row, &names.id), header_index(row, &names.text));
            if let (Some(id), Some(text)) = found {
                layout = Some((id, text, width));
                return Ok(None);
            }
            if names.are_given {
                let found = names.missing(row);
                return Err(Wrong::new(BadKind::MissingField, found, "the columns that were named"));
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
    })
}

/// Reads CSV with a header.
pub(crate) fn read_csv(
    reader: InputReader,
    max_bytes: usize,
    columns: &ColumnNames,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    let (names, file) = (columns.or(HEADER), reader.input().to_string());
    let (mut lines, mut quoted) = (RecordLines::new(reader, max_bytes), QuotedRow::new(','));
    let mut layout: Option<(usize, usize, usize)> = None;
    loop {
        let found = lines.advance();
        if let Ok(false) = found {
            return Ok(());
        }
        let (place, query) = match found.and_then(|_| quoted.read(lines.lines_mut())) {
            Err(error) => (lines.lines().place(), Err(error)),
            Ok(()) => {
                let (place, fields) = (lines.lines().place_of(quoted.line), quoted.fields());
                let Some((id, text, width)) = layout else {
                    let found = header_index(fields, &names.id).zip(header_index(fields, &names.text));
                    let missing = || CorpusError::Broken {
                        file: file.clone(),
                        format: "csv",
                        message: names.missing(fields),
                    };
                    let (id, text) = found.ok_or_else(missing)?;
                    layout = Some((id, text, fields.len()));
                    continue;
                };
                let query = match (fields.get(id), fields.get(text)) {
                    (Some(id), Some(text)) if fields.len() == width => {
                        Ok(Query { id: id.clone(), text: text.clone(), answers: Vec::new() })
                    }
                    _ => {
                        let first = fields.first().map_or("", String::as_str);
                        Err(Wrong::width(fields.len(), width, first, "the columns of the file's header")
                            .at(place.clone()))
                    }
                };
                (place, query)
            }
        };
        sink.take(place, query)?;
    }
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
        let [text, ..] = cells;
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
    let mut lines = RecordLines::new(reader, max_bytes);
    let mut quoted = QuotedRow::new('\t');
    let mut row = 0;
    loop {
        let found = lines.advance();
        if let Ok(false) = found {
            return Ok(());
        }
        let (place, query) = match found.and_then(|_| quoted.read(lines.lines_mut())) {
            Err(error) => (lines.lines().place(), Err(error)),
            Ok(()) => {
                let id = sink.row_id(row);
                row += 1;
                let bad = |kind, found| Err(lines.lines().bad_at(quoted.line, kind, found, EXPECTED));
                let query = match quoted.fields() {
                    [question, answers] => match parse_string_list(answers) {
                        Some(answers) => Ok(Query { id, text: question.clone(), answers }),
                        None => {
                            bad(BadKind::Malformed, format!("{} as the answers", excerpt(answers.as_bytes())))
                        }
                    },
                    [only] => bad(BadKind::MissingField, format!("1 column, {}", excerpt(only.as_bytes()))),
                    more => bad(BadKind::ExtraColumn, counted(more.len(), "column")),
                };
                (lines.lines().place_of(quoted.line), query)
            }
        };
        sink.take(place, query)?;
    }
}
