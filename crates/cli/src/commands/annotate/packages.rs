//! `toller annotate packages`: what runs retrieved, as packages to judge.

use std::io::Write;
use std::str::FromStr;

use toller_annotation::{Package, Pair, Pool, packages};
use toller_ir::counted;
use toller_report::{GradeLabel, Texts, Wanted, annotation_page};

use super::folder;
use crate::args::id_lines;
use crate::args::paths::{InputPath, Inputs, OutputPath};
use crate::args::qrels::read_judgments;
use crate::args::replacing::OverwriteArgs;
use crate::args::runs::RunInputArgs;
use crate::args::texts::TextsArgs;
use crate::error::{Remedied, of_csv};
use crate::ui::Ui;

/// Pool the first documents of runs, and write them as packages to judge.
///
/// A package is a page or a sheet. The order within a package says nothing about ranks. The documents of a
/// query come together. A page keeps the grades in the browser and saves them as CSV; a sheet has an empty
/// column grade.
#[derive(Debug, clap::Args)]
pub struct PackagesArgs {
    /// Runs (TREC, MS MARCO, Tevatron, DPR, DuReader, JSON or Parquet)
    #[arg(value_name = "RUN", required_unless_present = "pairs")]
    runs: Vec<InputPath>,

    /// Take these pairs, too: a query's id and a document's on each line
    #[arg(long, value_name = "FILE")]
    pairs: Option<InputPath>,

    /// Documents of each query and run that are pooled
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    depth: u32,

    /// Leave out what is judged in this file (TREC, BEIR TSV, or pairs of ids)
    #[arg(long, value_name = "QRELS")]
    judged: Option<InputPath>,

    #[command(flatten)]
    texts: TextsArgs,

    /// The most pairs of a package; a query is never split
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    size: u32,

    /// The grades, each with what it means
    #[arg(long, value_name = "GRADE=MEANING,...", default_value = "0=not relevant,1=relevant")]
    grades: Grades,

    /// Seed of the order
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,

    /// What a package is
    #[arg(long, value_enum, default_value_t)]
    format: FormatArg,

    /// Directory to write the packages to
    #[arg(short, long, value_name = "DIR")]
    output: OutputPath,

    #[command(flatten)]
    overwrite: OverwriteArgs,

    #[command(flatten)]
    input: RunInputArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum FormatArg {
    /// A web page that saves what is filled in as CSV
    #[default]
    Html,
    /// A sheet with an empty column for the grade
    Csv,
}

/// Grades as given on the command line.
#[derive(Clone, Debug)]
struct Grades(Vec<GradeLabel>);

impl FromStr for Grades {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let grade = |text: &str| {
            let (grade, label) = text.split_once('=').unwrap_or((text, text));
            Some(GradeLabel { grade: grade.trim().parse().ok()?, label: label.trim().to_owned() })
        };
        let grades: Option<Vec<GradeLabel>> = text.split(',').map(grade).collect();
        let grades = grades.ok_or("whole numbers with what they mean, as in 0=no,1=partly,2=yes")?;
        let is_known = |at: usize| grades[..at].iter().any(|earlier| earlier.grade == grades[at].grade);
        if (0..grades.len()).any(is_known) {
            return Err("a grade is listed twice".to_owned());
        }
        Ok(Self(grades))
    }
}

/// Pools and writes.
pub fn run(args: &PackagesArgs, ui: &Ui) -> crate::Result<()> {
    args.output.check_directory("a set of packages")?;
    let lists = args.pairs.iter().chain(&args.judged);
    Inputs::files(args.runs.iter().chain(lists).chain(args.texts.files())).check()?;
    let pool = pooled(args, ui)?;
    if pool.pairs.is_empty() {
        return Err(Remedied::new("there is nothing to judge", "give other runs, or a greater depth").into());
    }
    let mut wanted = Wanted::default();
    for pair in &pool.pairs {
        wanted.queries.insert(&pair.query_id);
        wanted.documents.insert(&pair.doc_id);
    }
    let remedy =
        "give the queries that the runs are of, or leave --queries out: packages then have no queries";
    let texts = args.texts.read_all_queries(&wanted, args.input.skip_bad_lines(), remedy, ui)?;
    let packages = packages(&pool, args.size as usize, args.seed);
    let files: Result<Vec<folder::File>, _> =
        packages.iter().map(|package| file(package, &texts, args)).collect();
    folder::write(&args.output, &files.map_err(of_csv)?, args.overwrite)?;
    let (pairs, count, output) = (pool.pairs.len(), packages.len(), args.output.display().to_string());
    ui.status(format!("{} in {} in {output}", counted(pairs, "pair"), counted(count, "package")));
    ui.json(|| serde_json::json!({ "output": output, "packages": count, "pairs": pairs }))
}

fn pooled(args: &PackagesArgs, ui: &Ui) -> crate::Result<Pool> {
    let read_judged = |path: &InputPath| read_judgments(path, None, args.input.skip_bad_lines(), ui);
    let judged = args.judged.as_ref().map(read_judged).transpose()?;
    let mut pool = Pool::default();
    for path in &args.runs {
        pool.add_run(&args.input.read(path, ui)?, args.depth as usize, judged.as_ref())?;
    }
    if let Some(path) = &args.pairs {
        for (query_id, doc_id) in id_lines::pairs(path, "a query's identifier and a document's")? {
            let known = judged.as_ref().and_then(|judged| judged.query(&query_id));
            if known.is_none_or(|known| !known.contains_key(&doc_id)) {
                pool.add(Pair { query_id, doc_id });
            }
        }
    }
    Ok(pool)
}

/// The name and the content of a package.
fn file(package: &Package, texts: &Texts, args: &PackagesArgs) -> csv::Result<folder::File> {
    let (extension, content) = match args.format {
        FormatArg::Html => ("html", annotation_page(package, texts, &args.grades.0).into_bytes()),
        FormatArg::Csv => {
            let mut content = Vec::new();
            sheet(package, texts, &mut content)?;
            ("csv", content)
        }
    };
    Ok((format!("package-{:04}.{extension}", package.number), content))
}

fn sheet(package: &Package, texts: &Texts, out: impl Write) -> csv::Result<()> {
    let mut rows = csv::Writer::from_writer(out);
    rows.write_record(["query_id", "query", "doc_id", "title", "text", "grade", "annotator"])?;
    for pair in &package.pairs {
        let passage = texts.passage(&pair.doc_id);
        let title = passage.and_then(|passage| passage.title.as_deref()).unwrap_or_default();
        let text = passage.map_or("", |passage| passage.text.as_str());
        let query = texts.query(&pair.query_id).unwrap_or_default();
        let cells = [&pair.query_id, query, &pair.doc_id, title, text].map(crate::table::as_text);
        rows.write_record(cells.iter().map(String::as_str).chain(["", ""]))?;
    }
    Ok(rows.flush()?)
}
