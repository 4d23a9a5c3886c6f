//! The linear layers of encoders against the crate `gemm` (what candle multiplies with), one thread. Run:
//! `cargo bench --bench linear`.
//!
//! Floor: 2 * rows * in * out operations at two AVX-512 multiply-adds a cycle.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use toller_bench::{Timings, timed, unit_vectors};
use toller_nn::{
    Activation, Backend, Cpu, LinearParameters, Matrix, NormParameters, NormPlacement, Place, Precision,
    Sequences,
};
use toller_simd::Isa;

/// (input width, output width): fused QKV, attention output, feed-forward up and down, of all-MiniLM-L6-v2,
/// BERT-base and BERT-large.
const SHAPES: [(usize, usize); 12] = [
    (384, 1152),
    (384, 384),
    (384, 1536),
    (1536, 384),
    (768, 2304),
    (768, 768),
    (768, 3072),
    (3072, 768),
    (1024, 3072),
    (1024, 1024),
    (1024, 4096),
    (4096, 1024),
];
const ROUNDS: usize = 15;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cpu = Cpu::new(Precision::F32);
    println!("instruction set {}, one thread, f32, median of {ROUNDS} rounds in turn", Isa::active());
    println!(
        "{:>6} {:>6} {:>6} {:>14} {:>14} {:>7}",
        "rows", "in", "out", "ours GFLOP/s", "gemm GFLOP/s", "ratio"
    );
    for rows in [13, 128, 512, 2048] {
        for (depth, columns) in SHAPES {
            let (a, b) = (unit_vectors(rows, depth, 1)?, unit_vectors(columns, depth, 2)?);
            let weight = Matrix { values: &b, rows: columns, columns: depth };
            let layer = cpu.linear(LinearParameters { weight, bias: None }, Place::Inner)?;
            // States come from embeddings: a table whose rows are the input's.
            let table = cpu.table(Matrix { values: &a, rows, columns: depth })?;
            let norm =
                NormParameters { weight: &vec![1.0; depth], bias: None, epsilon: 1e-12, centers: true };
            let batch = cpu.batch(vec![(0..rows as u32).collect()], Sequences::from_lengths([rows]))?;
            let mut scratch = cpu.scratch();
            let x =
                cpu.embed(&mut scratch, &batch, &[table], &cpu.norm(norm)?, NormPlacement::After)?.residual;
            let mut c = vec![0_f32; rows * columns];
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                let product = timed(|| {
                    let y = cpu.project(&mut scratch, &x, &layer, Activation::Identity).unwrap();
                    cpu.release(&mut scratch, y);
                });
                ours.push(product.as_secs_f64());
                // SAFETY: the three slices have the shapes and strides that are passed.
                let multiplied = timed(|| unsafe {
                    gemm::gemm(
                        rows,
                        columns,
                        depth,
                        c.as_mut_ptr(),
                        1,
                        columns as isize,
                        false,
                        a.as_ptr(),
                        1,
                        depth as isize,
                        b.as_ptr(),
                        depth as isize,
                        1,
                        0.0,
                        1.0,
                        false,
                        false,
                        false,
                        gemm::Parallelism::None,
                    );
                });
                theirs.push(multiplied.as_secs_f64());
            }
            let operations = 2.0 * (rows * depth * columns) as f64 * 1e-9;
            let (ours, theirs) = (
                operations / Timings::new(ours).unwrap().median(),
                operations / Timings::new(theirs).unwrap().median(),
            );
            println!("{rows:>6} {depth:>6} {columns:>6} {ours:>14.1} {theirs:>14.1} {:>7.2}", ours / theirs);
        }
    }
    Ok(())
}
