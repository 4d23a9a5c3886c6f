//! The values that a pickle has numbered, to refer to them later.

use std::collections::HashMap;

use crate::node::Ref;

/// Values by number. Writers number from 0 without gaps, so a vector holds the values. Other numbers, which
/// may be of any size in a damaged file, go to a map.
#[derive(Default)]
pub(crate) struct Memo {
    dense: Vec<Ref>,
    sparse: HashMap<u64, Ref>,
}

impl Memo {
    pub(crate) fn put(&mut self, number: u64, value: Ref) {
        let next = self.dense.len() as u64;
        if number == next {
            self.sparse.remove(&number);
            self.dense.push(value);
        } else if let Some(place) = usize::try_from(number).ok().and_then(|index| self.dense.get_mut(index)) {
            *place = value;
        } else {
            self.sparse.insert(number, value);
        }
    }

    /// Gives `value` the next number: the count of the values so far.
    pub(crate) fn put_next(&mut self, value: Ref) {
        self.put((self.dense.len() + self.sparse.len()) as u64, value);
    }

    pub(crate) fn get(&self, number: u64) -> Option<Ref> {
        let dense = usize::try_from(number).ok().and_then(|index| self.dense.get(index));
        dense.or_else(|| self.sparse.get(&number)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::Memo;
    use crate::node::Ref;

    #[test]
    fn numbers_may_come_in_any_order_and_again() {
        let mut memo = Memo::default();
        for (number, value) in [(0, 10), (2, 12), (4_000_000_000, 14), (1, 11), (2, 22), (0, 20)] {
            memo.put(number, Ref(value));
        }
        memo.put_next(Ref(13));
        for (number, value) in [(0, 20), (1, 11), (2, 22), (4_000_000_000, 14), (4, 13)] {
            assert_eq!(memo.get(number), Some(Ref(value)), "{number}");
        }
        assert_eq!(memo.get(3), None);
        assert_eq!(memo.get(u64::MAX), None);
    }
}
