//! The vectors of a dual encoder.

use std::path::Path;

use rayon::prelude::*;
use serde::Deserialize;
use toller_encoder::{DualEncoder, EncoderError, Role};
use toller_tokenizer::Tokens;

use super::expected::{self, check_count};
use super::{Row, relative_error, texts, wide};

/// A line of an expected file.
#[derive(Deserialize)]
struct Expected {
    text: String,
    role: Option<Role>,
    input_ids: Vec<u32>,
    embedding: Vec<f64>,
}

impl Expected {
    fn role(&self) -> Role {
        self.role.unwrap_or(Role::Passage)
    }
}

const FORM: &str = "{\"text\": ..., \"input_ids\": [...], \"embedding\": [...]}, perhaps with a \"role\"";

/// The built-in texts, against the reference: in both roles, or in one role if both are the same.
pub(super) fn against_reference(encoder: &DualEncoder) -> crate::Result<Vec<Row>> {
    let roles: &[Role] = if encoder.is_tied() { &[Role::Passage] } else { &[Role::Query, Role::Passage] };
    let mut rows = Vec::new();
    for &role in roles {
        let reference = match encoder.reference(role) {
            // Fixed weights of terms are not computed.
            Err(EncoderError::Static) => continue,
            reference => reference?,
        };
        let texts = texts();
        let tokens = tokenize(encoder, role, &texts)?;
        let encode = |tokens: &Tokens| Ok::<_, crate::error::Failure>(wide(&reference.encode(tokens)?));
        let exact: Vec<Vec<f64>> = tokens.par_iter().map(encode).collect::<Result<_, _>>()?;
        rows.extend(compare(encoder, role, texts, &tokens, &exact)?);
    }
    Ok(rows)
}

/// The texts of a file, against the expected vectors in it; none without a file.
pub(super) fn against_expected(encoder: &DualEncoder, path: Option<&Path>) -> crate::Result<Vec<Row>> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let check =
        |case: &Expected| check_count("embedding", case.embedding.len(), encoder.tower(case.role()).dim());
    let all = expected::read(path, FORM, check)?;
    let mut rows = Vec::new();
    for role in [Role::Query, Role::Passage] {
        let cases: Vec<&Expected> = all.iter().filter(|case| case.role() == role).collect();
        let texts: Vec<String> = cases.iter().map(|case| case.text.clone()).collect();
        let tokens = tokenize(encoder, role, &texts)?;
        let vectors: Vec<Vec<f64>> = cases.iter().map(|case| case.embedding.clone()).collect();
        let mut found = compare(encoder, role, texts, &tokens, &vectors)?;
        for ((row, case), tokens) in found.iter_mut().zip(&cases).zip(&tokens) {
            row.same_ids = tokens.input_ids == case.input_ids;
        }
        rows.extend(found);
    }
    Ok(rows)
}

/// The tokens of texts, each after the role's prompt.
fn tokenize(encoder: &DualEncoder, role: Role, texts: &[String]) -> crate::Result<Vec<Tokens>> {
    texts.iter().map(|text| Ok(encoder.tower(role).tokenize(text)?)).collect()
}

/// Encodes each text alone and in a batch.
fn compare(
    encoder: &DualEncoder,
    role: Role,
    texts: Vec<String>,
    tokens: &[Tokens],
    exact: &[Vec<f64>],
) -> crate::Result<Vec<Row>> {
    let tower = encoder.tower(role);
    let together = tower.encode(tokens)?;
    let mut rows = Vec::new();
    for (index, (text, vector)) in texts.into_iter().zip(exact).enumerate() {
        let alone = wide(&tower.encode(&tokens[index..=index])?);
        let among = wide(&together[index * tower.dim()..][..tower.dim()]);
        rows.push(Row {
            role: role.to_string(),
            text,
            query: None,
            tokens: tokens[index].len(),
            error: relative_error(&alone, vector),
            batch_error: relative_error(&among, &alone),
            same_ids: true,
        });
    }
    Ok(rows)
}
