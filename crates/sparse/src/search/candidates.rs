//! The documents of a window that may be among the best.

use toller_simd::product::Floats;
use toller_simd::{Kernel, Simd, Token};

use super::WINDOW;
use super::sums::{STRETCH, STRETCHES, Sums, bit_positions};

/// Places in the window, ascending.
pub(super) struct Candidates {
    token: Token,
    /// With room for a stretch behind the last, so that a stretch is written before its candidates are
    /// counted.
    places: Box<[u32; WINDOW + STRETCH]>,
    count: usize,
}

impl Candidates {
    pub(super) fn new(token: Token) -> Self {
        Self { token, places: Box::new([0; WINDOW + STRETCH]), count: 0 }
    }

    pub(super) fn as_slice(&self) -> &[u32] {
        &self.places[..self.count]
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Makes the candidates those documents whose sum is at least `least`, which is above 0.
    pub(super) fn collect(&mut self, sums: &Sums, least: u32) {
        self.token.run(Collect { candidates: self, sums, least });
    }

    /// Keeps the candidates whose sum is at least `least`.
    pub(super) fn keep(&mut self, sums: &Sums, least: u32) {
        let mut count = 0;
        for at in 0..self.count {
            // Without a branch, which could not be predicted.
            let place = self.places[at];
            self.places[count] = place;
            count += usize::from(sums.of(place as usize) >= least);
        }
        self.count = count;
    }
}

struct Collect<'a> {
    candidates: &'a mut Candidates,
    sums: &'a Sums,
    least: u32,
}

impl Kernel for Collect<'_> {
    type Output = ();
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Candidates { places, count, .. } = self.candidates;
        // First all masks, then their bits: which masks are empty cannot be predicted.
        let (mut masks, mut some) = ([0; STRETCHES], 0_u64);
        for stretch in bit_positions(self.sums.touched()) {
            masks[stretch] = simd.at_least(&self.sums.stretches()[stretch], self.least);
            some |= u64::from(masks[stretch] != 0) << stretch;
        }
        *count = 0;
        for stretch in bit_positions(some) {
            if let Some(room) = places.get_mut(*count..).and_then(|room| room.first_chunk_mut()) {
                *count += simd.set_bits(masks[stretch], (stretch * STRETCH) as u32, room);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toller_simd::Token;

    use super::Candidates;
    use crate::search::WINDOW;
    use crate::search::sums::Sums;

    fn places() -> impl Strategy<Value = Vec<(usize, u32)>> {
        let place = || (0..WINDOW, 0..50_u32);
        prop_oneof![prop::collection::vec(place(), 0..20), prop::collection::vec(place(), 0..5000)]
    }

    proptest! {
        #[test]
        fn what_is_large_stays(places in places(), least in 1..50_u32) {
            let mut sums = Sums::new();
            for &(place, sum) in &places {
                sums.touch(0, &[place as u32])[place] = sum;
            }
            let large = |&place: &u32| sums.of(place as usize) >= least;
            let expected: Vec<u32> = (0..WINDOW as u32).filter(large).collect();
            for token in Token::available() {
                let mut found = Candidates::new(token);
                found.collect(&sums, 1);
                found.keep(&sums, least);
                prop_assert_eq!(found.as_slice(), &expected, "{:?}", token);
                found.collect(&sums, least);
                prop_assert_eq!(found.as_slice(), &expected, "{:?}", token);
            }
        }
    }
}
