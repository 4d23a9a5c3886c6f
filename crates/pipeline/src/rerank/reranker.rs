//! Rerankers: models, a collection's texts, and how scores become rankings.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use toller_corpus::Score;
use toller_encoder::CrossEncoder;
use toller_ir::{Hit, Query, Ranking, Searcher};
use toller_texts::Texts;

use super::Stop;
use super::cache::ScoreCache;
use super::error::RerankError;
use super::options::{RerankOptions, Unavailable};
use super::order::order;
use super::scorer::Scorer;
use super::stream::{QueryPairs, Stream};

/// One or several cross-encoders that reorder hits.
pub struct Reranker {
    models: Vec<Arc<CrossEncoder>>,
    texts: Arc<Texts>,
    options: RerankOptions,
    threads: usize,
    /// Where scores are looked up, and where computed ones are kept.
    pub cache: Option<ScoreCache>,
}

/// The hits of a query, to be reranked.
#[derive(Clone, Debug)]
pub struct Candidates<'a> {
    /// The query.
    pub query_id: &'a str,
    /// Its text, if it is known.
    pub query_text: Option<&'a str>,
    /// Documents and scores of the first stage, best first.
    pub hits: Vec<(&'a str, f64)>,
}

/// A hit of the reranked list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Its place among the query's candidates.
    pub place: usize,
    /// Its score; scores fall strictly.
    pub score: f32,
}

/// What reranking found, in the order of the candidates.
#[derive(Clone, Debug, Default)]
pub struct Reranked {
    /// Each query's hits, best first.
    pub queries: Vec<Vec<Ranked>>,
    /// Of each model, of each query, the scores of its first candidates; `None` where there was no text.
    pub model_scores: Vec<Vec<Vec<Option<f32>>>>,
    /// What was done.
    pub report: RerankReport,
}

/// What reranking took.
#[derive(Clone, Debug, Default)]
pub struct RerankReport {
    /// Pairs that have a score, of all models.
    pub pairs: u64,
    /// Those of them that were in the cache.
    pub known_pairs: u64,
    /// Tokens that were computed, special tokens included.
    pub tokens: u64,
    /// Documents without a text that were kept below.
    pub unavailable: u64,
    /// The first of them: query and document.
    pub first_unavailable: Option<(String, String)>,
    /// Passages without a character that were scored so.
    pub empty: u64,
    /// The first of them: query and document.
    pub first_empty: Option<(String, String)>,
    /// Queries without a text, whose hits stay as they were, by identifier.
    pub without_text: Vec<String>,
    /// How long it took.
    pub duration: Duration,
}

impl RerankReport {
    /// Adds what was done for other queries. Durations add up.
    pub fn add(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.known_pairs += other.known_pairs;
        self.tokens += other.tokens;
        self.unavailable += other.unavailable;
        self.first_unavailable = self.first_unavailable.take().or(other.first_unavailable);
        self.empty += other.empty;
        self.first_empty = self.first_empty.take().or(other.first_empty);
        self.without_text.extend(other.without_text);
        self.duration += other.duration;
    }

    fn note_empty(&mut self, found: Vec<(String, String)>) {
        self.empty += found.len() as u64;
        if self.first_empty.is_none() {
            self.first_empty = found.into_iter().next();
        }
    }
}

impl Reranker {
    /// Reranks by `models`, at least one, with the texts of a collection; `threads` score.
    ///
    /// # Errors
    /// [`RerankError::Options`] for no model, a depth of 0, a weight of interpolation outside [0, 1], or
    /// windows that leave tokens out.
    pub fn new(
        models: Vec<impl Into<Arc<CrossEncoder>>>,
        texts: Arc<Texts>,
        options: RerankOptions,
        threads: usize,
    ) -> Result<Self, RerankError> {
        let bad = |what: &str| Err(RerankError::Options(what.to_owned()));
        if models.is_empty() {
            return bad("reranking needs a model");
        }
        if options.depth == 0 {
            return bad("a depth of 0 reranks nothing");
        }
        if options.interpolate.is_some_and(|weight| !(0.0..=1.0).contains(&weight)) {
            return bad("the weight of an interpolation is a number from 0 to 1");
        }
        if options.windows.is_some_and(|windows| windows.stride == 0 || windows.stride > windows.length) {
            return bad(
                "the stride of passage windows is from 1 to their length, so that they leave no token out",
            );
        }
        Ok(Self {
            models: models.into_iter().map(Into::into).collect(),
            texts,
            options,
            threads,
            cache: None,
        })
    }

    /// How it reranks.
    #[must_use]
    pub fn options(&self) -> &RerankOptions {
        &self.options
    }

    /// Whether a score's bits do not depend on the other pairs of its batch.
    #[must_use]
    pub fn keeps_bits(&self) -> bool {
        self.models.iter().all(|model| model.compute().keeps_bits())
    }

    /// The number of models.
    #[must_use]
    pub fn model_count(&self) -> usize {
        self.models.len()
    }

    /// The pairs that reranking `candidates` scores, of all models, if all have texts.
    #[must_use]
    pub fn pair_count(&self, candidates: &[Candidates<'_>]) -> u64 {
        let pairs: usize = candidates.iter().map(|query| query.hits.len().min(self.options.depth)).sum();
        (pairs * self.models.len()) as u64
    }

    /// Reorders what `searcher` found for queries, and keeps the `k` best hits of each. Scores count as a
    /// reader of the first stage's run would get them, so that the result is that of reranking the run.
    ///
    /// # Errors
    /// As [`Reranker::rerank`].
    pub fn rerank_rankings(
        &self,
        searcher: &dyn Searcher,
        queries: &[Query],
        found: &[Ranking],
        k: usize,
        stop: Stop<'_>,
    ) -> Result<(Vec<Ranking>, RerankReport), RerankError> {
        let ids = |ranking: &Ranking| ranking.hits.iter().map(|hit| searcher.doc_id(hit.doc)).collect();
        let ids: Vec<Vec<Cow<'_, str>>> = found.iter().map(ids).collect();
        let candidates = queries.iter().zip(found.iter().zip(&ids)).map(|(query, (ranking, ids))| {
            let scores = ranking.hits.iter().map(|hit| Score::F32(hit.score).as_read());
            let hits = ids.iter().map(AsRef::as_ref).zip(scores).collect();
            Candidates { query_id: &query.id, query_text: Some(&query.text), hits }
        });
        let reranked = self.rerank(&candidates.collect::<Vec<_>>(), stop, |_| {})?;
        let ranking = |(first, ranked): (&Ranking, Vec<Ranked>)| Ranking {
            hits: ranked.iter().take(k).map(|hit| Hit::new(first.hits[hit.place].doc, hit.score)).collect(),
        };
        let rankings = found.iter().zip(reranked.queries).map(ranking).collect();
        Ok((rankings, reranked.report))
    }

    /// Reorders the hits of each query. Queries may be given all at once or some at a time; the result is the
    /// same.
    ///
    /// # Errors
    /// Documents and queries without a text (unless the options keep their hits), pairs that cannot be
    /// scored, and [`RerankError::Stopped`] once `stop` says so. What was scored before is in the cache.
    pub fn rerank(
        &self,
        candidates: &[Candidates<'_>],
        stop: Stop<'_>,
        mut on_progress: impl FnMut(&RerankReport),
    ) -> Result<Reranked, RerankError> {
        let started = Instant::now();
        let mut report = RerankReport::default();
        let mut slots = 0;
        let mut starts = Vec::with_capacity(candidates.len());
        let mut queries = Vec::with_capacity(candidates.len());
        for query in candidates {
            starts.push(slots);
            queries.extend(self.pairs_of(query, slots, &mut report));
            slots += query.hits.len().min(self.options.depth);
        }
        self.check_available(&report)?;
        self.check_queries(&queries)?;

        let pairs: usize = queries.iter().map(|query| query.documents.len()).sum();
        let mut scores = Vec::with_capacity(self.models.len());
        for model in &self.models {
            let is_first = scores.is_empty();
            let mut of_model: Vec<Option<f32>> = vec![None; slots];
            let stream = Stream {
                scorer: Scorer::new(model, &self.options),
                queries: &queries,
                texts: &self.texts,
                title_separator: self.options.title_separator.as_deref(),
                cache: self.cache.as_ref(),
                threads: self.threads,
                stop,
            };
            stream.run(|found| {
                report.pairs += found.scores.len() as u64;
                report.known_pairs += if found.known { found.scores.len() as u64 } else { 0 };
                report.tokens += found.tokens;
                if is_first {
                    report.note_empty(found.empty);
                }
                for (to, score) in found.scores {
                    of_model[to] = Some(score);
                }
                on_progress(&report);
            })?;
            if stop() {
                return Err(RerankError::Stopped {
                    done: report.pairs,
                    all: (pairs * self.models.len()) as u64,
                });
            }
            scores.push(of_model);
        }

        let mut reranked =
            Reranked { model_scores: vec![Vec::new(); self.models.len()], ..Reranked::default() };
        for (query, start) in candidates.iter().zip(starts) {
            let end = start + query.hits.len().min(self.options.depth);
            let of_models: Vec<&[Option<f32>]> = scores.iter().map(|scores| &scores[start..end]).collect();
            let first_stage: Vec<f64> = query.hits.iter().map(|(_, score)| *score).collect();
            let ranked = order(query.query_id, &first_stage, &of_models, &self.options)?;
            reranked.queries.push(ranked.into_iter().map(|(place, score)| Ranked { place, score }).collect());
            for (kept, scores) in reranked.model_scores.iter_mut().zip(of_models) {
                kept.push(scores.to_vec());
            }
        }
        report.duration = started.elapsed();
        reranked.report = report;
        Ok(reranked)
    }

    /// The pairs of a query, whose scores go to `start` and after; what has no text is noted.
    fn pairs_of<'a>(
        &self,
        query: &Candidates<'a>,
        start: usize,
        report: &mut RerankReport,
    ) -> Option<QueryPairs<'a>> {
        let Some(text) = query.query_text else {
            report.without_text.push(query.query_id.to_owned());
            return None;
        };
        let mut documents = Vec::with_capacity(query.hits.len().min(self.options.depth));
        for (place, (document, _)) in query.hits.iter().take(self.options.depth).enumerate() {
            if self.texts.contains(document) {
                documents.push((*document, start + place));
            } else {
                report.unavailable += 1;
                let first = || (query.query_id.to_owned(), (*document).to_owned());
                report.first_unavailable.get_or_insert_with(first);
            }
        }
        Some(QueryPairs { id: query.query_id, text, documents })
    }

    /// Finds queries that no model can score before the first pair is: they may be among the last.
    fn check_queries(&self, queries: &[QueryPairs<'_>]) -> Result<(), RerankError> {
        for model in &self.models {
            let scorer = Scorer::new(model, &self.options);
            let checked: Vec<_> = queries
                .par_iter()
                .filter(|query| !query.documents.is_empty())
                .filter_map(|query| Some((query.id, scorer.check_query(query.text).err()?)))
                .collect();
            let count = checked.len();
            if let Some((id, source)) = checked.into_iter().next() {
                return Err(RerankError::Query { count, query: id.to_owned(), source: Box::new(source) });
            }
        }
        Ok(())
    }

    fn check_available(&self, report: &RerankReport) -> Result<(), RerankError> {
        if self.options.unavailable == Unavailable::KeepBelow {
            return Ok(());
        }
        if let Some(query) = report.without_text.first() {
            let (count, query) = (report.without_text.len(), query.clone());
            return Err(RerankError::MissingQueries { count, query });
        }
        match &report.first_unavailable {
            Some((query, document)) => Err(RerankError::MissingDocuments {
                count: report.unavailable as usize,
                query: query.clone(),
                document: document.clone(),
            }),
            None => Ok(()),
        }
    }
}
