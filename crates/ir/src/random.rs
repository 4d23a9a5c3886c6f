//! Random numbers, the same for the same seed everywhere.

/// SplitMix64 (Steele, Lea and Flood 2014, section 5): small, and good enough to draw samples and masks.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

/// From state to state: the golden ratio in 64 bits.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl SplitMix64 {
    /// The generator of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The generator of `seed` after `drawn` numbers.
    #[inline(always)]
    #[must_use]
    pub const fn after(seed: u64, drawn: u64) -> Self {
        Self(seed.wrapping_add(drawn.wrapping_mul(STEP)))
    }

    /// The next number.
    // Inlined into kernels, whose features it has to have.
    #[inline(always)]
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number below `bound`: the high bits of a product (Lemire 2019). The bias is below
    /// `bound` / 2^64.
    pub const fn below(&mut self, bound: usize) -> usize {
        ((self.draw() as u128 * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn generator_is_the_published_one() {
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!([random.draw(), random.draw()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
        assert_eq!(SplitMix64::after(1_234_567, 1).draw(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_below_a_bound_are_evenly_spread() {
        let mut random = SplitMix64::new(1);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[random.below(7)] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
    }
}
