//! Mining negatives for training: hits of any searcher or runs, judgments, a reranker's scores, and the
//! collection's texts.

mod mining;
mod relevant;
mod scores;

use std::collections::{HashMap, HashSet};

use toller_corpus::{CollectionFormat, CorpusError, ReadOptions, SkipReport, open_collection};
use toller_files::Input;
use toller_ir::{Passage, Qrels, Run};
use toller_mining::{Format, Pooled, Selection, TextKey, pool};

use mining::Chosen;
pub use mining::Mining;
use relevant::Relevant;
pub use relevant::positives;
pub use scores::{RerankScores, Scored};

/// A query's hits, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryHits {
    /// The query.
    pub query_id: String,
    /// The hits.
    pub hits: Vec<Pooled>,
}

impl QueryHits {
    /// The best `depth` hits of each query in each of the runs.
    pub fn of_runs(runs: impl IntoIterator<Item = Run>, depth: usize) -> Vec<Self> {
        pool(runs, depth).into_iter().map(|(query_id, hits)| Self { query_id, hits }).collect()
    }
}

/// What negatives are taken from, and which.
#[derive(Clone, Copy, Debug)]
pub struct MineJob<'a> {
    /// The hits of the queries, as deep as negatives are taken from.
    pub hits: &'a [QueryHits],
    /// Which documents are relevant.
    pub qrels: &'a Qrels,
    /// The lowest grade that is relevant.
    pub relevance_level: i32,
    /// The most positives of a query, the best by rank; `None` for all.
    pub positives: Option<usize>,
    /// A reranker's scores, and what they must be; `None` if scores do not matter.
    pub scored: Option<Scored<'a>>,
    /// Which of the other documents are taken.
    pub selection: &'a Selection,
    /// How they are written.
    pub format: Format,
    /// The texts of queries by identifier, as far as they are known.
    pub queries: &'a HashMap<String, String>,
    /// The collection. With it, copies of relevant documents are not negatives, and passages have texts.
    pub collection: Option<(&'a [Input], &'a ReadOptions<CollectionFormat>)>,
}

impl<'a> MineJob<'a> {
    /// Chooses the negatives of each query that has a positive. Reads the collection once, and once
    /// more if the format holds texts; not at all if there is no such query. `on_read` is called now and then
    /// with the passages that were read.
    ///
    /// # Errors
    /// What is wrong with the collection, and a collection that can be read only once.
    pub fn choose(&self, on_read: &dyn Fn(u64)) -> Result<Mining<'a>, CorpusError> {
        let inputs = self.collection.map_or(&[][..], |(inputs, _)| inputs);
        if let Some(once) = inputs.iter().find(|input| input.reads_once()) {
            return Err(CorpusError::Unsupported {
                file: once.to_string(),
                reason: "it can be read only once, and mining reads the collection twice",
                remedy: "save it as a file first".into(),
            });
        }
        let mut judged: Vec<(&QueryHits, Relevant<'a>)> =
            self.hits.iter().map(|query| (query, Relevant::of(self, query))).collect();
        let unscored_positives =
            count(judged.iter().flat_map(|(_, relevant)| relevant.unscored.iter().copied()));
        judged.retain(|(_, relevant)| !relevant.positives.is_empty());
        let has_text =
            |query: &QueryHits| !self.writes_queries() || self.queries.contains_key(&query.query_id);
        let without = judged.iter().filter(|(query, _)| !has_text(query));
        let queries_without_text = count(without.map(|(query, _)| query.query_id.as_str()));
        judged.retain(|(query, _)| has_text(query));
        let unscored = self.unscored(&judged);
        if judged.is_empty() {
            let (chosen, passages, skipped) = (Vec::new(), HashMap::new(), SkipReport::default());
            return Ok(Mining {
                job: *self,
                chosen,
                passages,
                missing: None,
                hits_without_text: None,
                queries_without_text,
                unscored,
                unscored_positives,
                skipped,
            });
        }
        let relevant = || judged.iter().flat_map(|(_, relevant)| relevant.all.iter().copied());
        let retrieved = judged.iter().flat_map(|(query, _)| query.hits.iter().map(|hit| hit.id.as_str()));
        let wanted = relevant().chain(retrieved).collect();
        let (texts, skipped) = self.documents(&wanted, on_read, |passage| TextKey::of(&passage.text))?;
        let missing = count(relevant().filter(|id| self.collection.is_some() && !texts.contains_key(*id)));
        let mut hits_without_text = None;
        // A file with texts can hold no other positives and negatives.
        if self.writes_texts() {
            judged
                .iter_mut()
                .for_each(|(_, relevant)| relevant.positives.retain(|id| texts.contains_key(*id)));
            judged.retain(|(_, relevant)| !relevant.positives.is_empty());
            hits_without_text = self.hits_without_text(&judged, &texts);
        }
        let choose = |(query, relevant)| (query, self.choose_negatives(query, relevant, &texts));
        let chosen: Vec<(&QueryHits, Chosen<'a>)> = judged.into_iter().map(choose).collect();
        let mut passages = HashMap::new();
        if self.format.holds_texts() {
            let mut wanted = HashSet::new();
            for (query, chosen) in &chosen {
                let negatives = chosen.negatives.iter().filter_map(|place| query.hits.get(*place));
                wanted.extend(negatives.map(|hit| hit.id.as_str()));
                wanted.extend(chosen.positives.iter().copied());
            }
            (passages, _) = self.documents(&wanted, on_read, |passage| passage)?;
        }
        Ok(Mining {
            job: *self,
            chosen,
            passages,
            missing,
            hits_without_text,
            queries_without_text,
            unscored,
            unscored_positives,
            skipped,
        })
    }

    /// Whether the file has the texts of its passages.
    fn writes_texts(&self) -> bool {
        self.format.needs_texts() || self.format.holds_texts() && self.collection.is_some()
    }

    /// Whether the file has the texts of its queries, too.
    fn writes_queries(&self) -> bool {
        self.format.needs_texts() || self.writes_texts() && !self.queries.is_empty()
    }

    fn documents<T>(
        &self,
        wanted: &HashSet<&str>,
        on_read: &dyn Fn(u64),
        keep: impl Fn(Passage) -> T,
    ) -> Result<(HashMap<String, T>, SkipReport), CorpusError> {
        match self.collection {
            Some((inputs, options)) => wanted_passages(inputs, options, wanted, on_read, keep),
            None => Ok((HashMap::new(), SkipReport::default())),
        }
    }

    /// Chooses negatives for a query: nothing relevant, nothing that has the text of a relevant document, as
    /// far as `texts` knows, nothing with a score that the rule does not allow, and in a file with texts
    /// nothing without one.
    fn choose_negatives(
        &self,
        query: &QueryHits,
        relevant: Relevant<'a>,
        texts: &HashMap<String, TextKey>,
    ) -> Chosen<'a> {
        let ids: HashSet<&str> = relevant.all.iter().copied().collect();
        let keys: HashSet<TextKey> = relevant.all.iter().filter_map(|id| texts.get(*id)).copied().collect();
        let is_relevant = |id: &str| ids.contains(id) || texts.get(id).is_some_and(|key| keys.contains(key));
        let positives = relevant.into_best(query, self.positives);
        let bounds = self.scored.map(|Scored { scores, rule }| {
            let of_positives = positives.iter().filter_map(|id| scores.get(&query.query_id, id));
            (scores, rule.negatives(of_positives))
        });
        let is_allowed = |id: &str| {
            bounds.is_none_or(|(scores, (lowest, highest))| {
                scores.get(&query.query_id, id).is_some_and(|score| (lowest..=highest).contains(&score))
            })
        };
        let count = self.selection.count.with_positives(positives.len());
        let ranking = query.hits.iter().map(|hit| (hit.rank, hit.id.as_str()));
        let can_be_written = |id: &str| !self.writes_texts() || texts.contains_key(id);
        let may_be_taken = |id: &str| !is_relevant(id) && is_allowed(id) && can_be_written(id);
        let negatives = self.selection.choose(&query.query_id, count, ranking, may_be_taken);
        Chosen { positives, negatives }
    }

    /// The number of hits in the ranks of negatives that are not relevant and have no text, and the first.
    fn hits_without_text(
        &self,
        judged: &[(&'a QueryHits, Relevant<'a>)],
        texts: &HashMap<String, TextKey>,
    ) -> Option<(usize, String)> {
        let ranks = &self.selection.ranks;
        count(judged.iter().flat_map(|(query, relevant)| {
            let hits = query.hits.iter().filter(move |hit| ranks.contains(&hit.rank));
            let ids = hits.map(|hit| hit.id.as_str());
            ids.filter(move |id| !texts.contains_key(*id) && !relevant.all.contains(id))
        }))
    }

    /// The number of hits without a reranker's score that are not relevant, and the first.
    fn unscored(&self, judged: &[(&'a QueryHits, Relevant<'a>)]) -> Option<(usize, String)> {
        let scores = self.scored?.scores;
        count(judged.iter().flat_map(|(query, relevant)| {
            let hits = query.hits.iter().map(|hit| hit.id.as_str());
            hits.filter(move |id| {
                scores.get(&query.query_id, id).is_none() && !relevant.unscored.contains(id)
            })
        }))
    }
}

/// Passages between two calls of `on_read`.
const PASSAGES_PER_REPORT: u64 = 4096;

/// The number of documents, and the first, if there is one.
fn count<'a>(mut documents: impl Iterator<Item = &'a str>) -> Option<(usize, String)> {
    let first = documents.next()?.to_owned();
    Some((documents.count() + 1, first))
}

/// Reads a collection for the passages with these identifiers, and keeps what `keep` makes of each. `on_read`
/// is called now and then with the passages that were read. Returns the bad records that were skipped, too.
///
/// # Errors
/// What [`open_collection`] and its reader find.
pub fn wanted_passages<T>(
    collection: &[Input],
    options: &ReadOptions<CollectionFormat>,
    wanted: &HashSet<&str>,
    on_read: &dyn Fn(u64),
    keep: impl Fn(Passage) -> T,
) -> Result<(HashMap<String, T>, SkipReport), CorpusError> {
    let mut kept = HashMap::with_capacity(wanted.len());
    let mut passages = open_collection(collection, options)?;
    let mut read = 0;
    while let Some(passage) = passages.next().transpose()? {
        read += 1;
        if read % PASSAGES_PER_REPORT == 0 {
            on_read(read);
        }
        if wanted.contains(passage.id.as_str()) {
            kept.entry(passage.id.clone()).or_insert_with(|| keep(passage));
        }
    }
    Ok((kept, passages.skipped().clone()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::HashMap;

    use toller_ir::{Qrels, Run, RunEntry};
    use toller_mining::{Choice, Count, Format, Pooled, ScoreRule, Selection, TextKey};

    use super::{MineJob, QueryHits, Relevant, RerankScores, Scored, positives};

    fn hits(ids: &[&str]) -> QueryHits {
        let hit = |(id, rank): (&&str, usize)| Pooled { id: (*id).to_owned(), rank, score: 1.0 };
        QueryHits { query_id: "q".to_owned(), hits: ids.iter().zip(1..).map(hit).collect() }
    }

    fn qrels(judged: &[(&str, i32)]) -> Qrels {
        let mut qrels = Qrels::new();
        for (doc, grade) in judged {
            qrels.insert("q", doc, *grade);
        }
        qrels
    }

    /// The positives and negatives of a job with one query.
    fn chosen(job: &MineJob<'_>, texts: &HashMap<String, TextKey>) -> (Vec<String>, Vec<usize>) {
        let query = &job.hits[0];
        let chosen = job.choose_negatives(query, Relevant::of(job, query), texts);
        (chosen.positives.iter().map(|id| (*id).to_owned()).collect(), chosen.negatives)
    }

    #[test]
    fn what_is_relevant_or_has_its_text_is_no_negative() {
        let qrels = qrels(&[("good", 2), ("fair", 1), ("bad", 0), ("worse", -1)]);
        assert_eq!(positives(&qrels, "q", 1), ["good", "fair"]);
        assert_eq!(positives(&qrels, "q", 2), ["good"]);
        assert_eq!(positives(&qrels, "other", 1), [""; 0]);

        let hits = [hits(&["copy", "good", "bad", "fair", "worse", "new"])];
        let selection = Selection { ranks: 1..=6, count: Count::PerQuery(9), choice: Choice::Top, seed: 0 };
        let queries = HashMap::new();
        let job = |relevance_level| MineJob {
            hits: &hits,
            qrels: &qrels,
            relevance_level,
            positives: None,
            scored: None,
            selection: &selection,
            format: Format::Pairs,
            queries: &queries,
            collection: None,
        };
        let mut texts = HashMap::new();
        assert_eq!(chosen(&job(1), &texts).1, [0, 2, 4, 5]);
        assert_eq!(chosen(&job(2), &texts).1, [0, 2, 3, 4, 5]);
        for (id, text) in
            [("copy", "the  text"), ("good", "the text "), ("bad", "another"), ("new", "the text")]
        {
            texts.insert(id.to_owned(), TextKey::of(text));
        }
        assert_eq!(chosen(&job(1), &texts).1, [2, 4]);
        // The positive that ranks best; the other is not a negative either.
        let one = MineJob { positives: Some(1), ..job(1) };
        assert_eq!(chosen(&one, &HashMap::new()), (vec!["good".to_owned()], vec![0, 2, 4, 5]));
    }

    #[test]
    fn scores_decide_what_is_sure_enough() {
        let qrels = qrels(&[("sure", 1), ("doubtful", 1), ("judged", 0)]);
        let hits = [hits(&["sure", "found", "near", "far", "judged", "unscored"])];
        let scores = [("sure", 0.95), ("doubtful", 0.3), ("found", 0.92), ("near", 0.5), ("far", 0.05)];
        let mut run = Run::default();
        let entries = scores.iter().chain(&[("judged", 0.99), ("sure", 0.0)]);
        let entry = |(doc_id, score): &(&str, f64)| RunEntry { doc_id: (*doc_id).to_owned(), score: *score };
        run.queries.insert("q".to_owned(), entries.map(entry).collect());
        let scores = RerankScores::of_runs([run]);
        let selection =
            Selection { ranks: 1..=6, count: Count::PerPositive(2), choice: Choice::Top, seed: 0 };
        let queries = HashMap::new();
        let of = |rule| {
            let job = MineJob {
                hits: &hits,
                qrels: &qrels,
                relevance_level: 1,
                positives: None,
                scored: Some(Scored { scores: &scores, rule }),
                selection: &selection,
                format: Format::Pairs,
                queries: &queries,
                collection: None,
            };
            assert_eq!(job.choose(&|_| ()).unwrap().unscored, Some((1, "unscored".to_owned())));
            let (positives, negatives) = chosen(&job, &HashMap::new());
            (positives.join(" "), negatives)
        };
        let any = ScoreRule::default();
        assert_eq!(of(any), ("sure doubtful".to_owned(), vec![1, 2, 3, 4]));
        let rocketqa =
            ScoreRule { max_negative: Some(0.1), min_positive: Some(0.9), new_positives: Some(0.9), ..any };
        assert_eq!(of(rocketqa), ("sure found".to_owned(), vec![3]), "the judgment counts before the score");
        let margin = ScoreRule { relative_margin: Some(0.1), min_positive: Some(0.9), ..any };
        assert_eq!(of(margin), ("sure".to_owned(), vec![2, 3]), "0.92 is above 0.855, and so is 0.99");
    }

    #[test]
    fn positives_without_a_score_are_left_out() {
        let qrels = qrels(&[("scored", 1), ("hit", 1), ("elsewhere", 1)]);
        let hits = [hits(&["scored", "hit", "other", "unscored"])];
        let selection = Selection { ranks: 1..=4, count: Count::PerQuery(9), choice: Choice::Top, seed: 0 };
        let queries = HashMap::new();
        let mined = |scored: &[&str]| {
            let mut run = Run::default();
            let entry = |id: &&str| RunEntry { doc_id: (*id).to_owned(), score: 0.5 };
            run.queries.insert("q".to_owned(), scored.iter().map(entry).collect());
            let scores = RerankScores::of_runs([run]);
            let job = MineJob {
                hits: &hits,
                qrels: &qrels,
                relevance_level: 1,
                positives: None,
                scored: Some(Scored { scores: &scores, rule: ScoreRule::default() }),
                selection: &selection,
                format: Format::Pairs,
                queries: &queries,
                collection: None,
            };
            let mining = job.choose(&|_| ()).unwrap();
            let left_out = mining.unscored_positives.as_ref().map(|(count, first)| (*count, first.clone()));
            (mining.queries(), mining.positives(), mining.negatives(), left_out, mining.unscored.clone())
        };
        let first = |id: &str| id.to_owned();
        let unscored = Some((1, first("unscored")));
        assert_eq!(mined(&["scored", "other"]), (1, 1, 1, Some((2, first("hit"))), unscored));
        assert_eq!(mined(&["other"]), (0, 0, 0, Some((3, first("scored"))), None), "the query is left out");
        let all = mined(&["scored", "hit", "elsewhere", "other", "unscored"]);
        assert_eq!(all, (1, 3, 2, None, None));
    }
}
