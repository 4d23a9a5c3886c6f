//! `toller diff --tally`: how often each category occurs, and how much its queries lose.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde_json::json;
use toller_files::{Input, InputReader};

use super::sheet::{CATEGORY, GAIN};
use super::{FormatArg, name_of};
use crate::error::{Remedied, UsageError, of_csv};
use crate::table::{Align, table};
use crate::ui::Ui;

/// The queries of a category.
#[derive(Default)]
struct Count {
    queries: usize,
    gain: f64,
}

/// The content of a sheet.
struct Tally {
    /// All queries of the sheet, and those with a category.
    queries: usize,
    filled: usize,
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
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(count.queries));
    let share = |count: &Count| count.queries as f64 / tally.filled.max(1) as f64;
    let mean = |count: &Count| count.gain / count.queries as f64;
    let mut out = ui.out();
    if ui.json || format == FormatArg::Json {
        let categories = rows.iter().map(|(name, count)| {
            json!({"category": name, "queries": count.queries, "share": share(count), "mean_gain": mean(count)})
        });
        let report = json!({
            "queries": tally.queries,
            "with_category": tally.filled,
            "categories": categories.collect::<Vec<_>>(),
        });
        serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)?;
        writeln!(out)?;
    } else if format == FormatArg::Csv {
        let mut sheet = csv::Writer::from_writer(&mut out);
        sheet.write_record(["category", "queries", "share", "mean_gain"]).map_err(of_csv)?;
        for (name, count) in &rows {
            let numbers = [count.queries.to_string(), share(count).to_string(), mean(count).to_string()];
            let row = [name.as_str()].into_iter().chain(numbers.iter().map(String::as_str));
            sheet.write_record(row).map_err(of_csv)?;
        }
        sheet.flush()?;
    } else {
        let mut lines = vec![["category", "queries", "share", "mean gain"].map(str::to_owned).to_vec()];
        lines.extend(rows.iter().map(|(name, count)| {
            let share = format!("{:.1} %", 100.0 * share(count));
            vec![(*name).clone(), count.queries.to_string(), share, format!("{:+.4}", mean(count))]
        }));
        let right = Align::Right;
        write!(out, "{}", table(&lines, &[Align::Left, right, right, right]))?;
    }
    out.flush()?;
    let (filled, queries) = (tally.filled, tally.queries);
    ui.status(format!("{filled} of {queries} queries have a category in {}", name_of(sheet)));
    Ok(())
}

/// Reads a sheet. A cell may hold several categories, separated by semicolons; the query counts for each of
/// them.
fn read(path: &Path) -> crate::Result<Tally> {
    let input = Input::parse(path);
    let wrong = |line: Option<u64>, what: String| {
        let line = line.map_or(String::new(), |line| format!(":{line}"));
        Remedied::new(
            format!("{input}{line}: {what}"),
            "give a sheet that `toller diff --format csv` or its page wrote, with the column category filled in",
        )
    };
    let mut reader = csv::Reader::from_reader(InputReader::open(&input)?);
    let place = |error: &csv::Error| error.position().map(csv::Position::line);
    let headers = reader.headers().map_err(|error| wrong(place(&error), error.to_string()))?.clone();
    let column = |name: &str| {
        let found = headers.iter().position(|header| header.trim_start_matches('\u{feff}') == name);
        found.ok_or_else(|| wrong(None, format!("there is no column {name:?}")))
    };
    let (category, gain) = (column(CATEGORY)?, column(GAIN)?);
    let mut tally = Tally { queries: 0, filled: 0, categories: BTreeMap::new() };
    for row in reader.records() {
        let row = row.map_err(|error| wrong(place(&error), error.to_string()))?;
        let line = row.position().map(csv::Position::line);
        tally.queries += 1;
        let number = row.get(gain).unwrap_or_default();
        let gain: f64 =
            number.trim().parse().map_err(|_| wrong(line, format!("the gain {number:?} is not a number")))?;
        let names = row.get(category).unwrap_or_default().split(';').map(str::trim);
        let mut names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        tally.filled += usize::from(!names.is_empty());
        for name in names {
            let count = tally.categories.entry(name.to_owned()).or_default();
            count.queries += 1;
            count.gain += gain;
        }
    }
    Ok(tally)
}
