//! sentence-transformers' columns.

use serde_json::Value;
use toller_ir::counted;

use super::column::Column;
use super::fields::Fields;
use super::record::EXPECTED;
use super::{Candidate, Example};

/// A record of columns: by their names where those are known, else in the order anchor, positive, negatives.
/// Identifiers do not count.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn columns(fields: &Fields) -> Result<Example, String> {
    let mut grades = None;
    let mut columns: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, value) in &fields.0 {
        match (Column::named(name), value) {
            (Some(Column::Label), value) => grades = Some(Grades::of(name, value)?),
            (Some(Column::Identifier), _) | (Some(Column::Title), Value::Null) => {}
            (_, Value::String(text)) => columns.push((name, vec![text])),
            (Some(Column::Text), Value::Array(texts)) if has_list_of_labels(fields) => {
                columns.push((name, listed(name, texts)?));
            }
            (_, Value::Array(texts)) if Column::is_negative(name) => {
                columns.push((name, listed(name, texts)?));
            }
            // Some rows of a table have fewer negatives than others.
            (_, Value::Null) if columns.len() > 1 || Column::is_negative(name) => {}
            (_, other) => {
                return Err(format!("{name} is {}, where a text is expected; {EXPECTED}", shortened(other)));
            }
        }
    }
    let Roles { query, passages, title, negatives } = Roles::of(&columns)?;
    match (grades, &passages[..]) {
        (None, [positive]) => Ok(example(query, vec![titled(positive, title)], plain(&negatives))),
        (Some(Grades::One(grade)), [positive]) => {
            let positive = Candidate { label: Some(grade), ..titled(positive, title) };
            // With one negative, it may be the margin that MarginMSE learns.
            let scores = if negatives.len() == 1 { [Some(grade), Some(0.0)] } else { [None; 2] };
            Ok(example(query, vec![positive], plain(&negatives)).scored(&scores))
        }
        (Some(Grades::List(scores)), [positive]) if !negatives.is_empty() => {
            let positive = titled(positive, title);
            let scores = match scores.len().checked_sub(negatives.len()) {
                // The margin of each negative: how much worse than the positive it is.
                Some(0) => [0.0].into_iter().chain(scores.iter().map(|margin| -margin)).collect(),
                Some(1) => scores,
                _ => {
                    let of = counted(negatives.len(), "negative");
                    return Err(format!("{} for a positive and {of}", counted(scores.len(), "score")));
                }
            };
            let scores: Vec<_> = scores.into_iter().map(Some).collect();
            Ok(example(query, vec![positive], plain(&negatives)).scored(&scores))
        }
        (Some(Grades::List(labels)), texts) if labels.len() == texts.len() && negatives.is_empty() => {
            let all = texts.iter().zip(labels);
            let all = all.map(|(text, grade)| Candidate { grade: Some(grade), ..Candidate::plain(*text) });
            let (positives, negatives) = all.partition(|one| one.grade > Some(0.0));
            Ok(example(query, positives, negatives))
        }
        (Some(Grades::List(labels)), texts) => {
            Err(format!("{} for {}", counted(labels.len(), "label"), counted(texts.len(), "passage")))
        }
        _ => Err(EXPECTED.to_owned()),
    }
}

/// The numbers of a record.
enum Grades {
    /// The label of a pair, or a margin.
    One(f64),
    /// Labels of passages in a list, scores of a positive and its negatives, or a margin for each negative.
    List(Vec<f64>),
}

impl Grades {
    fn of(name: &str, value: &Value) -> Result<Self, String> {
        let problem = || format!("the {name} {} is not a number", shortened(value));
        match value {
            Value::Array(values) => {
                let numbers = values.iter().map(number).collect::<Option<_>>();
                numbers.map(Self::List).ok_or_else(problem)
            }
            value => number(value).map(Self::One).ok_or_else(problem),
        }
    }
}

/// What the columns are.
struct Roles<'a> {
    query: &'a str,
    passages: Vec<&'a str>,
    title: Option<&'a str>,
    negatives: Vec<&'a str>,
}

impl<'a> Roles<'a> {
    fn of(columns: &[(&str, Vec<&'a str>)]) -> Result<Self, String> {
        let place = |wanted: Column| columns.iter().position(|(name, _)| Column::named(name) == Some(wanted));
        let (by_name, query, positive) = match (place(Column::Query), place(Column::Text)) {
            (Some(query), Some(positive)) => (true, query, positive),
            (Some(query), None) => (true, query, only_other(columns, query)?),
            (None, Some(positive)) => (true, only_other(columns, positive)?, positive),
            (None, None) => (false, 0, 1),
        };
        let texts = |index: usize| columns.get(index).filter(|(name, _)| !Column::is_negative(name));
        let (Some((_, query_texts)), Some((_, passages))) = (texts(query), texts(positive)) else {
            return Err(EXPECTED.to_owned());
        };
        let [query_text] = query_texts[..] else { return Err(EXPECTED.to_owned()) };
        let mut roles =
            Self { query: query_text, passages: passages.clone(), title: None, negatives: Vec::new() };
        let others = columns.iter().enumerate().filter(|(index, _)| ![query, positive].contains(index));
        for (_, (name, texts)) in others {
            match Column::named(name) {
                Some(Column::Title) if by_name && roles.title.is_none() => {
                    roles.title = texts.first().copied()
                }
                Some(Column::Text) => {
                    Column::check_negative(name, columns[positive].0)?;
                    roles.negatives.extend(texts);
                }
                _ if by_name && !Column::is_negative(name) => {
                    return Err(format!(
                        "{name} is neither a query nor a passage; leave it out, or name it negative"
                    ));
                }
                _ => roles.negatives.extend(texts),
            }
        }
        Ok(roles)
    }
}

/// The only column that may be the query or the positive, if the other one is known by its name.
fn only_other(columns: &[(&str, Vec<&str>)], known: usize) -> Result<usize, String> {
    let others = columns.iter().enumerate();
    let mut others = others
        .filter(|(index, (name, _))| *index != known && !Column::is_negative(name))
        .map(|(index, _)| index);
    match (others.next(), others.next()) {
        (Some(other), Some(next)) => Err(format!(
            "{} and {} are neither a query nor a passage by their names; leave one out, or name the columns query, \
             positive and negative",
            columns[other].0, columns[next].0
        )),
        (other, _) => other.ok_or_else(|| EXPECTED.to_owned()),
    }
}

/// Whether the labels of a record are a list, so that its passages may be one.
pub(super) fn has_list_of_labels(fields: &Fields) -> bool {
    fields.0.iter().any(|(name, value)| Column::named(name) == Some(Column::Label) && value.is_array())
}

fn listed<'a>(name: &str, texts: &'a [Value]) -> Result<Vec<&'a str>, String> {
    let texts = texts.iter().map(|text| text.as_str().ok_or(text));
    texts.collect::<Result<_, _>>().map_err(|other| format!("{other} in {name}, where a text is expected"))
}

fn titled(text: &str, title: Option<&str>) -> Candidate {
    let title = title.filter(|title| !title.is_empty()).map(str::to_owned);
    Candidate { title, ..Candidate::plain(text) }
}

fn plain(texts: &[&str]) -> Vec<Candidate> {
    texts.iter().map(|text| Candidate::plain(*text)).collect()
}

fn example(query: &str, positives: Vec<Candidate>, negatives: Vec<Candidate>) -> Example {
    Example { query: query.to_owned(), positives, negatives }
}

impl Example {
    /// The same with these scores of the positive and the negatives.
    fn scored(mut self, scores: &[Option<f64>]) -> Self {
        let all = self.positives.iter_mut().chain(&mut self.negatives);
        all.zip(scores).for_each(|(candidate, score)| candidate.score = *score);
        self
    }
}

/// A label: a number, perhaps as text, or true or false.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(is_relevant) => Some(f64::from(u8::from(*is_relevant))),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        other => other.as_f64(),
    }
}

/// The beginning of a value, for messages.
fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::record::parse;
    use super::{Candidate, Example, example};

    fn scored(text: &str, score: f64) -> Candidate {
        Candidate { score: Some(score), ..Candidate::plain(text) }
    }

    fn graded(text: &str, grade: f64) -> Candidate {
        Candidate { grade: Some(grade), ..Candidate::plain(text) }
    }

    fn read(json: &str) -> Example {
        parse(json.as_bytes()).unwrap()
    }

    #[test]
    fn a_list_of_scores_is_of_the_positive_and_its_negatives() {
        let expected = example("q", vec![scored("p", 9.5)], vec![scored("n", 0.5), scored("m", 2.0)]);
        for json in [
            r#"{"query": "q", "positive": "p", "negative_1": "n", "negative_2": "m", "label": [9.5, 0.5, 2]}"#,
            r#"{"query": "q", "positive": "p", "negatives": ["n", "m"], "scores": [9.5, 0.5, 2]}"#,
        ] {
            assert_eq!(read(json), expected, "{json}");
        }
    }

    #[test]
    fn margins_are_from_the_positive() {
        let margins = r#"{"query": "q", "positive": "p", "negatives": ["n", "m"], "label": [9, 7.5]}"#;
        let expected = example("q", vec![scored("p", 0.0)], vec![scored("n", -9.0), scored("m", -7.5)]);
        assert_eq!(read(margins), expected);
        let margin = r#"{"query": "q", "positive": "p", "negative": "n", "score": 7.5}"#;
        let positive = Candidate { label: Some(7.5), ..scored("p", 7.5) };
        assert_eq!(read(margin), example("q", vec![positive], vec![scored("n", 0.0)]));
    }

    #[test]
    fn a_list_of_labels_tells_the_positives_of_a_list() {
        let json = r#"{"query": "q", "docs": ["a", "b", "c"], "labels": [0, 2, 1]}"#;
        let positives = vec![graded("b", 2.0), graded("c", 1.0)];
        assert_eq!(read(json), example("q", positives, vec![graded("a", 0.0)]));
    }

    #[test]
    fn a_title_belongs_to_the_positive() {
        let titled = Candidate { title: Some("t".to_owned()), ..Candidate::plain("p") };
        let json = r#"{"query": "q", "title": "t", "text": "p", "negative": "n"}"#;
        assert_eq!(read(json), example("q", vec![titled], vec![Candidate::plain("n")]));
        for json in [
            r#"{"query": "q", "title": "", "text": "p"}"#,
            r#"{"title": null, "query": "q", "text": "p"}"#,
            r#"{"negative": null, "hard_negatives": null, "query": "q", "title": null, "text": "p"}"#,
        ] {
            assert_eq!(read(json), example("q", vec![Candidate::plain("p")], vec![]), "{json}");
        }
    }

    #[test]
    fn a_second_passage_is_no_negative_unless_it_is_numbered() {
        let expected = example("q", vec![Candidate::plain("p")], vec![Candidate::plain("n")]);
        for json in [
            r#"{"query": "q", "passage_1": "p", "passage_2": "n"}"#,
            r#"{"query": "q", "text": "p", "text_2": "n"}"#,
        ] {
            assert_eq!(read(json), expected, "{json}");
        }
        for (json, both) in [
            (r#"{"query": "q", "answer": "short", "positive": "p"}"#, "answer and positive"),
            (r#"{"query": "q", "text": "t", "positive": "p"}"#, "text and positive"),
            (r#"{"positive_1": "p", "query": "q", "positive_2": "o"}"#, "positive_1 and positive_2"),
            (r#"{"query": "q", "docs": ["a"], "labels": [1], "text": "t"}"#, "docs and text"),
        ] {
            let error = parse(json.as_bytes()).unwrap_err();
            assert!(error.starts_with(&format!("{both} are both passages; leave one of")), "{error}");
        }
    }

    #[test]
    fn numbers_that_fit_no_texts_are_refused() {
        for (json, problem) in [
            (
                r#"{"query": "q", "positive": "p", "negative": "n", "label": [1, 2, 3]}"#,
                "3 scores for a positive",
            ),
            (r#"{"query": "q", "docs": ["a", "b"], "labels": [1]}"#, "1 label for 2 passages"),
            (r#"{"query": "q", "docs": ["a", "b"], "labels": [1, "x"]}"#, "is not a number"),
            (r#"{"query": "q", "docs": ["a", "b"]}"#, "docs is"),
            (r#"{"query": "q", "docs": ["a", "b"], "labels": [0, 0]}"#, "no positive"),
        ] {
            let error = parse(json.as_bytes()).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }
}
