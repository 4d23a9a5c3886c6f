//! Every instruction set against the standard library, and against each other bit by bit.
#![allow(clippy::unwrap_used)]

use super::product::{Bytes, Floats, Pairs};
use super::{
    Isa, Kernel, LANES, Lanes, Simd, dispatch_on, erf, exp, exp2_coarse, gelu, round_for_pairs, tanh,
};

/// Applies a function to a whole slice.
struct Map<'a, F> {
    values: &'a [f32],
    function: F,
}

/// A generic function as a type, since closures cannot be generic.
trait Function: Copy {
    fn apply<S: Lanes>(self, simd: S, x: S::F32) -> S::F32;
}

impl<F: Function> Kernel for Map<'_, F> {
    type Output = Vec<f32>;
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<f32> {
        let mut out = vec![0.0; self.values.len()];
        for (from, to) in self.values.chunks(LANES).zip(out.chunks_mut(LANES)) {
            // SAFETY: `from` and `to` hold the same number of values, at most sixteen.
            unsafe {
                let x = simd.load_part(from.as_ptr(), from.len());
                simd.store_part(to.as_mut_ptr(), self.function.apply(simd, x), to.len());
            }
        }
        out
    }
}

macro_rules! function {
    ($name:ident, $function:path) => {
        #[derive(Clone, Copy)]
        struct $name;
        impl Function for $name {
            #[inline(always)]
            fn apply<S: Lanes>(self, simd: S, x: S::F32) -> S::F32 {
                $function(simd, x)
            }
        }
    };
}

function!(Exp, exp);
function!(Exp2Coarse, exp2_coarse);
function!(Erf, erf);
function!(Gelu, gelu);
function!(Tanh, tanh);

fn grid(low: f32, high: f32) -> Vec<f32> {
    (0..100_003).map(|i| low + (high - low) * (i as f32 / 100_002.0)).collect()
}

/// Runs on every instruction set, asserts that all give the same bits, and returns them.
fn everywhere<F: Function>(function: F, values: &[f32]) -> Vec<f32> {
    let expected = dispatch_on(Isa::Portable, Map { values, function });
    for isa in Isa::available() {
        let got = dispatch_on(isa, Map { values, function });
        let differing = got.iter().zip(&expected).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
        assert_eq!(differing, 0, "{isa} differs from the portable lanes");
    }
    expected
}

fn worst(values: &[f32], got: &[f32], error: impl Fn(f64, f64) -> f64) -> f64 {
    values.iter().zip(got).map(|(&x, &y)| error(f64::from(x), f64::from(y))).fold(0.0, f64::max)
}

/// The error function by its Maclaurin series, in f64: enough for |x| <= 5.
fn erf_f64(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

#[test]
fn exp_is_accurate_and_the_same_everywhere() {
    let values = grid(-87.0, 87.0);
    let got = everywhere(Exp, &values);
    assert!(worst(&values, &got, |x, y| (y / x.exp() - 1.0).abs()) < 2e-7);
    // Clamped, not flushed.
    assert!(everywhere(Exp, &[-1e30])[0] > 0.0);
    assert!(everywhere(Exp, &[1e30])[0].is_finite());
}

#[test]
fn exp2_is_as_accurate_as_bf16_needs_it() {
    let values = grid(-125.9, 0.0);
    assert!(worst(&values, &everywhere(Exp2Coarse, &values), |x, y| (y / x.exp2() - 1.0).abs()) < 1e-4);
    assert_eq!(everywhere(Exp2Coarse, &[-1e30])[0], everywhere(Exp2Coarse, &[-126.0])[0]);
}

#[test]
fn erf_gelu_and_tanh_are_accurate_and_the_same_everywhere() {
    let values = grid(-5.0, 5.0);
    assert!(worst(&values, &everywhere(Erf, &values), |x, y| (y - erf_f64(x)).abs()) < 4e-7);
    let gelu_f64 = |x: f64| 0.5 * x * (1.0 + erf_f64(x / 2_f64.sqrt()));
    assert!(worst(&values, &everywhere(Gelu, &values), |x, y| (y - gelu_f64(x)).abs()) < 8e-7);
    assert!(worst(&values, &everywhere(Tanh, &values), |x, y| (y - x.tanh()).abs()) < 3e-7);
    // The far tails.
    assert_eq!(everywhere(Gelu, &[100.0])[0], 100.0);
    assert!(everywhere(Gelu, &[-100.0])[0].abs() < 1e-5);
    assert_eq!(everywhere(Tanh, &[-60.0, 60.0]), [-1.0, 1.0]);
}

/// What overflowed must not pass as finite.
#[test]
fn nan_stays_nan_on_every_instruction_set() {
    fn keeps_nan(function: impl Function) {
        for isa in Isa::available() {
            let values = dispatch_on(isa, Map { values: &[f32::NAN, 0.5, -f32::NAN], function });
            assert_eq!(values.iter().map(|x| x.is_nan()).collect::<Vec<_>>(), [true, false, true], "{isa}");
        }
    }
    keeps_nan(Exp);
    keeps_nan(Exp2Coarse);
    keeps_nan(Erf);
    keeps_nan(Gelu);
    keeps_nan(Tanh);
}

#[test]
fn reductions_fold_halves_on_every_instruction_set() {
    struct Sum([f32; LANES]);
    impl Kernel for Sum {
        type Output = (f32, f32);
        type Product = Floats;
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> (f32, f32) {
            // SAFETY: the array holds sixteen values.
            let lanes = unsafe { simd.load(self.0.as_ptr()) };
            (simd.sum(lanes), simd.largest(lanes))
        }
    }
    // Values whose sum depends on the order.
    let lanes: [f32; LANES] =
        std::array::from_fn(|i| (i as f32 * 1.7 + 0.3) * if i % 3 == 0 { -1e6 } else { 1.0 });
    let expected = dispatch_on(Isa::Portable, Sum(lanes));
    for isa in Isa::available() {
        let got = dispatch_on(isa, Sum(lanes));
        assert_eq!((got.0.to_bits(), got.1), (expected.0.to_bits(), expected.1), "{isa}");
    }
}

/// What one lane operation gives for sixteen values: bits, so that -0.0 and 0.0 differ.
#[test]
fn loads_conversions_and_comparisons_are_exact_on_every_instruction_set() {
    struct Operations<'a> {
        bits: &'a [u16; LANES],
        b: &'a [f32; LANES],
    }
    struct Found {
        f16: [f32; LANES],
        bf16: [f32; LANES],
        wide: [f64; LANES],
        product: [f64; LANES],
        not_less: u16,
    }
    impl Kernel for Operations<'_> {
        type Output = Found;
        type Product = Floats;
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Found {
            // SAFETY: every array holds sixteen values; f16 and bf16 are sixteen bits.
            let (f16, bf16, b) = unsafe {
                let bits = self.bits.as_ptr();
                (simd.load_f16(bits.cast()), simd.load_bf16(bits.cast()), simd.load(self.b.as_ptr()))
            };
            let wide = simd.widen(bf16);
            Found {
                f16: simd.to_array(f16),
                bf16: simd.to_array(bf16),
                wide: simd.to_array_f64(wide),
                product: simd.to_array_f64(simd.add_product(wide, simd.widen(b), wide)),
                not_less: simd.not_less(bf16, b),
            }
        }
    }
    let b: [f32; LANES] = std::array::from_fn(|i| [1.0, -0.0, 0.0, f32::NAN, -3e38, 1e-45, 7.5][i % 7]);
    for first in (0..=u16::MAX).step_by(LANES) {
        let bits: [u16; LANES] = std::array::from_fn(|i| first + i as u16);
        for isa in Isa::available() {
            let found = dispatch_on(isa, Operations { bits: &bits, b: &b });
            for lane in 0..LANES {
                let f16 = half::f16::from_bits(bits[lane]).to_f32();
                let bf16 = half::bf16::from_bits(bits[lane]).to_f32();
                let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
                assert!(
                    same(found.f16[lane], f16) && same(found.bf16[lane], bf16),
                    "{isa}: {:#x}",
                    bits[lane]
                );
                let (wide, product) =
                    (f64::from(bf16), f64::from(bf16) * f64::from(b[lane]) + f64::from(bf16));
                let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
                assert!(
                    same(found.wide[lane], wide) && same(found.product[lane], product),
                    "{isa}: {:#x}",
                    bits[lane]
                );
                let less = bf16 < b[lane];
                assert_eq!(found.not_less >> lane & 1 == 0, less, "{isa}: {bf16} {}", b[lane]);
            }
        }
    }
}

#[test]
fn byte_operations_are_exact_on_every_instruction_set() {
    const BYTES: usize = 4 * LANES;
    struct Operations {
        sums: [i32; LANES],
        unsigned: [u8; BYTES],
        signed: [i8; BYTES],
        floats: [f32; LANES],
    }
    struct Found {
        dot: [i32; LANES],
        added: [i32; LANES],
        total: i32,
        absolute: [i32; LANES],
        converted: [f32; LANES],
        rounded: [i8; LANES],
    }
    impl Kernel for Operations {
        type Output = Found;
        type Product = Bytes;
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Found {
            let mut rounded = [0; LANES];
            // SAFETY: every array holds 64 bytes, `rounded` sixteen.
            let (sums, a, b) = unsafe {
                simd.store_i8(rounded.as_mut_ptr(), simd.load(self.floats.as_ptr()));
                (
                    simd.load_i32(self.sums.as_ptr()),
                    simd.load_i32(self.unsigned.as_ptr().cast()),
                    simd.load_i32(self.signed.as_ptr().cast()),
                )
            };
            let dot = simd.dot(sums, a, b);
            Found {
                dot: simd.to_array_i32(dot),
                added: simd.to_array_i32(simd.add_i32(dot, simd.splat_i32(-7))),
                total: simd.sum_i32(dot),
                absolute: simd.to_array_i32(simd.abs_i8(b)),
                converted: simd.to_array(simd.to_f32(dot)),
                rounded,
            }
        }
    }
    for round in 0..500_u32 {
        let bits = |i: usize| round.wrapping_mul(2_654_435_761).wrapping_add(i as u32 * 40_503) >> 13;
        // The extremes in the first rounds: saturating sixteen-bit sums would show.
        let unsigned: [u8; BYTES] = std::array::from_fn(|i| if round < 2 { 255 } else { bits(i) as u8 });
        let signed: [i8; BYTES] = std::array::from_fn(|i| match round {
            0 => 127,
            1 => -127,
            _ => (bits(i + 99) as i8).max(-127),
        });
        let sums: [i32; LANES] = std::array::from_fn(|i| bits(i) as i32 - 200_000);
        let floats: [f32; LANES] = std::array::from_fn(|i| bits(i) as f32 % 509.0 / 2.0 - 127.0);
        let products = |lane: usize| {
            (4 * lane..4 * lane + 4).map(|i| i32::from(unsigned[i]) * i32::from(signed[i])).sum::<i32>()
        };
        let dot: [i32; LANES] = std::array::from_fn(|lane| sums[lane] + products(lane));
        for isa in Isa::available() {
            let found = dispatch_on(isa, Operations { sums, unsigned, signed, floats });
            assert_eq!(found.dot, dot, "{isa}, round {round}");
            assert_eq!(found.added, dot.map(|sum| sum - 7), "{isa}, round {round}");
            assert_eq!(found.total, dot.iter().sum::<i32>(), "{isa}, round {round}");
            assert_eq!(found.converted, dot.map(|sum| sum as f32), "{isa}, round {round}");
            let absolute: Vec<u8> = found.absolute.into_iter().flat_map(i32::to_le_bytes).collect();
            assert_eq!(absolute, signed.map(i8::unsigned_abs), "{isa}, round {round}");
            assert_eq!(found.rounded, floats.map(|x| x.round_ties_even() as i8), "{isa}, round {round}");
        }
    }
}

/// The instruction against fused multiply-adds, for numbers as small as pairs may have.
#[test]
fn pairs_of_bf16_are_exact_on_every_instruction_set() {
    struct Operations<'a> {
        x: &'a [f32; 2 * LANES],
        y: &'a [f32; 2 * LANES],
    }
    impl Kernel for Operations<'_> {
        type Output = ([half::bf16; 2 * LANES], [f32; LANES]);
        type Product = Pairs;
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Self::Output {
            let mut pairs = [[half::bf16::ZERO; 2 * LANES]; 2];
            // SAFETY: every array holds 32 values, moved in sixteens; 32 bf16 are 64 bytes.
            unsafe {
                for (pairs, numbers) in pairs.iter_mut().zip([self.x, self.y]) {
                    for half in [0, LANES] {
                        simd.store_bf16(pairs.as_mut_ptr().add(half), simd.load(numbers.as_ptr().add(half)));
                    }
                }
                let [x, y] = pairs.each_ref().map(|pairs| simd.load_i32(pairs.as_ptr().cast()));
                // Twice, so that the second begins with the sums of the first.
                let sums = simd.dot_pairs(simd.splat(0.0), x, y);
                (pairs[0], simd.to_array(simd.dot_pairs(sums, y, y)))
            }
        }
    }
    let mut state = 1_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    for round in 0..20_000 {
        // Exponents of all numbers, of those about 2^-54, and of those about 1.
        let mut number = || {
            let exponent = match round % 3 {
                0 => next() % 256,
                1 => 127 - 58 + next() % 8,
                _ => 124 + next() % 6,
            };
            f32::from_bits(next() & 0x807f_ffff | exponent << 23)
        };
        let x: [f32; 2 * LANES] = std::array::from_fn(|_| number());
        let y: [f32; 2 * LANES] = std::array::from_fn(|_| number());
        let [a, b] = [x, y].map(|numbers| numbers.map(|x| round_for_pairs(x).to_f32()));
        for isa in Isa::available() {
            let (rounded, sums) = dispatch_on(isa, Operations { x: &x, y: &y });
            for (lane, &got) in sums.iter().enumerate() {
                let (first, second) = (2 * lane, 2 * lane + 1);
                for i in [first, second] {
                    let same = rounded[i].to_f32().to_bits() == a[i].to_bits()
                        || rounded[i].is_nan() && a[i].is_nan();
                    assert!(same, "{isa}: {} rounded to {}", x[i], rounded[i]);
                }
                let sum = a[first].mul_add(b[first], a[second] * b[second]);
                let sum = b[first].mul_add(b[first], b[second].mul_add(b[second], sum));
                let same = got.to_bits() == sum.to_bits() || got.is_nan() && sum.is_nan();
                assert!(same, "{isa}: {got} is not {sum}");
            }
        }
    }
}
