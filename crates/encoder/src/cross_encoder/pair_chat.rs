//! A query and a passage as the messages of a chat template.

use toller_checkpoint::{Fingerprint, ModelError};
use toller_tokenizer::{ChatTemplate, Message, PairTruncation, Tokenizer, TokenizerError, Tokens};

use crate::layout::Layout;
use crate::text_chat::{ending, no_room};

/// The roles of the two texts, as in sentence-transformers.
const ROLES: [&str; 2] = ["query", "document"];

/// A chat template with a place for a query and for a passage behind it, and what every input ends in.
///
/// Where an input is too long, its passage is cut, as in sentence-transformers: the ending is the question
/// that the model answers. With a tokenizer that cuts on the left, the template's beginning is cut there, and
/// here. What is cut before that, of a query or of a window, is always a text's end.
pub(super) struct PairChat {
    template: ChatTemplate,
    ending: Vec<u32>,
    /// What the model is asked to do, instead of what the template says.
    instruction: String,
}

impl PairChat {
    /// The chat template that a model's pairs are written in, if there is one.
    ///
    /// sentence-transformers' files say whether there is. Of plain transformers, a language model has one,
    /// and a classifier if the template names the roles of a pair: its tokenizer may have the template of the
    /// model that the classifier was made of.
    pub(super) fn of(
        layout: &Layout,
        reranks: bool,
        prompt: &str,
        tokenizer: &Tokenizer,
    ) -> Result<Option<Self>, TokenizerError> {
        let template = layout.chat_template();
        let template = if reranks || layout.reads_messages == Some(true) {
            template?
        } else {
            template.ok().flatten().filter(Self::is_named_in)
        };
        match template {
            Some(template) => Ok(Some(Self::new(template, prompt.to_owned(), tokenizer)?)),
            None if reranks && layout.logit_score.is_none() => {
                let what = "a language model without a chat template as a reranker";
                let path = layout.transformer.join("tokenizer_config.json");
                Err(ModelError::unsupported(path, what, "a chat template with a query and a document").into())
            }
            None => Ok(None),
        }
    }

    /// Tries a template with pairs of texts.
    ///
    /// # Errors
    /// When it has no place for a query and a passage, or fails.
    fn new(
        template: ChatTemplate,
        instruction: String,
        tokenizer: &Tokenizer,
    ) -> Result<Self, TokenizerError> {
        let mut chat = Self { template, ending: Vec::new(), instruction };
        chat.check_places()?;
        chat.ending = ending(tokenizer, |text| chat.render(text, text))?;
        if chat.room(tokenizer, "")? == 0 {
            return Err(no_room(tokenizer));
        }
        Ok(chat)
    }

    /// Whether a template names the roles of a query and a passage. One that only passes all roles on was
    /// not made for pairs.
    pub(super) fn is_named_in(template: &ChatTemplate) -> bool {
        template.mentions(&ROLES)
    }

    /// Checks that both texts reach the input, in the order in which the last one can be cut.
    fn check_places(&self) -> Result<(), TokenizerError> {
        let [both, query, passage] = [("alpha", "bravo"), ("charlie", "bravo"), ("alpha", "foxtrot")]
            .map(|(query, passage)| self.render(query, passage));
        let (both, query, passage) = (both?, query?, passage?);
        let common = |other: &str| both.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        let what = if query == both || passage == both {
            "a chat template without a place for a query and a passage"
        } else if common(&query) > common(&passage) {
            "a chat template that writes the passage before the query"
        } else {
            return Ok(());
        };
        let supported = "templates that write a message of the role \"query\", then one of \"document\"";
        Err(ModelError::unsupported(self.template.path(), what, supported).into())
    }

    /// Adds all that decides an input.
    pub(super) fn fingerprint(&self, fingerprint: &mut Fingerprint) {
        self.template.fingerprint(fingerprint);
    }

    /// The last token of every input, if it is always the same.
    pub(super) fn last(&self) -> Option<u32> {
        self.ending.last().copied()
    }

    /// The tokens of a pair, and whether a text was cut.
    ///
    /// # Errors
    /// [`TokenizerError::FirstTextTooLong`]; when the template refuses a text.
    pub(super) fn encode(
        &self,
        tokenizer: &Tokenizer,
        query: &str,
        passage: &str,
        truncation: PairTruncation,
    ) -> Result<(Tokens, bool), TokenizerError> {
        let (tokens, is_cut) = tokenizer.encode_chat(&self.render(query, passage)?, &self.ending)?;
        if !is_cut {
            return Ok((tokens, false));
        }
        match truncation {
            PairTruncation::OnlySecond => {
                self.check_room(tokenizer, query)?;
                Ok((tokens, true))
            }
            PairTruncation::LongestFirst => {
                let [first, second] = [tokenizer.all_ids(query)?.len(), tokenizer.all_ids(passage)?.len()];
                let kept =
                    truncation.lengths(first, second, self.room(tokenizer, "")?).map_or(0, |kept| kept.0);
                let query = beginning(tokenizer, query, kept)?;
                let (tokens, _) = tokenizer.encode_chat(&self.render(query, passage)?, &self.ending)?;
                Ok((tokens, true))
            }
        }
    }

    /// The query, cut to half of the room for both texts if it leaves no room for a passage.
    pub(super) fn leave_room<'a>(
        &self,
        tokenizer: &Tokenizer,
        query: &'a str,
    ) -> Result<&'a str, TokenizerError> {
        if self.room(tokenizer, query)? > 0 {
            return Ok(query);
        }
        beginning(tokenizer, query, self.room(tokenizer, "")? / 2)
    }

    /// Refuses a query that leaves no room for a passage.
    pub(super) fn check_room(&self, tokenizer: &Tokenizer, query: &str) -> Result<(), TokenizerError> {
        let max_length = tokenizer.max_length();
        if self.room(tokenizer, query)? > 0 {
            Ok(())
        } else {
            Err(TokenizerError::FirstTextTooLong { max_length })
        }
    }

    /// The tokens that are left for a passage.
    fn room(&self, tokenizer: &Tokenizer, query: &str) -> Result<usize, TokenizerError> {
        let used = tokenizer.all_ids(&self.render(query, "")?)?.len();
        Ok(tokenizer.max_length().saturating_sub(used))
    }

    fn render(&self, query: &str, passage: &str) -> Result<String, TokenizerError> {
        let system: Option<Message<'_>> =
            (!self.instruction.is_empty()).then_some(("system", &self.instruction));
        let messages: Vec<Message<'_>> =
            system.into_iter().chain(ROLES.into_iter().zip([query, passage])).collect();
        self.template.render(&messages)
    }
}

/// The text of the first tokens of a text.
pub(super) fn beginning<'a>(
    tokenizer: &Tokenizer,
    text: &'a str,
    tokens: usize,
) -> Result<&'a str, TokenizerError> {
    let places = tokenizer.places(text)?;
    if tokens >= places.len() {
        return Ok(text);
    }
    let end = places[..tokens].iter().map(|place| place.end).max().unwrap_or_default();
    Ok(&text[..text.floor_char_boundary(end)])
}
