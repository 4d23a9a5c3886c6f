//! A small generator of pseudo-random numbers, the same in every run.

use toller_ir::SplitMix64;

/// A generator, and what tests draw from it.
pub(super) struct Random(SplitMix64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// A number below another.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0.below(end)
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// A character of a range of code points. A letter, if the code point is not a character.
    pub(super) fn char_in(&mut self, from: u32, to: u32) -> char {
        char::from_u32(from + self.below((to - from + 1) as usize) as u32).unwrap_or('q')
    }
}
