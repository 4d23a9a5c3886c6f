//! Where examples come from: files of examples, or queries, judgments and negatives over a collection.

use indexmap::IndexMap;
use toller_files::Checksum;
use toller_ir::{Qrels, Query};
use toller_texts::Texts;

use super::{Candidate, Example, ExampleFile};
use crate::TrainError;

/// All examples of a run.
#[derive(Default)]
pub struct Source {
    files: Vec<ExampleFile>,
    judged: Option<Judged>,
    /// The collection of passages that are known by identifier.
    texts: Option<Texts>,
}

/// Queries with the identifiers of their passages.
pub struct Judged {
    examples: Vec<Example>,
}

impl Judged {
    /// Queries with a relevant document, their relevant documents, and their negatives by query. Negatives
    /// that are judged relevant are left out.
    #[must_use]
    pub fn new(
        queries: &[Query],
        qrels: &Qrels,
        relevance_level: i32,
        negatives: &IndexMap<String, Vec<Candidate>>,
    ) -> Self {
        let example = |query: &Query| {
            let judged = qrels.query(&query.id)?;
            let relevant = judged.iter().filter(|(_, grade)| **grade >= relevance_level);
            let positives: Vec<Candidate> =
                relevant.map(|(id, _)| Candidate { id: Some(id.clone()), ..Candidate::default() }).collect();
            let is_relevant = |candidate: &&Candidate| {
                candidate
                    .id
                    .as_ref()
                    .is_some_and(|id| judged.get(id).is_some_and(|grade| *grade >= relevance_level))
            };
            let negatives = negatives.get(&query.id).map(Vec::as_slice).unwrap_or_default();
            let negatives = negatives.iter().filter(|candidate| !is_relevant(candidate)).cloned().collect();
            (!positives.is_empty()).then(|| Example { query: query.text.clone(), positives, negatives })
        };
        Self { examples: queries.iter().filter_map(example).collect() }
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
        Self { files, judged, texts }
    }

    /// The number of examples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.iter().map(ExampleFile::len).sum::<usize>() + self.judged.as_ref().map_or(0, Judged::len)
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
    pub fn get(&self, mut index: usize) -> Result<Example, TrainError> {
        for file in &self.files {
            match index.checked_sub(file.len()) {
                None => return file.get(index),
                Some(rest) => index = rest,
            }
        }
        Ok(self.judged.as_ref().map(|judged| judged.examples[index].clone()).unwrap_or_default())
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
        let mut parts: Vec<String> = self.files.iter().map(|file| file.checksum().to_string()).collect();
        parts.extend(self.texts.as_ref().map(|texts| texts.fingerprint().to_owned()));
        parts.extend(self.judged.as_ref().map(|judged| format!("{:?}", judged.examples)));
        Checksum::of(parts.join("\n").as_bytes()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use toller_ir::{Qrels, Query};

    use super::{Candidate, Judged, Source};
    use crate::TrainError;

    #[test]
    fn judgments_decide_what_is_positive() -> Result<(), TrainError> {
        let query = |id: &str| Query { id: id.to_owned(), text: format!("text {id}"), answers: Vec::new() };
        let mut qrels = Qrels::new();
        for (query, document, grade) in [("1", "a", 1), ("1", "b", 0), ("2", "c", 0)] {
            qrels.insert(query, document, grade);
        }
        let by_id = |id: &str| Candidate { id: Some(id.to_owned()), ..Candidate::default() };
        let negatives = IndexMap::from([("1".to_owned(), vec![by_id("a"), by_id("b"), by_id("z")])]);
        let judged = Judged::new(&[query("1"), query("2"), query("3")], &qrels, 1, &negatives);
        let source = Source::new(Vec::new(), Some(judged), None);
        assert_eq!(source.len(), 1, "a query without a relevant document is no example");
        let example = source.get(0)?;
        assert_eq!(example.positives, [by_id("a")]);
        assert_eq!(example.negatives, [by_id("b"), by_id("z")], "a relevant document is no negative");
        assert!(matches!(source.fill(by_id("a")), Err(TrainError::MissingPassage { .. })));
        assert!(source.fill(Candidate::plain("text")).is_ok());
        Ok(())
    }
}
