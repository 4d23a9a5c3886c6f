//! Emoji sequences (UTS #51): keycaps, flags, and pictographs with their modifiers and joiners.

use super::classes::Class;

const JOINER: char = '\u{200D}';
const TEXT_STYLE: char = '\u{FE0E}';
const EMOJI_STYLE: char = '\u{FE0F}';
const KEYCAP: char = '\u{20E3}';
const TAGS: std::ops::RangeInclusive<char> = '\u{E0020}'..='\u{E007E}';
const LAST_TAG: char = '\u{E007F}';

/// Whether an emoji sequence may begin with this character. (One that begins with a digit is also a number of
/// the same length.)
pub(super) fn may_begin(char: char, class: Class) -> bool {
    matches!(class, Class::Emoji | Class::LetterEmoji | Class::Modifier | Class::Regional)
        || matches!(char, JOINER | '#' | '*')
}

/// The bytes of the longest emoji sequence that `text` begins with, or 0.
pub(super) fn length(text: &str) -> usize {
    let rest = match text.chars().next() {
        Some('#' | '*') => keycap(&text[1..]),
        Some(char) if Class::of(char) == Class::Regional => flag(&text[char.len_utf8()..]),
        _ => pictographs(text),
    };
    rest.map_or(0, |rest| text.len() - rest.len())
}

/// What follows the rest of a keycap.
fn keycap(text: &str) -> Option<&str> {
    let rest = after_marks(text);
    let bare = text[..text.len() - rest.len()].contains(KEYCAP).then_some(rest);
    let styled = rest.strip_prefix(EMOJI_STYLE).and_then(|rest| rest.strip_prefix(KEYCAP)).map(after_marks);
    styled.or(bare)
}

/// What follows the second letter of a flag.
fn flag(text: &str) -> Option<&str> {
    let any_mark = |char| matches!(Class::of(char), Class::Extend | Class::ComplexExtend | Class::Modifier);
    let rest = text.trim_start_matches(any_mark).strip_prefix(|char| Class::of(char) == Class::Regional)?;
    Some(rest.trim_start_matches(any_mark))
}

/// What follows a pictograph, or several that are joined.
fn pictographs(text: &str) -> Option<&str> {
    let (mut rest, styled) = pictograph(text)?;
    if styled {
        let tags = rest.trim_start_matches(|char| TAGS.contains(&char));
        if tags.len() < rest.len()
            && let Some(after) = tags.strip_prefix(LAST_TAG)
        {
            return Some(after);
        }
    }
    loop {
        // A joiner is also a mark: without a style before it, the joiner has been passed already.
        let passed = text[..text.len() - rest.len()].ends_with(JOINER).then_some(rest);
        match rest.strip_prefix(JOINER).or(passed).and_then(pictograph) {
            Some((after, _)) => rest = after,
            None => return Some(rest),
        }
    }
}

/// What follows a pictograph and its marks, and whether the emoji style was among them.
fn pictograph(text: &str) -> Option<(&str, bool)> {
    let unjoined = text.trim_start_matches(JOINER);
    let first = unjoined.chars().next()?;
    let rest = after_marks(&unjoined[first.len_utf8()..]);
    match Class::of(first) {
        Class::Emoji | Class::LetterEmoji => {
            Some(rest.strip_prefix(EMOJI_STYLE).map_or((rest, false), |styled| (styled, true)))
        }
        Class::Modifier if unjoined.len() == text.len() => Some((rest, false)),
        _ => None,
    }
}

/// The text after marks other than the two styles.
fn after_marks(text: &str) -> &str {
    text.trim_start_matches(|char| {
        !matches!(char, TEXT_STYLE | EMOJI_STYLE)
            && matches!(Class::of(char), Class::Extend | Class::ComplexExtend | Class::Modifier)
    })
}
