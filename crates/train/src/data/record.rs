//! A record of training data in any of the known forms, which its fields tell apart.

use serde::Deserialize;
use serde_json::Value;
use toller_corpus::JsonId;
use toller_ir::{counted, in_words_of_json_line};

use super::column::Column;
use super::columns::{columns, has_list_of_labels};
use super::fields::Fields;
use super::{Candidate, Example};

/// What is expected of a record, for messages.
pub(super) const EXPECTED: &str = "expected DPR's question and positive_ctxs, Tevatron's query and positive_passages, \
     FlagEmbedding's query and pos, query and positives, or the columns anchor, positive and negatives";

/// Reads a record.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn parse(bytes: &[u8]) -> Result<Example, String> {
    let fields: Fields = serde_json::from_slice(bytes).map_err(in_words_of_json_line)?;
    let passages =
        |names: &[&str]| fields.list(names)?.iter().map(passage).collect::<Result<Vec<_>, String>>();
    let example = if fields.get(&["positive_ctxs"]).is_some() {
        // DPR draws the others only for a question without hard ones.
        let mut negatives = passages(&["hard_negative_ctxs"])?;
        if negatives.is_empty() {
            negatives = passages(&["negative_ctxs"])?;
        }
        // DPR learns from the first positive only (`create_biencoder_input`). In its files that is the gold
        // passage, and the others merely have the answer in them.
        let mut positives = passages(&["positive_ctxs"])?;
        positives.truncate(1);
        Example { query: query(&fields, &["question"])?, positives, negatives }
    } else if fields.get(&["positive_passages", "positive_document_ids"]).is_some() {
        Example {
            query: query(&fields, &["query", "query_text"])?,
            positives: [passages(&["positive_passages"])?, identifiers(&fields, "positive_document_ids")?]
                .concat(),
            negatives: [passages(&["negative_passages"])?, identifiers(&fields, "negative_document_ids")?]
                .concat(),
        }
    } else if fields.get(&["pos"]).is_some() {
        Example {
            query: query(&fields, &["query"])?,
            positives: texts(&fields, "pos", "pos_scores")?,
            negatives: texts(&fields, "neg", "neg_scores")?,
        }
    } else if fields.get(&["positives"]).is_some() || has_lists(&fields) {
        let (positives, negatives) =
            (passages(&["positives", "positive"])?, passages(&["negatives", "negative"])?);
        Example { query: query(&fields, &["query"])?, positives, negatives }
    } else {
        columns(&fields)?
    };
    example.checked()
}

/// Whether the positives are a list under `positive`, as in MTEB's data for reranking. With labels, some of
/// the list may be negatives.
fn has_lists(fields: &Fields) -> bool {
    fields.get(&["positive"]).is_some_and(Value::is_array) && !has_list_of_labels(fields)
}

/// Whether a record has identifiers of queries and passages, and no text.
pub(super) fn has_only_identifiers(bytes: &[u8]) -> bool {
    let is_by_id = |(name, value): &(String, Value)| match (Column::named(name), value) {
        (Some(Column::Identifier | Column::Label), _) => true,
        (_, Value::Array(passages)) => {
            passages.iter().all(|own| passage(own).is_ok_and(|own| own.text.is_none()))
        }
        _ => false,
    };
    serde_json::from_slice(bytes)
        .is_ok_and(|Fields(fields)| !fields.is_empty() && fields.iter().all(is_by_id))
}

fn query(fields: &Fields, names: &[&str]) -> Result<String, String> {
    fields.text(names).ok_or_else(|| format!("no text {:?}", names.join(" or ")))
}

/// FlagEmbedding's lists of texts and of their scores.
fn texts(fields: &Fields, texts: &str, scores: &str) -> Result<Vec<Candidate>, String> {
    let texts = fields.list(&[texts])?;
    let scores = fields.list(&[scores])?;
    if !scores.is_empty() && scores.len() != texts.len() {
        return Err(format!("{} and {}", counted(texts.len(), "text"), counted(scores.len(), "score")));
    }
    let scores = scores.iter().map(Value::as_f64).chain(std::iter::repeat(None));
    texts.iter().zip(scores).map(|(text, score)| Ok(Candidate { score, ..passage(text)? })).collect()
}

/// Tevatron's lists of identifiers in a collection.
fn identifiers(fields: &Fields, name: &str) -> Result<Vec<Candidate>, String> {
    let id = |value: &Value| {
        let id = JsonId::deserialize(value);
        let id = id.map_err(|_| format!("{value} in {name}, where an identifier is expected"))?;
        Ok(Candidate { id: Some(id.into()), ..Candidate::default() })
    };
    fields.list(&[name])?.iter().map(id).collect()
}

/// A passage: an object with a text or an identifier, or the text by itself.
fn passage(value: &Value) -> Result<Candidate, String> {
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| value.get(name))?;
        found.as_str().map(str::to_owned).or_else(|| found.as_i64().map(|number| number.to_string()))
    };
    match value {
        Value::String(text) => Ok(Candidate::plain(text)),
        Value::Object(_) => {
            let candidate = Candidate {
                id: text(&["docid", "id", "_id", "passage_id", "psg_id"]),
                title: text(&["title"]).filter(|title| !title.is_empty()),
                text: text(&["text", "contents"]),
                score: value.get("score").and_then(Value::as_f64),
                ..Candidate::default()
            };
            if candidate.text.is_none() && candidate.id.is_none() {
                return Err(format!("a passage without text and identifier: {value}"));
            }
            Ok(candidate)
        }
        other => Err(format!("{other}, where a passage is expected")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{has_only_identifiers, parse};

    fn texts(json: &str) -> (String, Vec<String>, Vec<String>) {
        let example = parse(json.as_bytes()).unwrap();
        let of = |candidates: &[super::Candidate]| {
            candidates
                .iter()
                .map(|c| {
                    let number = c.score.or(c.relevance());
                    format!("{:?}{:?}{:?}{number:?}", c.id, c.title, c.text).replace("None", "-")
                })
                .collect()
        };
        (example.query, of(&example.positives), of(&example.negatives))
    }

    #[test]
    fn the_fields_decide_the_form() {
        let one = |text: &str| vec![format!("--Some({text:?})-")];
        let triplet = r#"{"z_anchor": "q", "positive": "p", "a_negative": "n"}"#;
        assert_eq!(texts(triplet), ("q".to_owned(), one("p"), one("n")));
        let sorted = r#"{"negative": "n", "positive": "p", "query": "q"}"#;
        assert_eq!(texts(sorted), texts(triplet), "names that are known count, not their order");
        let listed = r#"{"query": "q", "positive": "p", "negatives": ["n", ""], "negative_9": null}"#;
        assert_eq!(texts(listed), texts(triplet), "as a list");
        for other in [
            r#"{"query": "q", "passage_id": "p17", "passage": "p", "negative_id": "n3", "negative": "n"}"#,
            r#"{"qid": "7", "question": "q", "answer": "p", "negative": "n"}"#,
            r#"{"anchor": "q", "body": "p", "negative": "n"}"#,
            r#"{"title": "q", "positive": "p", "hard_negatives": ["n"]}"#,
        ] {
            assert_eq!(texts(other), texts(triplet), "{other}");
        }
        for label in ["1", "1.0", "true", "\"1\""] {
            let pair = format!(r#"{{"sentence1": "q", "sentence2": "p", "label": {label}}}"#);
            assert_eq!(texts(&pair).1, [r#"--Some("p")Some(1.0)"#]);
        }
        let dpr = r#"{"question": "q", "positive_ctxs": [{"title": "t", "text": "p", "passage_id": 7}],
            "hard_negative_ctxs": [{"title": "", "text": "h"}], "negative_ctxs": [{"text": "n"}]}"#;
        let expected = vec![r#"Some("7")Some("t")Some("p")-"#.to_owned()];
        assert_eq!(texts(dpr), ("q".to_owned(), expected.clone(), one("h")));
        let others = dpr
            .replace("\"hard_neg", "\"x\": 1, \"hard_neg")
            .replace("}],\n            \"x", "}, {\"text\": \"o\"}],\n            \"x");
        assert_eq!(texts(&others), texts(dpr), "only the first positive counts");
        let without = dpr.replace(r#"{"title": "", "text": "h"}"#, "");
        assert_eq!(texts(&without), ("q".to_owned(), expected, one("n")));
        let tevatron = r#"{"query_id": "1", "query": "q", "positive_passages": [{"docid": "d", "title": "t", "text": "p"}],
            "negative_passages": []}"#;
        assert_eq!(texts(tevatron).1, [r#"Some("d")Some("t")Some("p")-"#]);
        let by_id = r#"{"query_text": "q", "positive_document_ids": ["d", 7], "negative_document_ids": []}"#;
        assert_eq!(texts(by_id).1, [r#"Some("d")---"#, r#"Some("7")---"#]);
        let flag = r#"{"query": "q", "pos": ["p"], "neg": ["n"], "pos_scores": [0.5], "neg_scores": [-1]}"#;
        assert_eq!(texts(flag).2, [r#"--Some("n")Some(-1.0)"#]);
        let reranking = r#"{"query": "q", "positive": ["p", "o"], "negative": ["n"]}"#;
        assert_eq!(texts(reranking), ("q".to_owned(), [one("p"), one("o")].concat(), one("n")));
        let labelled = r#"{"query": "q", "positive": ["p", "n"], "labels": [1, 0]}"#;
        assert_eq!(texts(labelled).1, [r#"--Some("p")Some(1.0)"#]);
        let mined = r#"{"query_id": "1", "query": "q", "positives": [{"id": "a"}],
            "negatives": [{"id": "b", "rank": 3, "score": 2.5}]}"#;
        assert_eq!(texts(mined).2, [r#"Some("b")--Some(2.5)"#]);
    }

    #[test]
    fn records_without_texts_are_noticed() {
        for (json, expected) in [
            (r#"{"query_id": "1", "positives": [{"id": "a"}], "negatives": [{"id": "b", "rank": 3}]}"#, true),
            (r#"{"query_id": 1, "positive_document_ids": ["d"], "negative_document_ids": []}"#, true),
            (r#"{"qid": 1, "pid": 2, "label": 1}"#, true),
            (r#"{"query_id": "1", "positives": [{"id": "a", "text": "p"}], "negatives": []}"#, false),
            (r#"{"query_id": "1", "query": "q", "positives": [{"id": "a"}], "negatives": []}"#, false),
            (r#"{"pos": ["p"]}"#, false),
            ("{}", false),
            ("[1]", false),
        ] {
            assert_eq!(has_only_identifiers(json.as_bytes()), expected, "{json}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (json, problem) in [
            (r#"{"a": "one"}"#, "expected DPR's"),
            ("[1]", "an object"),
            (r#"{"query": "q", "pos": []}"#, "no positive"),
            (r#"{"query": "q", "pos": ["p"], "pos_scores": [1, 2]}"#, "1 text and 2 scores"),
            (r#"{"query": "q", "positives": [{"rank": 1}]}"#, "without text and identifier"),
            (r#"{"pos": ["p"]}"#, "no text \"query\""),
            (r#"{"anchor": null, "positive": "p", "negative": "n"}"#, "anchor is null"),
            (r#"{"anchor": 5, "positive": "p", "negative": "n"}"#, "anchor is 5"),
            (r#"{"query": "q", "positive": ["p"], "negative": "n"}"#, "negative is \"n\", where a list"),
            (r#"{"query": "q", "positive": "p", "source": "wiki"}"#, "source is neither"),
            (r#"{"query": "q", "positive": "p", "text_source": "wiki"}"#, "text_source is neither"),
            (r#"{"query": "q", "source": "wiki", "body": "p"}"#, "source and body are neither"),
            (r#"{"query": "q", "docid": "p"}"#, "expected DPR's"),
            (r#"{"query": "q", "positive": "p", "hard_negatives": [1]}"#, "1 in hard_negatives"),
            (r#"{"query": "q", "positive": "p", "more": ["n"]}"#, "more is [\"n\"]"),
            (r#"{"query": "q", "passage": "p", "label": "yes"}"#, "the label \"yes\" is not a number"),
            (r#"{"query": "q", "negative": "n"}"#, "expected DPR's"),
            (r#"{"query": " ", "positive": "p"}"#, "the query is empty"),
            (r#"{"query": "q", "pos": [""]}"#, "a positive passage is empty"),
        ] {
            let error = parse(json.as_bytes()).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }
}
