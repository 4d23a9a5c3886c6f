//! The logits of a cross-encoder.

use std::path::Path;

use rayon::prelude::*;
use serde::Deserialize;
use toller_encoder::{CrossEncoder, EncoderError, ReferenceLogits};
use toller_tokenizer::{TokenizerError, Tokens};

use super::expected::{self, check_count};
use super::{Row, error_to, texts, wide};

/// A line of an expected file.
#[derive(Deserialize)]
struct Expected {
    query: String,
    passage: String,
    input_ids: Vec<u32>,
    logits: Vec<f64>,
}

const FORM: &str = "{\"query\": ..., \"passage\": ..., \"input_ids\": [...], \"logits\": [...]}";

/// The most characters of a query.
const LONGEST_QUERY: usize = 64;

/// A query and a passage.
type Pair = (String, String);

/// The built-in texts, each with the next text as its passage, against the reference.
pub(super) fn against_reference(model: &CrossEncoder) -> crate::Result<Vec<Row>> {
    let texts = texts();
    let pair = |two: &[String]| Ok((query_with_room(model, &two[0])?, two[1].clone()));
    let pairs: Vec<Pair> = texts.windows(2).map(pair).collect::<crate::Result<_>>()?;
    let tokens = tokenize(model, &pairs)?;
    compare(model, pairs, &tokens, None)
}

/// The start of a text that leaves room for a passage.
fn query_with_room(model: &CrossEncoder, text: &str) -> crate::Result<String> {
    let mut characters = text.chars().count().min(LONGEST_QUERY);
    loop {
        let query: String = text.chars().take(characters).collect();
        match model.check_room(&model.tokenize_query(&query)?) {
            Err(EncoderError::Tokenizer(TokenizerError::FirstTextTooLong { .. })) if characters > 0 => {
                characters /= 2
            }
            result => return Ok(result.map(|()| query)?),
        }
    }
}

/// The pairs of a file, against the expected logits in it; none without a file.
pub(super) fn against_expected(model: &CrossEncoder, path: Option<&Path>) -> crate::Result<Vec<Row>> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let labels = model.labels().len();
    let check = |case: &Expected| check_count("logits", case.logits.len(), labels);
    let cases = expected::read(path, FORM, check)?;
    let pairs: Vec<Pair> = cases.iter().map(|case| (case.query.clone(), case.passage.clone())).collect();
    let tokens = tokenize(model, &pairs)?;
    let mut rows = compare(model, pairs, &tokens, Some(&cases))?;
    for ((row, case), tokens) in rows.iter_mut().zip(&cases).zip(&tokens) {
        row.same_ids = tokens.input_ids == case.input_ids;
    }
    Ok(rows)
}

fn tokenize(model: &CrossEncoder, pairs: &[Pair]) -> crate::Result<Vec<Tokens>> {
    pairs.iter().map(|(query, passage)| Ok(model.tokenize_pair(query, passage)?)).collect()
}

/// Computes each pair alone and in a batch, and compares with the expected logits, or else with the
/// reference.
fn compare(
    model: &CrossEncoder,
    pairs: Vec<Pair>,
    tokens: &[Tokens],
    expected: Option<&[Expected]>,
) -> crate::Result<Vec<Row>> {
    let labels = model.labels().len();
    let reference = model.reference()?;
    let exact: Vec<ReferenceLogits> =
        tokens.par_iter().map(|pair| reference.logits(pair)).collect::<Result<_, _>>()?;
    let together = model.logits(tokens)?;
    let mut rows = Vec::new();
    for (index, ((query, passage), exact)) in pairs.into_iter().zip(exact).enumerate() {
        let alone = wide(&model.logits(&tokens[index..=index])?);
        let among = wide(&together[index * labels..][..labels]);
        let logits = match expected {
            Some(cases) => cases[index].logits.clone(),
            None => wide(&exact.logits),
        };
        rows.push(Row {
            role: "pair".to_owned(),
            text: passage,
            query: Some(query),
            tokens: tokens[index].len(),
            error: error_of_logits(&alone, &logits, &exact.limits),
            batch_error: error_of_logits(&among, &alone, &exact.limits),
            same_ids: true,
        });
    }
    Ok(rows)
}

/// The largest |found - expected| / limit of a label. The error is not relative to the logit, which can be
/// near zero as a sum of terms of both signs.
fn error_of_logits(found: &[f64], expected: &[f64], limits: &[f64]) -> f64 {
    if found.len() != expected.len() {
        return f64::INFINITY;
    }
    let errors = found.iter().zip(expected).zip(limits).map(|((a, b), limit)| error_to(&[*a], &[*b], *limit));
    errors.fold(0.0, f64::max)
}
