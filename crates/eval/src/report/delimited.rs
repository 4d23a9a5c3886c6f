//! The report as comma-separated values: for each run, a row per query if requested, and a row for all
//! queries, whose query is `all`.

use std::io::{self, Write};

use super::{Report, ReportOptions};
use crate::compare::Comparison;
use crate::measure::Measure;

pub(super) fn write(report: &Report, out: &mut impl Write, options: ReportOptions) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(header(report))?;
    let compared_columns = 3 * compared_measures(report).count();
    for (index, run) in report.runs.iter().enumerate() {
        let evaluation = &run.evaluation;
        let row = |query: &str, values: &[f64]| -> Vec<String> {
            let values = evaluation
                .measures
                .iter()
                .zip(values)
                .map(|(measure, value)| measure.format(*value, options.digits));
            [run.name.clone(), query.to_owned()].into_iter().chain(values).collect()
        };
        if options.per_query {
            for query in &evaluation.per_query {
                let mut cells = row(&query.query_id, &query.values);
                cells.resize(cells.len() + compared_columns, String::new());
                writer.write_record(cells)?;
            }
        }
        let mut cells = row("all", &evaluation.aggregates);
        let full = cells.len() + compared_columns;
        cells.extend(
            report.comparisons_of(index).flat_map(|comparison| comparison_cells(comparison, options.digits)),
        );
        // The baseline has nothing to be compared with.
        cells.resize(full, String::new());
        writer.write_record(cells)?;
    }
    writer.flush()
}

fn header(report: &Report) -> Vec<String> {
    let mut header = vec!["run".to_owned(), "query".to_owned()];
    header.extend(report.measure_names());
    for measure in compared_measures(report) {
        header.extend(
            ["difference", "t-test p", "randomization p"].map(|column| format!("{measure} {column}")),
        );
    }
    header
}

/// The measures that runs are compared by.
fn compared_measures(report: &Report) -> impl Iterator<Item = &Measure> {
    let measures = match (&report.comparisons, report.runs.first()) {
        (Some(_), Some(run)) => run.evaluation.measures.as_slice(),
        _ => &[],
    };
    measures.iter().filter(|measure| !measure.is_count())
}

/// The p-values are the corrected ones.
fn comparison_cells(comparison: &Comparison, digits: usize) -> [String; 3] {
    [
        format!("{:.digits$}", comparison.t_test.mean_difference),
        format!("{}", comparison.adjusted_t_test_p),
        format!("{}", comparison.adjusted_randomization_p),
    ]
}
