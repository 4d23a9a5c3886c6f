//! The fields of a page on which people sort errors into categories.

use maud::{Markup, html};

use super::text::Plain;

/// The categories that are offered: those of DuReader-retrieval's analysis (Qiu et al. 2022, table 10).
const CATEGORIES: [&str; 6] = [
    "entity mismatch", "numeral mismatch", "modifier mismatch", "syntactic mismatch", "false negative",
    "other",
];

/// The scripts: keys, and keeping and saving what is filled in.
pub(super) const SCRIPTS: &[&str] = &[NAVIGATION, include_str!("notes.js")];

/// The script of the keys that go from entry to entry.
pub(super) const NAVIGATION: &str = include_str!("navigation.js");

/// The fields.
pub(super) fn fields() -> Markup {
    html! {
        div.fields {
            label { "Category (several: separated by ;)" input.category list="categories" autocomplete="off"; }
            label { "Note" input.note autocomplete="off"; }
        }
    }
}

/// The head of the page.
pub(super) fn header(title: &str, about: &Markup) -> Markup {
    html! {
        header.tool {
            h1 { (Plain(title)) }
            p { (about) }
            div.tools { span #filled role="status" {} button #save type="button" { "Save as CSV" } }
            p.keys {
                kbd { "j" } " next, " kbd { "k" } " previous, " kbd { "n" } " next without a category, "
                kbd { "c" } " category, "
                kbd { "Esc" } " leave it, " kbd { "o" } " unfold, " kbd { "s" } " save"
            }
        }
        datalist #categories { @for name in CATEGORIES { option value=(name) {} } }
    }
}
