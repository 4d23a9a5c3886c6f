//! The page of two runs: where the second one loses or gains.

use maud::html;

use super::text::Short;
use super::{notes, queries, shell};
use crate::contrast::Contrast;
use crate::texts::Texts;

/// The page, with fields for categories of errors.
#[must_use]
pub fn diff_page(contrast: &Contrast, texts: &Texts) -> String {
    let [before, after] = &contrast.names;
    let [mean_before, mean_after] = contrast.means.map(|mean| contrast.number(mean));
    let Contrast { all, lost, gained, .. } = *contrast;
    let title = format!("{}: {before} {mean_before}, {after} {mean_after}", contrast.measure);
    let about = html! {
        "Of " (all) " queries, " bdi { (Short(after)) } " loses " (lost) ", gains " (gained)
            ", has the same in " (all - lost - gained) ". "
        "Shown: " (contrast.shown.len()) "."
    };
    let ids: Vec<&str> = contrast.shown.iter().map(|query| query.query_id.as_str()).collect();
    let body = html! {
        (notes::header(&title, &about))
        main.tool { h2.vh { "Queries" } (queries::articles(contrast, texts, &notes::fields())) }
    };
    let key = super::key(&format!("{:?} {} {ids:?}", contrast.names, contrast.measure));
    shell::page(&title, &key, notes::SCRIPTS, &body)
}
