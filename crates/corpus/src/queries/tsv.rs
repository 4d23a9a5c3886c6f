//! Queries as columns: plain, DPR's with answers, RocketQA's.

use toller_files::InputReader;
use toller_ir::Query;

use crate::error::{BadKind, CorpusError, Wrong, counted, excerpt};
use crate::queries::lines::for_each_line;
use crate::queries::sink::QuerySink;
use crate::text::{QuotedRow, RecordLines, header_index, parse_string_list, tabs};

/// The names of columns in headers; T2Ranking has `qid text`.
pub(crate) const HEADER_ID: &[&str] = &["qid", "id", "_id", "query_id", "query-id", "question_id"];
pub(crate) const HEADER_TEXT: &[&str] = &["text", "query", "question"];

/// The most columns that a header may name.
const MAX_COLUMNS: usize = 8;

/// Reads `id<TAB>text`, or the columns that a header names.
pub(crate) fn read_columns(
    reader: InputReader,
    max_bytes: usize,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    // The indexes of identifier and text, and the number of columns; unknown until the first line.
    let mut layout: Option<(usize, usize, usize)> = None;
    for_each_line(RecordLines::new(reader, max_bytes), sink, |line, _, _| {
        let mut cells = [""; MAX_COLUMNS];
        let width = tabs(line, &mut cells);
        if layout.is_none() {
            let row = cells.get(..width).unwrap_or_default();
            if let (Some(id), Some(text)) = (header_index(row, HEADER_ID), header_index(row, HEADER_TEXT)) {
                layout = Some((id, text, width));
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
    let mut quoted = QuotedRow::default();
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
