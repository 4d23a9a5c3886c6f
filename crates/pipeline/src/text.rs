//! What a model is given of a passage.

use toller_encoder::{TextInput, TitleTypes};
use toller_ir::Passage;

/// How the title of a passage, or its context, is given to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TitleMode {
    /// Title, this separator and text are one text. A passage without a title is its text.
    Join(String),
    /// `[CLS] title [SEP] text [SEP]` as one segment, token types 0: DPR (Karpukhin et al. 2020). A passage
    /// without a title is its text.
    Sep,
    /// The same as two segments, token types 0 and 1: RocketQA (Qu et al. 2021). Where there is no title, the
    /// first segment is empty, so that a text is always of type 1.
    Pair,
    /// Title, separator and text as one text, and the passage's context as the second segment (ReQA).
    Context {
        /// The text between title and text.
        separator: String,
        /// The field of the contexts. The collection must be read with it.
        field: String,
    },
}

impl TitleMode {
    /// Its name on the command line and in stores.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Join(_) => "join",
            Self::Sep => "sep",
            Self::Pair => "pair",
            Self::Context { .. } => "context",
        }
    }

    /// The text between title and text where they are joined; otherwise empty.
    #[must_use]
    pub fn separator(&self) -> &str {
        match self {
            Self::Join(separator) | Self::Context { separator, .. } => separator,
            Self::Sep | Self::Pair => "",
        }
    }

    /// The field of the contexts, if they are given to the model.
    #[must_use]
    pub fn context_field(&self) -> Option<&str> {
        match self {
            Self::Context { field, .. } => Some(field),
            Self::Join(_) | Self::Sep | Self::Pair => None,
        }
    }

    /// What the model is given of a passage. The encoder puts its own prompt before it.
    #[must_use]
    pub fn text_of(&self, passage: &Passage) -> TextInput {
        let title = passage.title.as_deref().unwrap_or_default();
        let titled = |types| TextInput::Titled { title: title.to_owned(), text: passage.text.clone(), types };
        match self {
            Self::Pair => titled(TitleTypes::TwoSegments),
            Self::Sep if !title.is_empty() => titled(TitleTypes::OneSegment),
            Self::Sep => TextInput::Plain(passage.text.clone()),
            Self::Join(separator) => TextInput::Plain(joined_text(separator, passage)),
            Self::Context { separator, .. } => TextInput::InContext {
                text: joined_text(separator, passage),
                context: passage.context.clone().unwrap_or_default(),
            },
        }
    }
}

/// Title, separator and text as one text; without a title, only the text.
#[must_use]
pub fn joined_text(separator: &str, passage: &Passage) -> String {
    match passage.title.as_deref() {
        Some(title) if !title.is_empty() => format!("{title}{separator}{}", passage.text),
        _ => passage.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use toller_encoder::{TextInput, TitleTypes};
    use toller_ir::Passage;

    use super::TitleMode;

    fn of(mode: &TitleMode, title: Option<&str>) -> TextInput {
        mode.text_of(&Passage {
            id: "1".to_owned(),
            title: title.map(str::to_owned),
            text: "retrieve".to_owned(),
            context: Some("Tollers retrieve.".to_owned()),
        })
    }

    fn titled(title: &str, types: TitleTypes) -> TextInput {
        TextInput::Titled { title: title.to_owned(), text: "retrieve".to_owned(), types }
    }

    #[test]
    fn a_context_comes_after_the_text() {
        let mode = TitleMode::Context { separator: ": ".to_owned(), field: "paragraph".to_owned() };
        assert_eq!(
            (mode.name(), mode.separator(), mode.context_field()),
            ("context", ": ", Some("paragraph"))
        );
        for (title, text) in [(None, "retrieve"), (Some("Dogs"), "Dogs: retrieve")] {
            let context = "Tollers retrieve.".to_owned();
            assert_eq!(of(&mode, title), TextInput::InContext { text: text.to_owned(), context });
        }
    }

    #[test]
    fn a_title_comes_before_the_text() {
        let join = TitleMode::Join(" ".to_owned());
        let plain = |text: &str| TextInput::Plain(text.to_owned());
        assert_eq!(of(&join, Some("Dogs")), plain("Dogs retrieve"));
        assert_eq!(of(&TitleMode::Sep, Some("Dogs")), titled("Dogs", TitleTypes::OneSegment));
        assert_eq!(of(&TitleMode::Pair, Some("Dogs")), titled("Dogs", TitleTypes::TwoSegments));
        for none in [None, Some("")] {
            assert_eq!(of(&join, none), plain("retrieve"));
            assert_eq!(of(&TitleMode::Sep, none), plain("retrieve"));
            assert_eq!(of(&TitleMode::Pair, none), titled("", TitleTypes::TwoSegments));
        }
    }
}
