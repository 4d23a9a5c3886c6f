//! The sums of a window.

use super::WINDOW;

/// Documents of a stretch, for which there is one bit.
pub(super) const STRETCH: usize = WINDOW / 64;

/// More postings than this are taken to touch every stretch, and a window of more touched stretches is looked at as a whole.
const FEW: usize = 16;

/// The sum of each document of a window, and where there are any. Rare terms touch little of a window, and then only that is looked at and
/// cleared.
pub(super) struct Sums {
    sums: [u32; WINDOW],
    /// The stretches that may have sums above 0.
    touched: u64,
}

impl Sums {
    pub(super) fn new() -> Box<Self> {
        Box::new(Self { sums: [0; WINDOW], touched: 0 })
    }

    /// That of a document, by its place in the window.
    #[inline]
    pub(super) fn of(&self, local: usize) -> u32 {
        self.sums[local % WINDOW]
    }

    #[inline]
    pub(super) fn stretches(&self) -> &[[u32; STRETCH]] {
        self.sums.as_chunks().0
    }

    /// The stretches that may have sums above 0, a bit each; `None` if they are many.
    #[inline]
    pub(super) fn few_touched(&self) -> Option<u64> {
        (self.touched.count_ones() as usize <= FEW).then_some(self.touched)
    }

    /// The sums, to which parts of `docs` are going to be added, which lie in the window that begins with `first`.
    #[inline]
    pub(super) fn touch(&mut self, first: u32, docs: &[u32]) -> &mut [u32; WINDOW] {
        let stretch = |doc: &u32| doc.wrapping_sub(first) as usize / STRETCH % 64;
        self.touched |= if docs.len() > FEW {
            u64::MAX
        } else {
            docs.iter().fold(0, |touched, doc| touched | 1 << stretch(doc))
        };
        &mut self.sums
    }

    /// Makes all sums 0.
    pub(super) fn clear(&mut self) {
        match self.few_touched() {
            Some(touched) => {
                ones(touched).for_each(|stretch| self.sums[stretch * STRETCH..][..STRETCH].fill(0))
            }
            None => self.sums.fill(0),
        }
        self.touched = 0;
    }
}

/// The places of the ones of a number.
#[inline]
pub(super) fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (place < 64).then_some(place)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{STRETCH, Sums};
    use crate::search::WINDOW;

    proptest! {
        #[test]
        fn what_is_touched_is_known_and_cleared(pieces in prop::collection::vec(prop::collection::btree_set(0..WINDOW as u32, 0..40), 0..4)) {
            let first = 3 * WINDOW as u32;
            let mut sums = Sums::new();
            for piece in pieces {
                let docs: Vec<u32> = piece.into_iter().map(|local| first + local).collect();
                let parts = sums.touch(first, &docs);
                docs.iter().for_each(|doc| parts[(doc - first) as usize] += 1);
            }
            for local in 0..WINDOW {
                prop_assert!(sums.of(local) == 0 || sums.touched >> (local / STRETCH) & 1 == 1);
            }
            sums.clear();
            prop_assert!((0..WINDOW).all(|local| sums.of(local) == 0));
        }
    }
}
