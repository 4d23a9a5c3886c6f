//! The order of examples in an epoch, and the choice among an example's passages: functions of seed and
//! epoch.

use std::collections::HashSet;

use super::waiting::{Offered, Waiting};
use crate::dropout::mix;

/// The examples of an epoch in a random order.
pub(crate) struct Order {
    examples: Vec<u32>,
    /// Batches that have examples with a common key.
    crowded: usize,
}

/// Orders that are tried before batches have examples with a common key: a batch may find no other only
/// because of what earlier batches took.
const TRIES: u64 = 4;

/// Rounds of all examples in which crowded batches look for one that fits. What they do not find is rare,
/// and each round of many examples takes long.
const ROUNDS: usize = 8;

impl Order {
    pub(crate) fn new(count: usize, seed: u64, epoch: u64) -> Self {
        let examples = (0..u32::try_from(count).unwrap_or(u32::MAX)).collect();
        Self { examples: shuffled(examples, mix(mix(seed).wrapping_add(epoch))), crowded: 0 }
    }

    /// The same, but examples that have a key in common come into different batches of `size`. `keys` are
    /// those of each example. An example that finds no place waits for the next epoch. Others of this one
    /// come again in turn, so that none comes much more often than another. If no other fits in any order
    /// that is tried, the next one comes all the same.
    pub(crate) fn apart(keys: &[Vec<u64>], size: usize, seed: u64, epoch: u64) -> Self {
        let first = Self::new(keys.len(), seed, epoch).examples;
        let apart = (0..TRIES).find_map(|attempt| match attempt {
            0 => Self::placed(&first, keys, size, None),
            _ => Self::placed(&shuffled(first.clone(), mix(!seed).wrapping_add(attempt)), keys, size, None),
        });
        let placed = apart.or_else(|| Self::placed(&first, keys, size, Some(ROUNDS)));
        placed.unwrap_or(Self { examples: first, crowded: 0 })
    }

    /// The batches that have examples with a common key, since no other found a place.
    pub(crate) fn crowded(&self) -> usize {
        self.crowded
    }

    /// Takes the examples of `all` apart in their order. Where none fits, the next one is taken all the same
    /// after this many rounds; `None` for never, and then the result may be `None`.
    fn placed(all: &[u32], keys: &[Vec<u64>], size: usize, rounds: Option<usize>) -> Option<Self> {
        let mut examples = Vec::with_capacity(all.len());
        let (mut waiting, mut rest) = (Waiting::default(), all.iter().copied());
        let mut again = all.iter().copied().cycle();
        let (mut rounds_left, mut crowded) = (rounds, 0);
        for _ in 0..all.len() / size {
            let mut batch = Apart { keys, taken: HashSet::new(), examples: Vec::with_capacity(size), size };
            waiting.offer(&mut batch, |batch, key| batch.taken.contains(&key), Apart::take);
            while !batch.is_full() {
                let Some(example) = rest.next() else { break };
                if let Offered::Blocked(key) = batch.take(example) {
                    waiting.push(example, key);
                }
            }
            let mut left = if rounds_left == Some(0) { 0 } else { all.len() };
            while !batch.is_full() && left > 0 {
                left -= 1;
                batch.take(again.next()?);
            }
            // After a round of all, no other fits.
            if !batch.is_full() {
                rounds_left = Some(rounds_left?.saturating_sub(1));
                crowded += 1;
            }
            while !batch.is_full() {
                let example = again.next()?;
                if !batch.examples.contains(&example) {
                    batch.add(example);
                }
            }
            examples.append(&mut batch.examples);
        }
        Some(Self { examples, crowded })
    }

    pub(crate) fn batch(&self, index: usize, size: usize) -> &[u32] {
        &self.examples[index * size..(index + 1) * size]
    }
}

/// A batch of examples without a common key.
struct Apart<'a> {
    keys: &'a [Vec<u64>],
    taken: HashSet<u64>,
    examples: Vec<u32>,
    size: usize,
}

impl Apart<'_> {
    fn is_full(&self) -> bool {
        self.examples.len() == self.size
    }

    /// Takes an example if there is room for it.
    fn take(&mut self, example: u32) -> Offered {
        if self.is_full() {
            return Offered::Full;
        }
        let own = &self.keys[example as usize];
        match own.iter().find(|key| self.taken.contains(key)) {
            Some(key) => Offered::Blocked(*key),
            None => {
                self.add(example);
                Offered::Taken
            }
        }
    }

    /// Takes an example that is not there, whatever its keys.
    fn add(&mut self, example: u32) {
        self.taken.extend(&self.keys[example as usize]);
        self.examples.push(example);
    }
}

/// Fisher and Yates' shuffle.
fn shuffled(mut items: Vec<u32>, key: u64) -> Vec<u32> {
    for last in (1..items.len()).rev() {
        let draw = mix(key.wrapping_add(last as u64));
        // The high bits of the product: a uniform number up to `last`, with an error of 2^-64.
        let other = ((u128::from(draw) * (last as u128 + 1)) >> 64) as usize;
        items.swap(last, other);
    }
    items
}

/// The choice of an epoch: `count` of `all` items, or all if there are fewer. The items are shuffled once for
/// each example, and each epoch takes the next window, from the start again after the end: so all items have
/// their turn.
pub(crate) fn window(all: usize, count: usize, seed: u64, example: u64, epoch: u64) -> Vec<usize> {
    let items = (0..u32::try_from(all).unwrap_or(u32::MAX)).collect();
    let items = shuffled(items, mix(mix(!seed).wrapping_add(example)));
    let start = if all == 0 { 0 } else { (epoch % all as u64) * (count as u64) % all as u64 };
    let chosen = items.iter().cycle().skip(start as usize).take(count.min(all));
    chosen.map(|&item| item as usize).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Order, window};
    use crate::dropout::mix;

    #[test]
    fn every_example_has_one_place_and_epochs_differ() {
        let batches = |epoch| {
            let order = Order::new(1000, 3, epoch);
            (0..100).flat_map(|batch| order.batch(batch, 10).to_vec()).collect::<Vec<u32>>()
        };
        assert_eq!(batches(0).into_iter().collect::<BTreeSet<_>>().len(), 1000);
        assert_eq!(batches(1), batches(1));
        assert_ne!(batches(0), batches(1));
        let moved = batches(0).iter().enumerate().filter(|(index, x)| *index as u32 != **x).count();
        assert!(moved > 990, "{moved} of 1,000 moved");
    }

    #[test]
    fn examples_with_a_common_key_come_apart() {
        // Each key is one of 40 examples'; and one of all.
        let keys: Vec<Vec<u64>> = (0..1000).map(|example| vec![example / 40, 1000 + example]).collect();
        let mut seen = BTreeSet::new();
        for epoch in 0..3 {
            let order = Order::apart(&keys, 10, 3, epoch);
            assert_eq!(order.crowded(), 0, "there is room");
            for batch in (0..100).map(|index| order.batch(index, 10)) {
                let own: BTreeSet<u64> = batch.iter().map(|example| keys[*example as usize][0]).collect();
                assert_eq!(own.len(), 10, "{batch:?}");
                seen.extend(batch.to_vec());
            }
        }
        assert_eq!(seen.len(), 1000, "all have their turn");
        // The same as by looking at all that wait, for every batch.
        for (examples, size) in [(1000, 10), (997, 7), (300, 16)] {
            let key = |example: u64, by: u64| mix(example.wrapping_mul(by)) % (examples / 9);
            let keys: Vec<Vec<u64>> =
                (0..examples).map(|example| vec![key(example, 3), examples + key(example, 5)]).collect();
            let apart = Order::apart(&keys, size, 3, 1).examples;
            assert_eq!(Some(apart), by_looking_at_all(&keys, size), "{examples} examples, {size} of a batch");
        }
        let plain: Vec<Vec<u64>> = (0..100).map(|example| vec![example]).collect();
        let (apart, new) = (Order::apart(&plain, 7, 3, 1), Order::new(100, 3, 1));
        assert_eq!(apart.examples, new.examples[..98]);
    }

    #[test]
    fn another_order_is_tried_before_batches_are_crowded() {
        // The first example has a key in common with each of the others, so the batch that it begins has no
        // other: in three of four orders.
        let keys = [vec![1, 2, 3], vec![1], vec![2], vec![3]];
        let is_apart = |epoch: &u64| {
            let order = Order::apart(&keys, 2, 3, *epoch);
            let has_first = order.examples.contains(&0);
            assert_eq!(order.crowded() > 0, has_first, "{:?}", order.examples);
            !has_first
        };
        let apart = (0..100).filter(is_apart).count();
        assert!((55..80).contains(&apart), "four tries make {apart} of 100 epochs, one would make 25");
    }

    #[test]
    fn batches_are_full_even_if_no_example_fits() {
        let order = Order::apart(&vec![vec![1]; 20], 4, 3, 0);
        assert_eq!((order.crowded(), order.examples.len()), (5, 20));
        for batch in (0..5).map(|index| order.batch(index, 4)) {
            assert_eq!(batch.iter().collect::<BTreeSet<_>>().len(), 4, "no example twice: {batch:?}");
        }
        let started = std::time::Instant::now();
        let order = Order::apart(&vec![vec![1]; 100_000], 2, 3, 0);
        assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
        assert_eq!(order.crowded(), 50_000);
    }

    /// The definition of [`Order::apart`], with seed 3 and epoch 1.
    fn by_looking_at_all(keys: &[Vec<u64>], size: usize) -> Option<Vec<u32>> {
        let all = Order::new(keys.len(), 3, 1).examples;
        let (mut waiting, mut rest, mut examples) = (Vec::new(), all.iter().copied(), Vec::new());
        let mut next = 0;
        for _ in 0..all.len() / size {
            let (mut taken, mut batch) = (BTreeSet::new(), Vec::new());
            let mut take = |batch: &mut Vec<u32>, example: u32| {
                let own = &keys[example as usize];
                let fits = batch.len() < size && own.iter().all(|key| !taken.contains(key));
                if fits {
                    taken.extend(own.iter().copied());
                    batch.push(example);
                }
                fits
            };
            waiting.retain(|example| !take(&mut batch, *example));
            while batch.len() < size {
                let Some(example) = rest.next() else { break };
                if !take(&mut batch, example) {
                    waiting.push(example);
                }
            }
            for left in (0..all.len()).rev() {
                if batch.len() == size {
                    break;
                }
                take(&mut batch, all[next % all.len()]);
                next += 1;
                if left == 0 && batch.len() < size {
                    return None;
                }
            }
            examples.append(&mut batch);
        }
        Some(examples)
    }

    #[test]
    fn a_frequent_key_does_not_take_long_and_the_others_come_equally_often() {
        // One key for half of the examples: each batch has one of them, and the others wait.
        let keys: Vec<Vec<u64>> =
            (0..200_000).map(|example| vec![if example % 2 == 0 { 0 } else { example }]).collect();
        let started = std::time::Instant::now();
        let order = Order::apart(&keys, 32, 3, 0);
        assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
        let mut times = vec![0; keys.len()];
        order.examples.iter().for_each(|example| times[*example as usize] += 1);
        // 6,250 batches have 31 places for the 100,000 others: 1.94 for each.
        let others: BTreeSet<i32> = times.iter().skip(1).step_by(2).copied().collect();
        assert!(others.is_subset(&BTreeSet::from([1, 2, 3])), "{others:?}");
        assert_eq!(times.iter().step_by(2).sum::<i32>(), 6250);
    }

    #[test]
    fn all_passages_have_their_turn() {
        let seen: Vec<usize> = (0..5).flat_map(|epoch| window(10, 2, 1, 7, epoch)).collect();
        assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 10);
        assert_eq!(window(10, 2, 1, 7, 0), window(10, 2, 1, 7, 5), "and then again");
        assert_ne!(window(10, 10, 1, 7, 0), window(10, 10, 1, 8, 0), "each example has its own order");
        assert_eq!(window(2, 5, 1, 7, 3).len(), 2);
        assert_eq!(window(0, 5, 1, 7, 3), [0; 0]);
    }
}
