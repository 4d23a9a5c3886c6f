//! The documents that lists have for one query, and their ranks and scores in each list.

use std::cmp::Ordering;
use std::hash::Hash;

use ahash::AHashMap;

use super::combine::combine;
use super::normalize::normalize;
use super::options::{Combination, Fusion};

/// The rank of a document that is missing from a list: after all others.
const MISSING: u32 = u32::MAX;

/// The documents that several lists have for one query, normalized: to be combined once, or with many
/// weights.
///
/// `K` is what a document is known by: its identifier, or its ordinal in a collection.
#[derive(Clone, Debug)]
pub struct Pool<K> {
    documents: Vec<K>,
    lists: usize,
    /// `[documents, lists]`: the place in the list, from 0.
    ranks: Vec<u32>,
    /// `[documents, lists]`: the normalized score; `None` where the list says nothing.
    values: Vec<Option<f64>>,
}

/// What is wrong with a list, or with a fused score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum BadEntry<K> {
    Duplicate { list: usize, document: K },
    NotFinite { list: usize, document: K, score: f64 },
    Overflow { document: K, score: f64 },
}

impl<K: Copy + Eq + Hash> Pool<K> {
    /// Pools lists of documents and scores, in any order. The best `depth` of each list count. Equal scores
    /// keep their order.
    pub(crate) fn new(
        mut lists: Vec<Vec<(K, f64)>>,
        depth: usize,
        fusion: &Fusion,
    ) -> Result<Self, BadEntry<K>> {
        let width = lists.len();
        let mut pool = Self { documents: Vec::new(), lists: width, ranks: Vec::new(), values: Vec::new() };
        let mut rows: AHashMap<K, usize> =
            AHashMap::with_capacity(lists.iter().map(Vec::len).max().unwrap_or(0));
        for (list, entries) in lists.iter_mut().enumerate() {
            if let Some((document, score)) = entries.iter().find(|(_, score)| !score.is_finite()) {
                return Err(BadEntry::NotFinite { list, document: *document, score: *score });
            }
            // Stable; `+ 0.0` makes one zero of both.
            entries.sort_by(|(_, a), (_, b)| (b + 0.0).total_cmp(&(a + 0.0)));
            for (rank, (document, _)) in entries.iter().enumerate() {
                let row = *rows.entry(*document).or_insert(pool.documents.len());
                // A document below the depth still must not come twice.
                if row == pool.documents.len() {
                    pool.documents.push(*document);
                    pool.ranks.resize(pool.ranks.len() + width, MISSING);
                }
                let seen = &mut pool.ranks[row * width + list];
                if *seen != MISSING {
                    return Err(BadEntry::Duplicate { list, document: *document });
                }
                *seen = rank as u32;
            }
        }
        pool.cut(depth);
        pool.fill(&lists, depth, fusion);
        Ok(pool)
    }

    /// Forgets the ranks from `depth` on, and the documents without other ranks.
    fn cut(&mut self, depth: usize) {
        let beyond = |rank: u32| rank != MISSING && rank as usize >= depth;
        if !self.ranks.iter().any(|rank| beyond(*rank)) {
            return;
        }
        let mut ranks = Vec::with_capacity(self.ranks.len());
        let mut documents = Vec::with_capacity(self.documents.len());
        for (row, document) in self.ranks.chunks(self.lists).zip(&self.documents) {
            let kept = row.iter().map(|rank| if beyond(*rank) { MISSING } else { *rank });
            if kept.clone().any(|rank| rank != MISSING) {
                ranks.extend(kept);
                documents.push(*document);
            }
        }
        (self.ranks, self.documents) = (ranks, documents);
    }

    /// Normalizes the lists' scores.
    fn fill(&mut self, lists: &[Vec<(K, f64)>], depth: usize, fusion: &Fusion) {
        self.values = vec![None; self.ranks.len()];
        for (list, entries) in lists.iter().enumerate() {
            let scores: Vec<f64> = entries.iter().take(depth).map(|(_, score)| *score).collect();
            let scaled = normalize(&scores, self.documents.len(), fusion.normalization, fusion.missing);
            let column = self.ranks.iter().zip(&mut self.values).skip(list).step_by(self.lists);
            for (rank, value) in column {
                *value = if *rank == MISSING {
                    scaled.missing
                } else {
                    scaled.values.get(*rank as usize).copied()
                };
            }
        }
    }

    /// The `k` best documents of the pool with their fused scores, which fall strictly. `weights` has one a
    /// list.
    pub(crate) fn fuse(
        &self,
        combination: Combination,
        weights: &[f64],
        k: usize,
    ) -> Result<Vec<(K, f32)>, BadEntry<K>> {
        let mut ranked = Vec::with_capacity(self.documents.len());
        let mut numbers = Vec::with_capacity(self.lists);
        for (row, document) in self.documents.iter().enumerate() {
            let score = self.score(row, combination, weights, &mut numbers);
            let rounded = score as f32 + 0.0;
            if !rounded.is_finite() {
                return Err(BadEntry::Overflow { document: *document, score });
            }
            ranked.push((rounded, row));
        }
        let ranks = |row: usize| &self.ranks[row * self.lists..(row + 1) * self.lists];
        let order = |a: &(f32, usize), b: &(f32, usize)| -> Ordering {
            b.0.total_cmp(&a.0).then_with(|| ranks(a.1).cmp(ranks(b.1)))
        };
        if k < ranked.len() {
            ranked.select_nth_unstable_by(k, order);
            ranked.truncate(k);
        }
        ranked.sort_unstable_by(order);
        self.falling(&ranked)
    }

    /// The score of a document; `numbers` is scratch.
    fn score(&self, row: usize, combination: Combination, weights: &[f64], numbers: &mut Vec<f64>) -> f64 {
        let row = row * self.lists..(row + 1) * self.lists;
        numbers.clear();
        let mut weight = 0.0;
        for (value, list_weight) in self.values[row.clone()].iter().zip(weights) {
            if let Some(value) = value {
                numbers.push(value * list_weight);
                weight += list_weight;
            }
        }
        let retrieved = self.ranks[row].iter().filter(|rank| **rank != MISSING).count();
        combine(numbers, retrieved, weight, combination)
    }

    /// Documents and scores, each score below the one before.
    fn falling(&self, ranked: &[(f32, usize)]) -> Result<Vec<(K, f32)>, BadEntry<K>> {
        let mut above = f32::INFINITY;
        let lower = |(score, row): &(f32, usize)| {
            let document = self.documents[*row];
            above = if *score < above { *score } else { above.next_down() };
            if above.is_finite() {
                Ok((document, above))
            } else {
                Err(BadEntry::Overflow { document, score: f64::from(*score) })
            }
        };
        ranked.iter().map(lower).collect()
    }
}

impl<K> Pool<K> {
    /// The documents, each once, in the order in which the lists have them.
    #[must_use]
    pub fn documents(&self) -> &[K] {
        &self.documents
    }

    /// The number of lists.
    pub(crate) fn list_count(&self) -> usize {
        self.lists
    }
}

#[cfg(test)]
mod tests {
    use super::{BadEntry, Pool};
    use crate::fusion::options::{Combination, Fusion, Missing, Normalization, Scale};

    const AS_THEY_ARE: Fusion = Fusion {
        normalization: Normalization::Scale(Scale::None),
        missing: Missing::LeftOut,
        combination: Combination::Sum,
        weights: Vec::new(),
    };

    fn fused(lists: &[&[(char, f64)]], depth: usize, k: usize) -> Result<Vec<(char, f32)>, BadEntry<char>> {
        let lists: Vec<Vec<(char, f64)>> = lists.iter().map(|list| list.to_vec()).collect();
        let weights = vec![1.0; lists.len()];
        Pool::new(lists, depth, &AS_THEY_ARE)?.fuse(Combination::Sum, &weights, k)
    }

    #[test]
    fn ties_go_to_the_first_list_and_scores_fall() {
        let ranked = fused(&[&[('a', 2.0), ('b', 1.0)], &[('c', 2.0), ('b', 1.0)]], 9, 9);
        assert_eq!(
            ranked,
            Ok(vec![('a', 2.0), ('b', 2.0_f32.next_down()), ('c', 2.0_f32.next_down().next_down())])
        );
        // Equal scores keep the order of their list, and zero has one sign.
        let ranked = fused(&[&[('b', -0.0), ('a', 0.0), ('c', 1.0)]], 9, 9);
        assert_eq!(ranked, Ok(vec![('c', 1.0), ('b', 0.0), ('a', 0.0_f32.next_down())]));
    }

    #[test]
    fn depth_cuts_lists_and_k_the_result() {
        let lists: &[&[(char, f64)]] = &[&[('a', 3.0), ('b', 2.0), ('c', 1.0)], &[('c', 9.0), ('d', 8.0)]];
        assert_eq!(fused(lists, 1, 9), Ok(vec![('c', 9.0), ('a', 3.0)]));
        assert_eq!(fused(lists, 9, 2), Ok(vec![('c', 10.0), ('d', 8.0)]));
        assert_eq!(fused(lists, 9, 0), Ok(vec![]));
        assert_eq!(fused(&[], 9, 9), Ok(vec![]));
    }

    #[test]
    fn bad_entries_are_errors() {
        let twice = BadEntry::Duplicate { list: 1, document: 'a' };
        assert_eq!(fused(&[&[], &[('a', 2.0), ('b', 2.0), ('a', 1.0)]], 1, 9), Err(twice));
        let infinite = BadEntry::NotFinite { list: 0, document: 'a', score: f64::INFINITY };
        assert_eq!(fused(&[&[('a', f64::INFINITY)]], 9, 9), Err(infinite));
        let too_large = BadEntry::Overflow { document: 'a', score: 1e39 };
        assert_eq!(fused(&[&[('a', 1e39)]], 9, 9), Err(too_large));
    }
}
