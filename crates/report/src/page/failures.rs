//! The page of a run's failures: an entry for each query, or for each query and document.

use maud::{Markup, html};

use super::queries::item;
use super::text::{Plain, Prose, Short};
use super::{notes, shell};
use crate::failures::{FailedQuery, Failures, RetrievedDocument};
use crate::texts::Texts;

/// The page, with fields for categories of errors. With `per_pair`, each document has its own.
#[must_use]
pub fn failures_page(failures: &Failures, texts: &Texts, per_pair: bool) -> String {
    let Failures { name, cutoff, all, failed, shown, .. } = failures;
    let title = format!("{name}: failures at {cutoff}");
    let pairs: usize = shown.iter().map(|query| query.documents.len()).sum();
    let about = html! {
        (failed) " of " (all) " queries have no relevant document among the first " (cutoff) ". Shown: "
            (shown.len()) " queries"
        @if per_pair { ", " (pairs) " pairs" } "."
    };
    let body = html! {
        (notes::header(&title, &about))
        main.tool {
            @for query in shown {
                @if per_pair {
                    @for (document, rank) in query.documents.iter().zip(1..) {
                        (entry(failures, texts, query, &[(rank, document)], Some(&document.doc_id)))
                    }
                } @else {
                    @let documents: Vec<_> = (1..).zip(&query.documents).collect();
                    (entry(failures, texts, query, &documents, None))
                }
            }
        }
    };
    let ids: Vec<&str> = shown.iter().map(|query| query.query_id.as_str()).collect();
    let key = super::key(&format!("{name} {cutoff} {per_pair} {ids:?}"));
    shell::page(&title, &key, notes::SCRIPTS, &body)
}

fn entry(
    failures: &Failures,
    texts: &Texts,
    query: &FailedQuery,
    documents: &[(usize, &RetrievedDocument)],
    document: Option<&str>,
) -> Markup {
    let id = query.query_id.as_str();
    html! {
        article tabindex="-1" data-id=(Plain(id)) data-doc=[document.map(Plain)] {
            h2.query dir="auto" { @if let Some(text) = texts.query(id) { (Prose(text)) } @else { (Short(id)) } }
            p.values { bdi.id { (Short(id)) } }
            (notes::fields())
            div.sides {
                section {
                    h3 { "Retrieved" }
                    @if documents.is_empty() { p.hint { "No results." } }
                    ol.documents {
                        @for (rank, document) in documents {
                            (item(failures.relevance_level, texts, &document.doc_id, document.grade, &html! { span.rank { (rank) } }, &html! {}))
                        }
                    }
                }
                section { h3 { "Relevant" } (relevant(failures.relevance_level, texts, query)) }
            }
        }
    }
}

fn relevant(level: u32, texts: &Texts, query: &FailedQuery) -> Markup {
    html! {
        ul.documents {
            @for document in &query.relevant {
                @let rank = document.rank.map_or_else(|| "\u{2013}".to_owned(), |rank| rank.to_string());
                (item(level, texts, &document.doc_id, Some(document.grade), &html! { span.rank { (rank) } }, &html! {}))
            }
        }
    }
}
