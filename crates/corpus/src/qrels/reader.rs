//! Reading qrels.

use toller_files::{Input, InputReader};
use toller_ir::Qrels;

use crate::error::{BadKind, CorpusError, Wrong, excerpt};
use crate::format::Sniff;
use crate::options::{ReadOptions, SkipReport};
use crate::qrels::builder::{Judgment, QrelsBuilder};
use crate::qrels::detect::{DOCUMENT, QUERY, QrelsFormat, detect, is_header};
use crate::text::{LineReader, Loose, Object, header_index, parse_grade, tabs_or_spaces};

/// Reads relevance judgments. If `options` name no format, it is detected from the content and the name.
///
/// # Errors
/// A file that cannot be read, a bad line (unless they are skipped), a pair that is judged twice, and no
/// judgments at all.
pub fn read_qrels(
    input: &Input,
    options: &ReadOptions<QrelsFormat>,
) -> Result<(Qrels, SkipReport), CorpusError> {
    read_qrels_from(InputReader::open(input)?, options)
}

/// Reads relevance judgments from an input that is open already.
///
/// # Errors
/// As [`read_qrels`].
pub fn read_qrels_from(
    mut reader: InputReader,
    options: &ReadOptions<QrelsFormat>,
) -> Result<(Qrels, SkipReport), CorpusError> {
    let sniff = Sniff::new(&mut reader);
    let format = match options.format {
        Some(format) => format,
        None => detect(&sniff)?,
    };
    let mut lines = LineReader::new(reader, options.max_line_bytes);
    let mut builder = QrelsBuilder::new(options.skip_bad_lines);
    let mut layout: Option<Layout> = None;
    loop {
        let number = lines.line() + 1;
        let line = match lines.next() {
            Ok(None) => break,
            Ok(Some(line)) => line,
            Err(error) => {
                builder.skip(error)?;
                continue;
            }
        };
        if line.trim().is_empty() {
            continue;
        }
        let added = if format == QrelsFormat::Jsonl {
            parse_json(line).and_then(|(query, document, grade)| {
                builder.add(Judgment { query: &query, document: &document, grade }, number)
            })
        } else {
            // trec_eval 10 passes over comments.
            if line.trim_start().starts_with('#') {
                continue;
            }
            let layout = match &layout {
                Some(layout) => layout,
                None => match Layout::of_header(line) {
                    Some(header) => {
                        layout = Some(header);
                        continue;
                    }
                    None => layout.insert(Layout::of_format(format)),
                },
            };
            layout.parse(line).and_then(|judgment| builder.add(judgment, number))
        };
        if let Err(wrong) = added {
            builder.wrong(wrong, &lines)?;
        }
    }
    builder.finish(sniff.file)
}

/// The most columns that a file of judgments has.
const MAX_COLUMNS: usize = 4;

/// The names of the grade's column in headers.
const GRADE: &[&str] = &["score", "rel", "relevance", "grade", "label"];

/// Which column is what.
#[derive(Clone, Copy)]
struct Layout {
    query: usize,
    document: usize,
    /// `None` where every listed pair has grade 1.
    grade: Option<usize>,
    width: usize,
    expected: &'static str,
}

impl Layout {
    fn of_format(format: QrelsFormat) -> Self {
        let (query, document, grade, width, expected) = match format {
            QrelsFormat::Beir => (0, 1, Some(2), 3, "3 columns: query, document, grade"),
            QrelsFormat::Pairs => (0, 1, None, 2, "2 columns: query, document"),
            QrelsFormat::Trec | QrelsFormat::Jsonl => {
                (0, 2, Some(3), 4, "4 columns: query, iteration, document, grade")
            }
        };
        Self { query, document, grade, width, expected }
    }

    /// The columns that the first line names, if it is a header.
    fn of_header(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split_whitespace().collect();
        if !is_header(&cells) || cells.len() > MAX_COLUMNS {
            return None;
        }
        let grade = header_index(&cells, GRADE);
        let (query, document) = (header_index(&cells, QUERY)?, header_index(&cells, DOCUMENT)?);
        let expected = "the columns of the file's header";
        Some(Self { query, document, grade, width: cells.len(), expected })
    }

    fn parse<'a>(&self, line: &'a str) -> Result<Judgment<'a>, Wrong> {
        let mut cells = [""; MAX_COLUMNS];
        let width = cells.get_mut(..self.width).map_or(0, |cells| tabs_or_spaces(line, cells));
        if width != self.width {
            return Err(Wrong::width(width, self.width, line, self.expected));
        }
        let cell = |index: usize| cells.get(index).copied().unwrap_or_default();
        let grade = match self.grade.map(cell) {
            None => 1,
            Some(text) => parse_grade(text).ok_or_else(|| bad_grade(excerpt(text.as_bytes())))?,
        };
        Ok(Judgment { query: cell(self.query), document: cell(self.document), grade })
    }
}

fn parse_json(line: &str) -> Result<(String, String, i32), Wrong> {
    const EXPECTED: &str = "a JSON object with query-id, corpus-id and score";
    let mut fields = Object::parse(line, EXPECTED)?;
    let mut field = |names: &[&str], what: &str| {
        fields.take(names)?.ok_or_else(|| {
            let found = format!("no {what} in {}", excerpt(line.as_bytes()));
            Wrong::new(BadKind::MissingField, found, EXPECTED)
        })
    };
    let query = field(&["query-id", "query_id", "qid"], "query")?.id("query")?;
    let documents = ["corpus-id", "corpus_id", "doc_id", "docid", "pid"];
    let document = field(&documents, "document")?.id("document")?;
    let score = field(&["score", "relevance", "rel"], "score")?;
    let grade = match &score {
        Loose::Integer(grade) => i32::try_from(*grade).ok(),
        // As tables that went through floating point have it.
        Loose::Float(grade) if grade.fract() == 0.0 && grade.abs() < 1e9 => Some(*grade as i32),
        Loose::String(text) => parse_grade(text),
        _ => None,
    };
    let grade = grade.ok_or_else(|| bad_grade(score.describe()))?;
    Ok((query, document, grade))
}

fn bad_grade(found: String) -> Wrong {
    Wrong::new(BadKind::BadNumber, found + " as the grade", "an integer, which may be negative")
}
