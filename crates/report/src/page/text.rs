//! Text from outside on a page. Nothing in it is read as HTML, steers the order of what surrounds it, or is
//! too long.

use std::borrow::Cow;

use maud::Render;

/// An identifier or a name: characters that change the direction of text are replaced, too.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'a>(pub(crate) &'a str);

/// A [`Plain`] that is not longer than a line: the middle of a long one is left out.
#[derive(Clone, Copy)]
pub(crate) struct Short<'a>(pub(crate) &'a str);

/// The text of a query or a passage, for an element that has its own direction (`dir="auto"`).
#[derive(Clone, Copy)]
pub(crate) struct Prose<'a>(pub(crate) &'a str);

/// A longer name is cut.
const SHORT: usize = 48;

/// A longer text is cut.
const LONGEST: usize = 8_000;

impl Render for Plain<'_> {
    fn render_to(&self, buffer: &mut String) {
        replaced(self.0, |character| is_control(character) || is_directional(character)).render_to(buffer);
    }
}

impl Render for Short<'_> {
    fn render_to(&self, buffer: &mut String) {
        let count = self.0.chars().count();
        if count <= SHORT {
            return Plain(self.0).render_to(buffer);
        }
        let part = |chars: &mut dyn Iterator<Item = char>| chars.collect::<String>();
        let start = part(&mut self.0.chars().take(SHORT / 2));
        let end = part(&mut self.0.chars().skip(count - SHORT / 2 + 1));
        Plain(&format!("{start}\u{2026}{end}")).render_to(buffer);
    }
}

impl Render for Prose<'_> {
    fn render_to(&self, buffer: &mut String) {
        match self.0.char_indices().nth(LONGEST) {
            None => replaced(self.0, is_control).render_to(buffer),
            Some((end, _)) => {
                replaced(&self.0[..end], is_control).render_to(buffer);
                let rest = self.0[end..].chars().count();
                format!(" \u{2026} [{rest} more characters are left out]").render_to(buffer);
            }
        }
    }
}

/// The first `length` characters, and an ellipsis if there are more.
pub(crate) fn start(text: &str, length: usize) -> Cow<'_, str> {
    match text.char_indices().nth(length) {
        None => text.into(),
        Some((end, _)) => format!("{}\u{2026}", &text[..end]).into(),
    }
}

/// HTML forbids control characters.
fn is_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}

/// Embeddings, overrides and isolates, which end only where they are closed.
fn is_directional(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn replaced(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_bad) {
        return text.into();
    }
    text.chars().map(|character| if is_bad(character) { '\u{fffd}' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use maud::{Render, html};

    use super::{Plain, Prose, Short};

    #[test]
    fn nothing_is_left_that_html_would_read() {
        let hostile = "</script><img src=x onerror=\"alert(1)\">&amp;\u{0}\u{1b}";
        for html in [Plain(hostile).render(), Prose(hostile).render(), html! { p title=(Plain(hostile)) {} }]
        {
            assert!(html.0.contains(
                "&lt;/script&gt;&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&amp;amp;\u{fffd}\u{fffd}"
            ));
            assert!(!html.0.contains("<img") && !html.0.contains(['\0', '\u{1b}']));
        }
    }

    #[test]
    fn names_do_not_turn_what_surrounds_them() {
        assert_eq!(Plain("a\u{202e}cod\u{2066}").render().0, "a\u{fffd}cod\u{fffd}");
        assert_eq!(Prose("a\u{202e}b").render().0, "a\u{202e}b", "an element of its own ends it");
    }

    #[test]
    fn what_is_huge_is_cut() {
        let shown = Short(&"é".repeat(1_000_000)).render().0;
        assert!(shown.chars().count() <= 48 && shown.contains('\u{2026}'), "{shown}");
        assert_eq!(Short("d1").render().0, "d1");
        let shown = Prose(&"x".repeat(8_010)).render().0;
        assert!(shown.ends_with("[10 more characters are left out]") && shown.len() < 8_100);
    }
}
