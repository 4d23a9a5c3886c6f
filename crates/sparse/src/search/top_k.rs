//! The best hits so far.

use toller_ir::{DocOrd, Hit, Ranking};

/// The least room beyond k: a selection is worth its cost after many offers.
const LEAST_ROOM: usize = 32;

/// How many times k hits are too many. To select earlier costs more than it saves.
const CROWD: usize = 8;

/// Keeps the k best of the hits that are offered, in any order.
///
/// A hit is one number: the bits of its score, which ascend with scores that are not negative, above the
/// complement of its ordinal. So the larger number is the better hit.
#[derive(Debug)]
pub(super) struct TopK {
    k: usize,
    keys: Vec<u64>,
    /// Hits up to this are not among the k best.
    floor: u64,
}

impl TopK {
    pub(super) fn new() -> Self {
        Self { k: 0, keys: Vec::new(), floor: 0 }
    }

    /// Forgets all hits. From now on the best `k` are kept, which is above 0.
    pub(super) fn begin(&mut self, k: usize) {
        self.k = k;
        self.keys.clear();
        self.floor = 0;
    }

    /// Offers a document with a score above zero.
    #[inline]
    pub(super) fn offer(&mut self, doc: u32, score: f32) {
        let key = u64::from(score.to_bits()) << 32 | u64::from(!doc);
        if key > self.floor {
            self.keys.push(key);
        }
    }

    /// Whether [`TopK::tighten`] pays in the middle of a window.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.keys.len() >= self.k.saturating_mul(CROWD).saturating_add(LEAST_ROOM)
    }

    /// Forgets hits that are not among the k best, if that pays. Returns the score of the k-th best if it is
    /// new.
    pub(super) fn tighten(&mut self) -> Option<f32> {
        let room = (self.k / 4).max(LEAST_ROOM);
        if self.keys.len() < self.k.saturating_add(if self.floor == 0 { 0 } else { room }) {
            return None;
        }
        self.select();
        Some(f32::from_bits((self.floor >> 32) as u32))
    }

    fn select(&mut self) {
        if self.keys.len() >= self.k {
            let (_, kth, _) = self.keys.select_nth_unstable_by(self.k - 1, |a, b| b.cmp(a));
            self.floor = *kth;
            self.keys.truncate(self.k);
        }
    }

    /// The hits, best first.
    pub(super) fn finish(&mut self) -> Ranking {
        self.select();
        self.keys.sort_unstable_by(|a, b| b.cmp(a));
        let hit = |&key: &u64| Hit::new(DocOrd(!(key as u32)), f32::from_bits((key >> 32) as u32));
        Ranking { hits: self.keys.iter().map(hit).collect() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toller_ir::{DocOrd, Hit};

    use super::TopK;

    proptest! {
        #[test]
        fn the_best_of_all(scores in prop::collection::vec(1..20_u32, 0..300), k in 1..200_usize) {
            let mut top = TopK::new();
            top.begin(k);
            let mut all: Vec<Hit> = Vec::new();
            for (doc, &score) in (0..).zip(&scores) {
                // The documents come out of order.
                let doc = doc ^ 5;
                top.offer(doc, score as f32 / 3.0);
                all.push(Hit::new(DocOrd(doc), score as f32 / 3.0));
                if score % 5 == 0 || top.is_crowded() {
                    top.tighten();
                }
            }
            all.sort_unstable();
            all.truncate(k);
            prop_assert_eq!(top.finish().hits, all);
        }
    }
}
