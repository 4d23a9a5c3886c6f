//! `toller diff --tally`: how often each category occurs, and how much its queries lose.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use serde_json::json;
use toller_annotation::{Sheet, SheetProblem};
use toller_files::{Input, InputReader};

use super::sheet::{CATEGORY, GAIN, NOTE};
use super::{FormatArg, name_of};
use crate::error::{Remedied, UsageError, of_csv};
use crate::table::{Align, table};
use crate::ui::Ui;

/// The rows of a category: queries, or pairs of a query and a document.
#[derive(Default)]
struct Count {
    rows: usize,
    gain: f64,
}

/// The content of a sheet.
struct Tally {
    /// All rows of the sheet, and those with a category.
    rows: usize,
    filled: usize,
    /// Whether each row has what the second run gains; the failures of one run have none.
    has_gains: bool,
    /// By name.
    categories: BTreeMap<String, Count>,
}

/// Reads the sheet and writes the tally.
pub(super) fn run(sheet: &Path, format: FormatArg, ui: &Ui) -> crate::Result<()> {
    if format == FormatArg::Html {
        return Err(UsageError::new(
            "a tally cannot be a web page",
            "leave out --format, or choose json or csv",
        )
        .into());
    }
    let tally = read(sheet)?;
    // The most frequent first.
    let mut rows: Vec<(&String, &Count)> = tally.categories.iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(count.rows));
    let share = |count: &Count| count.rows as f64 / tally.filled.max(1) as f64;
    let mean = |count: &Count| tally.has_gains.then(|| count.gain / count.rows as f64);
    // Without gains the rows are failures of one run: queries, or pairs of a query and a document.
    let unit = if tally.has_gains { "queries" } else { "rows" };
    let mut out = ui.out();
    if ui.json || format == FormatArg::Json {
        let categories = rows.iter().map(|(name, count)| {
            json!({"category": name, unit: count.rows, "share": share(count), "mean_gain": mean(count)})
        });
        let report = json!({
            unit: tally.rows,
            "with_category": tally.filled,
            "categories": categories.collect::<Vec<_>>(),
        });
        crate::json::write(&mut out, report)?;
    } else if format == FormatArg::Csv {
        let mut sheet = csv::Writer::from_writer(&mut out);
        sheet.write_record(["category", unit, "share", "mean_gain"]).map_err(of_csv)?;
        for (name, count) in &rows {
            let mean = mean(count).map_or(String::new(), |mean| mean.to_string());
            let numbers = [count.rows.to_string(), share(count).to_string(), mean];
            let row = [name.as_str()].into_iter().chain(numbers.iter().map(String::as_str));
            sheet.write_record(row).map_err(of_csv)?;
        }
        sheet.flush()?;
    } else {
        let mut lines = vec![["category", unit, "share", "mean gain"].map(str::to_owned).to_vec()];
        lines.extend(rows.iter().map(|(name, count)| {
            let share = format!("{:.1} %", 100.0 * share(count));
            let mean = mean(count).map_or("-".to_owned(), |mean| format!("{mean:+.4}"));
            vec![(*name).clone(), count.rows.to_string(), share, mean]
        }));
        let right = Align::Right;
        write!(out, "{}", table(&lines, &[Align::Left, right, right, right]))?;
    }
    out.flush()?;
    let (filled, rows) = (tally.filled, tally.rows);
    ui.status(format!("{filled} of {rows} {unit} have a category in {}", name_of(sheet)));
    Ok(())
}

/// Whether a file is a sheet in which nobody has filled in a category or a note.
pub(super) fn is_empty(path: &Path) -> bool {
    let file = InputReader::open(&Input::parse(path)).ok();
    let Some(sheet) = file.and_then(|file| Sheet::read(file).ok()) else { return false };
    let [Some(category), Some(note)] = [CATEGORY, NOTE].map(|name| sheet.place(name)) else { return false };
    sheet.rows().all(|row| [category, note].iter().all(|column| row.cell(*column).is_empty()))
}

/// Reads a sheet. A cell may hold several categories, separated by semicolons; the row counts for each of
/// them.
fn read(path: &Path) -> crate::Result<Tally> {
    let input = Input::parse(path);
    let wrong = |SheetProblem { line, problem }| {
        let line = line.map_or(String::new(), |line| format!(", line {line}"));
        Remedied::new(
            format!("{input}{line}: {problem}"),
            "give a sheet that `toller diff --format csv` or its page wrote, with the column category filled in",
        )
    };
    let sheet = Sheet::read(InputReader::open(&input)?).map_err(wrong)?;
    let (category, gain) = (sheet.column(CATEGORY).map_err(wrong)?, sheet.place(GAIN));
    let mut tally = Tally { rows: 0, filled: 0, has_gains: gain.is_some(), categories: BTreeMap::new() };
    for row in sheet.rows() {
        tally.rows += 1;
        let number = gain.map_or("0", |gain| row.cell(gain));
        let gain: f64 = number.parse().map_err(|_| {
            wrong(SheetProblem {
                line: Some(row.line()),
                problem: format!("the gain {number:?} is not a number"),
            })
        })?;
        let names = row.cell(category).split(';').map(str::trim);
        let mut names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        tally.filled += usize::from(!names.is_empty());
        for name in names {
            let count = tally.categories.entry(name.to_owned()).or_default();
            count.rows += 1;
            count.gain += gain;
        }
    }
    Ok(tally)
}
