//! Which documents of a window have a large sum.

use super::parts::Sums;

/// Sums that are looked at together.
const LANES: usize = 16;

/// Collects the documents whose sum is at least `least`, which is above 0, in order, and clears the sums of the others.
pub(super) fn collect(sums: &mut Sums, least: u32, found: &mut Vec<u16>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: this CPU has it.
        return unsafe { collect_avx512(sums, least, found) };
    }
    collect_portable(sums, least, found);
}

/// With compression of the lanes that count: a third of the time of the portable code.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn collect_avx512(sums: &mut Sums, least: u32, found: &mut Vec<u16>) {
    use std::arch::x86_64::{
        _mm256_storeu_si256, _mm512_add_epi32, _mm512_cmpge_epu32_mask, _mm512_cvtepi32_epi16,
        _mm512_loadu_si512, _mm512_maskz_compress_epi32, _mm512_maskz_mov_epi32, _mm512_set1_epi32,
        _mm512_setr_epi32, _mm512_setzero_si512, _mm512_storeu_si512,
    };
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    found.clear();
    found.reserve(sums.len() + LANES);
    let mut count = 0;
    let threshold = _mm512_set1_epi32(least as i32);
    for (group, sums) in sums.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        // SAFETY: a group is sixteen sums.
        let values = unsafe { _mm512_loadu_si512(sums.as_ptr().cast()) };
        let keep = _mm512_cmpge_epu32_mask(values, threshold);
        if keep == 0 {
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(sums.as_mut_ptr().cast(), _mm512_setzero_si512()) };
            continue;
        }
        let places = _mm512_add_epi32(lanes, _mm512_set1_epi32((group * LANES) as i32));
        let places = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(keep, places));
        // SAFETY: as above; `count` is at most that of the sums before this group, so that sixteen more are within what was
        // reserved.
        unsafe {
            _mm512_storeu_si512(sums.as_mut_ptr().cast(), _mm512_maskz_mov_epi32(keep, values));
            _mm256_storeu_si256(found.as_mut_ptr().add(count).cast(), places);
        }
        count += keep.count_ones() as usize;
    }
    // SAFETY: `count` numbers were written.
    unsafe { found.set_len(count) };
}

#[inline(always)]
fn collect_portable(sums: &mut Sums, least: u32, found: &mut Vec<u16>) {
    // Room for all, and a group more, so that places can be written before it is known whether they count.
    found.resize(sums.len() + LANES, 0);
    let mut count = 0;
    for (group, sums) in sums.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        // Sums have 31 bits at most, so that they are compared as signed numbers, which every vector unit can.
        let any = sums.iter().fold(0, |any, &sum| any | i32::from(sum as i32 >= least as i32));
        if any == 0 {
            *sums = [0; LANES];
            continue;
        }
        if let Some(places) = found.get_mut(count..count + LANES) {
            let mut taken = 0;
            for (lane, sum) in sums.iter_mut().enumerate() {
                let keep = *sum >= least;
                places[taken % LANES] = (group * LANES + lane) as u16;
                taken += usize::from(keep);
                *sum = if keep { *sum } else { 0 };
            }
            count += taken;
        }
    }
    found.truncate(count);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{collect, collect_portable};
    use crate::search::WINDOW;

    proptest! {
        #[test]
        fn what_is_large_stays(places in prop::collection::vec((0..WINDOW, 0..50_u32), 0..5000), least in 1..50_u32) {
            let mut sums = [0; WINDOW];
            places.iter().for_each(|&(place, sum)| sums[place] = sum);
            let expected: Vec<u16> = (0..WINDOW).filter(|&place| sums[place] >= least).map(|place| place as u16).collect();
            for collect in [collect, collect_portable] {
                let (mut sums, mut found) = (sums, vec![7; 3]);
                collect(&mut sums, least, &mut found);
                prop_assert_eq!(&found, &expected);
                prop_assert!(sums.iter().enumerate().all(|(place, &sum)| (sum >= least) == found.contains(&(place as u16)) && (sum == 0 || sum >= least)));
            }
        }
    }
}
