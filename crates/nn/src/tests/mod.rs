//! One suite for every backend: near `Reference`, and the same bits of a sequence next to any other.
#![allow(clippy::unwrap_used)]

mod bits;
mod names;

use std::cell::Cell;

use proptest::prelude::*;

use crate::cuda::tests::{Kernels, gpu};

use crate::{
    Activation, AttentionParameters, Backend, Closing, Cpu, LinearParameters, Matrix, NormParameters,
    NormPlacement, Place, Pooling, Precision, Prefix, Reference, RotaryParameters, Sequences,
};

/// Pseudo-random values in -1..1, from a seed.
pub(crate) fn values(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
        })
        .collect()
}

pub(crate) const ACTIVATIONS: [Activation; 7] = [
    Activation::Identity,
    Activation::Gelu,
    Activation::GeluTanh,
    Activation::Relu,
    Activation::Silu,
    Activation::Tanh,
    Activation::Sigmoid,
];

/// Parameters from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    weight: Vec<f32>,
    bias: Option<Vec<f32>>,
    pub(crate) outputs: usize,
    pub(crate) inputs: usize,
}

impl Layer {
    pub(crate) fn new(seed: u64, outputs: usize, inputs: usize, has_bias: bool) -> Self {
        let scale = (inputs as f32).sqrt().recip();
        let weight = values(seed, outputs * inputs).into_iter().map(|x| x * scale).collect();
        Self { weight, bias: has_bias.then(|| values(seed ^ 1, outputs)), outputs, inputs }
    }

    /// The same with every parameter changed.
    fn changed(&self, change: impl Fn(&[f32]) -> Vec<f32>) -> Self {
        Self { weight: change(&self.weight), bias: self.bias.as_deref().map(change), ..*self }
    }

    pub(crate) fn parameters(&self) -> LinearParameters<'_> {
        let weight = Matrix { values: &self.weight, rows: self.outputs, columns: self.inputs };
        LinearParameters { weight, bias: self.bias.as_deref() }
    }
}

/// What a test computes: a model in miniature. The result of each step is the input of another.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) seed: u64,
    pub(crate) lengths: Vec<usize>,
    pub(crate) width: usize,
    pub(crate) inner: usize,
    pub(crate) heads: usize,
    pub(crate) key_heads: usize,
    pub(crate) head_size: usize,
    pub(crate) norms_heads: bool,
    /// What scores are multiplied by, in units of what is usual.
    pub(crate) scale: f32,
    pub(crate) rotates: bool,
    pub(crate) reach: Option<usize>,
    pub(crate) window: (Option<usize>, Option<usize>),
    pub(crate) has_bias: bool,
    pub(crate) centers: bool,
    pub(crate) gates: bool,
    /// Whether each half has a norm before its residual.
    pub(crate) norms_halves: bool,
    pub(crate) placement: NormPlacement,
    /// The same of the embeddings' norm.
    pub(crate) first_placement: NormPlacement,
    pub(crate) activation: Activation,
    /// How far attention scores differ.
    pub(crate) sharpness: f32,
    pub(crate) skipped: usize,
    /// Tokens that get other keys and values.
    pub(crate) prefix: usize,
    pub(crate) poolings: &'static [Pooling],
}

/// Parameters as they are, whichever they are.
pub(crate) fn unchanged(_: usize, values: &[f32]) -> Vec<f32> {
    values.to_vec()
}

pub(crate) fn models() -> impl Strategy<Value = Model> {
    let sizes = (prop::collection::vec(0_usize..70, 1..5), 1_usize..70, 1_usize..70, 1_usize..3, 1_usize..3);
    let attention = (1_usize..30, any::<bool>(), prop::option::of(0_usize..9), any::<[Option<u8>; 2]>());
    let flags = (any::<[bool; 7]>(), prop::sample::select(ACTIVATIONS.to_vec()), 0.1_f32..6.0, 0_usize..3);
    (any::<u64>(), sizes, attention, flags, 0_usize..4).prop_map(
        |(
            seed,
            (lengths, width, inner, key_heads, groups),
            (half, rotates, reach, window),
            flags,
            prefix,
        )| {
            let (
                [has_bias, centers, gates, norms_heads, norms_halves, first_before, before],
                activation,
                sharpness,
                skipped,
            ) = flags;
            let placement = |before| if before { NormPlacement::Before } else { NormPlacement::After };
            let [before_window, after_window] = window.map(|side| side.map(|side| usize::from(side) % 80));
            Model {
                seed,
                lengths,
                width,
                inner,
                heads: key_heads * groups,
                key_heads,
                head_size: 2 * half - usize::from(!rotates),
                norms_heads,
                scale: if seed % 2 == 0 { 1.0 } else { 0.6 },
                rotates,
                reach,
                window: (before_window, after_window),
                has_bias,
                centers,
                gates,
                norms_halves,
                placement: placement(before),
                first_placement: placement(first_before),
                activation,
                sharpness,
                skipped,
                prefix,
                poolings: &Pooling::ALL,
            }
        },
    )
}

/// The frequencies of rotations in heads of this size, an even number.
pub(crate) fn frequencies(head_size: usize) -> Vec<f32> {
    (0..head_size / 2).map(|i| 100_f32.powf(-2.0 * i as f32 / head_size as f32)).collect()
}

impl Model {
    /// The same model over only one of its sequences.
    fn alone(&self, sequence: usize) -> Self {
        Self { lengths: vec![self.lengths[sequence]], ..self.clone() }
    }

    /// Pooled states after one layer, of unit length and not: every step of the backend, on `threads`
    /// threads.
    fn run<B: Backend>(&self, backend: &B, first_row: usize, threads: usize) -> [Vec<f32>; 2] {
        self.run_in(backend, &mut backend.scratch(), first_row, threads)
    }

    /// The same in memory that other runs used.
    pub(crate) fn run_in<B: Backend>(
        &self,
        backend: &B,
        s: &mut B::Scratch,
        first_row: usize,
        threads: usize,
    ) -> [Vec<f32>; 2] {
        backend.use_threads(s, threads);
        self.states(backend, s, first_row, &unchanged).map(|states| {
            let mut host = Vec::new();
            backend.to_host(s, states, &mut host).unwrap();
            host
        })
    }

    /// The same as states. `change` gets each parameter with its number in the order of the layouts.
    pub(crate) fn states<B: Backend>(
        &self,
        backend: &B,
        s: &mut B::Scratch,
        first_row: usize,
        change: &dyn Fn(usize, &[f32]) -> Vec<f32>,
    ) -> [B::States; 2] {
        let next = Cell::new(0);
        let change = |values: &[f32]| change(next.replace(next.get() + 1), values);
        let (seed, width) = (self.seed, self.width);
        let sequences = Sequences::from_lengths(self.lengths.iter().copied());
        let table = values(seed ^ 2, 300 * width);
        let tables = [300, 3].map(|rows| {
            let values = change(&table[..rows * width]);
            backend.table(Matrix { values: &values, rows, columns: width }).unwrap()
        });
        let weights = [values(seed ^ 3, width), values(seed ^ 4, width)];
        let norm = |weights: &[Vec<f32>; 2], scale: f32| {
            let weight: Vec<f32> = weights[0].iter().map(|x| x * scale).collect();
            let weight = change(&weight);
            let bias = self.has_bias.then(|| change(&weights[1]));
            let bias = bias.as_deref();
            let parameters = NormParameters { weight: &weight, bias, epsilon: 1e-3, centers: self.centers };
            backend.norm(parameters).unwrap()
        };
        let hidden = self.heads * self.head_size;
        let qkv_width = (self.heads + 2 * self.key_heads) * self.head_size;
        let layer = |salt: u64, outputs, inputs| {
            Layer::new(seed ^ salt, outputs, inputs, self.has_bias).changed(change)
        };
        let linear = |layer: &Layer, place| backend.linear(layer.parameters(), place).unwrap();
        let bias = self.reach.map(|reach| change(&values(seed ^ 5, self.heads * (2 * reach + 1))));
        let relative_bias = bias.as_ref().map(|values| Matrix {
            values,
            rows: self.heads,
            columns: values.len() / self.heads,
        });
        let frequencies = frequencies(self.head_size);
        let attention = AttentionParameters {
            heads: self.heads,
            key_heads: self.key_heads,
            head_size: self.head_size,
            scale: self.scale * AttentionParameters::usual_scale(self.head_size),
            rotary: self.rotates.then_some(RotaryParameters { frequencies: &frequencies, magnitude: 1.1 }),
            relative_bias,
            before: self.window.0,
            after: self.window.1,
        };
        let attention = backend.attention(attention).unwrap();

        let tokens = sequences.tokens();
        let rows = vec![
            (first_row..first_row + tokens).map(|row| row as u32 % 300).collect(),
            (first_row..first_row + tokens).map(|row| row as u32 % 3).collect(),
        ];
        let batch = backend.batch(rows, sequences).unwrap();
        let first = norm(&weights, self.sharpness);
        let stream = backend.embed(s, &batch, &tables, &first, self.first_placement).unwrap();
        let qkv = linear(&layer(6, qkv_width, width), Place::Inner);
        let qkv = backend.project(s, stream.input(), &qkv, Activation::Identity).unwrap();
        let qkv = match self.prefix {
            0 => qkv,
            rows => {
                // Three layers; the second counts.
                let columns = 3 * (qkv_width - hidden);
                let values = change(&values(seed ^ 12, rows * columns));
                let table = backend.table(Matrix { values: &values, rows, columns }).unwrap();
                let prefix = Prefix { table: &table, layer: 1 };
                backend.put_prefix(s, qkv, &batch, &attention, prefix).unwrap()
            }
        };
        let head_norms = self.norms_heads.then(|| {
            [13, 15].map(|salt| norm(&[salt, salt + 1].map(|salt| values(seed ^ salt, self.head_size)), 1.0))
        });
        let context = backend.attend(s, qkv, &batch, &attention, head_norms.as_ref()).unwrap();
        let output = linear(&layer(7, width, hidden), Place::Inner);
        let after = norm(&weights, 1.0);
        let inner_norms = self.norms_halves.then(|| {
            [17, 18].map(|salt| norm(&[salt, salt + 2].map(|salt| values(seed ^ salt, width)), 0.5))
        });
        let closing = |half: usize, layer| Closing {
            layer,
            inner_norm: inner_norms.as_ref().map(|norms| &norms[half]),
            norm: (half == 0).then_some(&after),
            placement: self.placement,
        };
        let stream = backend.close(s, context, closing(0, &output), stream.residual).unwrap();
        let up = layer(8, self.inner, width);
        let inner = if self.gates {
            let gate = layer(9, self.inner, width);
            let gated = backend.gated(up.parameters(), gate.parameters()).unwrap();
            backend.gate(s, stream.input(), &gated, self.activation).unwrap()
        } else {
            backend.project(s, stream.input(), &linear(&up, Place::Inner), self.activation).unwrap()
        };
        let down = linear(&layer(10, width, self.inner), Place::Down);
        let stream = backend.close(s, inner, closing(1, &down), stream.residual).unwrap();
        let (states, _) = stream.into_input();
        let states = backend.normalize(s, states, &after).unwrap();
        let pooled = backend.pool(s, &states, &batch, self.poolings, self.skipped).unwrap();
        let head = linear(&layer(11, 7, self.poolings.len() * width), Place::Head);
        let projected = backend.project(s, &pooled, &head, Activation::Tanh).unwrap();
        let kept = backend.truncate(s, projected, 5).unwrap();
        let kept = backend.unit(s, kept).unwrap();
        [pooled, kept]
    }
}

/// The largest difference, relative to the largest expected value.
pub(crate) fn relative_error(got: &[f32], expected: &[f32]) -> f64 {
    assert_eq!(got.len(), expected.len());
    let largest = expected.iter().fold(1e-30_f64, |largest, x| largest.max(f64::from(x.abs())));
    let difference = |(&a, &b): (&f32, &f32)| (f64::from(a) - f64::from(b)).abs();
    got.iter().zip(expected).map(difference).fold(0.0, f64::max) / largest
}

/// The laws of a backend.
pub(crate) fn check<B: Backend>(backend: &B, model: &Model, tolerance: f64) {
    let together = check_near_reference(backend, model, tolerance);
    assert_eq!(model.run(backend, 0, 3), together, "threads leave no trace");
    for_each_alone(backend, model, &together, |_, alone, of_sequence| {
        assert_eq!(alone, of_sequence, "neighbours leave no trace");
    });
}

/// Compares a backend with the reference, and returns what it computed.
pub(crate) fn check_near_reference<B: Backend>(backend: &B, model: &Model, tolerance: f64) -> [Vec<f32>; 2] {
    let together = model.run(backend, 0, 1);
    let [expected, expected_vectors] = model.run(&Reference, 0, 1);
    let error = relative_error(&together[0], &expected);
    assert!(error < tolerance, "{error} in pooled states");
    // The scaling to unit length magnifies the error of a vector near zero.
    if expected_vectors.iter().all(|x| x.is_finite()) && tolerance < 1e-3 {
        assert!(relative_error(&together[1], &expected_vectors) < 100.0 * tolerance);
    }
    together
}

/// Gives `compare` each result of each sequence alone, with its number, and the same result in the batch.
pub(crate) fn for_each_alone<B: Backend>(
    backend: &B,
    model: &Model,
    together: &[Vec<f32>; 2],
    compare: impl Fn(usize, &[f32], &[f32]),
) {
    let mut first_row = 0;
    for (sequence, &length) in model.lengths.iter().enumerate() {
        let alone = model.alone(sequence).run(backend, first_row, 1);
        for (result, (alone, together)) in alone.iter().zip(together).enumerate() {
            let width = alone.len();
            compare(result, alone, &together[sequence * width..(sequence + 1) * width]);
        }
        first_row += length;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_cpu_is_near_the_reference(model in models()) {
        check(&Cpu::new(Precision::F32), &model, 1e-4);
    }

    #[test]
    fn lower_precisions_are_not_far(model in models()) {
        let model = Model { sharpness: model.sharpness.min(1.0), ..model };
        for (precision, tolerance) in [(Precision::F16, 0.02), (Precision::Bf16, 0.15), (Precision::Int8, 0.3)] {
            check(&Cpu::new(precision), &model, tolerance);
        }
    }

    #[test]
    fn the_reference_keeps_its_own_laws(model in models()) {
        check(&Reference, &model, 1e-12);
    }
}

proptest! {
    // A stand-in is slow.
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_gpu_is_near_the_reference(model in models()) {
        let (precision, tolerance) =
            [(Precision::F32, 1e-4), (Precision::F16, 0.02), (Precision::Bf16, 0.15)][model.seed as usize % 3];
        let sharpness = if precision == Precision::F32 { model.sharpness } else { model.sharpness.min(1.0) };
        check(&gpu(Kernels::OfH100, precision), &Model { sharpness, ..model }, tolerance);
    }
}

/// 515 tokens are several blocks of queries and many panels of keys; a window of 64 leaves most of them out.
#[test]
fn long_sequences_and_extreme_scores() {
    let base = Model {
        seed: 7,
        lengths: vec![515, 1],
        width: 64,
        inner: 40,
        heads: 2,
        key_heads: 2,
        head_size: 32,
        norms_heads: false,
        scale: 1.0,
        rotates: false,
        reach: None,
        window: (None, None),
        has_bias: true,
        centers: true,
        gates: false,
        norms_halves: false,
        placement: NormPlacement::After,
        first_placement: NormPlacement::After,
        activation: Activation::Gelu,
        sharpness: 30.0,
        skipped: 0,
        prefix: 0,
        poolings: &Pooling::ALL,
    };
    for (rotates, reach, window) in [
        (false, None, (None, None)),
        (true, None, (Some(64), Some(64))),
        (false, Some(91), (None, None)),
        (true, Some(4), (Some(0), Some(0))),
        (true, None, (None, Some(0))),
    ] {
        check(&Cpu::new(Precision::F32), &Model { rotates, reach, window, ..base.clone() }, 2e-3);
    }
}

/// Else what overflowed passes as a finite score.
#[test]
fn nan_stays_nan() {
    keeps_nan(&Cpu::new(Precision::F32));
    for precision in [Precision::F32, Precision::F16, Precision::Bf16] {
        keeps_nan(&gpu(Kernels::OfH100, precision));
    }
}

/// The second of three tokens is NaN: so are what a layer makes of it, and the largest of all three.
fn keeps_nan<B: Backend>(backend: &B) {
    let mut scratch = backend.scratch();
    let s = &mut scratch;
    let values = [[0.5; 8], [f32::NAN; 8], [-0.5; 8]].concat();
    let table = backend.table(Matrix { values: &values, rows: 3, columns: 8 }).unwrap();
    let norm = NormParameters { weight: &[1.0; 8], bias: None, epsilon: 1e-3, centers: false };
    let norm = backend.norm(norm).unwrap();
    let batch = backend.batch(vec![vec![0, 1, 2]], Sequences::from_lengths([3])).unwrap();
    let stream = backend.embed(s, &batch, &[table], &norm, NormPlacement::After).unwrap();
    let layer = backend.linear(Layer::new(1, 8, 8, true).parameters(), Place::Inner).unwrap();
    for activation in ACTIVATIONS {
        let made = backend.project(s, stream.input(), &layer, activation).unwrap();
        let mut host = Vec::new();
        backend.to_host(s, made, &mut host).unwrap();
        let nans: Vec<bool> = host.iter().map(|x| x.is_nan()).collect();
        assert_eq!(nans, [[false; 8], [true; 8], [false; 8]].concat(), "{activation:?}: {host:?}");
    }
    let pooled = backend.pool(s, stream.input(), &batch, &[Pooling::Max], 0).unwrap();
    let mut host = Vec::new();
    backend.to_host(s, pooled, &mut host).unwrap();
    assert!(host.iter().all(|x| x.is_nan()), "{host:?}");
}

#[test]
fn shapes_that_do_not_agree_are_errors() {
    let cpu = Cpu::new(Precision::F32);
    let matrix = |rows, columns| Matrix { values: &[1.0; 12], rows, columns };
    let linear = |weight, bias| LinearParameters { weight, bias };
    assert!(cpu.table(matrix(5, 3)).is_err());
    assert!(cpu.linear(linear(matrix(3, 4), Some(&[0.0; 4])), Place::Inner).is_err());
    assert!(cpu.linear(linear(matrix(12, 0), None), Place::Inner).is_err());
    assert!(cpu.gated(linear(matrix(3, 4), None), linear(matrix(4, 3), None)).is_err());
    let norm = NormParameters { weight: &[1.0; 3], bias: Some(&[0.0; 2]), epsilon: 1e-5, centers: true };
    assert!(cpu.norm(norm).is_err());
    let attention = AttentionParameters {
        heads: 4,
        key_heads: 3,
        head_size: 4,
        scale: 0.5,
        rotary: None,
        relative_bias: None,
        before: None,
        after: None,
    };
    assert!(cpu.attention(attention).is_err(), "key heads that do not divide the heads");
    let rotary = Some(RotaryParameters { frequencies: &[1.0, 0.5], magnitude: 1.0 });
    let odd = AttentionParameters { key_heads: 4, head_size: 5, rotary, ..attention };
    assert!(cpu.attention(odd).is_err(), "rotations of an odd head");
    let biased = AttentionParameters { key_heads: 4, relative_bias: Some(matrix(3, 4)), ..attention };
    assert!(cpu.attention(biased).is_err(), "a bias for other heads");
    let wide = vec![0.0; 70_000];
    let wide = Matrix { values: &wide, rows: 1, columns: 70_000 };
    assert!(Cpu::new(Precision::Int8).linear(linear(wide, None), Place::Inner).is_err());
    assert!(Cpu::new(Precision::Int8).linear(linear(wide, None), Place::Head).is_ok());

    let layer = cpu.linear(linear(matrix(3, 4), None), Place::Inner).unwrap();
    let unit = NormParameters { weight: &[1.0; 6], bias: None, epsilon: 1e-5, centers: true };
    let (table, norm) = (cpu.table(matrix(2, 6)).unwrap(), cpu.norm(unit).unwrap());
    let batch = cpu.batch(vec![vec![0, 1]], Sequences::from_lengths([2])).unwrap();
    let mut scratch = cpu.scratch();
    let embedded = cpu.embed(&mut scratch, &batch, &[table], &norm, NormPlacement::After).unwrap();
    assert!(
        cpu.project(&mut scratch, embedded.input(), &layer, Activation::Identity).is_err(),
        "six values for four inputs"
    );
    let two =
        cpu.attention(AttentionParameters { heads: 1, key_heads: 1, head_size: 2, ..attention }).unwrap();
    let norms = [unit; 2].map(|norm| cpu.norm(norm).unwrap());
    let refused = cpu.attend(&mut scratch, embedded.residual, &batch, &two, Some(&norms));
    assert!(refused.is_err(), "norms of six values for heads of two");
}
