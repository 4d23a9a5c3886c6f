//! `toller diff RUN --failed-at N`: what one run fails on, in every format.

use std::io::Write;

use serde_json::json;
use toller_eval::EvalOptions;
use toller_report::{FailedQuery, Failures, Judged, RetrievedDocument, Sample, Texts, Wanted, failures_page};

use super::report::{excerpt, passage};
use super::sheet::{CATEGORY, NOTE};
use super::{DiffArgs, FormatArg};
use crate::args::paths::InputPath;
use crate::args::qrels::QrelsArgs;
use crate::args::runs::{run_names, warn_of_missing, warn_of_none_judged};
use crate::error::UsageError;
use crate::printable::write_printable;
use crate::table::as_text;
use crate::ui::Ui;

/// Finds the failures and writes them.
pub(super) fn run(args: &DiffArgs, cutoff: u32, qrels: &QrelsArgs, ui: &Ui) -> crate::Result<()> {
    let [path] = &args.runs[..] else {
        let message = "--failed-at shows the failures of one run, but there are several";
        return Err(UsageError::new(message, "name one run").into());
    };
    let failures = args.output.write(ui, |out, _| write(args, path, cutoff, qrels, out, ui))?;
    if !args.output.is_stdout() {
        let (shown, failed, path) = (failures.shown.len(), failures.failed, args.output.display());
        ui.status(format!("{shown} of {failed} failed queries in {path}"));
    }
    Ok(())
}

fn write(
    args: &DiffArgs,
    path: &InputPath,
    cutoff: u32,
    qrels: &QrelsArgs,
    mut out: &mut dyn Write,
    ui: &Ui,
) -> crate::Result<Failures> {
    let qrels = qrels.read(args.input.skip_bad_lines(), ui)?;
    let run = args.input.read(path, ui)?;
    warn_of_none_judged(&path.input().to_string(), &run, &qrels, ui);
    warn_of_missing(&path.input().to_string(), &run, &qrels, ui);
    let name = run_names(std::slice::from_ref(path)).concat();
    let sample = Sample { queries: args.sample.map(|queries| queries as usize), seed: args.seed };
    let options = EvalOptions { relevance_level: args.relevance_level, ..EvalOptions::default() };
    let failures = Failures::new(&qrels, name, &run, cutoff as usize, sample, &options)?;
    let mut wanted = Wanted::default();
    failures.want(&mut wanted);
    let texts = args.texts.read(&wanted, args.input.skip_bad_lines(), ui)?;
    match args.format(ui) {
        FormatArg::Text => write_printable(out, |shown| text(&failures, &texts, shown))?,
        FormatArg::Json => json(&failures, &texts, &mut out)?,
        FormatArg::Csv => sheet(&failures, &texts, args.per_pair, out).map_err(crate::error::of_csv)?,
        FormatArg::Html => out.write_all(failures_page(&failures, &texts, args.per_pair).as_bytes())?,
    }
    Ok(failures)
}

fn judged(failures: &Failures, document: &RetrievedDocument) -> &'static str {
    match Judged::of(document.grade, failures.relevance_level) {
        Judged::Relevant(_) => "relevant",
        Judged::NotRelevant(_) => "not relevant",
        Judged::Not => "unjudged",
    }
}

fn text(failures: &Failures, texts: &Texts, out: &mut impl Write) -> crate::Result<()> {
    let Failures { name, cutoff, all, failed, .. } = failures;
    writeln!(
        out,
        "{name}: {failed} of {all} queries have no relevant document among the first {cutoff}; {} are shown",
        failures.shown.len()
    )?;
    for query in &failures.shown {
        writeln!(out, "\n{} {}", query.query_id, excerpt(texts.query(&query.query_id).unwrap_or_default()))?;
        for document in &query.relevant {
            let rank = document.rank.map_or("-".to_owned(), |rank| rank.to_string());
            let text = passage(texts, &document.doc_id);
            writeln!(out, "  relevant, rank {rank}: {} {text}", document.doc_id)?;
        }
        for (document, rank) in query.documents.iter().zip(1..) {
            let text = passage(texts, &document.doc_id);
            writeln!(out, "  {rank}: {} ({}) {text}", document.doc_id, judged(failures, document))?;
        }
    }
    Ok(())
}

fn json(failures: &Failures, texts: &Texts, out: &mut impl Write) -> crate::Result<()> {
    let text =
        |id: &str| texts.passage(id).map(|passage| json!({"title": passage.title, "text": passage.text}));
    let query = |query: &FailedQuery| {
        let documents = query.documents.iter().map(|document| {
            json!({
                "id": document.doc_id,
                "score": document.score,
                "grade": document.grade,
                "passage": text(&document.doc_id),
            })
        });
        let relevant = query.relevant.iter().map(|document| {
            json!({
                "id": document.doc_id,
                "grade": document.grade,
                "rank": document.rank,
                "passage": text(&document.doc_id),
            })
        });
        json!({
            "id": query.query_id,
            "text": texts.query(&query.query_id),
            "documents": documents.collect::<Vec<_>>(),
            "relevant": relevant.collect::<Vec<_>>(),
        })
    };
    let report = json!({
        "run": failures.name,
        "cutoff": failures.cutoff,
        "queries": failures.all,
        "failed": failures.failed,
        "shown": failures.shown.iter().map(query).collect::<Vec<_>>(),
    });
    Ok(crate::json::write(out, report)?)
}

/// A row for each query, or for each query and document, with empty columns for a category and a note.
fn sheet(failures: &Failures, texts: &Texts, per_pair: bool, out: impl Write) -> csv::Result<()> {
    let mut rows = csv::Writer::from_writer(out);
    rows.write_record(["query_id", "query", "rank", "doc_id", "text", "judged", "relevant", CATEGORY, NOTE])?;
    for query in &failures.shown {
        let shown = if per_pair { query.documents.len() } else { 1 };
        let relevant: Vec<&str> = query.relevant.iter().map(|document| document.doc_id.as_str()).collect();
        // A query without results has one row all the same, unless rows are pairs.
        for at in 0..shown {
            let document = query.documents.get(at);
            let text = document.and_then(|document| texts.passage(&document.doc_id));
            rows.write_record([
                as_text(&query.query_id).as_str(),
                &as_text(texts.query(&query.query_id).unwrap_or_default()),
                &document.map_or(String::new(), |_| (at + 1).to_string()),
                &document.map_or(String::new(), |document| as_text(&document.doc_id)),
                &text.map_or(String::new(), |passage| as_text(&passage.joined(" "))),
                document.map_or("", |document| judged(failures, document)),
                &as_text(&relevant.join("; ")),
                "",
                "",
            ])?;
        }
    }
    Ok(rows.flush()?)
}
