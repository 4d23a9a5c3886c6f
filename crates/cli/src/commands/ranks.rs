//! `toller ranks`: measures over the full ranking of stores.

use std::collections::{HashMap, HashSet};

use toller_engine::Device;
use toller_eval::{Evaluation, Measure, Report, RunReport, evaluate_first_ranks};
use toller_ir::{DocOrd, Qrels, Query, Searcher, is_relevant};
use toller_pipeline::ordinals_of;

use crate::args::dense::DenseArgs;
use crate::args::id_lines::pairs;
use crate::args::input::{BadLinesArgs, QueriesArgs};
use crate::args::measures::{MeasureList, of_all, of_first_rank};
use crate::args::paths::{InputPath, Inputs};
use crate::args::qrels::QrelsArgs;
use crate::args::result::ResultArgs;
use crate::engine;
use crate::error::Remedied;
use crate::ui::Ui;

/// Queries between two steps of the progress bar: enough that reading the vectors again costs nothing.
const QUERIES_PER_BLOCK: usize = 4096;

/// Measure the full ranking of stores, without a run.
///
/// Each query has the rank of its best relevant document, as in ReQA. A run would need a line for each query
/// and document. Instead, the documents that score above the best relevant one are counted. Neither scores
/// nor rankings are kept, so memory grows with neither. Vectors are compared on the CPU. Documents of the
/// same score share the mean of their ranks.
#[derive(Debug, clap::Args)]
#[command(mut_arg("dense", |dense| dense.required(true)))]
pub struct RanksArgs {
    #[command(flatten)]
    qrels: QrelsArgs,

    /// Queries: files or folders of files. Only judged queries count
    #[arg(long, value_name = "FILE", num_args = 1..)]
    queries: Vec<InputPath>,

    #[command(flatten)]
    queries_input: QueriesArgs,

    /// Rank groups of documents too, by their best document, as ReQA ranks paragraphs: each line has a
    /// document's identifier and the name of its group
    #[arg(long, value_name = "FILE")]
    document_groups: Option<InputPath>,

    /// Measures, separated by blanks or commas: RR, RR@k and Success@k
    #[arg(long, short, value_name = "LIST", value_parser = of_first_rank, default_value = "RR Success@1 Success@5 Success@10")]
    measures: Vec<MeasureList>,

    /// The lowest grade that is relevant
    #[arg(long, short = 'l', value_name = "GRADE", default_value_t = 1)]
    relevance_level: u32,

    /// Show the values of each query
    #[arg(long)]
    per_query: bool,

    #[command(flatten)]
    bad_lines: BadLinesArgs,

    #[command(flatten)]
    dense: DenseArgs,

    #[command(flatten)]
    result: ResultArgs,
}

pub fn run(args: &RanksArgs, ui: &Ui) -> crate::Result<()> {
    let files = args.queries.iter().chain([&args.qrels.qrels]).chain(&args.document_groups);
    Inputs::files(files).and_directories(args.dense.stores().map(|path| &**path)).check()?;
    args.dense.check(!args.queries.is_empty(), false, false, false)?;
    let measures: Vec<Measure> = of_all(&args.measures).iter().map(Measure::with_average_ties).collect();

    let qrels = args.qrels.read(args.bad_lines.skip_bad_lines, ui)?;
    let groups = args.document_groups.as_ref().map(groups_of).transpose()?;
    let read = || args.queries_input.read(&args.queries, args.bad_lines.skip_bad_lines, ui);
    let queries = (!args.queries.is_empty()).then(read).transpose()?;
    let engine = engine::open(ui)?;
    let searcher = args.dense.open_on(Device::Cpu, &engine, ui)?;
    let queries = queries.unwrap_or_else(|| {
        searcher.query_ids().map(|id| Query { id: id.to_owned(), ..Query::default() }).collect()
    });
    let judged = Judged::new(&qrels, queries, args.relevance_level, &*searcher, ui)?;
    let numbers = match (&groups, &args.document_groups) {
        (Some(groups), Some(file)) => Some(group_numbers(groups, &*searcher, file)?),
        _ => None,
    };

    let levels = if numbers.is_some() { 2 } else { 1 };
    let bar = ui.progress("ranking", "queries", (levels * judged.queries.len()) as u64);
    let mut done = 0;
    let mut evaluated = |groups: Option<&[u32]>| -> crate::Result<Evaluation> {
        let mut ranks: Vec<(String, Option<f64>)> =
            judged.without_query.iter().map(|id| ((*id).to_owned(), None)).collect();
        let blocks = judged.queries.chunks(QUERIES_PER_BLOCK).zip(judged.relevant.chunks(QUERIES_PER_BLOCK));
        for (queries, relevant) in blocks {
            let found = searcher.first_ranks(queries, relevant, groups).map_err(engine::in_flags)?;
            let average = found.into_iter().map(|rank| rank.map(|rank| rank.average()));
            ranks.extend(queries.iter().map(|query| query.id.clone()).zip(average));
            done += queries.len();
            bar.set(done as u64);
        }
        let missing = judged.without_query.len();
        Ok(Evaluation { missing, ..evaluate_first_ranks(ranks, &measures)? })
    };
    let mut runs = vec![RunReport::new("documents", evaluated(None)?)];
    if let Some(numbers) = &numbers {
        runs.push(RunReport::new("groups", evaluated(Some(numbers))?));
    }
    drop(bar);
    args.result.write(&Report { runs, comparisons: None }, args.per_query, ui)
}

/// The judged queries, with the ordinals of what is relevant to them.
struct Judged<'a> {
    queries: Vec<Query>,
    relevant: Vec<Vec<DocOrd>>,
    /// Judged, but not among the queries: they count as zero.
    without_query: Vec<&'a str>,
}

impl<'a> Judged<'a> {
    fn new(
        qrels: &'a Qrels,
        queries: Vec<Query>,
        level: u32,
        collection: &dyn Searcher,
        ui: &Ui,
    ) -> crate::Result<Self> {
        let is_relevant = |grade: i32| is_relevant(grade, level);
        let wanted: HashSet<&str> = qrels
            .iter()
            .flat_map(|(_, grades)| grades.iter().filter(|(_, grade)| is_relevant(**grade)))
            .map(|(doc, _)| doc.as_str())
            .collect();
        let ordinals = ordinals_of(collection, &wanted);
        if let Some(example) = wanted.iter().filter(|doc| !ordinals.contains_key(**doc)).min() {
            let (missing, all) = (wanted.len() - ordinals.len(), wanted.len());
            ui.warning(format!(
                "{missing} of {all} relevant documents are not in the store, for example {example:?}"
            ));
        }
        let (mut judged, mut relevant, mut found) = (Vec::new(), Vec::new(), HashSet::new());
        let all = queries.len();
        for query in queries {
            let Some(grades) = qrels.query(&query.id) else { continue };
            let documents = grades.iter().filter(|(_, grade)| is_relevant(**grade));
            relevant.push(documents.filter_map(|(doc, _)| ordinals.get(doc.as_str()).copied()).collect());
            found.insert(query.id.clone());
            judged.push(query);
        }
        if judged.is_empty() {
            let message = format!("none of the {all} queries is judged");
            let remedy = "give the judgments of these queries; their identifiers must be the same";
            return Err(Remedied::new(message, remedy).into());
        }
        let without_query: Vec<&str> =
            qrels.iter().map(|(id, _)| id).filter(|id| !found.contains(*id)).collect();
        if !without_query.is_empty() {
            let (missing, all) = (without_query.len(), qrels.len());
            ui.warning(format!("{missing} of {all} judged queries are not given and count as zero"));
        }
        Ok(Self { queries: judged, relevant, without_query })
    }
}

/// The group of each document.
fn groups_of(file: &InputPath) -> crate::Result<HashMap<String, String>> {
    let mut groups = HashMap::new();
    for (document, group) in pairs(file, "a document's identifier and the name of its group")? {
        let message = |other| {
            format!("{}: the document {document:?} is in the groups {other:?} and {group:?}", file.display())
        };
        if let Some(other) = groups.get(&document).filter(|other| **other != group) {
            return Err(Remedied::new(message(other), "leave one line for each document").into());
        }
        groups.insert(document, group);
    }
    Ok(groups)
}

/// The number of each document's group.
fn group_numbers(
    groups: &HashMap<String, String>,
    collection: &dyn Searcher,
    file: &InputPath,
) -> crate::Result<Vec<u32>> {
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let number = |doc: DocOrd| {
        let id = collection.doc_id(doc);
        let Some(group) = groups.get(&*id) else {
            let message = format!("{} has no group for the document {:?}", file.display(), &*id);
            return Err(Remedied::new(message, "write a line for each document of the store").into());
        };
        let next = numbers.len() as u32;
        Ok(*numbers.entry(group).or_insert(next))
    };
    (0..collection.doc_count() as u32).map(DocOrd).map(number).collect()
}
