//! What was retrieved, in DPR's format.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::Serialize;
use toller_corpus::QueriesOfFile;
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
    pub entries: Vec<&'a RunEntry>,
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

/// Writes `results.json`, or for each of several files of questions one that is named after it, such as
/// `P36.results.json`: for each question its passages, each with whether its text has an answer. Returns the
/// shares of questions with an answer in the first 1, 5, 20 and 100 passages, of each file and of all.
///
/// # Errors
/// If a passage is missing in `passages`, two files have one name, or a file cannot be written.
pub fn write_dpr_results(
    retrieved: &[Retrieved<'_>],
    files: &[QueriesOfFile],
    passages: &HashMap<String, Passage>,
    mode: MatchMode,
    output: &Path,
) -> Result<(Vec<String>, Statistics), DatasetError> {
    let results =
        retrieved.iter().map(|retrieved| result(retrieved, passages, mode)).collect::<Result<Vec<_>, _>>()?;
    let mut folder = Folder::create(output)?;
    let mut statistics = Statistics::default();
    if let [] | [_] = files {
        folder.file("results.json")?.array(results.iter())?;
    } else {
        let mut names = HashSet::new();
        for QueriesOfFile { name, places } in files {
            if !names.insert(name) {
                let (what, id) = ("files of questions", name.clone());
                return Err(DatasetError::RepeatedId { place: None, what, id });
            }
            let of_file = results.get(places.clone()).unwrap_or_default();
            folder.file(&format!("{name}.results.json"))?.array(of_file.iter())?;
            statistics.0.push(accuracy(name, of_file));
        }
    }
    statistics.0.push(accuracy("results", &results));
    Ok((folder.commit()?, statistics))
}

fn result<'a>(
    Retrieved { query, entries }: &Retrieved<'a>,
    passages: &'a HashMap<String, Passage>,
    mode: MatchMode,
) -> Result<DprResult<'a>, DatasetError> {
    let matcher = AnswerMatcher::new(query.answers.iter().map(String::as_str), mode);
    let context = |entry: &&RunEntry| {
        let passage = passages.get(&entry.doc_id);
        let missing = || DatasetError::NoText { file: None, id: entry.doc_id.clone() };
        let passage = passage.ok_or_else(missing)?;
        Ok(DprContext {
            id: &passage.id,
            title: passage.title.as_deref().unwrap_or_default(),
            text: &passage.text,
            score: entry.score,
            has_answer: matcher.is_in(&passage.text),
        })
    };
    let ctxs = entries.iter().map(context).collect::<Result<Vec<_>, DatasetError>>()?;
    Ok(DprResult { question: &query.text, answers: &query.answers, ctxs })
}

/// The shares of questions that have an answer in the first passages.
fn accuracy(name: &str, results: &[DprResult<'_>]) -> Part {
    let part = Part::new(name).count("questions", results.len());
    DEPTHS.into_iter().fold(part, |part, (depth, name)| {
        let has_answer = |result: &&DprResult<'_>| result.ctxs.iter().take(depth).any(|ctx| ctx.has_answer);
        let hits = results.iter().filter(has_answer).count();
        part.real(name, mean(hits as f64, results.len()))
    })
}
