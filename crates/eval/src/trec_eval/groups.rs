//! Judgments of several groups of judges for one query.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::TrecEvalError;

/// The grades of one group of judges for one query, by document.
type Grades = IndexMap<String, i32>;

/// The judgments of each query by each group of judges, in the order of the identifiers' bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgmentGroups {
    pub(super) queries: BTreeMap<String, BTreeMap<String, Grades>>,
}

impl JudgmentGroups {
    /// Reads lines of a query, a group, a document and a grade. Lines that begin with `#` are comments.
    ///
    /// # Errors
    /// If a line has other columns, or a group judges a document twice.
    pub fn parse(text: &str) -> Result<Self, TrecEvalError> {
        let mut queries: BTreeMap<String, BTreeMap<String, Grades>> = BTreeMap::new();
        for (line, number) in text.lines().zip(1..) {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let columns: Vec<&str> = line.split_ascii_whitespace().collect();
            let expected = "four columns: query, group, document, grade";
            let bad = || TrecEvalError::Line { line: number, expected };
            let [query, group, document, grade] = columns[..] else { return Err(bad()) };
            let grade = grade.parse().map_err(|_| bad())?;
            let groups = queries.entry(query.to_owned()).or_default();
            let grades = groups.entry(group.to_owned()).or_default();
            if grades.insert(document.to_owned(), grade).is_some() {
                return Err(TrecEvalError::JudgedTwice {
                    query_id: query.to_owned(),
                    doc_id: document.to_owned(),
                });
            }
        }
        Ok(Self { queries })
    }
}
