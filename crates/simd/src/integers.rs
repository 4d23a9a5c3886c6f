//! Unsigned integers: comparisons to masks, positions of bits, running sums. Lists of ordinals are made of
//! these.
//!
//! The trait's own methods are the portable ones, which every instruction set agrees with.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "aarch64")]
use super::neon::FourRegisters;
use super::{LANES, portable::Portable};
#[cfg(target_arch = "x86_64")]
use super::{avx2::TwoRegisters, avx512::OneRegister};

/// Integers of a mask.
const MASKED: usize = u64::BITS as usize;

/// Operations on integers that instruction sets do in different ways.
pub trait Integers: Copy {
    /// Which of `values` are at least `least`: bit `i` is value `i`.
    #[inline(always)]
    fn at_least(self, values: &[u32; MASKED], least: u32) -> u64 {
        // Sixteen at a time, for which compilers find vector instructions.
        let sixteen = |values: &[u32; LANES]| {
            (0..).zip(values).fold(0, |mask, (i, &value)| mask | u16::from(value >= least) << i)
        };
        (0..)
            .zip(values.as_chunks().0)
            .fold(0, |mask, (i, values)| mask | u64::from(sixteen(values)) << (LANES * i))
    }

    /// Writes the positions of the set bits of `word`, ascending, each plus `first` (wrapping), and returns
    /// their number. What is behind them in `to` is arbitrary.
    #[inline(always)]
    fn set_bits(self, mut word: u64, first: u32, to: &mut [u32; MASKED]) -> usize {
        let count = word.count_ones() as usize;
        // Sixteen at a time, and some may be too many: where the bits of a word end cannot be predicted.
        for positions in to.as_chunks_mut::<LANES>().0.iter_mut().take(count.div_ceil(LANES)) {
            for position in positions {
                *position = first.wrapping_add(word.trailing_zeros());
                word &= word.wrapping_sub(1);
            }
        }
        count
    }

    /// Replaces each value by the sum of `start` and all values up to it, wrapping.
    #[inline(always)]
    fn running_sums(self, start: u32, values: &mut [[u32; LANES]]) {
        let mut sum = start;
        for value in values.as_flattened_mut() {
            sum = sum.wrapping_add(*value);
            *value = sum;
        }
    }
}

impl Integers for Portable {}

#[cfg(target_arch = "aarch64")]
impl<const DOTPROD: bool, const I8MM: bool> Integers for FourRegisters<DOTPROD, I8MM> {}

#[cfg(target_arch = "x86_64")]
impl<const VNNI: bool> Integers for TwoRegisters<VNNI> {
    #[inline(always)]
    fn at_least(self, values: &[u32; MASKED], least: u32) -> u64 {
        (0..).zip(values.as_chunks::<8>().0).fold(0, |mask, (i, values)| {
            // SAFETY: `Self` exists only where `new` found the features, and an array of eight is loaded.
            let found = unsafe {
                let values = _mm256_loadu_si256(values.as_ptr().cast());
                let larger = _mm256_max_epu32(values, _mm256_set1_epi32(least as i32));
                _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(values, larger)))
            };
            mask | (found as u64) << (8 * i)
        })
    }

    #[inline(always)]
    fn running_sums(self, start: u32, values: &mut [[u32; LANES]]) {
        // SAFETY: `Self` exists only where `new` found the features, and arrays of eight are
        // loaded and stored.
        unsafe {
            let mut before = _mm256_set1_epi32(start as i32);
            for values in values.as_flattened_mut().as_chunks_mut::<8>().0 {
                let mut sums = _mm256_loadu_si256(values.as_ptr().cast());
                // Within each half, then the last of the lower half to all of the upper.
                sums = _mm256_add_epi32(sums, _mm256_slli_si256::<4>(sums));
                sums = _mm256_add_epi32(sums, _mm256_slli_si256::<8>(sums));
                let lower = _mm256_permute2x128_si256::<0x08>(sums, sums);
                sums = _mm256_add_epi32(sums, _mm256_shuffle_epi32::<0xff>(lower));
                _mm256_storeu_si256(values.as_mut_ptr().cast(), _mm256_add_epi32(sums, before));
                let last = _mm256_permutevar8x32_epi32(sums, _mm256_set1_epi32(7));
                before = _mm256_add_epi32(before, last);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl<const VNNI: bool, const BF16: bool> Integers for OneRegister<VNNI, BF16> {
    #[inline(always)]
    fn at_least(self, values: &[u32; MASKED], least: u32) -> u64 {
        (0..).zip(values.as_chunks::<LANES>().0).fold(0, |mask, (i, values)| {
            // SAFETY: `Self` exists only where `new` found the features, and an array of sixteen is loaded.
            let found = unsafe {
                let values = _mm512_loadu_si512(values.as_ptr().cast());
                _mm512_cmpge_epu32_mask(values, _mm512_set1_epi32(least as i32))
            };
            mask | u64::from(found) << (LANES * i)
        })
    }

    /// By compression. Where each sixteen bits are written follows only from `word`, so no step waits for
    /// another.
    #[inline(always)]
    fn set_bits(self, word: u64, first: u32, to: &mut [u32; MASKED]) -> usize {
        // SAFETY: `Self` exists only where `new` found the features. At most `at` bits are set
        // before the bit `at`: a store from there is within `to`.
        unsafe {
            let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            for at in (0..MASKED).step_by(LANES) {
                let before = (word & ((1 << at) - 1)).count_ones() as usize;
                let positions =
                    _mm512_add_epi32(lanes, _mm512_set1_epi32(first.wrapping_add(at as u32) as i32));
                let found = _mm512_maskz_compress_epi32((word >> at) as u16, positions);
                _mm512_storeu_si512(to.as_mut_ptr().add(before).cast(), found);
            }
        }
        word.count_ones() as usize
    }

    #[inline(always)]
    fn running_sums(self, start: u32, values: &mut [[u32; LANES]]) {
        // SAFETY: `Self` exists only where `new` found the features, and arrays of sixteen are
        // loaded and stored.
        unsafe {
            let (zero, last) = (_mm512_setzero_si512(), _mm512_set1_epi32(LANES as i32 - 1));
            let mut before = _mm512_set1_epi32(start as i32);
            for values in values {
                let mut sums = _mm512_loadu_si512(values.as_ptr().cast());
                sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<15>(sums, zero));
                sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<14>(sums, zero));
                sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<12>(sums, zero));
                sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<8>(sums, zero));
                _mm512_storeu_si512(values.as_mut_ptr().cast(), _mm512_add_epi32(sums, before));
                // The next sixteen wait for this addition only.
                before = _mm512_add_epi32(before, _mm512_permutexvar_epi32(last, sums));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LANES, MASKED};
    use crate::{Isa, Kernel, Simd, dispatch_on};

    /// A closure cannot be generic over instruction sets.
    struct All {
        values: [u32; MASKED],
        least: u32,
        word: u64,
        first: u32,
    }

    impl Kernel for All {
        type Output = (u64, Vec<u32>, [u32; MASKED]);
        type Product = crate::product::Floats;

        #[inline(always)]
        fn run<S: Simd>(mut self, simd: S) -> Self::Output {
            let mut positions = [7; MASKED];
            let count = simd.set_bits(self.word, self.first, &mut positions);
            let mask = simd.at_least(&self.values, self.least);
            simd.running_sums(self.first, self.values.as_chunks_mut::<LANES>().0);
            (mask, positions[..count].to_vec(), self.values)
        }
    }

    proptest! {
        #[test]
        fn as_defined(
            values in prop::collection::vec(prop_oneof![0..20_u32, any::<u32>()], MASKED),
            least in prop_oneof![0..20_u32, any::<u32>()],
            (word, masked, first) in (any::<u64>(), any::<u64>(), any::<u32>()),
        ) {
            let values: [u32; MASKED] = std::array::from_fn(|i| values[i]);
            let word = word & (masked | masked << 7);
            let mut sum = first;
            let sums = values.map(|value| {
                sum = sum.wrapping_add(value);
                sum
            });
            for isa in Isa::available() {
                let (mask, positions, found) = dispatch_on(isa, All { values, least, word, first });
                for (i, &value) in values.iter().enumerate() {
                    prop_assert_eq!(mask >> i & 1 == 1, value >= least, "{} {}", isa, i);
                }
                let set = (0..64).filter(|&i| word >> i & 1 == 1).map(|i: u32| first.wrapping_add(i));
                prop_assert_eq!(positions, set.collect::<Vec<_>>(), "{}", isa);
                prop_assert_eq!(found, sums, "{}", isa);
            }
        }
    }
}
