//! The comparison as a sheet to fill in: one row per query, with empty columns for a category and a note.

use std::io::Write;

use super::listing::Listing;
use crate::table::as_text;

/// The columns to fill in.
pub(super) const CATEGORY: &str = "category";
pub(super) const NOTE: &str = "note";
/// The loss or gain of a query.
pub(super) const GAIN: &str = "gain";

/// Writes the sheet, CSV with a header.
pub(super) fn write(listing: &Listing, out: &mut impl Write) -> csv::Result<()> {
    let mut rows = csv::Writer::from_writer(out);
    let [before, after] = &listing.contrast.names;
    let value = |run: &str| format!("{} of {run}", listing.contrast.measure);
    rows.write_record([
        "query_id",
        "query",
        &value(before),
        &value(after),
        GAIN,
        "relevant",
        "first",
        "first_text",
        CATEGORY,
        NOTE,
    ])?;
    for query in &listing.contrast.shown {
        let rank = |rank: Option<usize>| rank.map_or("-".to_owned(), |rank| rank.to_string());
        let relevant = query.relevant.iter().map(|document| {
            format!("{} ({}, {})", document.doc_id, rank(document.ranks[0]), rank(document.ranks[1]))
        });
        let first = query.rankings[1].first().map_or("", |document| document.doc_id.as_str());
        let first_text = listing.texts.passage(first).map_or(String::new(), |passage| passage.joined(" "));
        rows.write_record([
            &*as_text(&query.query_id),
            &as_text(listing.texts.query(&query.query_id).unwrap_or_default()),
            &query.values[0].to_string(),
            &query.values[1].to_string(),
            &query.gain().to_string(),
            &as_text(&relevant.collect::<Vec<_>>().join("; ")),
            &as_text(first),
            &as_text(&first_text),
            "",
            "",
        ])?;
    }
    Ok(rows.flush()?)
}
