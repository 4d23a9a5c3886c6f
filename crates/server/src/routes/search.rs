//! Search, documents by identifier, and why documents have their scores.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use toller_ir::{Filter, Passage, Query, Role};
use toller_pipeline::{DocumentLists, QueryFilter, best_part, matched_words};
use toller_sparse::Explanation;
use utoipa::ToSchema;

use crate::app::App;
use crate::body::{Body, InPath};
use crate::collection::{Asked, Collection, Found, StageScore, System};
use crate::deadline::{Deadline, before};
use crate::dialect::OwnFailures;
use crate::failure::{Failure, Reason};
use crate::schedule::Answer;
use crate::texts::{as_json, blocking, of_text, on_texts};

/// Hits of a query unless the request says otherwise.
pub(super) const K: usize = 10;

/// Hits of all queries of a request: they are in memory together.
const MOST_HITS: usize = 2_000_000;

/// The same with texts.
const MOST_TEXTS: usize = 10_000;

/// Bytes of a query.
const LONGEST_QUERY: usize = 1 << 16;

/// Bytes of a query times documents whose scores are explained: a bound of the terms of all documents.
const MOST_EXPLAINED: usize = 4_000_000;

/// Characters of the best part of a text.
const PART: usize = 320;

/// Hits whose identifiers are read at once. Those of more, which may come from the disk, are read in a thread
/// of their own, which takes longer to start.
const NAMED_AT_ONCE: usize = 1000;

/// What to search for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchQuery {
    query: Queries,
    /// By default the best that is served: hybrid, dense, sparse.
    system: Option<System>,
    /// Whether the reranker scores the best hits again.
    rerank: Option<bool>,
    /// Hits of a query, 10 by default. All queries together may have 2,000,000, and 10,000 with texts.
    #[schema(minimum = 1)]
    k: Option<usize>,
    filter: Option<SearchFilter>,
    /// Whether hits have titles and texts, and where the texts have the terms of the query.
    texts: Option<bool>,
}

/// A query or several.
#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
enum Queries {
    /// A query.
    One(String),
    /// Several queries.
    Many(Vec<String>),
}

/// The documents that may be hits. Identifiers that the collection does not have are left out.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SearchFilter {
    /// The only ones.
    ids: Option<Vec<String>>,
    /// Not these.
    exclude: Option<Vec<String>>,
}

impl SearchFilter {
    /// The documents by their identifiers; `None` if all may be hits.
    fn lists(self) -> Option<DocumentLists> {
        let lists = DocumentLists {
            allowed: self.ids.map(HashSet::from_iter),
            // Queries have no identifiers here, so all of them have the same.
            excluded: self.exclude.into_iter().flatten().map(|id| (String::new(), id)).collect(),
        };
        (!lists.is_empty()).then_some(lists)
    }
}

/// What was found.
#[derive(Serialize, ToSchema)]
pub(super) struct SearchAnswer {
    system: System,
    reranked: bool,
    /// Of each query, in order.
    results: Vec<QueryHits>,
    /// Milliseconds of each stage: `queue`, then `encode`, `scan`, `postings`, `fuse`, `rerank`, `texts` as
    /// they apply. Queries of several requests may have been searched together.
    stages: Vec<Stage>,
    /// Queries that were searched together.
    batch: usize,
}

/// The hits of a query.
#[derive(Serialize, ToSchema)]
struct QueryHits {
    query: String,
    hits: Vec<SearchHit>,
}

/// A hit.
#[derive(Serialize, ToSchema)]
pub(super) struct SearchHit {
    rank: usize,
    id: String,
    score: f32,
    /// What each stage before the last one gave the document, if there was more than one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<StageScore>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The bytes of the text that the query's terms are in, if there is an inverted index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    matches: Vec<[usize; 2]>,
    /// The bytes of the part of the text that shows most of these terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<[usize; 2]>,
}

/// A stage of a search.
#[derive(Serialize, ToSchema)]
struct Stage {
    stage: &'static str,
    milliseconds: f64,
}

impl Stage {
    fn new(stage: &'static str, time: std::time::Duration) -> Self {
        Self { stage, milliseconds: time.as_secs_f64() * 1e3 }
    }
}

/// A hit of a system, with its identifier.
pub(super) struct NamedHit {
    pub(super) id: String,
    pub(super) score: f32,
    before: Vec<StageScore>,
}

/// Refuses queries, or a number of hits, which a request gives in `field`.
pub(super) fn check(app: &App, queries: &[String], field: &str, k: usize) -> Result<(), Failure> {
    app.check_count("query", queries.len())?;
    queries.iter().try_for_each(|query| check_query(query))?;
    check_k(app, field, k)
}

fn check_k(app: &App, field: &str, k: usize) -> Result<(), Failure> {
    let most = app.limits.k;
    if (1..=most).contains(&k) {
        return Ok(());
    }
    Err(Failure::invalid(format!("`{field}` is {k}; it is from 1 to {most}")))
}

/// Searches for what [`check`] accepts.
pub(super) async fn run(
    app: &App,
    collection: &Arc<Collection>,
    asked: Asked,
    rerank: bool,
    queries: &[String],
    deadline: Instant,
) -> Result<(Vec<Vec<NamedHit>>, Answer<Found>), Failure> {
    let system = asked.system;
    collection.systems.get(system)?;
    if rerank && !collection.has_reranker() {
        app.scorer()?;
        let message = "hits cannot be reranked: the server was started without the collection's texts";
        return Err(Failure::new(Reason::NotServed, message));
    }
    if !app.limits.truncate {
        check_lengths(app, collection, (system, rerank), queries).await?;
    }
    let queries = queries.iter().map(|text| Query { text: text.clone(), ..Query::default() }).collect();
    let mut answer = collection.search(asked, rerank, queries, deadline).await?;
    let collection = collection.clone();
    let count: usize = answer.outputs.iter().map(|found| found.hits.len()).sum();
    let named = move || {
        let named = |found: &mut Found| {
            let ids = collection.ids(system, &found.hits)?.into_iter();
            let hits = ids.zip(&found.hits).zip(std::mem::take(&mut found.before));
            Ok(hits.map(|((id, hit), before)| NamedHit { id, score: hit.score, before }).collect())
        };
        let hits = answer.outputs.iter_mut().map(named).collect::<Result<_, Failure>>()?;
        Ok((hits, answer))
    };
    if count <= NAMED_AT_ONCE { named() } else { blocking(named).await }
}

/// Refuses queries that are too long for a model. The encoder would cut them; the reranker finds out late.
async fn check_lengths(
    app: &App,
    collection: &Collection,
    (system, rerank): (System, bool),
    queries: &[String],
) -> Result<(), Failure> {
    let dense = app.embedder().ok().filter(|_| system != System::Sparse);
    let dense = dense.map(|embedder| embedder.tower(Role::Query).clone());
    let sparse = collection.systems.sparse.as_ref().filter(|_| system != System::Dense);
    let sparse = sparse.and_then(|sparse| Some(sparse.encoder()?.tower(Role::Query).clone()));
    let towers: Vec<_> = dense.into_iter().chain(sparse).collect();
    let scorer = if rerank { Some(app.scorer()?.clone()) } else { None };
    if towers.is_empty() && scorer.is_none() {
        return Ok(());
    }
    let queries = queries.to_vec();
    on_texts(queries.iter().map(String::len).sum(), move || {
        for (place, query) in queries.iter().enumerate() {
            for tower in &towers {
                let found = tower.tokenize_cut(query, None);
                let (_, is_cut) = found.map_err(|error| of_text(place, &error))?;
                if is_cut {
                    let most = tower.max_length();
                    let message = format!("query {place} has more than the model's {most} tokens");
                    return Err(Failure::invalid(format!("{message}, and this server cuts no query")));
                }
            }
            if let Some(scorer) = &scorer {
                let model = scorer.model();
                let checked = model.tokenize_query(query).and_then(|query| model.check_room(&query));
                checked.map_err(|error| of_text(place, &error))?;
            }
        }
        Ok(())
    })
    .await
}

/// The hits of queries, with the scores of `toller search`
#[utoipa::path(
    post,
    path = "/v1/search",
    tag = "Search",
    request_body(content = SearchQuery, example = json!({ "query": "who lures ducks?", "k": 10 })),
    responses((status = 200, body = SearchAnswer), OwnFailures)
)]
pub(super) async fn search(
    State(app): State<Arc<App>>,
    Deadline(deadline): Deadline,
    Body(request): Body<SearchQuery>,
) -> Result<Response, Failure> {
    let collection = app.collection()?;
    let system = collection.system(request.system)?;
    let (k, rerank) = (request.k.unwrap_or(K), request.rerank.unwrap_or(false));
    let texts = request.texts.unwrap_or(false);
    let queries = match request.query {
        Queries::One(query) => vec![query],
        Queries::Many(queries) => queries,
    };
    if texts {
        collection.texts()?;
    }
    check_hits(&app, queries.len(), k, texts)?;
    check(&app, &queries, "k", k)?;
    let filter = match request.filter.and_then(SearchFilter::lists) {
        None => None,
        Some(lists) => {
            let filter = collection.filter(system, lists);
            Some(before(deadline, "the filter took until the deadline", filter).await??.into())
        }
    };
    let asked = Asked { system, k, filter };
    let (hits, answer) = run(&app, &collection, asked, rerank, &queries, deadline).await?;
    let mut stages = vec![Stage::new("queue", answer.queued)];
    let last = answer.outputs.last();
    stages.extend(last.iter().flat_map(|found| &*found.stages).map(|&(stage, time)| Stage::new(stage, time)));
    let batch = last.map_or(0, |found| found.batch);
    let started = Instant::now();
    let results = match texts {
        false => queries.into_iter().zip(hits).map(|(query, hits)| bare(query, hits)).collect(),
        true => {
            let collection = collection.clone();
            let results = blocking(move || {
                queries
                    .into_iter()
                    .zip(hits)
                    .map(|(query, hits)| with_texts(&collection, query, hits))
                    .collect()
            });
            let results: Vec<QueryHits> = results.await?;
            stages.push(Stage::new("texts", started.elapsed()));
            results
        }
    };
    let hits: usize = results.iter().map(|query: &QueryHits| query.hits.len()).sum();
    let is_large = texts || hits > NAMED_AT_ONCE;
    let answer = SearchAnswer { system, reranked: rerank, results, stages, batch };
    Ok(as_json(is_large, || Json(answer).into_response()))
}

/// Refuses a query whose terms would keep a search of an inverted index busy for long.
fn check_query(query: &str) -> Result<(), Failure> {
    match query.len() {
        0..=LONGEST_QUERY => Ok(()),
        length => Err(Failure::new(
            Reason::TooLarge,
            format!("a query has {length} bytes; a query may have {LONGEST_QUERY}"),
        )),
    }
}

/// Refuses more hits than fit into memory comfortably. A single query may always have the `k` of the server.
fn check_hits(app: &App, queries: usize, k: usize, texts: bool) -> Result<(), Failure> {
    let (most, with) = if texts { (MOST_TEXTS, " with texts") } else { (MOST_HITS, "") };
    let (most, hits) = (most.max(app.limits.k), queries.saturating_mul(k));
    // The `k` of a single query is checked by itself.
    if queries > 1 && hits > most {
        let message =
            format!("{queries} queries times `k` {k} are {hits} hits; a request may have {most}{with}");
        return Err(Failure::invalid(message));
    }
    Ok(())
}

fn bare(query: String, hits: Vec<NamedHit>) -> QueryHits {
    let hit = |(rank, NamedHit { id, score, before }): (usize, NamedHit)| SearchHit {
        rank,
        id,
        score,
        before,
        title: None,
        text: None,
        matches: Vec::new(),
        best: None,
    };
    QueryHits { query, hits: (1..).zip(hits).map(hit).collect() }
}

/// The passages of hits, in their order.
fn passages(collection: &Collection, hits: &[NamedHit]) -> Result<Vec<Option<Passage>>, Failure> {
    let ids: Vec<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
    collection.texts()?.get_many(&ids).map_err(|error| Failure::of(Reason::Backend, &error))
}

/// The same; none of them where the server has no texts.
pub(super) fn passages_if_served(
    collection: &Collection,
    hits: &[NamedHit],
) -> Result<Vec<Option<Passage>>, Failure> {
    match collection.texts() {
        Ok(_) => passages(collection, hits),
        Err(_) => Ok(vec![None; hits.len()]),
    }
}

/// Finds the words of a query in texts, as ranges of bytes; none without an inverted index, whose analyzer
/// says which words are the same.
pub(super) fn matching<'c>(
    collection: &'c Collection,
    query: &str,
) -> impl Fn(&str) -> Vec<Range<usize>> + 'c {
    let analyzer = collection.systems.sparse.as_ref().map(|sparse| sparse.analyzer());
    let terms = analyzer.map(|analyzer| analyzer.analyze(query)).unwrap_or_default();
    move |text| {
        let terms: HashSet<&str> = terms.iter().map(String::as_str).collect();
        analyzer.map(|analyzer| matched_words(text, analyzer, &terms)).unwrap_or_default()
    }
}

fn with_texts(collection: &Collection, query: String, hits: Vec<NamedHit>) -> Result<QueryHits, Failure> {
    let passages = passages(collection, &hits)?;
    let matching = matching(collection, &query);
    let mut found = bare(query, hits);
    for (hit, passage) in found.hits.iter_mut().zip(passages) {
        let Some(passage) = passage else { continue };
        let matches = matching(&passage.text);
        let ends = |Range { start, end }: Range<usize>| [start, end];
        hit.best = Some(ends(best_part(&passage.text, &matches, PART)));
        hit.matches = matches.into_iter().map(ends).collect();
        (hit.title, hit.text) = (passage.title, Some(passage.text));
    }
    Ok(found)
}

/// A document.
#[derive(Serialize, ToSchema)]
pub(super) struct DocumentAnswer {
    pub(super) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    pub(super) text: String,
}

/// The document with an identifier.
pub(super) async fn read(app: &Arc<App>, id: String) -> Result<DocumentAnswer, Failure> {
    let collection = app.collection()?;
    collection.texts()?;
    blocking(move || {
        let found = collection.texts()?.get(&id).map_err(|error| Failure::of(Reason::Backend, &error))?;
        let missing = || Failure::new(Reason::NotFound, format!("there is no document {id:?}"));
        let Passage { id, title, text, .. } = found.ok_or_else(missing)?;
        Ok(DocumentAnswer { id, title, text })
    })
    .await
}

/// The document with an identifier
#[utoipa::path(
    get,
    path = "/v1/documents/{id}",
    tag = "Search",
    params(("id" = String, Path)),
    responses((status = 200, body = DocumentAnswer), OwnFailures)
)]
pub(super) async fn document(
    State(app): State<Arc<App>>,
    InPath(id): InPath<String>,
) -> Result<Json<DocumentAnswer>, Failure> {
    Ok(Json(read(&app, id).await?))
}

/// Documents whose sparse scores are to be explained.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplainRequest {
    query: String,
    ids: Vec<String>,
    /// Hits of the search whose scores these are, 10 by default. It matters only to the expansion of queries.
    #[schema(minimum = 1)]
    k: Option<usize>,
    /// The filter of that search, which matters to the same.
    filter: Option<SearchFilter>,
}

/// The parts of a document's score.
#[derive(Serialize, ToSchema)]
pub(super) struct Explained {
    id: String,
    score: f32,
    /// Terms of the document, as the ranker sees them.
    length: u32,
    terms: Vec<ExplainedTerm>,
}

/// A term's part of a score.
#[derive(Serialize, ToSchema)]
struct ExplainedTerm {
    term: String,
    /// In the query.
    weight: f32,
    /// Documents with the term.
    documents: u32,
    /// How often the document has it.
    frequency: u32,
    score: f32,
}

/// What each term adds to the sparse scores of documents
#[utoipa::path(
    post,
    path = "/v1/explain",
    tag = "Search",
    request_body(
        content = ExplainRequest,
        example = json!({ "query": "who lures ducks?", "ids": ["d0"] })
    ),
    responses((status = 200, body = Vec<Explained>), OwnFailures)
)]
pub(super) async fn explain(
    State(app): State<Arc<App>>,
    Deadline(deadline): Deadline,
    Body(request): Body<ExplainRequest>,
) -> Result<Response, Failure> {
    app.check_count("ids", request.ids.len())?;
    let ExplainRequest { query, ids, k, filter } = request;
    let k = k.unwrap_or(K);
    check_query(&query)?;
    if query.len() * ids.len() > MOST_EXPLAINED {
        let (bytes, count) = (query.len(), ids.len());
        let message = format!(
            "the query's {bytes} bytes times {count} `ids` are more than {MOST_EXPLAINED}; explain fewer documents at once"
        );
        return Err(Failure::new(Reason::TooLarge, message));
    }
    check_k(&app, "k", k)?;
    let collection = app.collection()?;
    let explained = explain_all(collection, query, ids, k, filter);
    let explained = before(deadline, "the explanation took until the deadline", explained).await??;
    let terms: usize = explained.iter().map(|document| document.terms.len()).sum();
    Ok(as_json(terms > NAMED_AT_ONCE, || Json(explained).into_response()))
}

async fn explain_all(
    collection: Arc<Collection>,
    query: String,
    ids: Vec<String>,
    k: usize,
    filter: Option<SearchFilter>,
) -> Result<Vec<Explained>, Failure> {
    let searcher = collection.sparse()?;
    let ordinals = collection.ordinals(System::Sparse).await?;
    let filter = match filter.and_then(SearchFilter::lists) {
        Some(lists) => collection.filter(System::Sparse, lists).await?,
        None => QueryFilter::default(),
    };
    blocking(move || {
        let missing = |id: &str| Failure::new(Reason::NotFound, format!("there is no document {id:?}"));
        let docs = ids.iter().map(|id| ordinals.get(&**searcher, id).ok_or_else(|| missing(id)));
        let docs = docs.collect::<Result<Vec<_>, Failure>>()?;
        let query = Query { text: query, ..Query::default() };
        let explain = |filter: Filter<'_>| searcher.explain(&query, k, &filter, &docs);
        let found = filter.with(std::slice::from_ref(&query), explain);
        let found = found.map_err(|error| Failure::of(Reason::Backend, &error))?;
        Ok(ids.into_iter().zip(found).map(|(id, found)| explained(id, found)).collect())
    })
    .await
}

fn explained(id: String, Explanation { score, length, terms, .. }: Explanation) -> Explained {
    let terms = terms.into_iter().map(|term| ExplainedTerm {
        term: term.term,
        weight: term.weight,
        documents: term.statistics.doc_freq,
        frequency: term.tf,
        score: term.score,
    });
    Explained { id, score, length, terms: terms.collect() }
}
