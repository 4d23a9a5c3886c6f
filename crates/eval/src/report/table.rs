//! The report as aligned columns.

use std::io::{self, Write};

use super::{Report, ReportOptions, format_p};

pub(super) fn write(report: &Report, out: &mut impl Write, options: ReportOptions) -> io::Result<()> {
    if options.per_query {
        write_aligned(out, &per_query(report, options.digits), 2)?;
        writeln!(out)?;
    }
    write_aligned(out, &runs(report, options.digits), 1)?;
    if let Some(comparisons) = comparisons(report, options.digits) {
        let baseline = report.runs.first().map_or("", |run| run.name.as_str());
        writeln!(out, "\ncompared with {baseline}:")?;
        write_aligned(out, &comparisons, 2)?;
    }
    Ok(())
}

/// A row a run.
fn runs(report: &Report, digits: usize) -> Vec<Vec<String>> {
    let mut rows =
        vec![["run".to_owned(), "queries".to_owned()].into_iter().chain(report.measure_names()).collect()];
    for run in &report.runs {
        let evaluation = &run.evaluation;
        let mut row = vec![run.name.clone(), evaluation.per_query.len().to_string()];
        let values = evaluation.measures.iter().zip(&evaluation.aggregates);
        row.extend(values.map(|(measure, value)| measure.format(*value, digits)));
        rows.push(row);
    }
    rows
}

/// A row for each query of each run.
fn per_query(report: &Report, digits: usize) -> Vec<Vec<String>> {
    let mut rows =
        vec![["run".to_owned(), "query".to_owned()].into_iter().chain(report.measure_names()).collect()];
    for run in &report.runs {
        for query in &run.evaluation.per_query {
            let mut row = vec![run.name.clone(), query.query_id.clone()];
            let values = run.evaluation.measures.iter().zip(&query.values);
            row.extend(values.map(|(measure, value)| measure.format(*value, digits)));
            rows.push(row);
        }
    }
    rows
}

/// A row for each comparison, if there are any.
fn comparisons(report: &Report, digits: usize) -> Option<Vec<Vec<String>>> {
    report.comparisons.as_ref()?;
    let header = [
        "run", "measure", "difference", "wins", "ties", "losses", "t", "p (t)", "p (rand.)", "adj. p (t)",
        "adj. p (rand.)",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for (index, run) in report.runs.iter().enumerate() {
        for comparison in report.comparisons_of(index) {
            rows.push(vec![
                run.name.clone(),
                comparison.measure.to_string(),
                format!("{:+.digits$}", comparison.t_test.mean_difference),
                comparison.wins.to_string(),
                comparison.ties.to_string(),
                comparison.losses.to_string(),
                format!("{:.3}", comparison.t_test.t),
                format_p(comparison.t_test.p_value),
                format_p(comparison.randomization.p_value),
                format_p(comparison.adjusted_t_test_p),
                format_p(comparison.adjusted_randomization_p),
            ]);
        }
    }
    Some(rows)
}

/// Writes rows with their columns aligned: the first `left` of them to the left, the others, which hold
/// numbers, to the right.
fn write_aligned(out: &mut impl Write, rows: &[Vec<String>], left: usize) -> io::Result<()> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if column > 0 {
                line.push_str("  ");
            }
            let padding = " ".repeat(width - cell.chars().count());
            let (before, after) = if column < left { ("", padding.as_str()) } else { (padding.as_str(), "") };
            line.extend([before, cell, after]);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
