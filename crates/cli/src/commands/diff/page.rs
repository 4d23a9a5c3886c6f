//! The comparison as a web page: one file that needs neither a server nor the network.

use std::fmt::Write;

use toller_eval::{QueryDifference, RankedDocument};
use toller_files::Checksum;
use toller_ir::Passage;

use super::listing::{Judged, Listing};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Characters of a passage that are shown before it is folded.
const FOLD: usize = 320;

/// The categories that are offered: those of DuReader-retrieval's analysis (Qiu et al. 2022, table 10).
const CATEGORIES: [&str; 6] = [
    "entity mismatch", "numeral mismatch", "modifier mismatch", "syntactic mismatch", "false negative",
    "other",
];

/// The fields of a query.
const FIELDS: &str = "<div class=\"fields\">\n\
    <label>Category (several: separated by ;)<input class=\"category\" list=\"categories\" autocomplete=\"off\"></label>\n\
    <label>Note<input class=\"note\" autocomplete=\"off\"></label>\n</div>\n";

/// The page.
pub(super) fn html(listing: &Listing) -> String {
    let [before, after] = listing.names.each_ref().map(|name| escaped(name));
    let title = format!("{before} and {after}");
    let measure = escaped(&listing.measure.to_string());
    let [mean_before, mean_after] = listing.means.map(|mean| listing.number(mean));
    let options: String = CATEGORIES.iter().map(|name| format!("<option value=\"{name}\">")).collect();
    let articles: String = listing.shown.iter().map(|query| article(listing, query)).collect();
    // Pages of the same comparison share their entries; other pages do not.
    let ids: Vec<&str> = listing.shown.iter().map(|query| query.query_id.as_str()).collect();
    let key = Checksum::of(format!("{:?} {measure} {ids:?}", listing.names).as_bytes());
    let (all, lost, gained, shown) = (listing.all, listing.lost, listing.gained, listing.shown.len());
    let same = all - lost - gained;
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body data-key=\"{key}\">\n<header>\n\
         <h1>{measure}: {before} {mean_before}, {after} {mean_after}</h1>\n\
         <p>Of {all} queries {after} loses {lost}, gains {gained}, has the same in {same}. Shown: {shown}.</p>\n\
         <div class=\"tools\"><span id=\"filled\"></span><button id=\"save\" type=\"button\">Save as CSV</button></div>\n\
         <p><kbd>j</kbd> next, <kbd>k</kbd> previous, <kbd>n</kbd> next without a category, <kbd>c</kbd> category, \
         <kbd>Esc</kbd> leave it, <kbd>o</kbd> unfold, <kbd>s</kbd> save</p>\n</header>\n\
         <datalist id=\"categories\">{options}</datalist>\n<main>\n{articles}</main>\n<script>\n{SCRIPT}</script>\n\
         </body>\n</html>\n"
    )
}

fn article(listing: &Listing, query: &QueryDifference) -> String {
    let mut html = String::new();
    let id = escaped(&query.query_id);
    let text = listing.query(&query.query_id).map_or_else(|| id.clone(), escaped);
    let [before, after] = query.values.map(|value| listing.number(value));
    let gain = query.gain();
    let class = if gain < 0.0 { "loss" } else { "gain" };
    // Writing to a string cannot fail.
    let _ = write!(
        html,
        "<article tabindex=\"-1\" data-id=\"{id}\" data-gain=\"{gain}\">\n<h2 dir=\"auto\">{text}</h2>\n\
         <p class=\"values\"><span class=\"id\">{id}</span> &middot; {before} &rarr; {after} \
         (<span class=\"{class}\">{gain:+.4}</span>)</p>\n{FIELDS}"
    );
    let [name_before, name_after] = listing.names.each_ref().map(|name| escaped(name));
    let _ = writeln!(html, "<h3>Relevant: ranks in {name_before} and {name_after}</h3>\n<ul>");
    for document in &query.relevant {
        let [one, other] = document.ranks.map(rank);
        let about = format!("<span class=\"rank\">{one}, {other}</span>");
        html += &item(listing, &document.doc_id, Some(document.grade), &about, "");
    }
    html += "</ul>\n<div class=\"sides\">\n";
    for (side, documents) in query.rankings.iter().enumerate() {
        let name = if side == 0 { &name_before } else { &name_after };
        let _ = writeln!(html, "<section><h3>{name}</h3>\n<ol>");
        for (document, own) in documents.iter().zip(1..) {
            html += &ranked(listing, document, own);
        }
        html += "</ol></section>\n";
    }
    html += "</div>\n</article>\n";
    html
}

fn ranked(listing: &Listing, document: &RankedDocument, own: usize) -> String {
    let place = format!("<span class=\"rank\">{own}</span>");
    let other = match document.other_rank {
        Some(rank) => format!("<span class=\"other\">{rank} in the other</span>"),
        None => "<span class=\"other\">not in the other</span>".to_owned(),
    };
    item(listing, &document.doc_id, document.grade, &place, &other)
}

/// A document: `before`, its id, its judgment, `behind`, and its text.
fn item(listing: &Listing, id: &str, grade: Option<i32>, before: &str, behind: &str) -> String {
    let (class, judged) = match listing.judged(grade) {
        Judged::Relevant(grade) => ("relevant", format!("relevant, {grade}")),
        Judged::NotRelevant(grade) => ("not-relevant", format!("not relevant, {grade}")),
        Judged::Not => ("unjudged", "unjudged".to_owned()),
    };
    let text = listing.passage(id).map_or(String::new(), passage);
    format!(
        "<li><div class=\"about\">{before}<span class=\"id\">{}</span><span class=\"chip {class}\">{judged}</span>{behind}\
         </div>{text}</li>\n",
        escaped(id)
    )
}

/// A passage's text; a long one is folded.
fn passage(passage: &Passage) -> String {
    let title = passage
        .title
        .as_deref()
        .map_or(String::new(), |title| format!("<div class=\"title\" dir=\"auto\">{}</div>", escaped(title)));
    let text = passage.text.trim();
    let body = match text.char_indices().nth(FOLD) {
        None => format!("<div class=\"passage\" dir=\"auto\">{}</div>", escaped(text)),
        Some((end, _)) => folded(text, end),
    };
    title + &body
}

/// A text that is folded after the last blank before `end`, or at `end`.
fn folded(text: &str, end: usize) -> String {
    let end = text[..end].rfind(char::is_whitespace).unwrap_or(end);
    format!(
        "<details><summary class=\"passage\" dir=\"auto\">{}<span class=\"more\">&hellip; more</span></summary>\
             <div class=\"passage\" dir=\"auto\">{}</div></details>",
        escaped(&text[..end]),
        escaped(&text[end..])
    )
}

fn rank(rank: Option<usize>) -> String {
    rank.map_or("&ndash;".to_owned(), |rank| rank.to_string())
}

/// Text as HTML, for elements and quoted attributes. Control characters, which HTML forbids, are replaced.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            '\n' | '\t' => html.push(character),
            control if control.is_control() => html.push('\u{fffd}'),
            character => html.push(character),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_is_left_that_html_would_read() {
        let escaped = escaped("</script><img src=x onerror=\"alert('1')\">&amp;\u{0}");
        assert!(!escaped.contains(['<', '>', '"', '\'', '\u{0}']));
        assert!(escaped.starts_with("&lt;/script&gt;") && escaped.ends_with("&amp;amp;\u{fffd}"));
    }
}
