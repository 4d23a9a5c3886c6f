//! What a model is given of a passage.

use toller_ir::Passage;

/// How a passage becomes the text that is encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassageText {
    /// Put before the text, as it is.
    pub prompt: String,
    /// Put between the title and the text, where there is a title.
    pub title_separator: String,
}

impl PassageText {
    /// The text of a passage: prompt, title, separator, text.
    #[must_use]
    pub fn of(&self, passage: &Passage) -> String {
        let Self { prompt, title_separator } = self;
        match passage.title.as_deref() {
            Some(title) if !title.is_empty() => format!("{prompt}{title}{title_separator}{}", passage.text),
            _ => format!("{prompt}{}", passage.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use toller_ir::Passage;

    use super::PassageText;

    #[test]
    fn a_title_comes_before_the_text() {
        let text = PassageText { prompt: "passage: ".to_owned(), title_separator: " ".to_owned() };
        let mut passage =
            Passage { id: "1".to_owned(), title: Some("Dogs".to_owned()), text: "retrieve".to_owned() };
        assert_eq!(text.of(&passage), "passage: Dogs retrieve");
        passage.title = None;
        assert_eq!(text.of(&passage), "passage: retrieve");
        passage.title = Some(String::new());
        assert_eq!(text.of(&passage), "passage: retrieve");
    }
}
