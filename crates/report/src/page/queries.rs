//! A query in two runs: its relevant documents, and what both runs retrieved, next to each other.

use maud::{Markup, html};
use toller_eval::{QueryDifference, RankedDocument, RelevantDocument};
use toller_ir::{Passage, is_relevant};

use super::parts::signed;
use super::text::{Plain, Prose, Short};
use crate::contrast::Contrast;
use crate::texts::Texts;

/// Characters of a passage that are shown before it is folded.
const FOLD: usize = 320;

/// Relevant documents with their texts; of the others, the identifiers are shown.
const RELEVANT: usize = 5;

/// A document's judgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Relevant, with this grade.
    Relevant(i32),
    /// Not relevant.
    NotRelevant(i32),
    /// Not judged.
    Not,
}

impl Judged {
    /// What a grade means if `level` is the lowest relevant one.
    #[must_use]
    pub fn of(grade: Option<i32>, level: u32) -> Self {
        match grade {
            None => Self::Not,
            Some(grade) if is_relevant(grade, level) => Self::Relevant(grade),
            Some(grade) => Self::NotRelevant(grade),
        }
    }
}

/// The queries of a comparison; `fields` are added to each.
pub(super) fn articles(contrast: &Contrast, texts: &Texts, fields: &Markup) -> Markup {
    html! { @for query in &contrast.shown { (article(contrast, texts, query, fields)) } }
}

fn article(contrast: &Contrast, texts: &Texts, query: &QueryDifference, fields: &Markup) -> Markup {
    let [before, after] = query.values.map(|value| contrast.number(value));
    let gain = query.gain();
    let id = query.query_id.as_str();
    html! {
        article tabindex="-1" data-id=(Plain(id)) data-gain=(gain) {
            h3.query dir="auto" { @if let Some(text) = texts.query(id) { (Prose(text)) } @else { (Short(id)) } }
            p.values {
                bdi.id { (Short(id)) } " · " (before) " → " (after) " ("
                span class=(if gain < 0.0 { "loss" } else { "gain" }) { (signed(gain)) } ")"
            }
            (fields)
            (relevant(contrast, texts, query))
            div.sides {
                @for (name, documents) in contrast.names.iter().zip(&query.rankings) {
                    section { h4 { bdi { (Short(name)) } } (ranking(contrast.relevance_level, texts, documents)) }
                }
            }
        }
    }
}

fn relevant(contrast: &Contrast, texts: &Texts, query: &QueryDifference) -> Markup {
    let level = contrast.relevance_level;
    let documents = &query.relevant;
    let ranks = |document: &RelevantDocument| {
        let [before, after] = document.ranks.map(rank);
        html! { span.rank { (before) ", " (after) } }
    };
    let rest = documents.get(RELEVANT..).unwrap_or_default();
    html! {
        h4 { "Relevant documents, with their ranks in both runs" }
        @if documents.is_empty() { p.hint { "None." } }
        ul.documents {
            @for document in documents.iter().take(RELEVANT) {
                (item(level, texts, &document.doc_id, Some(document.grade), &ranks(document), &html! {}))
            }
        }
        @if !rest.is_empty() {
            details {
                summary { (rest.len()) " more" }
                p.ids {
                    @for document in rest { span { bdi.id { (Short(&document.doc_id)) } " " (ranks(document)) " " } }
                }
            }
        }
    }
}

/// A run's first documents.
fn ranking(level: u32, texts: &Texts, documents: &[RankedDocument]) -> Markup {
    html! {
        @if documents.is_empty() { p.hint { "No results." } }
        ol.documents {
            @for (document, own) in documents.iter().zip(1_usize..) {
                @let other = match document.other_rank {
                    Some(rank) => format!("{rank} in the other"),
                    None => "not in the other".to_owned(),
                };
                (item(level, texts, &document.doc_id, document.grade, &html! { span.rank { (own) } }, &html! { span.other { (other) } }))
            }
        }
    }
}

/// A document: `before`, its identifier, its judgment, `behind`, and its text.
pub(super) fn item(
    level: u32,
    texts: &Texts,
    id: &str,
    grade: Option<i32>,
    before: &Markup,
    behind: &Markup,
) -> Markup {
    html! {
        li {
            div.about { (before) bdi.id { (Short(id)) } (chip(level, grade)) (behind) }
            @if let Some(of) = texts.passage(id) { (passage(of)) }
        }
    }
}

/// A judgment.
pub(super) fn chip(level: u32, grade: Option<i32>) -> Markup {
    let (class, judged) = match Judged::of(grade, level) {
        Judged::Relevant(grade) => ("relevant", format!("relevant, {grade}")),
        Judged::NotRelevant(grade) => ("not-relevant", format!("not relevant, {grade}")),
        Judged::Not => ("unjudged", "unjudged".to_owned()),
    };
    html! { span class={ "chip " (class) } { (judged) } }
}

/// A passage's title and text; a long text is folded.
pub(super) fn passage(passage: &Passage) -> Markup {
    let text = passage.text.trim();
    html! {
        @if let Some(title) = &passage.title { div.title dir="auto" { (Prose(title)) } }
        @match text.char_indices().nth(FOLD) {
            None => div.passage dir="auto" { (Prose(text)) },
            Some((end, _)) => {
                // After the last blank, if there is one.
                @let end = text[..end].rfind(char::is_whitespace).unwrap_or(end);
                details {
                    summary.passage dir="auto" { (Prose(&text[..end])) span.more { " … more" } }
                    div.passage dir="auto" { (Prose(&text[end..])) }
                }
            }
        }
    }
}

fn rank(rank: Option<usize>) -> String {
    rank.map_or("\u{2013}".to_owned(), |rank| rank.to_string())
}
