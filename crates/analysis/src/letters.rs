//! Letters and digits by their general category, as in Java.

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};

fn category(char: char) -> GeneralCategory {
    CodePointMapData::<GeneralCategory>::new().get(char)
}

/// Whether a character is a letter. Marks are not letters, though many are alphabetic.
pub(super) fn is_letter(char: char) -> bool {
    GeneralCategoryGroup::Letter.contains(category(char))
}

pub(super) fn is_letter_or_digit(char: char) -> bool {
    is_letter(char) || category(char) == GeneralCategory::DecimalNumber
}

pub(super) fn is_nonspacing_mark(char: char) -> bool {
    category(char) == GeneralCategory::NonspacingMark
}
