//! A dev set of judged queries, and the passages that are ranked for them.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use toller_eval::{EvalOptions, Measure, evaluate};
use toller_files::ChecksumHasher;
use toller_ir::{DocOrd, Passage, Qrels, Query, Ranking, Role, Run, RunEntry, is_relevant};
use toller_texts::Texts;
use toller_tokenizer::Tokens;
use toller_topk::{Collection, IpTopkOptions, Segment, Vectors, ip_topk};

use crate::TrainError;
use crate::dev::{BLOCK, add};
use crate::loss::Similarity;
use crate::model::Model;
use crate::task::Task;

/// Hits of a query that are measured, as in a run of `search`.
const HITS: usize = 1000;

/// Passages that are tokenized between two looks at whether the run is to stop.
const TOKENIZED: usize = 1 << 12;

/// How rankings are measured.
#[derive(Clone, Debug)]
pub struct Judge {
    /// The judgments.
    pub qrels: Qrels,
    /// The measures. The first decides which model is the best.
    pub measures: Vec<Measure>,
    /// The lowest grade that is relevant.
    pub relevance_level: u32,
}

/// Judged queries, and the passages that are ranked for them; all tokenized, in memory.
pub struct RankedSet {
    judge: Judge,
    queries: Vec<String>,
    /// The passage of each text: of the collection, or of a pair.
    passages: Vec<String>,
    ranks: Ranks,
    /// By role, as the model takes them.
    texts: [Vec<Tokens>; 2],
}

/// Which passages are ranked for a query.
enum Ranks {
    /// All.
    All(Similarity),
    /// Those of its pairs: where the pairs of each query start, and the end.
    Own(Vec<usize>),
}

impl RankedSet {
    /// For a dual encoder: all passages are ranked for each query, by exact search.
    ///
    /// # Errors
    /// When no query has a relevant document, a passage cannot be read, or the task is another;
    /// [`TrainError::Stopped`] once `stop` is set.
    pub fn search<E: Into<TrainError>>(
        task: &Task,
        queries: &[Query],
        passages: impl IntoIterator<Item = Result<Passage, E>>,
        judge: Judge,
        stop: &AtomicBool,
    ) -> Result<Self, TrainError> {
        let Task::Dual { encoder, similarity, titles, .. } = task else {
            let problem = "a cross-encoder ranks the candidates of a run, not a collection";
            return Err(TrainError::Dev(problem.to_owned()));
        };
        let queries = judged(queries, &judge)?;
        let tower = encoder.tower(Role::Query);
        let tokens: Result<Vec<Tokens>, _> =
            queries.par_iter().map(|query| tower.tokenize(&query.text)).collect();
        let (mut ids, mut texts) = (Vec::new(), Vec::new());
        let tower = encoder.tower(Role::Passage);
        let tokenize = |passage: &Passage| tower.tokenize_input(&titles.text_of(passage));
        let mut passages = passages.into_iter();
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(TrainError::Stopped);
            }
            let block: Result<Vec<Passage>, E> = passages.by_ref().take(TOKENIZED).collect();
            let block = block.map_err(Into::into)?;
            if block.is_empty() {
                break;
            }
            texts.extend(block.par_iter().map(tokenize).collect::<Result<Vec<_>, _>>()?);
            ids.extend(block.into_iter().map(|passage| passage.id));
        }
        if ids.is_empty() {
            return Err(TrainError::Dev("the collection of the dev set is empty".to_owned()));
        }
        let queries = queries.into_iter().map(|query| query.id.clone()).collect();
        Self { judge, queries, passages: ids, ranks: Ranks::All(*similarity), texts: [tokens?, texts] }
            .checked()
    }

    /// How many relevant documents of the queries no model can find, since they are not among the passages;
    /// and how many there are. A document counts once for each query.
    #[must_use]
    pub fn missing_documents(&self) -> (usize, usize) {
        let passages: HashSet<&str> = self.passages.iter().map(String::as_str).collect();
        let judged = self.queries.iter().filter_map(|query| self.judge.qrels.query(query)).flatten();
        let relevant = judged.filter(|(_, grade)| is_relevant(**grade, self.judge.relevance_level));
        relevant.fold((0, 0), |(missing, relevant), (document, _)| {
            (missing + usize::from(!passages.contains(document.as_str())), relevant + 1)
        })
    }

    /// Refuses a set that no model can rank well: no relevant document is among the passages.
    fn checked(self) -> Result<Self, TrainError> {
        let (missing, relevant) = self.missing_documents();
        if missing < relevant {
            return Ok(self);
        }
        let problem = "no document that is judged relevant is among the passages of the dev set";
        Err(TrainError::Dev(problem.to_owned()))
    }

    /// For a cross-encoder: the best `depth` hits of each query in a run are ranked again.
    ///
    /// # Errors
    /// When no query has a relevant document or is in the run, a passage is not in the collection, or the
    /// task is another.
    pub fn rerank(
        task: &Task,
        queries: &[Query],
        run: &Run,
        depth: usize,
        texts: &Texts,
        judge: Judge,
    ) -> Result<Self, TrainError> {
        let Task::Cross { encoder, separator, .. } = task else {
            let problem = "a dual encoder ranks a collection, not the candidates of a run";
            return Err(TrainError::Dev(problem.to_owned()));
        };
        let queries: Vec<(&Query, Vec<&RunEntry>)> = judged(queries, &judge)?
            .into_iter()
            .filter_map(|query| {
                // A run may have its lines in any order: scores rank.
                let mut hits: Vec<&RunEntry> = run.queries.get(&query.id)?.iter().collect();
                hits.sort_by(|a, b| a.best_first(b));
                hits.truncate(depth);
                Some((query, hits))
            })
            .collect();
        if queries.is_empty() {
            return Err(TrainError::Dev("no query of the dev set is in its run".to_owned()));
        }
        let pairs: Vec<(&Query, &RunEntry)> =
            queries.iter().flat_map(|(query, hits)| hits.iter().map(|hit| (*query, *hit))).collect();
        let pair = |(query, hit): &(&Query, &RunEntry)| -> Result<Tokens, TrainError> {
            let missing = || TrainError::MissingPassage { id: hit.doc_id.clone() };
            let passage = texts.get(&hit.doc_id)?.ok_or_else(missing)?;
            Ok(encoder.tokenize_pair(&query.text, &passage.joined(separator))?)
        };
        let tokens = pairs.par_iter().map(pair).collect::<Result<Vec<_>, _>>()?;
        let mut starts = vec![0];
        starts.extend(queries.iter().scan(0, |end, (_, hits)| {
            *end += hits.len();
            Some(*end)
        }));
        Self {
            judge,
            queries: queries.iter().map(|(query, _)| query.id.clone()).collect(),
            passages: pairs.iter().map(|(_, hit)| hit.doc_id.clone()).collect(),
            ranks: Ranks::Own(starts),
            texts: [tokens, Vec::new()],
        }
        .checked()
    }

    /// How many judged queries count as zero, whatever the model, since they are not among the queries or not
    /// in the run; and how many there are.
    #[must_use]
    pub fn missing(&self) -> (usize, usize) {
        let judged = self.judge.qrels.len();
        (judged.saturating_sub(self.queries.len()), judged)
    }

    /// The measure that decides which model is the best.
    pub(crate) fn decides(&self) -> String {
        self.judge.measures.first().map(ToString::to_string).unwrap_or_default()
    }

    /// Everything that decides the measures of a model.
    pub(crate) fn fingerprint(&self) -> String {
        let Self { judge, queries, passages, texts, .. } = self;
        let mut hasher = ChecksumHasher::default();
        hasher.update(format!("{judge:?} {queries:?} {passages:?}").as_bytes());
        texts.iter().flatten().for_each(|tokens| add(&mut hasher, tokens));
        hasher.finish().to_string()
    }

    /// The measures of a model; `None` once `stop` is set.
    pub(crate) fn evaluate(
        &self,
        model: &Model,
        stop: &AtomicBool,
    ) -> Result<Option<BTreeMap<String, f64>>, TrainError> {
        let mut results = [Vec::new(), Vec::new()];
        for (role, results) in results.iter_mut().enumerate() {
            for block in self.texts[role].chunks(BLOCK) {
                if stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                results.extend(model.results(role, block)?);
            }
        }
        let rankings = match &self.ranks {
            Ranks::All(similarity) => self.nearest(results, *similarity)?,
            Ranks::Own(starts) => self.by_logits(&results[0], starts),
        };
        let queries = self.queries.iter().cloned().zip(rankings).collect();
        let options = EvalOptions { relevance_level: self.judge.relevance_level, ..EvalOptions::default() };
        let Judge { qrels, measures, .. } = &self.judge;
        let evaluation = evaluate(qrels, &Run { tag: String::new(), queries }, measures, &options)?;
        let values = measures.iter().map(ToString::to_string).zip(evaluation.aggregates);
        Ok(Some(values.collect()))
    }

    fn nearest(
        &self,
        [mut queries, mut passages]: [Vec<f32>; 2],
        similarity: Similarity,
    ) -> Result<Vec<Vec<RunEntry>>, TrainError> {
        let dim = passages.len() / self.passages.len();
        if similarity == Similarity::Cosine {
            for row in queries.chunks_exact_mut(dim).chain(passages.chunks_exact_mut(dim)) {
                let length = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt().max(1e-12);
                row.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
            }
        }
        let segment = Segment { first: DocOrd(0), vectors: Vectors::F32(&passages), codes: None };
        let found =
            ip_topk(&Collection::new(dim, vec![segment])?, &queries, HITS, &IpTopkOptions::default())?;
        let entry = |doc: DocOrd, score: f32| RunEntry {
            doc_id: self.passages[doc.index()].clone(),
            score: score.into(),
        };
        let ranking =
            |ranking: Ranking| ranking.hits.into_iter().map(|hit| entry(hit.doc, hit.score)).collect();
        Ok(found.rankings.into_iter().map(ranking).collect())
    }

    /// By the one logit of a pair, or by the logit of the second label less the first's.
    fn by_logits(&self, logits: &[f32], starts: &[usize]) -> Vec<Vec<RunEntry>> {
        let labels = logits.len() / self.passages.len().max(1);
        let score = |pair: usize| match &logits[pair * labels..][..labels] {
            [no, yes] => f64::from(*yes) - f64::from(*no),
            own => own.iter().map(|&logit| f64::from(logit)).sum(),
        };
        let entry = |pair: usize| RunEntry { doc_id: self.passages[pair].clone(), score: score(pair) };
        starts.windows(2).map(|bounds| (bounds[0]..bounds[1]).map(entry).collect()).collect()
    }
}

/// The queries that have judgments. At least one of them has a relevant document: without one, every model
/// measures 0.
fn judged<'a>(queries: &'a [Query], judge: &Judge) -> Result<Vec<&'a Query>, TrainError> {
    let judged: Vec<&Query> = queries.iter().filter(|query| judge.qrels.query(&query.id).is_some()).collect();
    if judged.is_empty() {
        return Err(TrainError::Dev("no query of the dev set is judged".to_owned()));
    }
    let is_relevant = |grade: &i32| is_relevant(*grade, judge.relevance_level);
    let has_relevant =
        |query: &&Query| judge.qrels.query(&query.id).is_some_and(|own| own.values().any(is_relevant));
    if !judged.iter().any(has_relevant) {
        return Err(TrainError::Dev("no query of the dev set has a relevant document".to_owned()));
    }
    Ok(judged)
}
