//! What annotators filled in.

use std::collections::BTreeMap;
use std::io::Read;

use crate::error::{AnnotationError, Contradiction};
use crate::pool::Pair;
use crate::sheet::{Sheet, SheetProblem};

/// A grade that somebody gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rating {
    /// Who.
    pub annotator: String,
    /// Which grade.
    pub grade: i32,
}

/// The grades of all pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ratings {
    /// The ratings of each pair, one of each annotator.
    pub pairs: BTreeMap<Pair, Vec<Rating>>,
    /// Rows without a grade.
    pub empty: usize,
}

impl Ratings {
    /// Adds a grade.
    ///
    /// # Errors
    /// If the same person gave the pair another grade.
    pub fn add(&mut self, pair: Pair, annotator: &str, grade: i32) -> Result<(), Contradiction> {
        let ratings = self.pairs.entry(pair.clone()).or_default();
        match ratings.iter().find(|rating| rating.annotator == annotator) {
            None => ratings.push(Rating { annotator: annotator.to_owned(), grade }),
            Some(earlier) if earlier.grade == grade => {}
            Some(earlier) => {
                return Err(Contradiction {
                    annotator: annotator.to_owned(),
                    query_id: pair.query_id,
                    doc_id: pair.doc_id,
                    first: earlier.grade,
                    second: grade,
                });
            }
        }
        Ok(())
    }

    /// Reads a sheet: CSV with the columns `query_id`, `doc_id` and `grade`, and `annotator` if one file
    /// holds the work of several. Rows without an annotator count as the work of `annotator`. Rows without a
    /// grade are counted.
    ///
    /// # Errors
    /// If a column is missing, a grade is not a whole number, or a person contradicts herself.
    pub fn read(&mut self, sheet: &str, annotator: &str, from: impl Read) -> Result<(), AnnotationError> {
        let name = sheet;
        let bad =
            |SheetProblem { line, problem }| AnnotationError::Sheet { sheet: name.to_owned(), line, problem };
        let sheet = Sheet::read(from).map_err(bad)?;
        let [query, document, grade] =
            ["query_id", "doc_id", "grade"].map(|name| sheet.column(name).map_err(bad));
        let (query, document, grade) = (query?, document?, grade?);
        let who = sheet.place("annotator");
        for row in sheet.rows() {
            if row.cell(grade).is_empty() {
                self.empty += 1;
                continue;
            }
            let wrong = |problem: String| bad(SheetProblem { line: Some(row.line()), problem });
            let grade = whole_number(row.cell(grade))
                .ok_or_else(|| wrong(format!("the grade {:?} is not a whole number", row.cell(grade))))?;
            let who = who.map(|who| row.cell(who)).filter(|who| !who.is_empty()).unwrap_or(annotator);
            let pair = Pair { query_id: original(row.cell(query)), doc_id: original(row.cell(document)) };
            if pair.query_id.is_empty() || pair.doc_id.is_empty() {
                return Err(wrong("a grade without a query_id or a doc_id".to_owned()));
            }
            self.add(pair, who, grade).map_err(|contradiction| AnnotationError::Contradiction {
                sheet: name.to_owned(),
                line: row.line(),
                contradiction,
            })?;
        }
        Ok(())
    }
}

/// A grade, also as programs write it for which a column with empty cells has fractions: `1.0`.
fn whole_number(cell: &str) -> Option<i32> {
    let digits = cell.split_once('.').filter(|(_, zeros)| zeros.bytes().all(|digit| digit == b'0'));
    digits.map_or(cell, |(digits, _)| digits).parse().ok()
}

/// An identifier without the apostrophe that keeps spreadsheets from computing it, which one that begins with
/// apostrophes has, too.
fn original(cell: &str) -> String {
    let is_marked = |rest: &&str| rest.trim_start_matches('\'').starts_with(['=', '+', '-', '@']);
    cell.strip_prefix('\'').filter(is_marked).unwrap_or(cell).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Rating, Ratings};
    use crate::pool::Pair;

    fn pair(query: &str, document: &str) -> Pair {
        Pair { query_id: query.into(), doc_id: document.into() }
    }

    #[test]
    fn sheets_are_read() {
        let mut ratings = Ratings::default();
        let sheet = "\u{feff}query_id,query,doc_id,grade,annotator\r\nq1,\"a, \"\"b\"\"\",d1,1,\r\nq1,x,'=d2,0,bo\r\nq2,y,d3,,\r\n";
        ratings.read("ann.csv", "ann", sheet.as_bytes()).unwrap();
        assert_eq!(ratings.empty, 1);
        let rating = |annotator: &str, grade| vec![Rating { annotator: annotator.into(), grade }];
        assert_eq!(ratings.pairs[&pair("q1", "d1")], rating("ann", 1));
        assert_eq!(ratings.pairs[&pair("q1", "=d2")], rating("bo", 0));
        ratings.read("bo.csv", "bo", "query_id,doc_id,grade\n'q,''-d,1\n".as_bytes()).unwrap();
        assert_eq!(ratings.pairs[&pair("'q", "'-d")], rating("bo", 1));
    }

    #[test]
    fn sheets_of_other_programs_are_read() {
        for (sheet, of) in [
            ("query_id;query;doc_id;grade\r\nq1;\"a, b; c\";d1;1\r\n", "a German spreadsheet"),
            ("query_id\tquery\tdoc_id\tgrade\nq1\ta, b\td1\t1\n", "tabs"),
            ("query_id,doc_id,grade\nq1,d1,1.0\nq1,d2,\n", "pandas"),
        ] {
            let mut ratings = Ratings::default();
            ratings.read("ann.csv", "ann", sheet.as_bytes()).unwrap_or_else(|error| panic!("{of}: {error}"));
            assert_eq!(ratings.pairs[&pair("q1", "d1")][0].grade, 1, "{of}");
        }
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        let read = |sheet: &str| {
            let mut ratings = Ratings::default();
            ratings.add(pair("q", "d"), "ann", 1).unwrap();
            ratings.read("s.csv", "ann", sheet.as_bytes()).unwrap_err().to_string()
        };
        assert_eq!(read("query_id,doc_id\nq,d\n"), "s.csv: there is no column \"grade\"");
        assert_eq!(
            read("query_id,doc_id,grade\nq,e,0\nq,f,yes\n"),
            "s.csv, line 3: the grade \"yes\" is not a whole number"
        );
        assert_eq!(
            read("query_id,doc_id,grade\r\nq,e,0.5\r\n"),
            "s.csv, line 2: the grade \"0.5\" is not a whole number"
        );
        let mut utf_16: Vec<u8> = vec![0xff, 0xfe];
        utf_16.extend("query_id".encode_utf16().flat_map(u16::to_le_bytes));
        let error = Ratings::default().read("s.csv", "ann", &*utf_16).unwrap_err().to_string();
        assert_eq!(error, "s.csv: the text is not UTF-8; save it as CSV UTF-8");
        assert_eq!(
            read("query_id,doc_id,grade\nq,e,1\nq,,1\n"),
            "s.csv, line 3: a grade without a query_id or a doc_id"
        );
        assert_eq!(
            read("query_id,doc_id,grade\nq,e,2\nq,d,0\n"),
            "s.csv, line 3: ann judged document \"d\" for query \"q\" twice: 1 and 0"
        );
        let mut ratings = Ratings::default();
        ratings.add(pair("q", "d"), "ann", 1).unwrap();
        assert!(ratings.add(pair("q", "d"), "ann", 1).is_ok(), "the same row twice");
        assert_eq!(ratings.add(pair("q", "d"), "ann", 2).unwrap_err().second, 2);
    }
}
