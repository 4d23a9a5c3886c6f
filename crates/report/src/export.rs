//! The data of a report as files: CSV for each table, and everything as JSON.

use std::borrow::Cow;

use toller_eval::exact;

use crate::data::{Report, RunSummary};
use crate::error::ReportError;

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Its name.
    pub name: &'static str,
    /// Its content.
    pub content: Vec<u8>,
}

impl DataFile {
    /// What a file of this name begins with, whatever is in the report: a file with another beginning is
    /// none.
    #[must_use]
    pub fn start(&self) -> &[u8] {
        let end = match self.name {
            "report.json" => b':',
            // Each measure is a column.
            "queries.csv" => return b"query_id,run,",
            _ => b'\n',
        };
        self.content.split(|&byte| byte == end).next().unwrap_or_default()
    }
}

/// Rows of cells.
type Rows<'a> = Box<dyn Iterator<Item = Vec<Cow<'a, str>>> + 'a>;

/// The files of a report.
///
/// # Errors
/// If they cannot be written.
pub fn data_files(report: &Report) -> Result<Vec<DataFile>, ReportError> {
    let mut json = serde_json::to_vec_pretty(report)?;
    json.push(b'\n');
    Ok(vec![
        DataFile { name: "report.json", content: json },
        file("measures.csv", &["run", "file", "measure", "value", "low", "high"], measures(report))?,
        file(
            "pairs.csv",
            &["measure", "run", "other", "difference", "better", "same", "worse", "p", "corrected_p"],
            pairs(report),
        )?,
        file("depth.csv", &["measure", "run", "k", "value"], depth(report))?,
        file("ranks.csv", &["run", "from", "to", "queries"], ranks(report))?,
        file("precision-recall.csv", &["run", "recall", "precision"], precision_recall(report))?,
        file("groups.csv", &["group", "queries", "run", "value", "relative"], groups(report))?,
        per_query(report)?,
    ])
}

fn file(name: &'static str, head: &[&str], rows: Rows<'_>) -> Result<DataFile, ReportError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(head)?;
    for row in rows {
        writer.write_record(row.iter().map(|cell| cell.as_bytes()))?;
    }
    let content = writer.into_inner().map_err(|error| ReportError::Data(error.to_string()))?;
    Ok(DataFile { name, content })
}

fn cell<'a>(value: impl ToString) -> Cow<'a, str> {
    value.to_string().into()
}

fn measures(report: &Report) -> Rows<'_> {
    let of_run = |run: &'_ RunSummary| {
        let end = |interval: Option<[f64; 2]>, at: usize| {
            interval.map_or_else(String::new, |ends| ends[at].to_string())
        };
        let rows = report.measures.iter().zip(&run.estimates).map(|(measure, estimate)| {
            let [low, high] = [0, 1].map(|at| cell(end(estimate.interval, at)));
            vec![cell(&run.name), cell(&run.file), cell(&measure.name), cell(estimate.value), low, high]
        });
        rows.collect::<Vec<_>>()
    };
    Box::new(report.runs.iter().flat_map(of_run))
}

fn pairs(report: &Report) -> Rows<'_> {
    Box::new(report.pairs.iter().flat_map(|pairs| {
        pairs.pairs.iter().map(|pair| {
            let [other, run] = [pair.first, pair.second].map(|run| Cow::from(&report.runs[run].name));
            let counts = [pair.wins, pair.ties, pair.losses].map(cell);
            let p_values = [pair.p, pair.corrected_p].map(|p| Cow::from(exact(p)));
            let start = [Cow::from(&pairs.measure), run, other, cell(pair.difference)];
            start.into_iter().chain(counts).chain(p_values).collect()
        })
    }))
}

fn depth(report: &Report) -> Rows<'_> {
    Box::new(report.curves.iter().flat_map(move |curves| {
        curves.values.iter().zip(&report.runs).flat_map(move |(values, run)| {
            curves.depths.iter().zip(values).map(move |(depth, value)| {
                vec![Cow::from(&curves.measure), Cow::from(&run.name), cell(depth), cell(value)]
            })
        })
    }))
}

fn ranks(report: &Report) -> Rows<'_> {
    let (ranks, width) = (&report.ranks, report.ranks.width);
    Box::new(report.runs.iter().zip(ranks.found.iter().zip(&ranks.not_found)).flat_map(
        move |(run, (found, none))| {
            let bin = move |(at, count): (usize, &usize)| {
                vec![Cow::from(&run.name), cell(at * width + 1), cell((at + 1) * width), cell(count)]
            };
            let not_found = vec![Cow::from(&run.name), "".into(), "".into(), cell(none)];
            found.iter().enumerate().map(bin).chain([not_found])
        },
    ))
}

fn precision_recall(report: &Report) -> Rows<'_> {
    Box::new(report.runs.iter().zip(&report.precision_recall).flat_map(|(run, values)| {
        let row = |(tenths, value): (u32, &f64)| {
            vec![Cow::from(&run.name), cell(f64::from(tenths) / 10.0), cell(value)]
        };
        (0..).zip(values).map(row)
    }))
}

fn groups(report: &Report) -> Rows<'_> {
    Box::new(report.groups.iter().flat_map(|groups| &groups.groups).flat_map(|group| {
        report.runs.iter().enumerate().zip(&group.means).map(|((at, run), mean)| {
            let relative = group.relative(at).map_or_else(String::new, |relative| relative.to_string());
            vec![
                Cow::from(&group.name),
                cell(group.queries),
                Cow::from(&run.name),
                cell(mean),
                relative.into(),
            ]
        })
    }))
}

/// Every value of every query: a row for each query and run, a column for each measure.
fn per_query(report: &Report) -> Result<DataFile, ReportError> {
    let head =
        ["query_id", "run"].into_iter().chain(report.measures.iter().map(|measure| measure.name.as_str()));
    let rows = report.queries.iter().enumerate().flat_map(|(query, id)| {
        report.runs.iter().zip(&report.values).map(move |(run, values)| {
            let values = values.iter().map(|values| values.get(query).map_or_else(|| "".into(), cell));
            [Cow::from(id), Cow::from(&run.name)].into_iter().chain(values).collect()
        })
    });
    file("queries.csv", &head.collect::<Vec<_>>(), Box::new(rows))
}
