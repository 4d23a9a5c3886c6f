//! What was retrieved, in DPR's format.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;
use toller_ir::{Passage, Query, RunEntry};

use crate::error::DatasetError;
use crate::folder::Folder;
use crate::statistics::{Part, Statistics, mean};
use crate::{AnswerMatcher, MatchMode};

/// A question and the best passages for it, best first.
#[derive(Clone, Debug)]
pub struct Retrieved<'a> {
    /// The question with its answers.
    pub query: &'a Query,
    /// The passages.
    pub entries: &'a [RunEntry],
}

#[derive(Serialize)]
struct DprResult<'a> {
    question: &'a str,
    answers: &'a [String],
    ctxs: Vec<DprContext<'a>>,
}

#[derive(Serialize)]
struct DprContext<'a> {
    id: &'a str,
    title: &'a str,
    text: &'a str,
    score: f64,
    has_answer: bool,
}

/// The numbers of passages at which accuracy is reported, as in the paper.
const DEPTHS: [(usize, &str); 4] =
    [(1, "accuracy_at_1"), (5, "accuracy_at_5"), (20, "accuracy_at_20"), (100, "accuracy_at_100")];

/// Writes `results.json`: for each question its passages, each with whether its text has an answer. Returns
/// the shares of questions with an answer in the first 1, 5, 20 and 100 passages.
///
/// # Errors
/// If a passage is missing in `passages`, or the file cannot be written.
pub fn write_dpr_results(
    retrieved: &[Retrieved<'_>],
    passages: &HashMap<String, Passage>,
    mode: MatchMode,
    output: &Path,
) -> Result<(Vec<String>, Statistics), DatasetError> {
    let mut first = Vec::with_capacity(retrieved.len());
    let mut results = Vec::with_capacity(retrieved.len());
    for Retrieved { query, entries } in retrieved {
        let matcher = AnswerMatcher::new(query.answers.iter().map(String::as_str), mode);
        let context = |entry: &&RunEntry| {
            let passage = passages.get(&entry.doc_id);
            let passage = passage.ok_or_else(|| DatasetError::NoText(entry.doc_id.clone()))?;
            Ok(DprContext {
                id: &passage.id,
                title: passage.title.as_deref().unwrap_or_default(),
                text: &passage.text,
                score: entry.score,
                has_answer: matcher.is_in(&passage.text),
            })
        };
        let ctxs = entries.iter().collect::<Vec<_>>();
        let ctxs = ctxs.iter().map(context).collect::<Result<Vec<_>, DatasetError>>()?;
        first.push(ctxs.iter().position(|context| context.has_answer));
        results.push(DprResult { question: &query.text, answers: &query.answers, ctxs });
    }
    let mut folder = Folder::create(output)?;
    folder.file("results.json")?.array(results.iter())?;
    let names = folder.commit()?;
    let mut part = Part::new("results").count("questions", retrieved.len());
    for (depth, name) in DEPTHS {
        let hits = first.iter().filter(|place| place.is_some_and(|place| place < depth)).count();
        part = part.real(name, mean(hits as f64, retrieved.len()));
    }
    Ok((names, Statistics(vec![part])))
}
