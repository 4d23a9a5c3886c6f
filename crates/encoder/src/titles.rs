//! What a model is given of a passage.

use toller_ir::{Explain, Passage, Remedy, Setting, named, remedy};

use crate::input::{TextInput, TitleTypes};

named! {
    /// The name of a way to give titles to a model.
    pub enum TitleName: "a title mode" {
        /// Joined with the text.
        Join = "join",
        /// Apart from the text, in one segment.
        Sep = "sep",
        /// Apart from the text, as a segment.
        Pair = "pair",
    }
}

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

/// Settings that only joined titles have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("titles that are not joined with their texts have no {what}")]
pub struct NotJoined {
    what: &'static str,
    setting: Setting,
}

impl Explain for NotJoined {
    fn remedy(&self) -> Option<Remedy> {
        Some(remedy!("leave {} out, or give {}", self.setting, Setting::TitleMode.to(TitleName::Join.name())))
    }
}

impl Default for TitleMode {
    fn default() -> Self {
        Self::Join(" ".to_owned())
    }
}

impl TitleMode {
    /// The way that these settings ask for; `None` if they ask for none. What they leave open is as in `own`,
    /// the model's own way, or else titles are joined by a space.
    ///
    /// # Errors
    /// [`NotJoined`].
    pub fn of(
        own: Option<&Self>,
        name: Option<TitleName>,
        separator: Option<String>,
        context_field: Option<String>,
    ) -> Result<Option<Self>, NotJoined> {
        let own = own.cloned().unwrap_or_default();
        let apart = match name {
            None if separator.is_none() && context_field.is_none() => return Ok(None),
            Some(TitleName::Sep) => Self::Sep,
            Some(TitleName::Pair) => Self::Pair,
            None if matches!(own, Self::Sep | Self::Pair) => own,
            None | Some(TitleName::Join) => {
                let separator = separator.unwrap_or_else(|| match own {
                    Self::Join(separator) | Self::Context { separator, .. } => separator,
                    Self::Sep | Self::Pair => " ".to_owned(),
                });
                return Ok(Some(match context_field {
                    Some(field) => Self::Context { separator, field },
                    None => Self::Join(separator),
                }));
            }
        };
        match (separator, context_field) {
            (None, None) => Ok(Some(apart)),
            (Some(_), _) => Err(NotJoined { what: "separator", setting: Setting::TitleSeparator }),
            (None, Some(_)) => Err(NotJoined { what: "context", setting: Setting::ContextField }),
        }
    }

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
            Self::Join(separator) => TextInput::Plain(passage.joined(separator)),
            Self::Context { separator, .. } => TextInput::InContext {
                text: passage.joined(separator),
                context: passage.context.clone().unwrap_or_default(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use toller_ir::{Passage, Setting};

    use super::{NotJoined, TitleMode, TitleName};
    use crate::input::{TextInput, TitleTypes};

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
    fn settings_that_only_joined_titles_have_join_them() {
        let text = |text: &str| Some(text.to_owned());
        let join = |separator: &str| TitleMode::Join(separator.to_owned());
        let (sep, pair) = (Some(TitleName::Sep), Some(TitleName::Pair));
        let of = |name, separator, context| TitleMode::of(None, name, separator, context);
        assert_eq!(of(None, None, None), Ok(None));
        assert_eq!(of(Some(TitleName::Join), None, None), Ok(Some(join(" "))));
        assert_eq!(of(None, text(": "), None), Ok(Some(join(": "))));
        let context = TitleMode::Context { separator: " ".to_owned(), field: "paragraph".to_owned() };
        assert_eq!(of(None, None, text("paragraph")), Ok(Some(context)));
        assert_eq!(of(sep, None, None), Ok(Some(TitleMode::Sep)));
        assert_eq!(of(pair, None, None), Ok(Some(TitleMode::Pair)));
        let refused = |what, setting| Err(NotJoined { what, setting });
        assert_eq!(of(sep, text(" "), None), refused("separator", Setting::TitleSeparator));
        assert_eq!(of(pair, None, text("p")), refused("context", Setting::ContextField));
    }

    #[test]
    fn what_is_left_open_is_as_in_the_models_own_way() {
        let text = |text: &str| Some(text.to_owned());
        let own = TitleMode::Join(": ".to_owned());
        let of = |name, separator, context| TitleMode::of(Some(&own), name, separator, context);
        assert_eq!(of(None, None, None), Ok(None));
        assert_eq!(of(Some(TitleName::Join), None, None), Ok(Some(own.clone())));
        let context = TitleMode::Context { separator: ": ".to_owned(), field: "paragraph".to_owned() };
        assert_eq!(of(None, None, text("paragraph")), Ok(Some(context)));
        assert_eq!(of(Some(TitleName::Sep), None, None), Ok(Some(TitleMode::Sep)));
        // A separator alone does not join what the model was given apart.
        let of = |name, separator| TitleMode::of(Some(&TitleMode::Sep), name, separator, None);
        let setting = Setting::TitleSeparator;
        assert_eq!(of(None, text(" ")), Err(NotJoined { what: "separator", setting }));
        assert_eq!(of(Some(TitleName::Join), text("|")), Ok(Some(TitleMode::Join("|".to_owned()))));
        assert_eq!(of(Some(TitleName::Join), None), Ok(Some(TitleMode::default())));
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
