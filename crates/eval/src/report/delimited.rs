//! The report as comma-separated values with all digits: for each run, a row per query if requested, a row
//! per group if there are any, and a row for all queries, whose query is `all`.

use std::io::{self, Write};

use super::rows::{ALL, rows};
use super::{Report, ReportOptions};
use crate::compare::{PairComparison, Pairs};
use crate::exact;
use crate::measure::Measure;

pub(super) fn write(report: &Report, out: &mut impl Write, options: ReportOptions) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let groups = report.runs.iter().any(|run| !run.groups.is_empty());
    let header = header(report, groups);
    writer.write_record(&header)?;
    let labels = |run: usize, group: &str, query: &str| {
        let mut labels = vec![report.runs[run].name.clone()];
        if report.has_qrels() {
            labels.push(report.runs[run].qrels.clone().unwrap_or_default());
        }
        if groups {
            labels.push(group.to_owned());
        }
        labels.push(query.to_owned());
        labels
    };
    let values = |measures: &[Measure], values: &[f64]| -> Vec<String> {
        measures.iter().zip(values).map(|(measure, value)| measure.format_exact(*value)).collect()
    };
    for (index, run) in report.runs.iter().enumerate().filter(|_| options.per_query) {
        for query in &run.evaluation.per_query {
            let mut cells = labels(index, "", &query.query_id);
            cells.extend(values(&run.evaluation.measures, &query.values));
            cells.resize(header.len(), String::new());
            writer.write_record(cells)?;
        }
    }
    for row in rows(report) {
        let mut cells = labels(row.index, row.group, ALL);
        cells.extend(values(&row.run.evaluation.measures, &row.values));
        if row.group == ALL {
            let comparisons = report.comparisons_of(row.index).filter(|_| has_baseline(report));
            cells.extend(comparisons.flat_map(comparison_cells));
        }
        // The baseline has nothing to be compared with.
        cells.resize(header.len(), String::new());
        writer.write_record(cells)?;
    }
    writer.flush()
}

fn header(report: &Report, groups: bool) -> Vec<String> {
    let mut header = vec!["run".to_owned()];
    if report.has_qrels() {
        header.push("qrels".to_owned());
    }
    if groups {
        header.push("group".to_owned());
    }
    header.push("query".to_owned());
    header.extend(report.measure_names());
    let measures = report.runs.first().map_or(&[][..], |run| &run.evaluation.measures);
    let tests = report.comparisons.iter().flat_map(|compared| &compared.options.tests);
    let tests: Vec<_> = tests.map(|test| format!("{} p", test.name())).collect();
    for measure in measures.iter().filter(|measure| has_baseline(report) && measure.is_mean()) {
        header.push(format!("{measure} difference"));
        header.extend(tests.iter().map(|test| format!("{measure} {test}")));
    }
    header
}

/// Whether runs were compared with one run, so that each has one comparison by each measure.
fn has_baseline(report: &Report) -> bool {
    report.comparisons.as_ref().is_some_and(|compared| compared.which != Pairs::All)
}

/// The p-values are the corrected ones.
fn comparison_cells(comparison: &PairComparison) -> Vec<String> {
    let difference = exact(comparison.t_test.mean_difference);
    let p_values = comparison.tests.iter().map(|tested| exact(tested.adjusted_p));
    std::iter::once(difference).chain(p_values).collect()
}

/// A row for each pair of runs and each measure.
pub(super) fn write_comparisons(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let Some(compared) = &report.comparisons else { return writer.flush() };
    let mut header: Vec<String> = [
        "measure", "run", "baseline", "queries", "run mean", "baseline mean", "difference", "low", "high",
        "cohens d", "hedges g", "wins", "ties", "losses",
    ]
    .map(str::to_owned)
    .to_vec();
    for test in &compared.options.tests {
        header.extend([format!("{} p", test.name()), format!("{} adjusted p", test.name())]);
    }
    header.extend(
        ["equivalence p", "equivalence adjusted p", "queries needed", "detectable difference"]
            .map(str::to_owned),
    );
    writer.write_record(&header)?;
    for pair in &compared.pairs {
        let name = |run: usize| report.runs[run].name.clone();
        let mut cells = vec![pair.measure.to_string(), name(pair.run), name(pair.baseline)];
        cells.push(pair.queries.to_string());
        let [baseline, run] = pair.means;
        let (interval, effect) = (pair.interval, pair.effect);
        let numbers = [run, baseline, pair.t_test.mean_difference, interval.low, interval.high];
        cells.extend(numbers.iter().chain(&[effect.cohens_d, effect.hedges_g]).map(|number| exact(*number)));
        cells.extend([pair.wins, pair.ties, pair.losses].map(|count| count.to_string()));
        for tested in &pair.tests {
            cells.extend([tested.outcome.p_value(), tested.adjusted_p].map(exact));
        }
        let or_empty = |value: Option<f64>| value.map_or_else(String::new, exact);
        cells.push(or_empty(pair.equivalence.map(|equivalence| equivalence.p_value)));
        cells.push(or_empty(pair.adjusted_equivalence_p));
        cells.push(pair.queries_needed.map_or_else(String::new, |queries| queries.to_string()));
        cells.push(or_empty(pair.detectable_difference));
        writer.write_record(cells)?;
    }
    writer.flush()
}
