//! Runs: which there are, how they compare, and on which queries they differ.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use toller_eval::parse_measures;
use toller_report::{diff_page, report_page};
use toller_texts::Texts;
use utoipa::{IntoParams, ToSchema};

use super::page;
use crate::app::App;
use crate::body::check_parameters;
use crate::collection::Collection;
use crate::deadline::{Deadline, before};
use crate::dialect::OwnFailures;
use crate::failure::{Failure, Reason};
use crate::runs::{Comparison, Runs};
use crate::texts::blocking;

/// Runs of a comparison.
const MOST_RUNS: usize = 40;

/// Queries or documents that are shown.
const MOST_SHOWN: usize = 1000;

/// Runs times queries times documents: what is shown of them is in memory together.
const MOST_PASSAGES: usize = 10_000;

/// The runs that can be compared.
#[derive(Serialize, ToSchema)]
pub(super) struct RunList {
    /// The name of the judgments.
    judgments: String,
    /// Queries that are judged.
    judged_queries: usize,
    runs: Vec<ListedRun>,
}

/// A run.
#[derive(Serialize, ToSchema)]
struct ListedRun {
    name: String,
    /// Of its file.
    bytes: u64,
}

/// What is compared, as parameters of a query.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the parameters for the OpenAPI document; `comparison` reads them")]
pub(super) struct ComparisonParameters {
    /// A run; given once for each, the baseline first.
    run: Vec<String>,
    /// Measures, separated by blanks or commas; nDCG@10 RR@10 AP R@100 by default. The first one is shown
    /// query by query.
    measures: Option<String>,
    /// Queries of each run whose documents are shown: as many losses and as many gains; 3 by default, 20 of
    /// two runs. Runs times `queries` times `documents` are at most 10,000.
    #[param(maximum = 1000)]
    queries: Option<usize>,
    /// Documents of each ranking that are shown; 5 by default.
    #[param(minimum = 1, maximum = 1000)]
    documents: Option<usize>,
    /// The lowest relevant grade; 1 by default.
    relevance_level: Option<u32>,
}

/// Reads [`ComparisonParameters`]. A form sends a parameter once for each value.
fn comparison(query: Option<&str>, queries: usize) -> Result<Comparison, Failure> {
    let mut asked =
        Comparison { runs: Vec::new(), measures: Vec::new(), queries, documents: 5, relevance_level: 1 };
    let mut measures = None;
    check_parameters(query)?;
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let bad = || Failure::invalid(format!("`{name}` cannot be {value:?}"));
        let shown = || value.parse().ok().filter(|count| *count <= MOST_SHOWN).ok_or_else(bad);
        match &*name {
            "run" => asked.runs.push(value.into_owned()),
            "measures" => measures = Some(value.into_owned()),
            "queries" => asked.queries = shown()?,
            "documents" => asked.documents = shown().and_then(|n| if n > 0 { Ok(n) } else { Err(bad()) })?,
            "relevance_level" => asked.relevance_level = value.parse().map_err(|_| bad())?,
            _ => return Err(Failure::invalid(format!("there is no parameter {name:?}"))),
        }
    }
    if asked.runs.len() > MOST_RUNS {
        return Err(Failure::invalid(format!("a comparison may have {MOST_RUNS} runs")));
    }
    let (runs, queries, documents) = (asked.runs.len(), asked.queries, asked.documents);
    let passages = runs * queries * documents;
    if passages > MOST_PASSAGES {
        return Err(Failure::invalid(format!(
            "runs times `queries` times `documents` are {runs} x {queries} x {documents} = {passages}; a \
             comparison may show {MOST_PASSAGES}"
        )));
    }
    let measures = measures.as_deref().unwrap_or("nDCG@10 RR@10 AP R@100");
    asked.measures = parse_measures(measures).map_err(|error| Failure::of(Reason::Invalid, &error))?;
    Ok(asked)
}

/// Whether a browser asks for a page.
pub(super) fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

fn of(collection: &Collection) -> Result<&Arc<Runs>, Failure> {
    let missing = || Failure::new(Reason::NotServed, "the server was started without runs");
    collection.systems.runs.as_ref().ok_or_else(missing)
}

/// The runs that can be compared
#[utoipa::path(
    get,
    path = "/v1/runs",
    tag = "Runs",
    responses((status = 200, body = RunList), OwnFailures)
)]
pub(super) async fn list(State(app): State<Arc<App>>) -> Result<Json<RunList>, Failure> {
    let runs = of(&*app.collection()?)?.clone();
    blocking(move || {
        let files = runs.files().map_err(|error| Failure::of(Reason::Backend, &error))?;
        let (judgments, judged_queries) = runs.judgments();
        let listed = files.into_iter().map(|file| ListedRun { name: file.name, bytes: file.bytes });
        Ok(Json(RunList { judgments: judgments.to_owned(), judged_queries, runs: listed.collect() }))
    })
    .await
}

/// Runs compared: measures, significance, depth, query by query. As `report.json` of `toller report`; a
/// browser gets the page
#[utoipa::path(
    get,
    path = "/v1/runs/report",
    tag = "Runs",
    params(ComparisonParameters),
    responses((status = 200, body = Value), OwnFailures)
)]
pub(super) async fn report(
    State(app): State<Arc<App>>,
    deadline: Deadline,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let (asked, is_page) = (comparison(query.as_deref(), 3)?, wants_page(&headers));
    compared(&app, deadline, move |runs, texts| {
        let (report, texts) = runs.report(asked, texts)?;
        Ok(match is_page {
            true => page::standalone(report_page(&report, &texts)),
            false => Json(report).into_response(),
        })
    })
    .await
}

/// Two runs compared: the queries on which the second loses or gains most, with texts. As `toller diff
/// --json`; a browser gets the page
#[utoipa::path(
    get,
    path = "/v1/runs/diff",
    tag = "Runs",
    params(ComparisonParameters),
    responses((status = 200, body = Value), OwnFailures)
)]
pub(super) async fn diff(
    State(app): State<Arc<App>>,
    deadline: Deadline,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let (asked, is_page) = (comparison(query.as_deref(), 20)?, wants_page(&headers));
    compared(&app, deadline, move |runs, texts| {
        let (contrast, texts) = runs.contrast(asked, texts)?;
        Ok(match is_page {
            true => page::standalone(diff_page(&contrast, &texts)),
            false => Json(contrast.json(&texts)).into_response(),
        })
    })
    .await
}

/// Compares when it is the request's turn, which lasts until the work is done, even if nobody waits for it.
async fn compared(
    app: &App,
    Deadline(deadline): Deadline,
    compare: impl FnOnce(&Runs, Option<&Texts>) -> Result<Response, Failure> + Send + 'static,
) -> Result<Response, Failure> {
    let collection = app.collection()?;
    let runs = of(&collection)?.clone();
    let turn = runs.turn(deadline).await?;
    let work = blocking(move || {
        let _turn = turn;
        compare(&runs, collection.systems.texts.as_deref())
    });
    before(deadline, "the comparison took until the deadline", work).await?
}

#[cfg(test)]
mod tests {
    use super::comparison;
    use crate::failure::Reason;

    #[test]
    fn a_comparison_is_read_from_a_form() {
        let asked = comparison(Some("run=a%20b&run=c&measures=RR,%20AP&documents=7"), 3).unwrap();
        assert_eq!((asked.runs, asked.queries, asked.documents), (vec!["a b".into(), "c".into()], 3, 7));
        assert_eq!(asked.measures.iter().map(ToString::to_string).collect::<Vec<_>>(), ["RR", "AP"]);
        for bad in ["measures=poem", "queries=-1", "documents=0", "documents=1001", "color=red"] {
            assert_eq!(comparison(Some(bad), 3).unwrap_err().reason, Reason::Invalid, "{bad}");
        }
        let most = "run=a&run=b&queries=100&documents=";
        assert!(comparison(Some(&format!("{most}50")), 3).is_ok());
        let refused = comparison(Some(&format!("{most}51")), 3).unwrap_err();
        assert!(
            refused.message.contains("10200") && refused.message.contains("10000"),
            "{}",
            refused.message
        );
    }
}
