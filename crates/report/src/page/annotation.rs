//! The page on which a person judges a package.

use maud::{Markup, html};
use toller_annotation::Package;

use super::queries::passage;
use super::text::{Plain, Prose, Short};
use super::{notes, shell};
use crate::texts::Texts;

/// A grade that annotators choose, and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GradeLabel {
    /// The grade.
    pub grade: i32,
    /// What it means.
    pub label: String,
}

/// The digits that give grades.
const KEYS: usize = 9;

/// The page of a package.
#[must_use]
pub fn annotation_page(package: &Package, texts: &Texts, grades: &[GradeLabel]) -> String {
    let title = format!("Package {}", package.number);
    let body = html! {
        header.tool {
            h1 { (title) }
            p { (package.pairs.len()) " pairs of a query and a passage: does the passage answer the query?" }
            div.tools {
                label { "Your name " input #annotator autocomplete="name"; }
                span #filled role="status" {}
                button #save type="button" { "Save as CSV" }
            }
            p.keys {
                kbd { "1" } " to " kbd { (grades.len().min(KEYS)) } " the grades from above and next, " kbd { "j" }
                    " next, " kbd { "k" } " previous, "
                kbd { "n" } " next without a grade, " kbd { "o" } " unfold, " kbd { "s" } " save"
            }
        }
        main.tool {
            @for (pair, at) in package.pairs.iter().zip(0_usize..) {
                article tabindex="-1" data-id=(Plain(&pair.query_id)) data-doc=(Plain(&pair.doc_id)) {
                    h2.query dir="auto" {
                        @if let Some(text) = texts.query(&pair.query_id) { (Prose(text)) } @else { (Short(&pair.query_id)) }
                    }
                    @if let Some(of) = texts.passage(&pair.doc_id) { (passage(of)) } @else { p.hint { bdi { (Short(&pair.doc_id)) } } }
                    (choice(at, grades))
                }
            }
        }
    };
    let key = super::key(&format!("{package:?}"));
    shell::page(&title, &key, &[notes::NAVIGATION, include_str!("annotation.js")], &body)
}

fn choice(at: usize, grades: &[GradeLabel]) -> Markup {
    html! {
        fieldset.grades {
            legend { "Grade" }
            @for grade in grades {
                label { input type="radio" name={ "grade-" (at) } value=(grade.grade); (Plain(&grade.label)) }
            }
        }
    }
}
