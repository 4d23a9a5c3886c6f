//! `toller depth`: a measure against the depth at which a run is cut or reranked, and the bound of the best
//! order.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::str::FromStr;

use serde_json::{Value, json};
use toller_eval::{Depth, DepthOrder, EvalOptions, Measure, depth_curve};
use toller_ir::{Qrels, Run, counted};
use toller_plot::{Axis, Curve, Curves, Figure, Panel, Style};

use crate::args::evaluation::check_runs;
use crate::args::measures::{MeasureList, of_all};
use crate::args::paths::{InputPath, Inputs};
use crate::args::plot::PlotArgs;
use crate::args::qrels::QrelsArgs;
use crate::args::report::{ReportArgs, ReportFormat};
use crate::args::runs::{RunInputArgs, run_names, warn_of_missing, warn_of_none_judged};
use crate::error::{Context, Remedied, of_csv};
use crate::table::{Align, table};
use crate::ui::Ui;

/// Measure runs at several depths of cutting or reranking.
///
/// The papers have such figures of the effect of depth. A run is cut at each depth. With --first-stage the
/// runs are rerankings of that run: at depth N the first N of its documents are reranked, and the others
/// follow in its order. So one deep reranking shows the result of shallower ones. R@1000 of several runs
/// shows what each stage of a pipeline still finds.
#[derive(Debug, clap::Args)]
pub struct DepthArgs {
    /// Runs (TREC, MS MARCO, Tevatron, DPR, DuReader, JSON or Parquet); `-` is stdin
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<InputPath>,

    #[command(flatten)]
    qrels: QrelsArgs,

    /// Measures, separated by blanks or commas
    #[arg(long, short, alias = "measures", value_name = "LIST", default_value = "nDCG@10")]
    measure: Vec<MeasureList>,

    /// Depths, ascending, separated by commas [default: 1,2,5,10 and so on to 1000, as deep as the runs]
    #[arg(long, value_name = "N,N...")]
    depths: Option<Depths>,

    /// The run that was reranked
    #[arg(long, value_name = "RUN")]
    first_stage: Option<InputPath>,

    /// Add the bound: the documents at each depth in the best order, as if a reranker knew the judgments
    #[arg(long)]
    oracle: bool,

    #[command(flatten)]
    plot: PlotArgs,

    #[command(flatten)]
    report: ReportArgs,

    /// The lowest grade that is relevant, for measures that do not name their own
    #[arg(long, short = 'l', value_name = "GRADE", default_value_t = 1)]
    relevance_level: u32,

    #[command(flatten)]
    input: RunInputArgs,
}

/// Depths as given on the command line.
#[derive(Clone, Debug)]
struct Depths(Vec<usize>);

impl FromStr for Depths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let depths: Option<Vec<usize>> = text.split(',').map(|depth| depth.trim().parse().ok()).collect();
        depths
            .filter(|depths| depths.first().is_some_and(|first| *first > 0))
            .filter(|depths| depths.windows(2).all(|pair| pair[0] < pair[1]))
            .map(Self)
            .ok_or_else(|| "numbers from 1, ascending, as in 10,20,50,100".to_owned())
    }
}

impl Depths {
    /// Up to 1,000 or to the longest ranking of `runs`, which is the last depth.
    fn as_far_as<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Self {
        let longest = runs.into_iter().flat_map(|run| run.queries.values()).map(Vec::len).max();
        let last = longest.unwrap_or_default().clamp(1, 1000);
        let steps = [1, 2, 5, 10, 20, 50, 100, 200, 500];
        Self(steps.into_iter().filter(|&step| step < last).chain([last]).collect())
    }
}

/// A curve of a measure.
struct Measured {
    name: String,
    style: Style,
    values: Vec<f64>,
}

/// Measures, and writes the result.
pub fn run(args: &DepthArgs, ui: &Ui) -> crate::Result<()> {
    Inputs::files(args.runs.iter().chain([&args.qrels.qrels]).chain(&args.first_stage)).check()?;
    check_runs(&args.runs)?;
    let plot = args.plot.open()?;
    let measures = of_all(&args.measure);
    let qrels = args.qrels.read(args.input.skip_bad_lines(), ui)?;
    let first = args.first_stage.as_ref().map(|path| args.input.read(path, ui)).transpose()?;
    let runs = args.input.read_each(&args.runs, ui)?;
    for (path, run) in args.runs.iter().zip(&runs) {
        warn_of_none_judged(&path.input().to_string(), run, &qrels, ui);
        warn_of_missing(&path.input().to_string(), run, &qrels, ui);
    }
    if let (Some(first), Some(path)) = (&first, &args.first_stage) {
        check_reranked(&args.runs, &runs, path, first, ui)?;
    }
    let depths = args.depths.clone().unwrap_or_else(|| Depths::as_far_as(runs.iter().chain(&first)));
    let depths = depths.0.as_slice();
    let mut results = Vec::with_capacity(measures.len());
    for measure in &measures {
        results.push((measure, curves(args, measure, depths, &qrels, &runs, first.as_ref())?));
    }
    let mut out = ui.out();
    match args.report.format(ui) {
        ReportFormat::Json => crate::json::write(&mut out, object(args, depths, &results))?,
        ReportFormat::Csv => csv(depths, &results, &mut out).map_err(of_csv)?,
        ReportFormat::Table => out.write_all(tables(args, depths, &results).as_bytes())?,
    }
    out.flush()?;
    plot.draw(|| figure(args, depths, &results, qrels.len()))
}

/// Refuses a run that is not a reranking of the first stage, and warns of hits that the first stage does not
/// have.
fn check_reranked(
    paths: &[InputPath],
    runs: &[Run],
    first_path: &InputPath,
    first: &Run,
    ui: &Ui,
) -> Result<(), Remedied> {
    for (path, run) in paths.iter().zip(runs) {
        let (mut all, mut foreign) = (0, 0);
        for (query, hits) in &run.queries {
            let known = first.queries.get(query).into_iter().flatten();
            let known: HashSet<&str> = known.map(|hit| hit.doc_id.as_str()).collect();
            all += hits.len();
            foreign += hits.iter().filter(|hit| !known.contains(hit.doc_id.as_str())).count();
        }
        let (run, first) = (path.input(), first_path.input());
        if foreign == all {
            return Err(Remedied::new(
                format!("{run} is not a reranking of {first}: they have no hit in common"),
                "give --first-stage the run that was reranked",
            ));
        }
        if foreign > 0 {
            ui.warning(format!(
                "{foreign} of {all} hits of {run} are not in {first}; is that the run that was reranked?"
            ));
        }
    }
    Ok(())
}

/// A curve for each run, then the bounds: one for a first stage, else one for each run.
fn curves(
    args: &DepthArgs,
    measure: &Measure,
    depths: &[usize],
    qrels: &Qrels,
    runs: &[Run],
    first: Option<&Run>,
) -> crate::Result<Vec<Measured>> {
    let options = EvalOptions { relevance_level: args.relevance_level, ..EvalOptions::default() };
    let depth = first.map_or(Depth::Cutoff, |first| Depth::Reranked { first });
    let names = run_names(&args.runs);
    let curve =
        |run: &Run, order: DepthOrder| depth_curve(qrels, run, measure, depths, (depth, order), &options);
    let mut curves = Vec::new();
    for (name, run) in names.iter().zip(runs) {
        let values = curve(run, DepthOrder::Run).context(format!("cannot evaluate {name}"))?;
        curves.push(Measured { name: name.clone(), style: Style::Measured, values });
    }
    if !args.oracle {
        return Ok(curves);
    }
    let bounds: Vec<(String, &Run, Style)> = match (first, &args.first_stage) {
        (Some(first), Some(path)) => {
            vec![(run_names(std::slice::from_ref(path)).concat(), first, Style::Bound)]
        }
        _ => names
            .into_iter()
            .zip(runs)
            .zip(0..)
            .map(|((name, run), at)| (name, run, Style::BoundOf(at)))
            .collect(),
    };
    for (name, run, style) in bounds {
        let values = curve(run, DepthOrder::Oracle).context(format!("cannot evaluate {name}"))?;
        curves.push(Measured { name: format!("{name}, best order"), style, values });
    }
    Ok(curves)
}

fn tables(args: &DepthArgs, depths: &[usize], results: &[(&Measure, Vec<Measured>)]) -> String {
    let digits = args.report.digits();
    let mut tables = Vec::new();
    for (measure, curves) in results {
        let head = [format!("{measure} at")].into_iter().chain(depths.iter().map(usize::to_string));
        let mut rows = vec![head.collect::<Vec<_>>()];
        for curve in curves {
            let cells = curve.values.iter().map(|value| measure.format(*value, digits));
            rows.push([curve.name.clone()].into_iter().chain(cells).collect());
        }
        let align = [Align::Left].into_iter().chain(depths.iter().map(|_| Align::Right));
        tables.push(table(&rows, &align.collect::<Vec<_>>()));
    }
    tables.join("\n")
}

fn object(args: &DepthArgs, depths: &[usize], results: &[(&Measure, Vec<Measured>)]) -> Value {
    let by_measure: BTreeMap<String, _> = results
        .iter()
        .map(|(measure, curves)| {
            let curves = curves.iter().map(
                |curve| json!({"name": curve.name, "best_order": curve.style != Style::Measured, "values": curve.values}),
            );
            (measure.to_string(), curves.collect::<Vec<_>>())
        })
        .collect();
    json!({
        "depths": depths,
        "first_stage": args.first_stage.as_ref().map(|path| path.display().to_string()),
        "measures": by_measure,
    })
}

fn csv(depths: &[usize], results: &[(&Measure, Vec<Measured>)], out: &mut impl Write) -> csv::Result<()> {
    let mut rows = csv::Writer::from_writer(out);
    rows.write_record(["measure", "curve", "depth", "value"])?;
    for (measure, curves) in results {
        for curve in curves {
            for (depth, value) in depths.iter().zip(&curve.values) {
                rows.write_record([
                    &measure.to_string(),
                    &curve.name,
                    &depth.to_string(),
                    &value.to_string(),
                ])?;
            }
        }
    }
    Ok(rows.flush()?)
}

fn figure(
    args: &DepthArgs,
    depths: &[usize],
    results: &[(&Measure, Vec<Measured>)],
    queries: usize,
) -> Figure {
    let depth_label = if args.first_stage.is_some() { "documents reranked" } else { "depth" };
    let panel = |(measure, curves): &(&Measure, Vec<Measured>)| {
        let curve = |curve: &Measured| Curve {
            name: curve.name.clone(),
            points: depths.iter().map(|depth| *depth as f64).zip(curve.values.iter().copied()).collect(),
            style: curve.style,
        };
        let curves = curves.iter().map(curve).collect();
        let (x, y) = (Axis::log(depth_label), Axis::linear(measure.to_string()));
        Panel { title: measure.to_string(), content: Curves { x, y, curves }.into() }
    };
    let title = match &args.first_stage {
        Some(first) => format!("Reranking {}", run_names(std::slice::from_ref(first)).concat()),
        None => "The effect of depth".to_owned(),
    };
    let subtitle = counted(queries, "judged query");
    Figure { title, subtitle, panels: results.iter().map(panel).collect() }
}
