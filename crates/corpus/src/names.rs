//! The names of fields and columns: the usual ones, which all formats share, or those that a user gives.

use serde::{Deserialize, Serialize};
use toller_ir::{Setting, remedy};

use crate::error::{CorpusError, listed};
use crate::text::header_index;

/// The names of a file's fields or columns, where they are not usual ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnNames {
    /// Identifiers.
    pub id: Option<String>,
    /// Titles.
    pub title: Option<String>,
    /// Texts.
    pub text: Option<String>,
    /// Contexts. They have no usual name, and are read only if this is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Vectors of terms and weights, which are read in place of texts only if this is given, and only from
    /// JSON. The text is then one with impacts ([`toller_ir::impacts`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<String>,
}

/// The most columns that a header may name.
pub(crate) const MAX_COLUMNS: usize = 64;

/// The names that fields usually have, those that count first before the others.
struct Usual {
    id: &'static [&'static str],
    title: &'static [&'static str],
    text: &'static [&'static str],
}

/// The names of a passage's fields. The passages of MS MARCO v2 have a `pid`, and the `docid` of their
/// document; those of version 2.1, `docid` and `segment`.
const PASSAGE: Usual = Usual {
    id: &[
        "_id", "id", "pid", "docid", "doc_id", "doc-id", "docno", "passage_id", "passage-id", "doc_key",
        "document_id", "corpus_id", "corpus-id",
    ],
    title: &["title"],
    text: &["text", "contents", "document_text", "passage", "paragraph", "body", "segment", "content"],
};

/// The names of a query's fields.
const QUERY: Usual = Usual {
    id: &["_id", "id", "qid", "q_id", "query_id", "query-id", "question_id", "topic_id", "topic-id"],
    title: &[],
    text: &["text", "query", "question"],
};

/// One more name of a query's identifier in the header of a table. In records, a topic is often a subject.
const TOPIC: &str = "topic";

/// The names to look for, those that count first before the others.
#[derive(Clone, Debug)]
pub struct Names {
    /// Of identifiers.
    pub id: Vec<String>,
    /// Of titles.
    pub title: Vec<String>,
    /// Of texts.
    pub text: Vec<String>,
    /// Of contexts: at most one.
    pub context: Vec<String>,
    /// Of vectors, if they are read in place of texts.
    pub(crate) vector: Option<String>,
    /// Whether a user gave one of them, so that a file without it is an error.
    pub(crate) are_given: bool,
    /// Whether a user gave the name of identifiers. Otherwise queries may have none.
    pub(crate) id_is_given: bool,
    /// Whether a user gave the name of titles, where there may be titles. Otherwise they are optional.
    pub(crate) title_is_given: bool,
}

impl ColumnNames {
    /// The usual name of vectors: Pyserini's.
    pub const VECTOR: &str = "vector";

    /// Whether none is given.
    #[must_use]
    pub fn are_usual(&self) -> bool {
        *self == Self::default()
    }

    /// The names to look for in passages.
    #[must_use]
    pub fn in_passages(&self) -> Names {
        self.or(&PASSAGE)
    }

    /// The names to look for in the records of queries, which have no titles.
    #[must_use]
    pub fn in_queries(&self) -> Names {
        Names { title: Vec::new(), ..self.or(&QUERY) }
    }

    /// The names to look for in a table's header.
    pub(crate) fn in_header_of_queries(&self) -> Names {
        let mut names = self.in_queries();
        if !names.id_is_given {
            names.id.push(TOPIC.to_owned());
        }
        names
    }

    /// The given names, and the usual ones for what is not given.
    fn or(&self, usual: &Usual) -> Names {
        let names = |given: &Option<String>, usual: &[&str]| match given {
            Some(name) => vec![name.clone()],
            None => usual.iter().map(|&name| name.to_owned()).collect(),
        };
        Names {
            id: names(&self.id, usual.id),
            title: names(&self.title, usual.title),
            text: names(&self.text, usual.text),
            context: names(&self.context, &[]),
            vector: self.vector.clone(),
            // Vectors are in JSON only, and no header has to name them.
            are_given: !Self { vector: None, ..self.clone() }.are_usual(),
            id_is_given: self.id.is_some(),
            title_is_given: self.title.is_some() && !usual.title.is_empty(),
        }
    }
}

/// `a, b or c`.
pub(crate) fn either(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        names => names.concat(),
    }
}

impl Names {
    /// Whether a first line is a header, since its first cell is the name of a column of identifiers.
    pub(crate) fn begin_header(&self, cells: &[impl AsRef<str>]) -> bool {
        header_index(cells, &self.id) == Some(0)
    }

    /// The columns of identifiers and of texts, if `cells` are a header that shows both, and the column of
    /// titles that a user named. Behind usual identifiers, the only column that is not a title holds the
    /// texts, whatever its name.
    pub(crate) fn of_header(&self, cells: &[impl AsRef<str>]) -> Option<(usize, usize)> {
        let id = header_index(cells, &self.id)?;
        let title = header_index(cells, &self.title);
        if self.title_is_given && title.is_none() || cells.len() > MAX_COLUMNS {
            return None;
        }
        let other = || {
            let mut others = (1..cells.len()).filter(|at| title != Some(*at));
            others.next().filter(|_| id == 0 && !self.are_given && others.next().is_none())
        };
        Some((id, header_index(cells, &self.text).or_else(other)?))
    }

    /// The error of a file whose header has no identifiers, no texts or no titles by these names.
    pub(crate) fn missing(
        &self,
        file: String,
        format: &'static str,
        cells: &[impl AsRef<str>],
    ) -> CorpusError {
        let found = listed(cells.iter().map(AsRef::as_ref));
        if format == "csv" && cells.len() == 1 && cells.iter().any(|cell| cell.as_ref().contains(';')) {
            let reason = "the separator is ;, and must be a comma";
            let remedy = remedy!(
                "separate the columns by commas, or by tabs and name the format with {}",
                Setting::Format.to("tsv")
            );
            return CorpusError::Unsupported { file, reason, remedy };
        }
        let has = |names: &[String]| header_index(cells, names).is_some();
        if cells.len() > MAX_COLUMNS {
            let message =
                format!("the first line has {} columns; at most {MAX_COLUMNS} are read", cells.len());
            return CorpusError::Broken { file, format, message, position: None };
        }
        if self.title_is_given && has(&self.id) && has(&self.text) && !has(&self.title) {
            return self.no_titles(file, format!("; the header has {found}"));
        }
        let (id, text) = (either(&self.id), either(&self.text));
        let message = format!(
            "the header needs a column of identifiers ({id}) and one of texts ({text}); it has {found}"
        );
        CorpusError::Broken { file, format, message, position: None }
    }

    /// The error of inputs without the titles that a user named; `found` says what there is instead.
    pub(crate) fn no_titles(&self, files: String, found: String) -> CorpusError {
        CorpusError::NoSuchName { files, setting: Setting::TitleColumn, name: either(&self.title), found }
    }
}
