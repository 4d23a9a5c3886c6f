//! The bound holds where rounding errors add up, cancel, underflow and overflow, and is as small as proved.

use toller_simd::product::Floats;
use toller_simd::tile::{AlignedBuffer, Epilogue, Packed, Rows, multiply};
use toller_simd::{Isa, Kernel, Simd, dispatch_on};

use super::{ErrorBound, cutoff, interval};
use crate::collection::Vectors;
use crate::cpu::rows::{halved, largest_square, score};

/// The passes in f32 and f16 and the score of one query and one vector.
struct Passes<'a> {
    query: &'a [f32],
    vector: &'a [f32],
}

struct Found {
    /// What the pass in f32 computes, and the sum of the vector's squares.
    f32: (f32, f32),
    f16: (f32, f32),
    score: f32,
}

struct First(f32);

impl Epilogue for First {
    type Product = Floats;

    unsafe fn store<S: Simd>(&mut self, simd: S, _: usize, _: usize, _: usize, sums: S::F32) {
        self.0 = simd.to_array(sums)[0];
    }
}

impl Kernel for Passes<'_> {
    type Output = Found;
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Found {
        let Self { query, vector } = self;
        let dim = query.len();
        let pass = |query: &[f32], vector: &[f32]| {
            let mut sum = First(0.0);
            let rows = Rows::new(vector, dim, 1, dim);
            multiply(simd, rows, Packed::new(query, 1, dim).panels(), 1, &mut sum);
            (sum.0, largest_square(simd, vector, dim))
        };
        let mut buffer = AlignedBuffer::default();
        let halved_vector = halved(simd, Vectors::F32(vector), 0..dim, &mut buffer);
        let halved_query: Vec<f32> = query.iter().map(|&x| half::f16::from_f32(x).to_f32()).collect();
        Found {
            f32: pass(query, vector),
            f16: pass(&halved_query, halved_vector),
            score: score(simd, query, vector),
        }
    }
}

fn length(vector: &[f32]) -> f64 {
    vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}

/// Checks the bound on every instruction set; returns the largest error found, as a share of the bound.
fn check(query: &[f32], vector: &[f32]) -> f64 {
    let mut share = 0.0_f64;
    for isa in Isa::available() {
        let found = dispatch_on(isa, Passes { query, vector });
        let bounds = [(found.f32, ErrorBound::new(query)), (found.f16, ErrorBound::halves(query))];
        for ((pass, square), bound) in bounds {
            let error = bound.error(square);
            let (lower, upper) = interval(pass, error);
            assert!(
                lower < upper && lower <= found.score && found.score <= upper,
                "{isa}: {pass} {}",
                found.score
            );
            assert!(cutoff(found.score, error) <= pass || error == f32::INFINITY, "{isa}: not nominated");
            if error.is_finite() {
                assert!(
                    (f64::from(pass) - f64::from(found.score)).abs()
                        <= f64::from(error) + f64::from(found.score.abs()) * 6e-8
                );
                share = share.max((f64::from(pass) - f64::from(found.score)).abs() / f64::from(error));
            }
        }
    }
    share
}

#[test]
fn holds_where_all_roundings_go_one_way() {
    for dim in [1, 2, 15, 16, 17, 100, 1000, 4097] {
        // The first sum is 1; then each addend is just below half a unit in the last place, and lost.
        let mut query = vec![1.0; dim];
        let mut vector = vec![2_f32.powi(-25); dim];
        vector[0] = 1.0;
        check(&query, &vector);
        // Just above half: each addend is rounded up to a whole unit.
        vector[1..].fill(2_f32.powi(-24) * 1.01);
        check(&query, &vector);
        query.fill(-1.0);
        check(&query, &vector);
    }
    // The bound counts every step: the errors that add up reach a good part of it.
    let mut vector = vec![2_f32.powi(-24) * 1.01; 1000];
    vector[0] = 1.0;
    let mut query = vec![1.0; 1000];
    query[1..].fill(0.99);
    assert!(check(&query, &vector) > 0.01);
}

#[test]
fn holds_at_every_magnitude() {
    let pattern: Vec<f32> = (0..300).map(|i| ((i * 7919 % 601) as f32 - 300.0) / 300.0).collect();
    for power in (-150..=127).step_by(3) {
        let scale = 2_f64.powi(power) as f32;
        let vector: Vec<f32> = pattern.iter().map(|x| x * scale).collect();
        check(&pattern, &vector);
        check(&vector, &pattern);
        check(&vector, &vector);
        let cancelling: Vec<f32> =
            vector.iter().enumerate().map(|(i, x)| if i % 2 == 0 { *x } else { -x }).collect();
        check(&vector, &cancelling);
    }
    check(&[0.0; 20], &[-0.0; 20]);
    check(&[f32::MAX; 20], &[f32::MAX; 20]);
    check(&[f32::MIN_POSITIVE; 20], &[f32::from_bits(1); 20]);
}

#[test]
fn is_no_larger_than_proved() {
    for dim in [1, 16, 384, 768, 4096] {
        let query: Vec<f32> = (1..=dim).map(|i| (i as f32).sin()).collect();
        let found = dispatch_on(Isa::active(), Passes { query: &query, vector: &query });
        let squared = length(&query).powi(2);
        let error = ErrorBound::new(&query).error(found.f32.1);
        let proved = (dim as f64 + 4.0) * 2_f64.powi(-24) * squared;
        assert!(f64::from(error) < 1.01 * proved, "{dim}: {error} {proved}");
        let error = ErrorBound::halves(&query).error(found.f16.1);
        let proved = proved + 2.0 * 2_f64.powi(-11) * squared;
        assert!(f64::from(error) < 1.01 * proved, "{dim}, halves: {error} {proved}");
    }
    assert_eq!(ErrorBound::new(&[1e30, 1e30]).error(1e38), f32::INFINITY);
    assert_eq!(ErrorBound::new(&[1.0]).error(f32::INFINITY), f32::INFINITY);
    assert_eq!(ErrorBound::new(&[1.0]).error(f32::NAN), f32::INFINITY);
    assert_eq!(ErrorBound::halves(&[7e4]).error(1.0), f32::INFINITY);
    assert_eq!(cutoff(1.0, f32::INFINITY), f32::NEG_INFINITY);
    assert_eq!(cutoff(f32::NEG_INFINITY, 1.0), f32::NEG_INFINITY);
}
