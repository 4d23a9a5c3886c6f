//! DPR's retrieval results: questions as JSON objects, each with its passages, best first.

use std::collections::HashSet;

use serde::Deserialize;
use toller_files::{Input, InputReader};
use toller_ir::{Passage, Query, Setting, remedy};

use crate::error::{BadKind, CorpusError, Place, Wrong};
use crate::format::Sniff;
use crate::options::{ReadOptions, SkipReport};
use crate::queries::{QueriesOfFile, row_prefix, stems};
use crate::run::builder::RunBuilder;
use crate::run::detect::{RunFormat, detect};
use crate::run::json::{document, score};
use crate::text::{Loose, ObjectReader, Owned, parse_record};

/// What newer versions of DPR put before the numbers of Wikipedia's passages.
const WIKIPEDIA: &str = "wiki:";

/// A question with its answers and the passages that were retrieved for it, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DprResult {
    /// The question.
    pub query: Query,
    /// The passages.
    pub passages: Vec<Passage>,
}

#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    question: Owned<Loose<'static>>,
    #[serde(default)]
    answers: Owned<Loose<'static>>,
    ctxs: Vec<Context>,
}

#[derive(Deserialize)]
struct Context {
    #[serde(default)]
    id: Owned<Loose<'static>>,
    #[serde(default)]
    title: Owned<Loose<'static>>,
    #[serde(default)]
    text: Owned<Loose<'static>>,
    #[serde(default)]
    score: Owned<Loose<'static>>,
}

const EXPECTED: &str = "a JSON object with ctxs, a list of objects";

/// Reads a question from each object, in one array or one after another, and gives it to `take`, with its
/// place. An object that is bad is given as its error.
fn for_each_question(
    reader: InputReader,
    max_bytes: usize,
    mut take: impl FnMut(&Place, Result<Question, CorpusError>) -> Result<(), CorpusError>,
) -> Result<(), CorpusError> {
    let mut objects = ObjectReader::new(reader, max_bytes);
    loop {
        let question = match objects.advance() {
            Ok(false) => return Ok(()),
            Ok(true) => parse_record(objects.text(), EXPECTED).map_err(|wrong| wrong.at(objects.place())),
            Err(error) => Err(error),
        };
        take(&objects.place(), question)?;
    }
}

/// Reads the questions as a run. The identifiers of queries are their positions from zero, as
/// [`read_queries`](crate::read_queries) numbers DPR's questions.
///
/// The rank of a passage is its position. So a score that is not below the one before it becomes the next
/// number below.
pub(crate) fn read_dpr(
    reader: InputReader,
    max_bytes: usize,
    builder: &mut RunBuilder,
) -> Result<(), CorpusError> {
    for_each_question(reader, max_bytes, |place, question| {
        let question = match question {
            Ok(question) => question,
            Err(error) => return builder.skip(error),
        };
        let record = place.position.number();
        let query = (record - 1).to_string();
        let mut above = f64::INFINITY;
        for context in &question.ctxs {
            let added = passage_id(&context.id.0).and_then(|id| {
                let score = score(&context.score.0)?;
                above = if score < above { score } else { above.next_down() };
                builder.add(&query, &id, above, record)
            });
            if let Err(wrong) = added {
                builder.wrong(wrong, record)?;
            }
        }
        Ok(())
    })
}

/// Reads DPR's results of one or several files, and gives each question to `take`. Questions are numbered as
/// [`read_queries`](crate::read_queries) numbers those of several files. Returns which are whose.
///
/// # Errors
/// An input that cannot be read or is another kind of run, a bad record (unless they are skipped), a passage
/// that occurs twice for a question, and no questions at all.
pub fn read_dpr_results(
    inputs: &[Input],
    options: &ReadOptions<RunFormat>,
    mut take: impl FnMut(DprResult),
) -> Result<(Vec<QueriesOfFile>, SkipReport), CorpusError> {
    let (mut files, mut count, mut skipped) = (Vec::new(), 0, SkipReport::default());
    for (input, stem) in inputs.iter().zip(stems(inputs)) {
        let mut reader = InputReader::open(input)?;
        let sniff = Sniff::new(&mut reader)?;
        if options.format.map_or_else(|| detect(&sniff), Ok)? != RunFormat::Dpr {
            return Err(sniff.unsupported(
                "of all runs, only DPR's JSON has questions, answers and texts",
                remedy!("give {} and {}, and each run as a file", Setting::Queries, Setting::Corpus),
            ));
        }
        let (first, prefix) = (count, row_prefix(stem.filter(|_| inputs.len() > 1)));
        for_each_question(reader, options.max_line_bytes, |place, found| {
            let found = match found {
                Ok(found) => found,
                Err(error) => return skipped.take(error, options.skip_bad_lines),
            };
            let row = format!("{prefix}{}", place.position.number() - 1);
            count += 1;
            take(result(row, found, place, options, &mut skipped)?);
            Ok(())
        })?;
        let name = stem.map_or_else(|| input.to_string(), str::to_owned);
        files.push(QueriesOfFile { name, places: first..count });
    }
    if count == 0 {
        let files = inputs.iter().map(Input::to_string).collect::<Vec<_>>().join(", ");
        return Err(CorpusError::Empty { files, what: "questions", after: String::new() });
    }
    Ok((files, skipped))
}

/// The question of a record. Its passages that are bad or repeated are counted, or an error.
fn result(
    id: String,
    Question { question, answers, ctxs }: Question,
    place: &Place,
    options: &ReadOptions<RunFormat>,
    skipped: &mut SkipReport,
) -> Result<DprResult, CorpusError> {
    let at = |wrong: Wrong| wrong.at(place.clone());
    let text = question.0.into_text("question").map_err(at)?;
    let strings = answers.0.to_strings();
    let answers = strings.ok_or_else(|| at(answers.0.wrong("answers", "a list of strings")))?;
    let (mut ids, mut passages) = (HashSet::new(), Vec::with_capacity(ctxs.len()));
    for context in ctxs {
        match passage(context) {
            Ok(passage) if ids.insert(passage.id.clone()) => passages.push(passage),
            Ok(Passage { id, .. }) => {
                let found = format!("document {id} twice for query {text:?}");
                let wrong = Wrong::new(BadKind::DuplicateHit, found, "each document once a query");
                skipped.take(at(wrong), options.keep_first || options.skip_bad_lines)?;
            }
            Err(wrong) => skipped.take(at(wrong), options.skip_bad_lines)?,
        }
    }
    Ok(DprResult { query: Query { id, text, answers }, passages })
}

fn passage(context: Context) -> Result<Passage, Wrong> {
    let Context { id, title, text, .. } = context;
    let title = title.0.as_str().filter(|title| !title.is_empty()).map(str::to_owned);
    Ok(Passage { id: passage_id(&id.0)?, title, text: text.0.into_text("text")?, context: None })
}

/// The identifier of a passage; of Wikipedia's, the number that psgs_w100.tsv has.
fn passage_id(id: &Loose<'_>) -> Result<String, Wrong> {
    let id = document(id)?;
    let number = id.strip_prefix(WIKIPEDIA).filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    Ok(number.filter(|number| !number.is_empty()).map(str::to_owned).unwrap_or(id))
}
