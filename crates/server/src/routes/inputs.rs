//! Inputs of embedding routes: a text, texts, or ids of tokens.

use serde::Deserialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::embedder::Inputs;
use crate::failure::Failure;

/// A text, several texts, the ids of a text's tokens, or those of several texts.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a text or a list of texts, or the ids of tokens")]
pub(super) enum Input {
    /// A text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
    /// Objects with a text each, as Jina's clients send them.
    Objects(Vec<TextObject>),
    /// The tokens of a text, special tokens included.
    Ids(Vec<u32>),
    /// The tokens of texts.
    ManyIds(Vec<Vec<u32>>),
}

/// An object with a text.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct TextObject {
    /// The text.
    text: String,
}

impl Input {
    /// The inputs, if there are not too many, and ids are allowed.
    pub(super) fn checked(self, app: &App, field: &str) -> Result<Inputs, Failure> {
        let inputs = match self {
            Self::Text(text) => Inputs::Texts(vec![text]),
            Self::Texts(texts) => Inputs::Texts(texts),
            Self::Objects(objects) => Inputs::Texts(objects.into_iter().map(|object| object.text).collect()),
            Self::Ids(ids) => Inputs::Ids(vec![ids]),
            Self::ManyIds(ids) => Inputs::Ids(ids),
        };
        app.check_count(field, inputs.len())?;
        if matches!(inputs, Inputs::Ids(_)) && !app.limits.allow_token_ids {
            return Err(Failure::of_shape(format!(
                "`{field}` has ids of tokens, which mean nothing to another tokenizer than the one that made \
                 them: send texts (LangChain's OpenAIEmbeddings: check_embedding_ctx_length=False), or let \
                 the server be started with ids of tokens allowed"
            )));
        }
        Ok(inputs)
    }
}
