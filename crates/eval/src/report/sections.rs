//! A report as tables with titles and notes, for the formats that people read.

use super::grid::{Cell, Grid};
use super::marks::{letter, marks};
use super::rows::{ALL, Row, rows};
use super::{Report, ReportOptions, format_p};
use crate::compare::{PairComparison, Pairs, Test};
use crate::exact;
use crate::measure::Measure;
use crate::stats::Correction;

/// A table with what is said about it.
pub(super) struct Section {
    pub(super) title: Option<String>,
    pub(super) grid: Grid,
    pub(super) notes: Vec<String>,
}

impl Section {
    fn plain(grid: Grid) -> Self {
        Self { title: None, grid, notes: Vec::new() }
    }
}

/// The tables of a report.
pub(super) fn sections(report: &Report, options: ReportOptions) -> Vec<Section> {
    let mut sections = Vec::new();
    if options.per_query {
        sections.push(Section::plain(per_query(report, options.digits)));
    }
    let mut runs = Section::plain(runs(report, options.digits));
    let Some(compared) = &report.comparisons else {
        sections.push(runs);
        return sections;
    };
    runs.notes = vec![note(report)];
    sections.push(runs);
    if compared.which == Pairs::All && report.runs.len() > 2 {
        sections.extend(compared_measures(report).map(|measure| matrix(report, measure, options.digits)));
    }
    sections.push(Section {
        title: Some("comparisons".into()),
        grid: pairs(report, options.digits),
        notes: note_of_queries(report).into_iter().collect(),
    });
    sections
}

/// The columns that say what a row is of.
fn label_titles(report: &Report) -> Vec<String> {
    let mut titles = Vec::new();
    if report.comparisons.is_some() {
        titles.push("#".to_owned());
    }
    titles.push("run".to_owned());
    if report.has_qrels() {
        titles.push("qrels".to_owned());
    }
    titles
}

fn labels(report: &Report, row: &Row<'_>) -> Vec<Cell> {
    let mut labels: Vec<Cell> = Vec::new();
    if report.comparisons.is_some() {
        labels.push(letter(row.index).into());
    }
    labels.push(row.run.name.as_str().into());
    if report.has_qrels() {
        labels.push(row.run.qrels.as_deref().unwrap_or_default().into());
    }
    labels
}

/// A row for each run, or for each group of each run.
fn runs(report: &Report, digits: usize) -> Grid {
    let mut header = label_titles(report);
    let groups = report.runs.iter().any(|run| !run.groups.is_empty());
    if groups {
        header.push("group".into());
    }
    let left = header.len();
    header.push("queries".into());
    header.extend(report.measure_names());
    let mut grid = Grid::new(header, left);
    for row in rows(report) {
        let mut cells = labels(report, &row);
        if groups {
            cells.push(row.group.into());
        }
        cells.push(row.queries.to_string().into());
        let all = row.group == ALL;
        for (at, (measure, value)) in row.run.evaluation.measures.iter().zip(&row.values).enumerate() {
            cells.push(Cell {
                text: measure.format(*value, digits),
                marks: if all { marks(report, row.index, at) } else { String::new() },
                best: all && is_best(report, &row, at, *value, measure, digits),
            });
        }
        grid.rows.push(cells);
    }
    grid
}

/// Whether no run has a higher value, as printed, by the same judgments; no for what is not better if higher.
fn is_best(report: &Report, row: &Row<'_>, at: usize, value: f64, measure: &Measure, digits: usize) -> bool {
    let peers = || report.runs.iter().filter(|run| run.qrels == row.run.qrels);
    let highest = peers().map(|run| run.evaluation.aggregates[at]).fold(f64::NEG_INFINITY, f64::max);
    let same = measure.format(value, digits) == measure.format(highest, digits);
    peers().count() > 1 && !measure.is_count() && !measure.is_of_judging() && same
}

/// A row for each query of each run.
fn per_query(report: &Report, digits: usize) -> Grid {
    let mut header = vec!["run".to_owned()];
    if report.has_qrels() {
        header.push("qrels".into());
    }
    header.push("query".into());
    let left = header.len();
    header.extend(report.measure_names());
    let mut grid = Grid::new(header, left);
    for run in &report.runs {
        for query in &run.evaluation.per_query {
            let mut cells: Vec<Cell> = vec![run.name.as_str().into()];
            if report.has_qrels() {
                cells.push(run.qrels.as_deref().unwrap_or_default().into());
            }
            cells.push(query.query_id.as_str().into());
            let values = run.evaluation.measures.iter().zip(&query.values);
            cells.extend(values.map(|(measure, value)| measure.format(*value, digits).into()));
            grid.rows.push(cells);
        }
    }
    grid
}

/// What the marks mean.
fn note(report: &Report) -> String {
    let Some(compared) = &report.comparisons else { return String::new() };
    let options = &compared.options;
    let test = options.tests.first().copied().unwrap_or(Test::T);
    let corrected = match (test, options.correction) {
        (Test::Tukey, _) => "for all pairs together",
        (_, Correction::None) => "not corrected",
        (_, Correction::Bonferroni) => "corrected by Bonferroni's method",
        (_, Correction::Holm) => "corrected by Holm's method",
        (_, Correction::BenjaminiHochberg) => "corrected by Benjamini and Hochberg's method",
    };
    // Without the noise of the subtraction.
    let alpha = exact((options.alpha() * 1e12).round() / 1e12);
    format!(
        "Letters name the runs that a value is significantly above: {}, p < {alpha}, {corrected}.",
        test.name()
    )
}

/// On how many queries pairs are compared, where a run has others, too.
fn note_of_queries(report: &Report) -> Option<String> {
    let pairs = &report.comparisons.as_ref()?.pairs;
    let is_part = |pair: &&PairComparison| {
        [pair.run, pair.baseline]
            .iter()
            .any(|run| report.runs[*run].evaluation.per_query.len() > pair.queries)
    };
    pairs.iter().find(is_part)?;
    let counts = || pairs.iter().map(|pair| pair.queries);
    let (least, most) = (counts().min()?, counts().max()?);
    let queries = if least == most { least.to_string() } else { format!("{least} to {most}") };
    Some(format!("Runs are compared on the queries that both have: {queries}."))
}

/// The measures that were compared by, each once.
fn compared_measures(report: &Report) -> impl Iterator<Item = &Measure> {
    let compared = report.comparisons.iter().flat_map(|compared| &compared.pairs);
    let mut last: Option<&Measure> = None;
    compared.map(|pair| &pair.measure).filter(move |measure| last.replace(measure) != Some(*measure))
}

/// The differences of all pairs by one measure: the run of the row less the run of the column. A star marks
/// what is significant.
fn matrix<'a>(report: &'a Report, measure: &'a Measure, digits: usize) -> Section {
    let count = report.runs.len();
    let mut header = vec![String::new(), "run".to_owned()];
    header.extend((0..count).map(letter));
    let mut grid = Grid::new(header, 2);
    let compared = report.comparisons.iter();
    let alpha = compared.clone().map(|compared| compared.options.alpha()).next().unwrap_or_default();
    let pairs: Vec<&PairComparison> =
        compared.flat_map(|compared| &compared.pairs).filter(|pair| pair.measure == *measure).collect();
    for row in 0..count {
        let mut cells: Vec<Cell> = vec![letter(row).into(), report.runs[row].name.as_str().into()];
        for column in 0..count {
            let of = |a: usize, b: usize| pairs.iter().find(|pair| (pair.baseline, pair.run) == (a, b));
            let (pair, sign) = match (of(column, row), of(row, column)) {
                (Some(pair), _) => (pair, 1.0),
                (None, Some(pair)) => (pair, -1.0),
                (None, None) => {
                    cells.push(Cell::default());
                    continue;
                }
            };
            let difference = sign * pair.t_test.mean_difference;
            let marks = if pair.is_significant(alpha) { "*" } else { "" };
            cells.push(Cell { text: format!("{difference:+.digits$}"), marks: marks.into(), best: false });
        }
        grid.rows.push(cells);
    }
    let title = format!("differences by {measure}: row less column");
    Section { title: Some(title), grid, notes: vec!["* significant".into()] }
}

/// A row for each comparison.
fn pairs(report: &Report, digits: usize) -> Grid {
    let Some(compared) = &report.comparisons else { return Grid::default() };
    let options = &compared.options;
    let percent = format!("{}%", (options.confidence * 1e4).round() / 100.0);
    let mut header: Vec<String> = ["measure", "run", "baseline", "difference"].map(str::to_owned).to_vec();
    header.extend([format!("{percent} low"), format!("{percent} high")]);
    header.extend(["d", "wins", "ties", "losses"].map(str::to_owned));
    for test in &options.tests {
        header.push(format!("p ({})", test.name()));
        if *test != Test::Tukey {
            header.push("adj. p".to_owned());
        }
    }
    if let Some(margin) = options.margin {
        header.extend([format!("p (within {margin})"), "adj. p".to_owned()]);
    }
    header.extend(["needs", "shows"].map(str::to_owned));
    let mut grid = Grid::new(header, 3);
    for pair in &compared.pairs {
        let name = |run: usize| report.runs[run].name.as_str();
        let signed = |value: f64| format!("{value:+.digits$}");
        let mut cells: Vec<String> = vec![
            pair.measure.to_string(),
            name(pair.run).to_owned(),
            name(pair.baseline).to_owned(),
            signed(pair.t_test.mean_difference),
            signed(pair.interval.low),
            signed(pair.interval.high),
            format!("{:+.3}", pair.effect.cohens_d),
        ];
        cells.extend([pair.wins, pair.ties, pair.losses].map(|count| count.to_string()));
        for tested in &pair.tests {
            cells.push(format_p(tested.outcome.p_value()));
            if tested.outcome.test() != Test::Tukey {
                cells.push(format_p(tested.adjusted_p));
            }
        }
        if let (Some(equivalence), Some(adjusted)) = (pair.equivalence, pair.adjusted_equivalence_p) {
            cells.extend([format_p(equivalence.p_value), format_p(adjusted)]);
        }
        cells.push(pair.queries_needed.map_or_else(|| "-".to_owned(), |queries| queries.to_string()));
        cells.push(pair.detectable_difference.map_or_else(|| "-".to_owned(), |by| format!("{by:.digits$}")));
        grid.rows.push(cells.into_iter().map(Cell::from).collect());
    }
    grid
}
