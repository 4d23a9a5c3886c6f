//! Products of every division against chains of scalar multiply-adds, bit by bit.

use super::{Epilogue, Packed, Rows, multiply, stride};
use crate::product::{Bytes, Floats, Product, Sums};
use crate::word::Word;
use crate::{Isa, Kernel, LANES, Simd, dispatch_on};

/// Rows, their stride, depth and columns.
#[derive(Clone, Copy, Debug)]
struct Shape {
    rows: usize,
    stride: usize,
    depth: usize,
    columns: usize,
}

impl Shape {
    const fn new(rows: usize, stride: usize, depth: usize, columns: usize) -> Self {
        Self { rows, stride, depth, columns }
    }
}

/// Empty products, tiles of every height, divided depths, and rows that are copied.
const SHAPES: [Shape; 15] = [
    Shape::new(0, 5, 5, 3),
    Shape::new(3, 7, 0, 40),
    Shape::new(1, 1, 1, 1),
    Shape::new(5, 20, 17, 33),
    Shape::new(12, 900, 900, 16),
    Shape::new(13, 768, 768, 70),
    Shape::new(13, 769, 769, 17),
    Shape::new(25, 770, 769, 49),
    Shape::new(31, 1024, 1024, 65),
    Shape::new(9, 1024, 1000, 96),
    Shape::new(14, 2048, 100, 64),
    Shape::new(90, 1024, 800, 64),
    Shape::new(20, 3072, 3072, 66),
    Shape::new(200, 1552, 1537, 34),
    Shape::new(13, 5000, 4997, 33),
];

/// A kind of product, with what it does to single words.
trait Scalar: Product {
    fn value(random: u32) -> Self::Value;
    fn add_product(sum: Self::Sum, row: Self::Value, column: Self::Value) -> Self::Sum;
    fn bits(sum: Self::Sum) -> u32;
}

impl Scalar for Floats {
    fn value(random: u32) -> f32 {
        f32::from_bits(random & 0x807f_ffff | (124 + random % 6) << 23)
    }

    fn add_product(sum: f32, row: f32, column: f32) -> f32 {
        row.mul_add(column, sum)
    }

    fn bits(sum: f32) -> u32 {
        sum.to_bits()
    }
}

impl Scalar for Bytes {
    fn value(random: u32) -> i32 {
        // Signed in the rows, and no byte above 127: each is what it is as unsigned, too.
        (random & 0x7f7f_7f7f).cast_signed()
    }

    fn add_product(sum: i32, row: i32, column: i32) -> i32 {
        let products = row.to_le_bytes().into_iter().zip(column.to_le_bytes());
        products.fold(sum, |sum, (a, b)| sum + i32::from(a) * i32::from(b))
    }

    fn bits(sum: i32) -> u32 {
        sum.cast_unsigned()
    }
}

struct Multiply<'a, P: Scalar> {
    shape: Shape,
    rows: &'a [P::Value],
    packed: &'a Packed<P::Value>,
}

/// Keeps every sum, and how often it came.
struct Keep<P: Scalar> {
    columns: usize,
    bits: Vec<u32>,
    times: Vec<u8>,
    product: std::marker::PhantomData<P>,
}

impl<P: Scalar> Epilogue for Keep<P> {
    type Product = P;

    #[inline(always)]
    unsafe fn store<S: Simd>(&mut self, simd: S, row: usize, column: usize, count: usize, sums: Sums<P, S>) {
        let sums = <P::Sum as Word>::to_array(simd, sums);
        for (lane, sum) in sums.into_iter().enumerate().take(count) {
            let at = row * self.columns + column + lane;
            self.bits[at] = P::bits(sum);
            self.times[at] += 1;
        }
    }
}

impl<P: Scalar> Kernel for Multiply<'_, P> {
    type Output = Keep<P>;
    type Product = P;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Keep<P> {
        let Shape { rows, stride, depth, columns } = self.shape;
        let mut keep = Keep {
            columns,
            bits: vec![0; rows * columns],
            times: vec![0; rows * columns],
            product: std::marker::PhantomData,
        };
        let rows = Rows::new(self.rows, stride, rows, depth);
        multiply(simd, rows, self.packed.panels(), columns, &mut keep);
        keep
    }
}

fn random(len: usize, mut state: u32) -> impl Iterator<Item = u32> {
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    })
    .take(len)
}

fn products_are_chains<P: Scalar>() {
    for shape in SHAPES {
        let Shape { rows, stride, depth, columns } = shape;
        let values: Vec<P::Value> = random(rows * stride, 1).map(P::value).collect();
        let matrix: Vec<P::Value> = random(columns * depth, 2).map(P::value).collect();
        let packed = Packed::new(&matrix, columns, depth);
        let mut expected = vec![0; rows * columns];
        for (at, expected) in expected.iter_mut().enumerate() {
            let row = &values[at / columns * stride..][..depth];
            let column = &matrix[at % columns * depth..][..depth];
            let terms = row.iter().zip(column);
            *expected = P::bits(terms.fold(P::Sum::default(), |sum, (&a, &b)| P::add_product(sum, a, b)));
        }
        for isa in Isa::available() {
            let found = dispatch_on(isa, Multiply::<P> { shape, rows: &values, packed: &packed });
            assert!(found.times.iter().all(|&times| times == 1), "{isa}, {shape:?}: each sum comes once");
            let wrong = found.bits.iter().zip(&expected).filter(|(found, expected)| found != expected);
            assert_eq!(wrong.count(), 0, "{isa}, {shape:?}: sums that differ");
        }
    }
}

#[test]
fn products_of_numbers_are_chains_of_multiply_adds_however_they_are_divided() {
    products_are_chains::<Floats>();
}

#[test]
fn products_of_bytes_are_exact_however_they_are_divided() {
    products_are_chains::<Bytes>();
}

#[test]
fn laid_out_rows_are_whole_vectors_and_do_not_conflict() {
    for depth in [0, 1, 384, 1000, 1024, 3072, 4096] {
        let stride = stride(depth);
        assert!(stride >= depth && stride < depth + 2 * LANES && stride.is_multiple_of(LANES));
        assert!(stride == 0 || !(4 * stride).is_multiple_of(4096), "{depth}");
    }
}
