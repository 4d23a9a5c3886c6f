//! The sums of a window.

use super::WINDOW;

/// Neighbouring documents with one bit in common that says whether they have been touched.
pub(super) const STRETCH: usize = WINDOW / STRETCHES;

/// The stretches of a window.
pub(super) const STRETCHES: usize = u64::BITS as usize;

/// More postings than this are assumed to touch every stretch.
const FEW: usize = 16;

/// The sum of each document of a window, and which stretches have any. Rare terms touch little of a window,
/// and then only that is looked at and cleared.
pub(super) struct Sums {
    sums: [u32; WINDOW],
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

    /// The sums by stretch.
    #[inline]
    pub(super) fn stretches(&self) -> &[[u32; STRETCH]] {
        self.sums.as_chunks().0
    }

    /// The stretches that may have sums above 0, a bit each.
    #[inline]
    pub(super) fn touched(&self) -> u64 {
        self.touched
    }

    /// The sums, to change those of `docs`, which lie in the window that begins with `first`.
    #[inline]
    pub(super) fn touch(&mut self, first: u32, docs: &[u32]) -> &mut [u32; WINDOW] {
        let stretch = |doc: &u32| doc.wrapping_sub(first) as usize / STRETCH % STRETCHES;
        self.touched |= if docs.len() > FEW {
            u64::MAX
        } else {
            docs.iter().fold(0, |touched, doc| touched | 1 << stretch(doc))
        };
        &mut self.sums
    }

    /// Makes all sums 0.
    pub(super) fn clear(&mut self) {
        if self.touched == u64::MAX {
            self.sums.fill(0);
        } else {
            for stretch in bit_positions(self.touched) {
                self.sums[stretch * STRETCH..][..STRETCH].fill(0);
            }
        }
        self.touched = 0;
    }
}

/// The positions of the ones of a number.
#[inline]
pub(super) fn bit_positions(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let position = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (position < STRETCHES).then_some(position)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{STRETCH, Sums};
    use crate::search::WINDOW;

    fn piece() -> impl Strategy<Value = std::collections::BTreeSet<u32>> {
        prop::collection::btree_set(0..WINDOW as u32, 0..40)
    }

    proptest! {
        #[test]
        fn what_is_touched_is_known_and_cleared(pieces in prop::collection::vec(piece(), 0..4)) {
            let first = 3 * WINDOW as u32;
            let mut sums = Sums::new();
            for piece in pieces {
                let docs: Vec<u32> = piece.into_iter().map(|local| first + local).collect();
                let parts = sums.touch(first, &docs);
                docs.iter().for_each(|doc| parts[(doc - first) as usize] += 1);
            }
            for local in 0..WINDOW {
                prop_assert!(sums.of(local) == 0 || sums.touched() >> (local / STRETCH) & 1 == 1);
            }
            sums.clear();
            prop_assert!((0..WINDOW).all(|local| sums.of(local) == 0));
        }
    }
}
