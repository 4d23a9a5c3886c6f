//! What annotators filled in.

use std::collections::BTreeMap;
use std::io::Read;

use crate::error::AnnotationError;
use crate::pool::Pair;

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
    pub fn add(&mut self, pair: Pair, annotator: &str, grade: i32) -> Result<(), AnnotationError> {
        let ratings = self.pairs.entry(pair.clone()).or_default();
        match ratings.iter().find(|rating| rating.annotator == annotator) {
            None => ratings.push(Rating { annotator: annotator.to_owned(), grade }),
            Some(earlier) if earlier.grade == grade => {}
            Some(earlier) => {
                return Err(AnnotationError::Contradiction {
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
    /// holds the work of several. Rows without an annotator are those of `annotator`. Rows without a grade
    /// are counted.
    ///
    /// # Errors
    /// If a column is missing, a grade is not a whole number, or a person contradicts herself.
    pub fn read(&mut self, sheet: &str, annotator: &str, from: impl Read) -> Result<(), AnnotationError> {
        let wrong = |line: Option<u64>, problem: String| AnnotationError::Sheet {
            sheet: sheet.to_owned(),
            line,
            problem,
        };
        let csv_error =
            |error: &csv::Error| wrong(error.position().map(csv::Position::line), error.to_string());
        let mut reader = csv::Reader::from_reader(from);
        let headers = reader.headers().map_err(|error| csv_error(&error))?.clone();
        let place = |name: &str| {
            headers.iter().position(|header| header.trim_start_matches('\u{feff}').trim() == name)
        };
        let column =
            |name: &str| place(name).ok_or_else(|| wrong(None, format!("there is no column {name:?}")));
        let (query, document, grade) = (column("query_id")?, column("doc_id")?, column("grade")?);
        let who = place("annotator");
        for row in reader.records() {
            let row = row.map_err(|error| csv_error(&error))?;
            let cell = |column: usize| row.get(column).unwrap_or_default().trim();
            if cell(grade).is_empty() {
                self.empty += 1;
                continue;
            }
            let line = row.position().map(csv::Position::line);
            let grade = cell(grade)
                .parse()
                .map_err(|_| wrong(line, format!("the grade {:?} is not a whole number", cell(grade))))?;
            let who = who.map(cell).filter(|who| !who.is_empty()).unwrap_or(annotator);
            let pair = Pair { query_id: original(cell(query)), doc_id: original(cell(document)) };
            self.add(pair, who, grade)?;
        }
        Ok(())
    }
}

/// An identifier without the apostrophe that keeps spreadsheets from computing it.
fn original(cell: &str) -> String {
    let formula = cell.strip_prefix('\'').filter(|rest| rest.starts_with(['=', '+', '-', '@']));
    formula.unwrap_or(cell).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Rating, Ratings};
    use crate::error::AnnotationError;
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
            "s.csv:3: the grade \"yes\" is not a whole number"
        );
        assert!(read("query_id,doc_id,grade\nq,d,0\n").contains("twice: 1 and 0"));
        let mut ratings = Ratings::default();
        ratings.add(pair("q", "d"), "ann", 1).unwrap();
        assert!(ratings.add(pair("q", "d"), "ann", 1).is_ok(), "the same row twice");
        assert!(matches!(ratings.add(pair("q", "d"), "ann", 2), Err(AnnotationError::Contradiction { .. })));
    }
}
