//! Scores of pairs: `/rerank` and `/predict`.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Direction, Timing, cut};
use crate::app::App;
use crate::body::Body;
use crate::deadline::Deadline;
use crate::dialect::TeiFailures;
use crate::failure::Failure;
use crate::routes::rank::{self, Document, RankRequest};
use crate::routes::truncation::Truncate;
use crate::scorer::Classified;

/// A query, and texts to rank by it: in TEI's shape with `texts`, in Jina's with `documents`.
#[derive(Deserialize, ToSchema)]
pub(in crate::routes) struct RerankRequest {
    query: String,
    texts: Option<Vec<String>>,
    /// Whether pairs that are too long are cut.
    truncate: Option<bool>,
    truncation_direction: Option<Direction>,
    /// Whether scores are as `toller rerank` writes them; else from 0 to 1.
    raw_scores: Option<bool>,
    /// Whether the answer has the texts.
    return_text: Option<bool>,
    /// Another name of `return_text`.
    return_documents: Option<bool>,
    /// Texts of the answer, the best; `null` for all.
    #[schema(minimum = 1)]
    top_n: Option<usize>,
    documents: Option<Vec<Document>>,
    model: Option<String>,
    /// With `documents`: tokens that are kept of each.
    #[schema(minimum = 1)]
    max_tokens_per_doc: Option<usize>,
    /// With `documents`: fields that are read; only `text` is supported.
    rank_fields: Option<Vec<String>>,
    /// With `documents`: -1 to cut pairs that are too long.
    truncate_prompt_tokens: Option<i64>,
}

impl RerankRequest {
    /// Refuses fields of the other shape, which would have no effect.
    fn check_shape(&self) -> Result<(), Failure> {
        let (of, fields) = match self.documents {
            None => (
                "documents",
                vec![
                    ("max_tokens_per_doc", self.max_tokens_per_doc.is_some()),
                    ("rank_fields", self.rank_fields.is_some()),
                    ("truncate_prompt_tokens", self.truncate_prompt_tokens.is_some()),
                ],
            ),
            Some(_) => (
                "texts",
                vec![
                    ("truncation_direction", self.truncation_direction.is_some()),
                    ("raw_scores", self.raw_scores == Some(true)),
                ],
            ),
        };
        match fields.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((field, _)) => Err(Failure::of_shape(format!("`{field}` goes with `{of}`; leave it out"))),
        }
    }
}

/// A text and its score.
#[derive(Serialize, ToSchema)]
pub(in crate::routes) struct Ranked {
    /// The place of the text in the request.
    index: usize,
    score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// The texts by their scores, best first
#[utoipa::path(
    post,
    path = "/rerank",
    tag = "Reranking",
    request_body(
        content = RerankRequest,
        example = json!({ "query": "who lures ducks?", "texts": ["A toller is a dog.", "An index lists documents."] })
    ),
    responses((status = 200, body = Vec<Ranked>), TeiFailures)
)]
pub(in crate::routes) async fn rerank(
    State(app): State<Arc<App>>,
    deadline: Deadline,
    Body(request): Body<RerankRequest>,
) -> Result<Response, Failure> {
    request.check_shape()?;
    let with_texts = request.return_text.or(request.return_documents);
    let texts = match (request.texts, request.documents) {
        (Some(texts), None) => texts,
        (None, Some(documents)) => {
            let request = RankRequest {
                model: request.model,
                query: request.query,
                documents,
                top_n: request.top_n,
                return_documents: with_texts,
                max_tokens_per_doc: request.max_tokens_per_doc,
                rank_fields: request.rank_fields,
                truncate: request.truncate.map(Truncate::Whether),
                truncate_prompt_tokens: request.truncate_prompt_tokens,
            };
            return rank::in_jinas_shape(&app, deadline, request).await;
        }
        _ => return Err(Failure::of_shape("give `texts` (TEI) or `documents` (Jina), one of them")),
    };
    let started = Instant::now();
    let (scorer, _) = app.scorer_named(request.model.as_deref())?;
    app.check_count("texts", texts.len())?;
    rank::at_least_one("top_n", request.top_n)?;
    let mut timing = Timing::new(started, texts.iter().map(|text| text.chars().count()).sum());
    let cut = cut(&app, request.truncate, request.truncation_direction);
    let kept = (with_texts == Some(true)).then(|| texts.clone());
    let pairs = scorer.pairs(request.query, texts, None, cut, deadline.0).await?;
    timing.tokenized(&app, ("score", scorer.model().compute()), &pairs);
    let logits = timing.take(scorer.logits(pairs, deadline.0).await?).concat();
    let model = scorer.model();
    let raw = request.raw_scores == Some(true);
    let scores = if raw { model.scores_of(&logits) } else { model.shares_of(&logits) };
    let ranked = best_first(&scores).into_iter().take(request.top_n.unwrap_or(usize::MAX));
    let ranked = ranked.map(|(index, score)| {
        let text = kept.as_ref().and_then(|kept| kept.get(index).cloned());
        Ranked { index, score, text }
    });
    Ok(timing.answer(ranked.collect::<Vec<_>>()))
}

/// Places and scores, by falling score, ties in the order of the request.
pub(in crate::routes) fn best_first(scores: &[f32]) -> Vec<(usize, f32)> {
    let mut ranked: Vec<(usize, f32)> = scores.iter().copied().enumerate().collect();
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    ranked
}

/// Texts or pairs to classify.
#[derive(Deserialize, ToSchema)]
pub(in crate::routes) struct PredictRequest {
    inputs: PredictInput,
    /// Whether pairs that are too long are cut.
    truncate: Option<bool>,
    truncation_direction: Option<Direction>,
    /// Whether scores are logits; else the softmax of several labels, the sigmoid of one.
    raw_scores: Option<bool>,
}

/// A text, a pair of texts, or a list of texts and pairs.
#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a text, a list of one or two texts, or a list of such lists")]
enum PredictInput {
    /// A text.
    Text(String),
    /// Lists of one or two texts.
    Many(Vec<Vec<String>>),
    /// A text or a pair of texts.
    One(Vec<String>),
}

/// A label and its score.
#[derive(Serialize, ToSchema)]
pub(in crate::routes) struct Prediction {
    label: String,
    score: f32,
}

/// The labels of a text or a pair, or of each of a list.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(in crate::routes) enum Predictions {
    /// Of one.
    One(Vec<Prediction>),
    /// Of each.
    Many(Vec<Vec<Prediction>>),
}

/// The labels of texts or pairs by their scores, best first
#[utoipa::path(
    post,
    path = "/predict",
    tag = "Reranking",
    request_body(
        content = PredictRequest,
        example = json!({ "inputs": [["who lures ducks?", "A toller is a dog."]] })
    ),
    responses((status = 200, body = Predictions), TeiFailures)
)]
pub(in crate::routes) async fn predict(
    State(app): State<Arc<App>>,
    Deadline(deadline): Deadline,
    Body(request): Body<PredictRequest>,
) -> Result<Response, Failure> {
    let started = Instant::now();
    let scorer = app.scorer()?;
    let (inputs, is_single) = match request.inputs {
        PredictInput::Text(text) => (vec![Classified::Text(text)], true),
        PredictInput::One(texts) => (vec![classified(texts)?], true),
        PredictInput::Many(many) => {
            (many.into_iter().map(classified).collect::<Result<Vec<_>, Failure>>()?, false)
        }
    };
    app.check_count("inputs", inputs.len())?;
    let mut timing = Timing::new(started, inputs.iter().map(Classified::characters).sum());
    let cut = cut(&app, request.truncate, request.truncation_direction);
    let pairs = scorer.inputs(inputs, cut, deadline).await?;
    timing.tokenized(&app, ("score", scorer.model().compute()), &pairs);
    let logits = timing.take(scorer.logits(pairs, deadline).await?);
    let labels = scorer.model().labels();
    let predictions = |logits: &Vec<f32>| -> Vec<Prediction> {
        let scores = if request.raw_scores == Some(true) { logits.clone() } else { shares(logits) };
        let ranked = best_first(&scores).into_iter();
        ranked.map(|(label, score)| Prediction { label: labels[label].clone(), score }).collect()
    };
    let mut predicted: Vec<Vec<Prediction>> = logits.iter().map(predictions).collect();
    Ok(timing.answer(match is_single {
        true => Predictions::One(predicted.pop().unwrap_or_default()),
        false => Predictions::Many(predicted),
    }))
}

fn classified(texts: Vec<String>) -> Result<Classified, Failure> {
    let mut texts = texts.into_iter();
    match (texts.next(), texts.next(), texts.next()) {
        (Some(text), None, _) => Ok(Classified::Text(text)),
        (Some(first), Some(second), None) => Ok(Classified::Pair(first, second)),
        _ => Err(Failure::of_shape("an input is a list of one or two texts")),
    }
}

/// The softmax of several logits, the sigmoid of one.
fn shares(logits: &[f32]) -> Vec<f32> {
    if let [logit] = logits {
        return vec![(1.0 / (1.0 + libm::exp(f64::from(-logit)))) as f32];
    }
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = logits.iter().map(|logit| libm::exp(f64::from(logit - largest))).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| (power / sum) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::{best_first, shares};

    #[test]
    fn ties_keep_their_order() {
        assert_eq!(best_first(&[0.5, 2.0, 0.5]), [(1, 2.0), (0, 0.5), (2, 0.5)]);
    }

    #[test]
    fn shares_are_from_0_to_1() {
        assert_eq!(shares(&[0.0]), [0.5]);
        assert_eq!(shares(&[1e9, 0.0]), [1.0, 0.0]);
        assert_eq!(shares(&[2.0, 2.0]), [0.5, 0.5]);
    }
}
