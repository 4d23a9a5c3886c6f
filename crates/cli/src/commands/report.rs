//! `toller report`: runs compared on a web page.

use std::io::Write;
use std::path::Path;

use toller_eval::Test;
use toller_files::{AtomicFile, CompleteFile, CompressedWriter, FileError, commit_together};
use toller_ir::{Qrels, Run, counted};
use toller_report::{Analyst, DataFile, Report, ReportOptions, data_files, report_page};

use crate::args::choice::one_of;
use crate::args::evaluation::{check_grouped, check_runs, read_groups};
use crate::args::measures::{MeasureList, of_all};
use crate::args::outputs::is_same_place;
use crate::args::paths::{InputPath, Inputs, OutputPath};
use crate::args::qrels::QrelsArgs;
use crate::args::replacing::begins_with;
use crate::args::runs::{RunInputArgs, run_names, warn_of_missing, warn_of_none_judged};
use crate::args::statistics::TESTS;
use crate::args::texts::TextsArgs;
use crate::error::UsageError;
use crate::ui::Ui;

/// Compare runs on a web page: measures, significance, figures, queries with their texts.
///
/// The page is one file that loads nothing. The first measure is the one of the figures about queries. The
/// baseline is the first run, unless --baseline names another. --data writes the numbers as CSV and JSON.
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// Runs (TREC, MS MARCO, Tevatron, DPR, DuReader, JSON or Parquet); `-` is stdin
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<InputPath>,

    #[command(flatten)]
    qrels: QrelsArgs,

    /// The run to compare the others with; one of the runs, or another [default: the first run]
    #[arg(long, value_name = "RUN")]
    baseline: Option<InputPath>,

    /// Measures, separated by blanks or commas; queries are compared by the first one
    #[arg(long, short, alias = "measure", value_name = "LIST", default_value = "nDCG@10 RR@10 AP R@100")]
    measures: Vec<MeasureList>,

    #[command(flatten)]
    texts: TextsArgs,

    /// A group for each query, for figures by group: a query's id, a tab and the group's name on each line
    #[arg(long, value_name = "FILE")]
    groups: Option<InputPath>,

    /// The page's title [default: the judgments' name]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// The significance test of all pairs of runs
    #[arg(long, alias = "tests", value_parser = one_of(TESTS), default_value = "t")]
    test: Test,

    /// Queries to show with their texts: as many losses and as many gains of each run
    #[arg(long, value_name = "N", default_value_t = 3)]
    show: u32,

    /// Documents of each run to show for a query
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,

    /// File to write the page to; - for stdout
    #[arg(short, long, value_name = "FILE.html", value_parser = OutputPath::page())]
    output: OutputPath,

    /// Directory to write the numbers to, as CSV and JSON
    #[arg(long, value_name = "DIR")]
    data: Option<OutputPath>,

    /// The lowest grade that is relevant, for measures that do not name their own
    #[arg(long, short = 'l', value_name = "GRADE", default_value_t = 1)]
    relevance_level: u32,

    #[command(flatten)]
    input: RunInputArgs,
}

/// Evaluates the runs and writes the page.
pub fn run(args: &ReportArgs, ui: &Ui) -> crate::Result<()> {
    let paths = args.baseline_first();
    if let Some(directory) = &args.data {
        directory.check_directory("the report's data")?;
    }
    Inputs::files(paths.iter().chain([&args.qrels.qrels]).chain(args.texts.files()).chain(&args.groups))
        .check_with(&args.output, ui)?;
    args.output.check_page()?;
    check_runs(&paths)?;
    let options = args.options()?;
    // The page may be in the new folder of the data.
    let is_of_page = |directory: &&Path| args.output.parent().is_some_and(|of| is_same_place(of, directory));
    if let Some(directory) = args.data.as_deref().filter(is_of_page) {
        create_folder(directory)?;
    }
    // Whether the page can be written is found out before the work.
    let file = (!args.output.is_stdout()).then(|| CompressedWriter::create(&args.output)).transpose()?;
    let (report, page, mut files) = make(args, &paths, options, ui)?;
    let Some(mut file) = file else {
        // First, since the reader of stdout may have seen enough.
        commit_together(files)?;
        return args.output.write(ui, |out, _| Ok(out.write_all(page.as_bytes())?));
    };
    let written = file.write_all(page.as_bytes()).and_then(|()| file.finish());
    // The page last: where it is new, all is written.
    files.push(written.map_err(FileError::on("write", &args.output))?.complete()?);
    commit_together(files)?;
    let (page_bytes, output) = (page.len(), args.output.display());
    let (runs, queries) = (report.runs.len(), report.queries.len());
    ui.status(format!(
        "{} on {} in {output} ({} kB)",
        counted(runs, "run"),
        counted(queries, "query"),
        page_bytes.div_ceil(1000)
    ));
    ui.json(|| {
        serde_json::json!({
            "page": output.to_string(),
            "bytes": page_bytes,
            "runs": runs,
            "queries": queries,
            "data": args.data.as_ref().map(|directory| directory.display().to_string()),
        })
    })
}

/// Makes the report, the page, and the files of the data, which are not at their places yet.
fn make(
    args: &ReportArgs,
    paths: &[InputPath],
    options: ReportOptions,
    ui: &Ui,
) -> crate::Result<(Report, String, Vec<CompleteFile>)> {
    let qrels = args.qrels.read(args.input.skip_bad_lines(), ui)?;
    let groups = options.groups.clone();
    let report = analyse(args, paths, &qrels, options, ui)?;
    if let Some(groups) = &groups {
        let queries: Vec<&str> = report.queries.iter().map(String::as_str).collect();
        check_grouped(&queries, groups, ui)?;
    }
    let texts = args.texts.read(&report.wanted(), args.input.skip_bad_lines(), ui)?;
    let page = report_page(&report, &texts);
    let files = match &args.data {
        Some(directory) => complete(&data_of(&report, directory, &args.output)?, directory)?,
        None => Vec::new(),
    };
    Ok((report, page, files))
}

/// Reads the runs one after the other.
fn analyse(
    args: &ReportArgs,
    paths: &[InputPath],
    qrels: &Qrels,
    options: ReportOptions,
    ui: &Ui,
) -> crate::Result<Report> {
    let names = run_names(paths);
    let mut named = paths.iter().zip(names);
    let Some((path, name)) = named.next() else {
        return Err(UsageError::new("a report needs a run", "name a run").into());
    };
    let read = |path: &InputPath, name: &str| -> crate::Result<Run> {
        let run = args.input.read(path, ui)?;
        warn_of_none_judged(name, &run, qrels, ui);
        warn_of_missing(name, &run, qrels, ui);
        Ok(run)
    };
    let run = read(path, &name)?;
    let mut analyst = Analyst::new(qrels, options, name, run)?;
    for (path, name) in named {
        let run = read(path, &name)?;
        analyst.add(name, &run)?;
    }
    Ok(analyst.finish()?)
}

impl ReportArgs {
    /// The runs, each once, the baseline first.
    fn baseline_first(&self) -> Vec<InputPath> {
        let mut paths = self.runs.clone();
        if let Some(baseline) = &self.baseline {
            paths.retain(|path| !is_same_place(path, baseline));
            paths.insert(0, baseline.clone());
        }
        paths
    }

    fn options(&self) -> crate::Result<ReportOptions> {
        let judgments = run_names(std::slice::from_ref(&self.qrels.qrels)).concat();
        let groups = self.groups.as_ref().map(read_groups).transpose()?;
        Ok(ReportOptions {
            title: self.title.clone().unwrap_or_else(|| judgments.clone()),
            judgments,
            measures: of_all(&self.measures),
            relevance_level: self.relevance_level,
            test: self.test,
            queries: self.show as usize,
            documents: self.top as usize,
            groups,
        })
    }
}

/// The files of the data. Refuses to replace the page, and files that are not data of a report.
fn data_of(
    report: &Report,
    directory: &OutputPath,
    page: &OutputPath,
) -> crate::Result<Vec<(OutputPath, DataFile)>> {
    let mut files = Vec::new();
    for data in data_files(report)? {
        let path = directory.file(data.name);
        if is_same_place(&path, page) {
            let message = format!("--output and --data would both write to {}", page.display());
            return Err(UsageError::new(message, "give --output another name").into());
        }
        path.check_replaces("the data of a report", |file| begins_with(file, data.start()))?;
        files.push((path, data));
    }
    Ok(files)
}

fn create_folder(directory: &Path) -> Result<(), FileError> {
    std::fs::create_dir_all(directory).map_err(FileError::on("create", directory))
}

/// Writes the files of the data under temporary names.
fn complete(files: &[(OutputPath, DataFile)], directory: &Path) -> Result<Vec<CompleteFile>, FileError> {
    create_folder(directory)?;
    let complete = |(path, data): &(OutputPath, DataFile)| {
        let mut file = AtomicFile::create(&**path)?;
        file.write_all(&data.content).map_err(FileError::on("write", path))?;
        file.complete()
    };
    files.iter().map(complete).collect()
}
