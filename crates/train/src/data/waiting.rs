//! Examples that found no place in a batch, and wait for one.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;

/// Examples in the order in which they began to wait, each behind a key that it shares with an example
/// before. While the key is in a batch, nobody behind it is looked at: with a frequent key, thousands wait.
#[derive(Default)]
pub(super) struct Waiting {
    /// By the number of their turn.
    examples: Vec<u32>,
    /// The turns of those behind each key.
    behind: HashMap<u64, BTreeSet<usize>>,
    /// The first turn behind each key.
    heads: BTreeSet<(usize, u64)>,
}

impl Waiting {
    /// Lets an example wait behind a key.
    pub(super) fn push(&mut self, example: u32, key: u64) {
        self.examples.push(example);
        self.insert(self.examples.len() - 1, key);
    }

    /// Offers the waiting examples, in order, until `take` has no room. It takes an example, or names the key
    /// that is taken already. `is_taken` says whether a key is taken.
    pub(super) fn offer<S>(
        &mut self,
        state: &mut S,
        is_taken: impl Fn(&S, u64) -> bool,
        mut take: impl FnMut(&mut S, u32) -> Offered,
    ) {
        let mut next = self.heads.first().copied();
        while let Some((turn, key)) = next {
            if !is_taken(state, key) {
                match take(state, self.examples[turn]) {
                    Offered::Full => return,
                    Offered::Taken => self.remove(turn, key),
                    Offered::Blocked(other) => {
                        self.remove(turn, key);
                        self.insert(turn, other);
                    }
                }
            }
            next = self.heads.range((Bound::Excluded((turn, u64::MAX)), Bound::Unbounded)).next().copied();
        }
    }

    fn insert(&mut self, turn: usize, key: u64) {
        let queue = self.behind.entry(key).or_default();
        let before = queue.first().copied();
        queue.insert(turn);
        if before.is_none_or(|first| turn < first) {
            before.map(|first| self.heads.remove(&(first, key)));
            self.heads.insert((turn, key));
        }
    }

    /// Removes the first behind a key.
    fn remove(&mut self, turn: usize, key: u64) {
        self.heads.remove(&(turn, key));
        if let Some(queue) = self.behind.get_mut(&key) {
            queue.remove(&turn);
            match queue.first() {
                Some(&first) => drop(self.heads.insert((first, key))),
                None => drop(self.behind.remove(&key)),
            }
        }
    }
}

/// What becomes of an example that is offered.
pub(super) enum Offered {
    Taken,
    /// One of its keys is taken.
    Blocked(u64),
    /// There is no room for any.
    Full,
}
