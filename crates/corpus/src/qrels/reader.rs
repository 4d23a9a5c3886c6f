//! Reading qrels.

use std::borrow::Cow;
use std::collections::HashMap;

use toller_files::{Input, InputReader};
use toller_ir::{Position, Qrels};
use xxhash_rust::xxh3::Xxh3;

use crate::error::{BadKind, CorpusError, Place, Wrong, excerpt};
use crate::format::Sniff;
use crate::options::{ReadOptions, SkipReport};
use crate::parquet::file::ParquetFile;
use crate::qrels::detect::{DOCUMENT, QUERY, QrelsFormat, detect, of_header};
use crate::text::{
    Fields, LineReader, Loose, Object, Shape, for_each_element, header_index, parse_grade, tabs_or_spaces,
};

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
    let sniff = Sniff::new(&mut reader)?;
    let format = options.format.map_or_else(|| detect(&sniff), Ok)?;
    let (mut judged, mut skipped) = (Judged::default(), SkipReport::default());
    match format {
        QrelsFormat::Parquet => ParquetFile::open(&reader)?.for_each_row(|fields, place| {
            let added = of_fields(fields).and_then(|judgment| judged.add(&judgment, place.position));
            added.or_else(|wrong| skipped.take(wrong.at(place), options.skip_bad_lines))
        })?,
        QrelsFormat::Json => read_grades(reader, options, &mut judged, &mut skipped)?,
        _ => read_lines(reader, format, options, &mut judged, &mut skipped)?,
    }
    if judged.qrels.is_empty() {
        return Err(CorpusError::Empty { files: sniff.file, what: "judgments", after: skipped.after() });
    }
    Ok((judged.qrels, skipped))
}

fn read_lines(
    reader: InputReader,
    format: QrelsFormat,
    options: &ReadOptions<QrelsFormat>,
    judged: &mut Judged,
    skipped: &mut SkipReport,
) -> Result<(), CorpusError> {
    let mut lines = LineReader::new(reader, options.max_line_bytes);
    let mut layout: Option<Layout> = None;
    loop {
        let line = match lines.next() {
            Ok(None) => return Ok(()),
            Ok(Some(line)) => line.trim(),
            Err(error) => {
                skipped.take(error, options.skip_bad_lines)?;
                continue;
            }
        };
        // trec_eval 10 passes over comments.
        if line.is_empty() || (line.starts_with('#') && format != QrelsFormat::Jsonl) {
            continue;
        }
        let line = lines.text();
        let judgment = match &layout {
            _ if format == QrelsFormat::Jsonl => Object::parse(line, EXPECTED).and_then(of_fields),
            Some(layout) => layout.parse(line),
            // Without its header nobody knows what the columns are: it is not skipped.
            None => match Layout::of_header(line).map_err(|wrong| wrong.at(lines.place()))? {
                Some(header) => {
                    layout = Some(header);
                    continue;
                }
                None => layout.insert(Layout::of_format(format)).parse(line),
            },
        };
        if let Err(wrong) = judgment.and_then(|judgment| judged.add(&judgment, Position::Line(lines.line())))
        {
            skipped.take(wrong.at(lines.place()), options.skip_bad_lines)?;
        }
    }
}

/// Reads an object of objects, the grade of each document of each query.
fn read_grades(
    reader: InputReader,
    options: &ReadOptions<QrelsFormat>,
    judged: &mut Judged,
    skipped: &mut SkipReport,
) -> Result<(), CorpusError> {
    let take = |place: Place, query: String, documents: Fields| {
        for (document, found) in documents.0 {
            let added = grade(&found)
                .and_then(|grade| judged.add(&((&*query).into(), document.into(), grade), place.position));
            if let Err(wrong) = added {
                skipped.take(wrong.at(place.clone()), options.skip_bad_lines)?;
            }
        }
        Ok(())
    };
    for_each_element(reader, "json", Shape::Object, options.max_line_bytes, take)
}

/// A query, a document and a grade.
type Judgment<'a> = (Cow<'a, str>, Cow<'a, str>, i32);

/// The judgments of a file so far.
#[derive(Default)]
struct Judged {
    qrels: Qrels,
    /// Where each judgment is, by the hash of its query and document; only messages need it.
    places: HashMap<u128, Position>,
}

impl Judged {
    /// Adds a judgment.
    fn add(&mut self, (query, document, grade): &Judgment<'_>, position: Position) -> Result<(), Wrong> {
        for (id, what) in [(query, "query"), (document, "document")] {
            if id.trim().is_empty() {
                let found = format!("{} as the {what}", excerpt(id.as_bytes()));
                return Err(Wrong::new(BadKind::EmptyId, found, "an identifier"));
            }
        }
        let key = key(query, document);
        if let Some(earlier) = self.qrels.insert(query, document, *grade) {
            let first = self.places.get(&key).unwrap_or(&position);
            let found = format!(
                "grade {grade} for query {query} and document {document}, which have grade {earlier} on {first}"
            );
            return Err(Wrong::new(BadKind::DuplicateJudgment, found, "each pair once"));
        }
        self.places.insert(key, position);
        Ok(())
    }
}

fn key(query: &str, document: &str) -> u128 {
    let mut hash = Xxh3::new();
    hash.update(&(query.len() as u64).to_le_bytes());
    hash.update(query.as_bytes());
    hash.update(document.as_bytes());
    hash.digest128()
}

/// The most columns that a file of judgments has.
const MAX_COLUMNS: usize = 4;

/// The names of the grade's column in headers.
const GRADE: &[&str] = &["score", "rel", "relevance", "grade", "label"];

/// The names of columns in headers that are not read.
const NOT_READ: &[&str] = &["iter", "iteration", "q0", "-", "rank"];

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
            QrelsFormat::Trec | QrelsFormat::Jsonl | QrelsFormat::Json | QrelsFormat::Parquet => {
                (0, 2, Some(3), 4, "4 columns: query, iteration, document, grade")
            }
        };
        Self { query, document, grade, width, expected }
    }

    /// The columns that the first line names, if it is a header.
    fn of_header(line: &str) -> Result<Option<Self>, Wrong> {
        // Between tabs, an identifier may hold spaces and a word that is a name.
        let cells: Vec<&str> =
            if line.contains('\t') { line.split('\t').collect() } else { line.split_whitespace().collect() };
        let Some((query, document)) = of_header(&cells).filter(|_| cells.len() <= MAX_COLUMNS) else {
            return Ok(None);
        };
        let grade = match header_index(&cells, GRADE) {
            // Only where there is no other column is every listed pair relevant.
            None if cells.len() > 2 => {
                let grade = only_other(&cells, [query, document]);
                Some(grade.ok_or_else(|| no_grade_named(line))?)
            }
            named => named,
        };
        let expected = "the columns of the file's header";
        Ok(Some(Self { query, document, grade, width: cells.len(), expected }))
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
        Ok((cell(self.query).into(), cell(self.document).into(), grade))
    }
}

/// The column that is left beside those of query and document and those that are not read, if it is one, and
/// is not another query or document.
fn only_other(cells: &[&str], known: [usize; 2]) -> Option<usize> {
    let is_named = |index: &usize, names: &[&str]| {
        cells.get(*index).is_some_and(|cell| header_index(&[cell], names).is_some())
    };
    let mut others = (0..cells.len()).filter(|index| !known.contains(index) && !is_named(index, NOT_READ));
    let other = others.next().filter(|_| others.next().is_none())?;
    (!is_named(&other, QUERY) && !is_named(&other, DOCUMENT)).then_some(other)
}

fn no_grade_named(line: &str) -> Wrong {
    let found = format!("no column that is certainly the grade in {}", excerpt(line.as_bytes()));
    let expected = format!("one named {}; known beside it are {}", GRADE.join(", "), NOT_READ.join(", "));
    Wrong::new(BadKind::UnclearHeader, found, expected)
}

const EXPECTED: &str = "a JSON object with query-id, corpus-id and score";

/// The judgment of an object or a row. One that is only a query and a document, as NanoBEIR's are, has
/// grade 1.
fn of_fields(mut fields: Object<'_>) -> Result<Judgment<'static>, Wrong> {
    let mut field = |names, what| fields.need(names, what, "query-id, corpus-id and score");
    let query = field(QUERY, "query")?.id("query")?;
    let document = field(DOCUMENT, "document")?.id("document")?;
    let score = match field(GRADE, "score") {
        Err(_) if fields.names().count() == 2 => return Ok((query.into(), document.into(), 1)),
        score => score?,
    };
    Ok((query.into(), document.into(), grade(&score)?))
}

/// A grade, as a number or in a string.
fn grade(found: &Loose<'_>) -> Result<i32, Wrong> {
    let grade = match found {
        Loose::Integer(grade) => i32::try_from(*grade).ok(),
        // As tables that went through floating point have it.
        Loose::Float(grade) if grade.fract() == 0.0 && grade.abs() < 1e9 => Some(*grade as i32),
        Loose::String(text) => parse_grade(text),
        _ => None,
    };
    grade.ok_or_else(|| bad_grade(found.describe()))
}

fn bad_grade(found: String) -> Wrong {
    Wrong::new(BadKind::BadNumber, found + " as the grade", "an integer from -2147483648 to 2147483647")
}
