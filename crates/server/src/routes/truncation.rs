//! What requests of OpenAI's, Cohere's and Jina's shapes say about texts that are too long.

use serde::Deserialize;
use toller_tokenizer::Side;
use utoipa::ToSchema;

use crate::failure::Failure;
use crate::limits::Limits;
use crate::texts::Cut;

/// Whether texts that are too long are cut, and where.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected true, false, `NONE`, `START` or `END`")]
pub(super) enum Truncate {
    /// Whether they are cut (Jina).
    Whether(bool),
    /// Where they are cut (Cohere, NIM).
    Where(Place),
}

/// Where texts are cut.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Place {
    /// Nowhere: texts that are too long are an error.
    None,
    /// At their beginning.
    Start,
    /// At their end.
    End,
}

/// What happens to long texts, by the fields `truncate` and, of vLLM, `truncate_prompt_tokens`: -1 cuts texts
/// to the model's length. What is shorter is refused.
pub(super) fn cut(
    limits: &Limits,
    truncate: Option<Truncate>,
    truncate_prompt_tokens: Option<i64>,
    max_length: usize,
) -> Result<Cut, Failure> {
    let is_own = |tokens: i64| tokens == -1 || usize::try_from(tokens).is_ok_and(|most| most >= max_length);
    if truncate_prompt_tokens.is_some_and(|tokens| !is_own(tokens)) {
        return Err(Failure::of_shape(format!(
            "`truncate_prompt_tokens` is -1 or at least {max_length}, where the model itself cuts"
        )));
    }
    let by_default = limits.truncate || truncate_prompt_tokens.is_some();
    let (truncate, side) = match truncate {
        None => (by_default, None),
        Some(Truncate::Whether(truncate)) => (truncate, None),
        Some(Truncate::Where(Place::None)) => (false, None),
        Some(Truncate::Where(Place::Start)) => (true, Some(Side::Left)),
        Some(Truncate::Where(Place::End)) => (true, Some(Side::Right)),
    };
    Ok(Cut { truncate, side })
}
