//! Where examples come from: files of examples, or queries, judgments and negatives over a collection.

use std::collections::HashSet;
use std::path::Path;

use toller_files::ChecksumHasher;
use toller_ir::{ErrorPlace, Qrels, Query, counted};
use toller_texts::Texts;

use super::negatives::Negatives;
use super::{Candidate, Example, ExampleFile};
use crate::TrainError;

/// All examples of a run.
#[derive(Default)]
pub struct Source {
    files: Vec<ExampleFile>,
    judged: Option<Judged>,
    /// The collection of passages that are known by identifier.
    texts: Option<Texts>,
    /// Whether examples that a run cannot learn from are left out.
    skips: bool,
    /// The examples that are kept, if others were left out.
    kept: Option<Vec<u32>>,
}

/// Queries with the identifiers of their passages.
pub struct Judged {
    examples: Vec<JudgedQuery>,
    negatives: Negatives,
    left_out: LeftOut,
}

/// A query with at least one relevant document.
struct JudgedQuery {
    id: String,
    text: String,
    /// With their grades.
    relevant: Vec<(String, i32)>,
    /// Documents that are negatives by their file, and are relevant or missing from the collection.
    not_negative: Vec<String>,
}

/// What was given with judgments and makes no example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Queries without a relevant document.
    pub queries: usize,
    /// Relevant documents and negatives that the collection does not have, and the first of them.
    pub documents: usize,
    /// The first of them, with its query.
    pub document: Option<(String, String)>,
    /// Relevant documents that are not among the positives that came with the negatives of their query.
    pub positives: usize,
    /// Queries of the negatives that are not examples.
    pub of_negatives: usize,
}

impl LeftOut {
    /// What should not be left out, in words.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        let documents = self.document.as_ref().map(|(query, document)| {
            let passages = counted(self.documents, "passage");
            format!(
                "left out {passages} of judgments and negatives, missing from the collection, such as {document:?} of \
                 query {query:?}"
            )
        });
        let positives = (self.positives > 0).then(|| {
            let relevant = counted(self.positives, "relevant document");
            format!("left out {relevant} not among the positives in the file of negatives")
        });
        let negatives = (self.of_negatives > 0).then(|| {
            let queries = counted(self.of_negatives, "query");
            format!("left out the negatives of {queries} without a relevant document")
        });
        documents.into_iter().chain(positives).chain(negatives)
    }
}

impl Judged {
    /// Queries with a relevant document, their relevant documents, and their negatives by query. Negatives
    /// that are judged relevant are left out, and documents that the collection does not have. Where
    /// positives came with the negatives of a query, its other relevant documents are left out, too.
    ///
    /// # Errors
    /// When all negatives belong to other queries.
    pub fn new(
        queries: &[Query],
        qrels: &Qrels,
        relevance_level: i32,
        negatives: Negatives,
        has: impl Fn(&str) -> bool,
    ) -> Result<Self, TrainError> {
        let (mut examples, mut left_out) = (Vec::new(), LeftOut::default());
        for query in queries {
            let judged = qrels.query(&query.id);
            let is_relevant = |id: &str| {
                judged.and_then(|judged| judged.get(id)).is_some_and(|grade| *grade >= relevance_level)
            };
            let mut exists = |id: &str| {
                let exists = has(id);
                if !exists {
                    left_out.documents += 1;
                    left_out.document.get_or_insert_with(|| (query.id.clone(), id.to_owned()));
                }
                exists
            };
            let mut is_kept = |id: &str| {
                let is_kept = negatives.keeps_positive(&query.id, id);
                left_out.positives += usize::from(!is_kept);
                is_kept
            };
            let relevant = judged.into_iter().flatten().filter(|(_, grade)| **grade >= relevance_level);
            let relevant = relevant.map(|(id, grade)| (id.clone(), *grade));
            let relevant: Vec<(String, i32)> = relevant.filter(|(id, _)| is_kept(id) && exists(id)).collect();
            if relevant.is_empty() {
                left_out.queries += 1;
                continue;
            }
            let ids = negatives.get(&query.id).filter_map(|own| own.id);
            let not_negative = ids.filter(|id| is_relevant(id) || !exists(id)).collect();
            let (id, text) = (query.id.clone(), query.text.clone());
            examples.push(JudgedQuery { id, text, relevant, not_negative });
        }
        let known: HashSet<&str> = examples.iter().map(|example| example.id.as_str()).collect();
        let queries = negatives.queries().len();
        left_out.of_negatives = negatives.queries().filter(|id| !known.contains(id)).count();
        if left_out.of_negatives > 0 && left_out.of_negatives == queries && !examples.is_empty() {
            return Err(TrainError::ForeignNegatives { queries });
        }
        Ok(Self { examples, negatives, left_out })
    }

    fn get(&self, index: usize) -> Example {
        let JudgedQuery { id, text, relevant, not_negative } = &self.examples[index];
        let positive = |(document, grade): &(String, i32)| Candidate {
            id: Some(document.clone()),
            score: self.negatives.score_of_positive(id, document),
            // Any grade may be relevant, and a positive's is above that of negatives.
            grade: Some(f64::from((*grade).max(1))),
            ..Candidate::default()
        };
        let is_negative = |own: &Candidate| own.id.as_ref().is_none_or(|id| !not_negative.contains(id));
        Example {
            query: text.clone(),
            positives: relevant.iter().map(positive).collect(),
            negatives: self.negatives.get(id).filter(is_negative).collect(),
        }
    }

    /// Adds everything that decides the examples.
    fn fingerprint(&self, hasher: &mut ChecksumHasher) {
        for (index, query) in self.examples.iter().enumerate() {
            hasher.update(format!("{:?} {:?}\n", query.id, self.get(index)).as_bytes());
        }
    }

    /// What makes no example.
    #[must_use]
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// The number of examples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.examples.len()
    }

    /// Whether there is no example.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.examples.is_empty()
    }
}

impl Source {
    /// The examples of files, then those of judgments. Passages without a text are looked up in `texts`.
    #[must_use]
    pub fn new(files: Vec<ExampleFile>, judged: Option<Judged>, texts: Option<Texts>) -> Self {
        Self { files, judged, texts, ..Self::default() }
    }

    /// The same, but a run leaves out the examples that it cannot learn from.
    #[must_use]
    pub fn skipping(self) -> Self {
        Self { skips: true, ..self }
    }

    /// Whether a run leaves out the examples that it cannot learn from.
    pub(crate) fn skips(&self) -> bool {
        self.skips
    }

    /// Keeps only these of all examples.
    pub(crate) fn keep(&mut self, examples: Vec<u32>) {
        self.kept = Some(examples);
    }

    /// The number of examples.
    #[must_use]
    pub fn len(&self) -> usize {
        let judged = self.judged.as_ref().map_or(0, Judged::len);
        let all = self.files.iter().map(ExampleFile::len).sum::<usize>() + judged;
        self.kept.as_ref().map_or(all, Vec::len)
    }

    /// The file of an example and its place there; or its place among those of judgments.
    fn locate(&self, index: usize) -> (Option<&ExampleFile>, usize) {
        let mut place = self.kept.as_ref().map_or(index, |kept| kept[index] as usize);
        for file in &self.files {
            match place.checked_sub(file.len()) {
                None => return (Some(file), place),
                Some(rest) => place = rest,
            }
        }
        (None, place)
    }

    /// Whether there is no example.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An example. Its passages may be without their texts.
    ///
    /// # Errors
    /// When a record is bad.
    pub fn get(&self, index: usize) -> Result<Example, TrainError> {
        match self.locate(index) {
            (Some(file), place) => file.get(place),
            (None, place) => Ok(self.judged.as_ref().map(|judged| judged.get(place)).unwrap_or_default()),
        }
    }

    /// The error that an example has this problem.
    pub(crate) fn error(&self, index: usize, problem: String) -> TrainError {
        let (file, place) = self.locate(index);
        let at = |file: &ExampleFile| ErrorPlace {
            position: Some(file.position(place)),
            ..ErrorPlace::of_file(file.path())
        };
        let file = file.map(at);
        TrainError::Example { place: self.place(index), file, problem }
    }

    /// The place of an example, in words.
    pub(crate) fn place(&self, index: usize) -> String {
        match self.locate(index) {
            (Some(file), place) => format!("{}, {}", file.path().display(), file.position(place)),
            (None, place) => format!("query {:?}", self.query_id(place)),
        }
    }

    /// The query of a judged example.
    fn query_id(&self, index: usize) -> String {
        self.judged.as_ref().map(|judged| judged.examples[index].id.clone()).unwrap_or_default()
    }

    /// The files that have no example.
    pub(crate) fn empty_files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().filter(|file| file.is_empty()).map(ExampleFile::path)
    }

    /// Whether a passage has a text, here or in the collection.
    pub(crate) fn has_text(&self, candidate: &Candidate) -> bool {
        let is_known = |id: &String| self.texts.as_ref().is_some_and(|texts| texts.contains(id));
        candidate.text.is_some() || candidate.id.as_ref().is_some_and(is_known)
    }

    /// Gives a passage its text.
    ///
    /// # Errors
    /// When the collection does not have it.
    pub fn fill(&self, candidate: Candidate) -> Result<Candidate, TrainError> {
        if candidate.text.is_some() {
            return Ok(candidate);
        }
        let id = candidate.id.as_deref().unwrap_or_default();
        let found = self.texts.as_ref().map(|texts| texts.get(id)).transpose()?.flatten();
        let passage = found.ok_or_else(|| TrainError::MissingPassage { id: id.to_owned() })?;
        Ok(Candidate { title: passage.title, text: Some(passage.text), ..candidate })
    }

    /// Identifies the data.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut hasher = ChecksumHasher::default();
        let of_files = self.files.iter().map(|file| file.checksum().to_string());
        for part in of_files.chain(self.texts.as_ref().map(|texts| texts.fingerprint().to_owned())) {
            hasher.update(format!("{part}\n").as_bytes());
        }
        if let Some(judged) = &self.judged {
            judged.fingerprint(&mut hasher);
        }
        hasher.finish().to_string()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use toller_ir::{Qrels, Query};

    use super::{Candidate, Judged, LeftOut, Source};
    use crate::TrainError;
    use crate::data::read_negatives;

    #[test]
    fn judgments_decide_what_is_positive() -> Result<(), TrainError> {
        let folder = tempfile::tempdir().unwrap();
        let negatives = |text: &str| {
            std::fs::write(folder.path().join("negatives.tsv"), text).unwrap();
            read_negatives(&folder.path().join("negatives.tsv"))
        };
        let query = |id: &str| Query { id: id.to_owned(), text: format!("text {id}"), answers: Vec::new() };
        let mut qrels = Qrels::new();
        for (query, document, grade) in [("1", "a", 3), ("1", "b", 0), ("2", "c", 0)] {
            qrels.insert(query, document, grade);
        }
        let by_id = |id: &str| Candidate { id: Some(id.to_owned()), ..Candidate::default() };
        let queries = [query("1"), query("2"), query("3")];
        let mined = r#"{"query_id": "1", "positives": [{"id": "a", "score": 0.5}],
            "negatives": [{"id": "a"}, {"id": "b"}, {"id": "z"}]}"#;
        let one_line = mined.replace('\n', "");
        let judged = Judged::new(&queries, &qrels, 1, negatives(&one_line)?, |id| id != "z")?;
        let document = Some(("1".to_owned(), "z".to_owned()));
        let left_out = LeftOut { queries: 2, documents: 1, document, ..LeftOut::default() };
        assert_eq!(judged.left_out(), &left_out);
        // A lower level makes b relevant, but what mined a did not keep it.
        let judged_lower = Judged::new(&queries, &qrels, 0, negatives(&one_line)?, |_| true)?;
        assert_eq!(judged_lower.examples[0].relevant, [("a".to_owned(), 3)]);
        assert_eq!(judged_lower.examples[1].relevant, [("c".to_owned(), 0)], "the file has no such query");
        let problems: Vec<String> = judged_lower.left_out().problems().collect();
        let problem = "left out 1 relevant document not among the positives in the file of negatives";
        assert_eq!((judged_lower.left_out().positives, problems), (1, vec![problem.to_owned()]));
        let refused = Judged::new(&queries, &qrels, 1, negatives("9\tb\n")?, |_| true).err();
        assert!(matches!(refused, Some(TrainError::ForeignNegatives { queries: 1 })));
        let source = Source::new(Vec::new(), Some(judged), None);
        assert_eq!(source.len(), 1, "a query without a relevant document is no example");
        let example = source.get(0)?;
        assert_eq!(example.positives, [Candidate { score: Some(0.5), grade: Some(3.0), ..by_id("a") }]);
        assert_eq!(example.negatives, [by_id("b")], "a relevant document is no negative");
        assert_eq!(source.error(0, "no".to_owned()).to_string(), "query \"1\": no");
        assert!(matches!(source.fill(by_id("a")), Err(TrainError::MissingPassage { .. })));
        assert!(source.fill(Candidate::plain("text")).is_ok());
        Ok(())
    }
}
