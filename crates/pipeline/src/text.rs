//! What a model is given of a passage.

use toller_encoder::{TextInput, TitleTypes};
use toller_ir::Passage;

/// How the title of a passage is given to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TitleMode {
    /// Title, this separator and text are one text. A passage without a title is its text.
    Join(String),
    /// `[CLS] title [SEP] text [SEP]` as one segment, token types 0: DPR (Karpukhin et al. 2020). A passage without a title is its
    /// text.
    Sep,
    /// The same as two segments, token types 0 and 1: RocketQA (Qu et al. 2021). Where there is no title, the first segment
    /// is empty, so that a text is always of type 1.
    Pair,
}

impl TitleMode {
    /// Its name on the command line and in stores.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Join(_) => "join",
            Self::Sep => "sep",
            Self::Pair => "pair",
        }
    }

    /// What stands between title and text where they are joined; else empty.
    #[must_use]
    pub fn separator(&self) -> &str {
        match self {
            Self::Join(separator) => separator,
            Self::Sep | Self::Pair => "",
        }
    }
}

/// How a passage becomes what is encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassageText {
    /// Put before what comes first, as it is.
    pub prompt: String,
    /// What is done with titles.
    pub title: TitleMode,
}

impl PassageText {
    /// What the model is given of a passage.
    #[must_use]
    pub fn of(&self, passage: &Passage) -> TextInput {
        let title = passage.title.as_deref().unwrap_or_default();
        let prompt = &self.prompt;
        let titled = |types| TextInput::Titled {
            title: format!("{prompt}{title}"),
            text: passage.text.clone(),
            types,
        };
        match &self.title {
            TitleMode::Pair => titled(TitleTypes::TwoSegments),
            TitleMode::Sep if !title.is_empty() => titled(TitleTypes::OneSegment),
            TitleMode::Sep => TextInput::Plain(joined_text(prompt, "", passage)),
            TitleMode::Join(separator) => TextInput::Plain(joined_text(prompt, separator, passage)),
        }
    }
}

/// Prompt, title, separator and text as one text; without a title, without the separator.
#[must_use]
pub fn joined_text(prompt: &str, separator: &str, passage: &Passage) -> String {
    match passage.title.as_deref() {
        Some(title) if !title.is_empty() => format!("{prompt}{title}{separator}{}", passage.text),
        _ => format!("{prompt}{}", passage.text),
    }
}

#[cfg(test)]
mod tests {
    use toller_encoder::{TextInput, TitleTypes};
    use toller_ir::Passage;

    use super::{PassageText, TitleMode};

    fn of(mode: &TitleMode, title: Option<&str>) -> TextInput {
        let text = PassageText { prompt: "passage: ".to_owned(), title: mode.clone() };
        text.of(&Passage { id: "1".to_owned(), title: title.map(str::to_owned), text: "retrieve".to_owned() })
    }

    fn titled(title: &str, types: TitleTypes) -> TextInput {
        TextInput::Titled { title: title.to_owned(), text: "retrieve".to_owned(), types }
    }

    #[test]
    fn a_title_comes_before_the_text() {
        let join = TitleMode::Join(" ".to_owned());
        let plain = |text: &str| TextInput::Plain(text.to_owned());
        assert_eq!(of(&join, Some("Dogs")), plain("passage: Dogs retrieve"));
        assert_eq!(of(&TitleMode::Sep, Some("Dogs")), titled("passage: Dogs", TitleTypes::OneSegment));
        assert_eq!(of(&TitleMode::Pair, Some("Dogs")), titled("passage: Dogs", TitleTypes::TwoSegments));
        for none in [None, Some("")] {
            assert_eq!(of(&join, none), plain("passage: retrieve"));
            assert_eq!(of(&TitleMode::Sep, none), plain("passage: retrieve"));
            assert_eq!(of(&TitleMode::Pair, none), titled("passage: ", TitleTypes::TwoSegments));
        }
    }
}
