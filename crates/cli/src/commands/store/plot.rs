//! `toller store plot`: a picture of vectors.

use std::collections::HashMap;

use indexmap::IndexMap;
use serde_json::json;
use toller_corpus::Sample;
use toller_ir::counted;
use toller_plot::{Figure, Panel, PlotError, PointSet, Scatter, Tsne};
use toller_store::Store;

use crate::args::id_lines::pairs;
use crate::args::paths::{InputPath, Inputs, OutputPath, last_part};
use crate::args::plot::{Plot, svg};
use crate::engine;
use crate::error::Remedied;
use crate::ui::Ui;

/// Draw vectors as points, near where they are near (t-SNE), as SVG
///
/// Each store has a colour, as passages and questions; with --groups, each group of documents. Distances are
/// Euclidean (van der Maaten and Hinton 2008). The distances between groups, and the sizes of groups, mean
/// little: t-SNE keeps only neighbourhoods. To compare two models, draw a picture for each.
#[derive(Debug, clap::Args)]
pub struct PlotArgs {
    /// Stores of one model
    #[arg(value_name = "STORE", required = true)]
    stores: Vec<InputPath>,

    /// SVG file to write
    #[arg(short, long, value_name = "FILE.svg", value_parser = svg())]
    output: OutputPath,

    /// Draw only these documents, with a colour for each group: each line has an identifier and the name of
    /// its group, separated by a tab
    #[arg(long, value_name = "FILE")]
    groups: Option<InputPath>,

    /// Vectors of each colour, at most, drawn by their identifiers. Time grows with the square of all
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1000))]
    sample: u32,

    /// About how many neighbours of a vector stay its neighbours
    #[arg(long, value_name = "P", default_value_t = 30.0)]
    perplexity: f32,

    /// Another seed, another sample and another picture
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Do not verify checksums
    #[arg(long)]
    no_verify: bool,
}

/// What to do about stores that cannot be drawn together.
const ONE_MODEL: &str = "give stores of one model";

/// A vector in the picture.
struct Point<'a> {
    set: &'a str,
    id: String,
    place: (f64, f64),
}

/// Draws.
pub fn run(args: &PlotArgs, ui: &Ui) -> crate::Result<()> {
    Inputs::files(&args.groups).check()?;
    let plot = Plot::create("--output", &args.output)?;
    let groups = args.groups.as_ref().map(|file| pairs(file, "an identifier and the name of its group"));
    let groups = groups.transpose()?;
    let engine = engine::open(ui)?;
    let mut stores = Vec::with_capacity(args.stores.len());
    for path in &args.stores {
        stores.push(engine.open_store(&[path], !args.no_verify)?);
    }
    let Some((first, others)) = stores.split_first() else { return Ok(()) };
    let model = &first.manifest().spec.model;
    for store in others {
        store.check_known_model(model).map_err(|error| Remedied::new(error.to_string(), ONE_MODEL))?;
        if store.dim() != first.dim() {
            let message =
                format!("the stores have vectors of {} and {} dimensions", first.dim(), store.dim());
            return Err(Remedied::new(message, ONE_MODEL).into());
        }
    }

    let names: Vec<String> = args.stores.iter().map(|path| path.display().to_string()).collect();
    let groups: Option<HashMap<&str, &str>> =
        groups.as_ref().map(|pairs| pairs.iter().map(|(id, group)| (id.as_str(), group.as_str())).collect());
    let mut sets: IndexMap<&str, Sample<(String, Vec<f32>)>> = IndexMap::new();
    for (number, (store, name)) in stores.iter().zip(&names).enumerate() {
        store.each_vector(|id, vector| {
            let set = groups.as_ref().map_or(Some(name.as_str()), |groups| groups.get(id).copied());
            if let Some(set) = set {
                let sample = sets.entry(set).or_insert_with(|| Sample::new(args.sample as usize, args.seed));
                // A question and a passage may have one identifier.
                sample.offer(&format!("{number}\t{id}"), || (id.to_owned(), vector.to_vec()));
            }
        });
    }
    if sets.len() > Scatter::MOST_SETS {
        let (panel, sets) = (args.output.display().to_string(), sets.len());
        return Err(PlotError::TooManySets { panel, sets }.into());
    }
    let mut points: Vec<Point<'_>> = Vec::new();
    let mut vectors = Vec::new();
    for (set, sample) in sets {
        for (_, (id, vector)) in sample.into_records() {
            points.push(Point { set, id, place: (0.0, 0.0) });
            vectors.extend(vector);
        }
    }
    if points.is_empty() {
        let message = "the stores have none of these documents";
        return Err(Remedied::new(message, "give stores with vectors, and the identifiers in them").into());
    }
    let tsne = Tsne { perplexity: args.perplexity, seed: args.seed, ..Tsne::default() };
    for (point, place) in points.iter_mut().zip(tsne.place(&vectors, first.dim())?) {
        point.place = place;
    }
    plot.draw(|| figure(args, first, &points))?;
    ui.status(format!("drew {} in {}", counted(points.len(), "vector"), args.output.display()));
    ui.json(|| {
        let point =
            |Point { set, id, place: (x, y) }: &Point<'_>| json!({"set": set, "id": id, "x": x, "y": y});
        json!({
            "output": args.output.display().to_string(),
            "perplexity": args.perplexity,
            "points": points.iter().map(point).collect::<Vec<_>>(),
        })
    })
}

/// The picture of points that are next to the others of their sets.
fn figure(args: &PlotArgs, store: &Store, points: &[Point<'_>]) -> Figure {
    let sets = points.chunk_by(|one, next| one.set == next.set).map(|points| PointSet {
        name: points.first().map_or("", |first| first.set).to_owned(),
        points: points.iter().map(|point| point.place).collect(),
    });
    let spec = &store.manifest().spec;
    Figure {
        title: format!("Vectors of {}", last_part(&spec.model.name)),
        subtitle: format!("{} of {}", counted(points.len(), "vector"), counted(spec.dim, "dimension")),
        panels: vec![Panel {
            title: format!("t-SNE, perplexity {}", args.perplexity),
            content: Scatter { sets: sets.collect() }.into(),
        }],
    }
}
