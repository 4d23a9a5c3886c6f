//! Texts as requests give them: to tokens, cut or refused.

use toller_encoder::EncoderError;
use toller_tokenizer::{Side, Tokens};

use crate::failure::{Failure, Reason};

/// Bytes of texts that are tokenized where the request is read. More are tokenized in a thread of their own.
const SHORT: usize = 16 * 1024;

/// Tokens whose vectors are written as JSON where the request is.
pub(crate) const FEW_TOKENS: usize = 64;

/// What happens to texts that are too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Whether they are cut. Else they are refused.
    pub(crate) truncate: bool,
    /// The side that is cut off; `None` for the tokenizer's own.
    pub(crate) side: Option<Side>,
}

impl Cut {
    /// Refuses another side than the tokenizer's own for pairs: which text of a pair is cut is the model's
    /// decision.
    pub(crate) fn of_pairs(self) -> Result<Self, Failure> {
        match self.side {
            Some(Side::Left) => Err(Failure::of_shape(
                "pairs are not cut on the left (`truncation_direction`, or `START` as `truncate`); leave this out",
            )),
            _ => Ok(self),
        }
    }

    /// The tokens of the text at a place of the request, or why it is refused.
    pub(crate) fn check(
        self,
        place: usize,
        max_length: usize,
        found: Result<(Tokens, bool), EncoderError>,
    ) -> Result<Tokens, Failure> {
        match found {
            Ok((_, true)) if !self.truncate => Err(Failure::invalid(format!(
                "text {place} has more than the model's {max_length} tokens; `truncate` cuts it"
            ))),
            Ok((tokens, _)) => Ok(tokens),
            Err(error) => Err(of_text(place, &error)),
        }
    }
}

/// The failure of a text that cannot be tokenized.
pub(crate) fn of_text(place: usize, error: &EncoderError) -> Failure {
    let failure = Failure::of(Reason::Invalid, error);
    Failure { message: format!("text {place}: {}", failure.message), ..failure }
}

/// Does work on texts of this many bytes: here if they are few, else where it holds nobody up.
pub(crate) async fn on_texts<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    if bytes <= SHORT { work() } else { blocking(work).await }
}

/// Reads or writes JSON. While it does so with much of it, another thread takes over what else waits here.
pub(crate) fn as_json<T>(is_large: bool, work: impl FnOnce() -> T) -> T {
    if is_large { tokio::task::block_in_place(work) } else { work() }
}

/// Does work that takes a while in a thread of its own.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let panicked = || Failure::new(Reason::Backend, "the request failed unexpectedly");
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(panicked()))
}
