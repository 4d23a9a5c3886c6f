//! The documents of a window that may be among the best.

use super::WINDOW;
use super::sums::{STRETCH, Sums, ones};

/// Sums that are looked at together.
const LANES: usize = 16;

/// Groups of so many sums, for which there is one bit.
const GROUPS: usize = 64;

/// Places in the window, ascending.
pub(super) struct Candidates {
    /// With room for a group beyond the last, so that a group can be written before it is known how many of it count.
    places: Box<[u16; WINDOW + LANES]>,
    count: usize,
}

impl Candidates {
    pub(super) fn new() -> Self {
        Self { places: Box::new([0; WINDOW + LANES]), count: 0 }
    }

    pub(super) fn as_slice(&self) -> &[u16] {
        &self.places[..self.count]
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Makes the candidates those documents whose sum is at least `least`, which is above 0.
    pub(super) fn collect(&mut self, sums: &Sums, least: u32) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1")
        {
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: this CPU has all of them.
                return unsafe { self.collect_avx512(sums, least) };
            }
            // SAFETY: this CPU has all of them.
            return unsafe { self.collect_avx2(sums, least) };
        }
        self.collect_portable(sums, least);
    }

    /// Keeps the candidates whose sum is at least `least`.
    pub(super) fn keep(&mut self, sums: &Sums, least: u32) {
        let mut count = 0;
        for at in 0..self.count {
            // No branch: it could not be foreseen.
            let place = self.places[at];
            self.places[count] = place;
            count += usize::from(sums.of(usize::from(place)) >= least);
        }
        self.count = count;
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,popcnt,bmi1")]
    fn collect_avx512(&mut self, sums: &Sums, least: u32) {
        use std::arch::x86_64::{
            _mm256_storeu_si256, _mm512_add_epi32, _mm512_cmpge_epu32_mask, _mm512_cvtepi32_epi16,
            _mm512_loadu_si512, _mm512_maskz_compress_epi32, _mm512_set1_epi32, _mm512_setr_epi32,
        };
        let threshold = _mm512_set1_epi32(least as i32);
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let count = |sums: &[u32; LANES]| {
            // SAFETY: these are sixteen sums.
            _mm512_cmpge_epu32_mask(unsafe { _mm512_loadu_si512(sums.as_ptr().cast()) }, threshold)
        };
        self.list(sums, count, |mask, first, room| {
            let places = _mm512_add_epi32(lanes, _mm512_set1_epi32(first as i32));
            let places = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(mask, places));
            // SAFETY: there is room for sixteen.
            unsafe { _mm256_storeu_si256(room.as_mut_ptr().cast(), places) };
        });
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,popcnt,bmi1")]
    fn collect_avx2(&mut self, sums: &Sums, least: u32) {
        use std::arch::x86_64::{
            _mm256_castsi256_ps, _mm256_cmpgt_epi32, _mm256_loadu_si256, _mm256_movemask_ps,
            _mm256_set1_epi32,
        };
        // Sums have 31 bits at most, so that they can be compared as signed numbers.
        let below = _mm256_set1_epi32(least as i32 - 1);
        let half = |sums: &[u32]| {
            // SAFETY: these are eight sums.
            let sums = unsafe { _mm256_loadu_si256(sums.as_ptr().cast()) };
            _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(sums, below))) as u16
        };
        let count = |sums: &[u32; LANES]| half(&sums[..LANES / 2]) | half(&sums[LANES / 2..]) << (LANES / 2);
        self.list(sums, count, write_portable);
    }

    fn collect_portable(&mut self, sums: &Sums, least: u32) {
        let count = |sums: &[u32; LANES]| {
            (0..).zip(sums).fold(0, |mask, (lane, &sum)| mask | u16::from(sum >= least) << lane)
        };
        self.list(sums, count, write_portable);
    }

    /// Makes the candidates those documents that `count` has in the masks of their groups. `write` is given a mask that is
    /// not empty, the place of the group's first document, and where to write the places that count.
    #[inline(always)]
    fn list(
        &mut self,
        sums: &Sums,
        count: impl Fn(&[u32; LANES]) -> u16,
        write: impl Fn(u16, usize, &mut [u16; LANES]),
    ) {
        self.count = 0;
        if let Some(touched) = sums.few_touched() {
            for stretch in ones(touched) {
                let groups = sums.stretches().get(stretch).map_or(&[][..], |sums| sums.as_chunks().0);
                for (sums, first) in groups.iter().zip((stretch * STRETCH..).step_by(LANES)) {
                    self.append(count(sums), first, &write);
                }
            }
            return;
        }
        // First all masks, then what they have: which groups are empty is too irregular for a branch at each.
        let mut masks = [0; WINDOW / LANES];
        for (mask, sums) in masks.iter_mut().zip(sums.stretches().as_flattened().as_chunks().0) {
            *mask = count(sums);
        }
        for (part, masks) in masks.as_chunks::<GROUPS>().0.iter().enumerate() {
            let some = (0..).zip(masks).fold(0, |some, (place, &mask)| some | u64::from(mask != 0) << place);
            for group in ones(some) {
                self.append(masks[group], (part * GROUPS + group) * LANES, &write);
            }
        }
    }

    #[inline(always)]
    fn append(&mut self, mask: u16, first: usize, write: impl Fn(u16, usize, &mut [u16; LANES])) {
        if let Some(room) = self.places.get_mut(self.count..).and_then(|room| room.first_chunk_mut()) {
            write(mask, first, room);
        }
        self.count += mask.count_ones() as usize;
    }
}

#[inline(always)]
fn write_portable(mut mask: u16, first: usize, room: &mut [u16; LANES]) {
    for place in room.iter_mut() {
        if mask == 0 {
            break;
        }
        *place = first as u16 + mask.trailing_zeros() as u16;
        mask &= mask - 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Candidates;
    use crate::search::WINDOW;
    use crate::search::sums::Sums;

    type Collect = fn(&mut Candidates, &Sums, u32);

    /// What this CPU runs: of what is faster than another, only one would be chosen.
    fn ways() -> Vec<Collect> {
        let mut ways: Vec<Collect> = vec![Candidates::collect, Candidates::collect_portable];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1")
        {
            // SAFETY: this CPU has all of them.
            ways.push(|found, sums, least| unsafe { found.collect_avx2(sums, least) });
        }
        ways
    }

    proptest! {
        #[test]
        fn what_is_large_stays(places in prop_oneof![prop::collection::vec((0..WINDOW, 0..50_u32), 0..20), prop::collection::vec((0..WINDOW, 0..50_u32), 0..5000)], least in 1..50_u32) {
            let mut sums = Sums::new();
            for &(place, sum) in &places {
                sums.touch(0, &[place as u32])[place] = sum;
            }
            let expected: Vec<u16> = (0..WINDOW).filter(|&place| sums.of(place) >= least).map(|place| place as u16).collect();
            let mut found = Candidates::new();
            for collect in ways() {
                collect(&mut found, &sums, 1);
                collect(&mut found, &sums, least);
                prop_assert_eq!(found.as_slice(), &expected);
            }
            found.collect(&sums, 1);
            found.keep(&sums, least);
            prop_assert_eq!(found.as_slice(), &expected);
        }
    }
}
