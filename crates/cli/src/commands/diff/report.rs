//! The comparison as text and as JSON.

use std::io::Write;

use toller_eval::{QueryDifference, RankedDocument};
use toller_ir::counted;
use toller_report::{Judged, Texts};

use super::listing::Listing;
use crate::table::{Align, table};

/// Characters of a passage in a terminal.
const EXCERPT: usize = 160;

/// To read in a terminal.
pub(super) fn text(listing: &Listing, out: &mut impl Write) -> crate::Result<()> {
    let contrast = &listing.contrast;
    let [before, after] = &contrast.names;
    writeln!(
        out,
        "{}: {before} {}, {after} {} over {}; {after} loses {}, gains {}, ties on {}",
        contrast.measure,
        contrast.number(contrast.means[0]),
        contrast.number(contrast.means[1]),
        counted(contrast.all, "query"),
        contrast.lost,
        contrast.gained,
        contrast.all - contrast.lost - contrast.gained,
    )?;
    for query in &contrast.shown {
        writeln!(out)?;
        write_query(listing, query, out)?;
    }
    Ok(())
}

fn write_query(listing: &Listing, query: &QueryDifference, out: &mut impl Write) -> crate::Result<()> {
    let [before, after] = query.values.map(|value| listing.contrast.number(value));
    let text = listing.texts.query(&query.query_id).unwrap_or_default();
    writeln!(out, "{} {}", query.query_id, excerpt(text))?;
    writeln!(out, "  {before} -> {after} ({:+.4})", query.gain())?;
    let rank = |rank: Option<usize>| rank.map_or("-".to_owned(), |rank| rank.to_string());
    let title = |words: [&str; 5]| words.map(str::to_owned).to_vec();
    let mut rows =
        vec![title(["  relevant", "grade", &listing.contrast.names[0], &listing.contrast.names[1], ""])];
    for document in &query.relevant {
        rows.push(vec![
            format!("  {}", document.doc_id),
            document.grade.to_string(),
            rank(document.ranks[0]),
            rank(document.ranks[1]),
            passage(&listing.texts, &document.doc_id),
        ]);
    }
    let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];
    write!(out, "{}", table(&rows, &align))?;
    for (at, documents) in query.rankings.iter().enumerate() {
        let mut rows = vec![title(["", &listing.contrast.names[at], "judged", "other", ""])];
        for (document, own) in documents.iter().zip(1..) {
            rows.push(vec![
                format!("  {own}"),
                document.doc_id.clone(),
                judged(listing, document),
                rank(document.other_rank),
                passage(&listing.texts, &document.doc_id),
            ]);
        }
        let align = [Align::Right, Align::Left, Align::Left, Align::Right, Align::Left];
        write!(out, "{}", table(&rows, &align))?;
    }
    Ok(())
}

fn judged(listing: &Listing, document: &RankedDocument) -> String {
    match listing.judged(document.grade) {
        Judged::Relevant(grade) => format!("relevant ({grade})"),
        Judged::NotRelevant(grade) => format!("not relevant ({grade})"),
        Judged::Not => "unjudged".to_owned(),
    }
}

/// A passage on one line; nothing if its text is not known.
pub(super) fn passage(texts: &Texts, id: &str) -> String {
    let Some(passage) = texts.passage(id) else { return String::new() };
    let title = passage.title.as_ref().map_or(String::new(), |title| format!("{title}: "));
    excerpt(&format!("{title}{}", passage.text))
}

/// The first words on one line. Control characters, which could steer a terminal, become blanks.
pub(super) fn excerpt(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// Everything, for programs.
pub(super) fn json(listing: &Listing, out: &mut impl Write) -> crate::Result<()> {
    Ok(crate::json::write(out, listing.contrast.json(&listing.texts))?)
}
