//! What `toller verify` prints.

use std::io::Write;

use serde_json::json;

use super::{Row, Tolerances};
use crate::ui::Ui;

/// Prints the rows, those of the built-in texts first, and the verdict.
pub(super) fn write(rows: &[Row], built_in: usize, tolerances: Tolerances, ui: &Ui) -> crate::Result<()> {
    let largest = |part: fn(&Row) -> f64| rows.iter().map(part).fold(0.0, f64::max);
    let verdict = if rows.iter().all(|row| row.is_good(tolerances)) { "good" } else { "bad" };
    if ui.json {
        return ui.json(|| {
            let texts: Vec<_> = rows
                .iter()
                .enumerate()
                .map(|(index, row)| {
                    json!({
                        "role": row.role,
                        "against": if index < built_in { "reference" } else { "expected" },
                        "query": row.query,
                        "text": row.text,
                        "tokens": row.tokens,
                        "error": row.error,
                        "batch_error": row.batch_error,
                        "same_ids": row.same_ids,
                        "good": row.is_good(tolerances),
                    })
                })
                .collect();
            json!({
                "verdict": verdict,
                "tolerance": tolerances.error,
                "batch_tolerance": tolerances.batch,
                "largest_error": largest(|row| row.error),
                "largest_batch_error": largest(|row| row.batch_error),
                "texts": texts,
            })
        });
    }
    let mut out = ui.out();
    writeln!(out, "{:<8}  {:>6}  {:>9}  {:>9}  {:<4}  text", "role", "tokens", "error", "in batch", "")?;
    for row in rows {
        let mark = if row.is_good(tolerances) {
            ""
        } else if row.same_ids {
            "BAD"
        } else {
            "IDS"
        };
        let text = shown(&row.text);
        let query = row.query.as_deref().map(|query| format!("{} | ", shown(query))).unwrap_or_default();
        writeln!(
            out,
            "{:<8}  {:>6}  {:>9.1e}  {:>9.1e}  {mark:<4}  {query}{text}",
            row.role, row.tokens, row.error, row.batch_error,
        )?;
    }
    let allowed = match tolerances.error {
        Some(error) => format!("allowed {error:.0e}"),
        None => "measured: no error is promised for int8".to_owned(),
    };
    writeln!(
        out,
        "{verdict}: the largest error is {:.1e} ({allowed}), {:.1e} in a batch (allowed {:.0e})",
        largest(|row| row.error),
        largest(|row| row.batch_error),
        tolerances.batch,
    )?;
    out.flush()?;
    Ok(())
}

/// The start of a text, on one line.
fn shown(text: &str) -> String {
    let visible = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().take(40).map(visible).collect()
}
