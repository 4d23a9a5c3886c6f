//! Filters that change one term in place.

mod arabic;
mod bengali;
mod case;
mod digits;
mod elision;
mod english;
mod german;
mod hindi;
mod indic;
mod japanese;
mod width;

pub(super) use arabic::{arabic_normal, persian_normal};
pub(super) use bengali::bengali_normal;
pub(super) use case::{greek_lower_case, lower_case, turkish_lower_case};
pub(super) use digits::decimal_digits;
pub(super) use elision::{french_elision, italian_elision, turkish_apostrophe};
pub(super) use english::possessive;
pub(super) use german::german_normal;
pub(super) use hindi::{hindi_normal, telugu_normal};
pub(super) use indic::indic_normal;
pub(super) use japanese::without_short_hiragana;
pub(super) use width::width;
