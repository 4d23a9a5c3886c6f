//! Texts as messages of a chat template.

use toller_checkpoint::{Fingerprint, ModelError};
use toller_tokenizer::{ChatTemplate, Message, Tokenizer, TokenizerError, Tokens};

/// The role of a text, as in sentence-transformers.
const ROLE: &str = "user";

/// A chat template with a place for a text, and what every input ends in.
#[derive(Clone)]
pub(crate) struct TextChat {
    template: ChatTemplate,
    ending: Vec<u32>,
    /// The message of the system. May be empty.
    prompt: String,
}

impl TextChat {
    /// Tries a template with texts.
    ///
    /// # Errors
    /// When it has no place for a text, or fails.
    pub(crate) fn new(
        template: ChatTemplate,
        prompt: &str,
        tokenizer: &Tokenizer,
    ) -> Result<Self, TokenizerError> {
        let unsupported = |what: &str, supported: &str| {
            Err(ModelError::unsupported(template.path(), what, supported).into())
        };
        // Queries and documents would be other conversations.
        if template.leaves_open("task") {
            return unsupported("a chat template that depends on the task", "templates of messages");
        }
        let render = |text: &str| render(&template, prompt, text);
        if render("alpha")? == render("charlie")? {
            return unsupported(
                "a chat template without a place for a text",
                "a message of the role \"user\"",
            );
        }
        let used = tokenizer.all_ids(&render("")?)?.len();
        if used >= tokenizer.max_length() {
            return Err(no_room(tokenizer));
        }
        let ending = ending(tokenizer, render)?;
        Ok(Self { ending, prompt: prompt.to_owned(), template })
    }

    /// The same template with another message of the system.
    pub(crate) fn with_prompt(&self, prompt: &str, tokenizer: &Tokenizer) -> Result<Self, TokenizerError> {
        Self::new(self.template.clone(), prompt, tokenizer)
    }

    /// Adds all that decides an input, except for the prompt.
    pub(crate) fn fingerprint(&self, fingerprint: &mut Fingerprint) {
        self.template.fingerprint(fingerprint);
    }

    /// The tokens of a text, and whether it was cut.
    pub(crate) fn encode(&self, tokenizer: &Tokenizer, text: &str) -> Result<(Tokens, bool), TokenizerError> {
        tokenizer.encode_chat(&self.render(text)?, &self.ending)
    }

    /// What the template makes of a text.
    pub(crate) fn render(&self, text: &str) -> Result<String, TokenizerError> {
        render(&self.template, &self.prompt, text)
    }
}

fn render(template: &ChatTemplate, prompt: &str, text: &str) -> Result<String, TokenizerError> {
    let system: Option<Message<'_>> = (!prompt.is_empty()).then_some(("system", prompt));
    template.render(&system.into_iter().chain([(ROLE, text)]).collect::<Vec<_>>())
}

/// The tokens that a conversation ends in, whatever its texts are: those that two conversations with other
/// texts have in common.
pub(crate) fn ending(
    tokenizer: &Tokenizer,
    render: impl Fn(&str) -> Result<String, TokenizerError>,
) -> Result<Vec<u32>, TokenizerError> {
    let [one, other] = [tokenizer.all_ids(&render("0")?)?, tokenizer.all_ids(&render("1 2 3 4")?)?];
    let same = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    Ok(one[one.len() - same..].to_vec())
}

/// The error that a template leaves no room for texts.
pub(crate) fn no_room(tokenizer: &Tokenizer) -> TokenizerError {
    let reason = "the chat template and its instruction leave nothing of them for the texts".to_owned();
    TokenizerError::MaxLength { asked: tokenizer.max_length(), reason }
}
