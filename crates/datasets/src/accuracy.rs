//! The ranks at which runs have passages with an answer, from one pass over the collection.

use std::collections::HashMap;

use rayon::prelude::*;
use toller_ir::{Passage, Qrels, Query};

use crate::answers::{AnswerMatcher, MatchMode, PreparedText};

/// The rank, from 1, of the first of these texts that has an answer to a question.
#[must_use]
pub fn first_rank<'a>(
    question: &Query,
    texts: impl IntoIterator<Item = &'a str>,
    mode: MatchMode,
) -> Option<u32> {
    let matcher = AnswerMatcher::new(question.answers.iter().map(String::as_str), mode);
    texts.into_iter().zip(1..).find(|(text, _)| matcher.is_in(text)).map(|(_, rank)| rank)
}

/// Looks for the answers of questions in the passages that runs have retrieved.
///
/// Passages are given in any order, and none is kept. As in DPR's script, answers are looked for in a
/// passage's text, not in its title.
#[derive(Debug)]
pub struct AnswerSearch<'a> {
    mode: MatchMode,
    questions: &'a [Query],
    /// The place of each question by its identifier.
    by_id: HashMap<&'a str, usize>,
    matchers: Vec<AnswerMatcher>,
    /// Where each passage was retrieved.
    places: HashMap<String, Vec<Place>>,
    /// For each run and question, the rank of the first passage with an answer.
    first: Vec<Vec<Option<u32>>>,
    /// Each passage with the questions whose answers it has, if all are wanted.
    answering: Option<HashMap<String, Vec<u32>>>,
}

/// Where a passage was retrieved.
#[derive(Clone, Copy, Debug)]
struct Place {
    run: u32,
    question: u32,
    /// From 1.
    rank: u32,
}

impl<'a> AnswerSearch<'a> {
    /// For these questions, by their identifiers.
    #[must_use]
    pub fn new(questions: &'a [Query], mode: MatchMode) -> Self {
        let matcher = |query: &Query| AnswerMatcher::new(query.answers.iter().map(String::as_str), mode);
        Self {
            mode,
            questions,
            by_id: questions.iter().map(|query| query.id.as_str()).zip(0..).collect(),
            matchers: questions.par_iter().map(matcher).collect(),
            places: HashMap::new(),
            first: Vec::new(),
            answering: None,
        }
    }

    /// Looks for all passages with an answer, not only for the first of each question.
    #[must_use]
    pub fn for_judgments(mut self) -> Self {
        self.answering = Some(HashMap::new());
        self
    }

    /// Adds a run: what it retrieved for each question, best first. Questions that are not searched for are
    /// ignored.
    pub fn add_run<'r, D: IntoIterator<Item = &'r str>>(
        &mut self,
        rankings: impl IntoIterator<Item = (&'r str, D)>,
    ) {
        let run = self.first.len() as u32;
        self.first.push(vec![None; self.matchers.len()]);
        for (query, docs) in rankings {
            let Some(&question) = self.by_id.get(query) else { continue };
            for (doc, rank) in docs.into_iter().zip(1..) {
                let place = Place { run, question: question as u32, rank };
                match self.places.get_mut(doc) {
                    Some(places) => places.push(place),
                    None => drop(self.places.insert(doc.to_owned(), vec![place])),
                }
            }
        }
    }

    /// How many different passages were retrieved.
    #[must_use]
    pub fn retrieved(&self) -> usize {
        self.places.len()
    }

    /// Whether a run retrieved this passage.
    #[must_use]
    pub fn is_retrieved(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    /// Looks into passages of the collection, on all threads.
    pub fn look_into(&mut self, passages: &[Passage]) {
        let wanted: Vec<(&Passage, &[Place])> = passages
            .iter()
            .filter_map(|passage| Some((passage, self.places.get(&passage.id)?.as_slice())))
            .collect();
        let hits = |(passage, places): &(&Passage, &[Place])| {
            let text = PreparedText::new(&passage.text, self.mode);
            // A later rank than one that is known does not matter, where only the first counts.
            let is_open = |place: &&Place| {
                let first = self.first[place.run as usize][place.question as usize];
                self.answering.is_some() || first.is_none_or(|rank| place.rank < rank)
            };
            let has_answer = |place: &&Place| self.matchers[place.question as usize].is_in_prepared(&text);
            places.iter().filter(is_open).filter(has_answer).copied().collect::<Vec<Place>>()
        };
        let hits: Vec<Vec<Place>> = wanted.par_iter().map(hits).collect();
        for ((passage, _), places) in wanted.iter().zip(hits) {
            for Place { run, question, rank } in &places {
                let first = &mut self.first[*run as usize][*question as usize];
                *first = Some(first.map_or(*rank, |known| known.min(*rank)));
            }
            if let Some(answering) = &mut self.answering {
                let questions = places.iter().map(|place| place.question).collect();
                answering.insert(passage.id.clone(), questions);
            }
        }
    }

    /// For each run and question, in their order, the rank of the first passage with an answer.
    #[must_use]
    pub fn first_ranks(&self) -> &[Vec<Option<u32>>] {
        &self.first
    }

    /// What the runs retrieved, judged: passages with an answer have the grade 1, others 0. Questions are in
    /// their order, and passages in the order of their best ranks. After [`AnswerSearch::for_judgments`].
    #[must_use]
    pub fn judgments(&self) -> Qrels {
        let mut retrieved: Vec<(u32, u32, u32, &str)> = self
            .places
            .iter()
            .flat_map(|(id, places)| {
                places.iter().map(|place| (place.question, place.rank, place.run, id.as_str()))
            })
            .collect();
        retrieved.sort_unstable();
        let mut qrels = Qrels::new();
        for (question, _, _, id) in retrieved {
            let Some(query) = self.questions.get(question as usize) else { continue };
            let answers = self.answering.as_ref().and_then(|answering| answering.get(id));
            let grade = answers.is_some_and(|questions| questions.contains(&question));
            qrels.insert(&query.id, id, i32::from(grade));
        }
        qrels
    }
}
