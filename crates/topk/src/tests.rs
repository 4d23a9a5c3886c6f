//! Every instruction set, device, dtype, division and thread count against the reference, bit by bit.
#![allow(clippy::unwrap_used)]

mod first_ranks;
mod hard_data;

use half::{bf16, f16};
use proptest::prelude::*;
use toller_gpu::Devices;
use toller_ir::{DocOrd, Explain, Ranking};
use toller_simd::Isa;

use super::{
    Codes, Collection, DocSet, Filter, IpTopkError, IpTopkOptions, Quantized, Scan, Segment, TopK, Vectors,
    cpu, ip_topk, quantize, reference,
};
use crate::cuda::DeviceSearch;

/// Kinds of data, each difficult in its own way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Data {
    Random,
    AllEqual,
    Duplicates,
    /// Neighbours in the last bit of one number: closer together than the error of the fast pass.
    OneBit,
    /// One number in fifty is 10,000 times larger.
    Outliers,
    /// Sorted by score for the first query: every vector scores more than all before it.
    Ascending,
    AntiCorrelated,
    Zeros,
    SignedZeros,
    /// Subnormal in f32, zero in f16.
    Denormals,
    /// 1e30: the fast pass overflows, and so do scores.
    Huge,
    /// From 1e-20 to 1e20.
    Magnitudes,
}

const DATA: [Data; 12] = [
    Data::Random,
    Data::AllEqual,
    Data::Duplicates,
    Data::OneBit,
    Data::Outliers,
    Data::Ascending,
    Data::AntiCorrelated,
    Data::Zeros,
    Data::SignedZeros,
    Data::Denormals,
    Data::Huge,
    Data::Magnitudes,
];

/// Pseudo-random numbers (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// In -1..1.
    fn number(&mut self) -> f32 {
        (self.bits() % (1 << 24)) as f32 / (1 << 23) as f32 - 1.0
    }

    pub(crate) fn numbers(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.number()).collect()
    }
}

/// Vectors `[n, dim]` and queries `[q, dim]`.
fn make(data: Data, n: usize, q: usize, dim: usize, seed: u64) -> (Vec<f32>, Vec<f32>) {
    let mut random = Random::new(seed);
    let mut queries = random.numbers(q * dim);
    let mut vectors = random.numbers(n * dim);
    let base = random.numbers(dim);
    match data {
        Data::Random => {}
        Data::AllEqual => vectors = base.repeat(n),
        Data::Duplicates => {
            let distinct = random.numbers(3 * dim);
            for vector in vectors.chunks_exact_mut(dim) {
                let at = random.below(3) * dim;
                vector.copy_from_slice(&distinct[at..at + dim]);
            }
        }
        Data::OneBit => {
            for vector in vectors.chunks_exact_mut(dim) {
                vector.copy_from_slice(&base);
                let x = &mut vector[random.below(dim)];
                *x = if random.below(2) == 0 { x.next_up() } else { x.next_down() };
            }
        }
        Data::Outliers => {
            for x in vectors.iter_mut().chain(&mut queries) {
                *x *= if random.below(50) == 0 { 1e4 } else { 1.0 };
            }
        }
        Data::Ascending => {
            let query = queries.get(..dim).map_or(base, <[f32]>::to_vec);
            let score = |x: &&[f32]| -> f32 { x.iter().zip(&query).map(|(a, b)| a * b).sum() };
            let mut rows: Vec<&[f32]> = vectors.chunks_exact(dim).collect();
            rows.sort_by(|a, b| score(a).total_cmp(&score(b)));
            vectors = rows.concat();
        }
        Data::AntiCorrelated => {
            for vector in vectors.chunks_exact_mut(dim) {
                let scale = random.number().abs();
                for (x, base) in vector.iter_mut().zip(&base) {
                    *x = -scale * base + 1e-3 * *x;
                }
            }
            queries = base.repeat(q);
        }
        Data::Zeros => vectors.fill(0.0),
        Data::SignedZeros => {
            for x in vectors.iter_mut().chain(&mut queries) {
                *x = [0.0, -0.0, 1e-30, -1e-30][random.below(4)];
            }
        }
        Data::Denormals => vectors.iter_mut().for_each(|x| *x *= 1e-41),
        Data::Huge => vectors.iter_mut().chain(&mut queries).for_each(|x| *x *= 1e30),
        Data::Magnitudes => {
            for vector in vectors.chunks_exact_mut(dim) {
                let scale = 10_f32.powi(random.below(40) as i32 - 20);
                vector.iter_mut().for_each(|x| *x *= scale);
            }
        }
    }
    (vectors, queries)
}

#[derive(Clone, Copy, Debug)]
enum DType {
    F32,
    F16,
    BF16,
}

/// Vectors as a store would hold them: rounded, and finite; with their codes.
struct Stored {
    values: Values,
    codes: Quantized,
    dim: usize,
}

enum Values {
    F32(Vec<f32>),
    F16(Vec<f16>),
    BF16(Vec<bf16>),
}

impl Stored {
    fn new(dtype: DType, values: &[f32], dim: usize) -> Self {
        let (f16_max, bf16_max) = (f16::MAX.to_f32(), bf16::MAX.to_f32());
        let values = match dtype {
            DType::F32 => Values::F32(values.to_vec()),
            DType::F16 => {
                Values::F16(values.iter().map(|x| f16::from_f32(x.clamp(-f16_max, f16_max))).collect())
            }
            DType::BF16 => {
                Values::BF16(values.iter().map(|x| bf16::from_f32(x.clamp(-bf16_max, bf16_max))).collect())
            }
        };
        let wide: Vec<f32> = match &values {
            Values::F32(values) => values.clone(),
            Values::F16(values) => values.iter().map(|x| x.to_f32()).collect(),
            Values::BF16(values) => values.iter().map(|x| x.to_f32()).collect(),
        };
        Self { values, codes: quantize(&wide, dim), dim }
    }

    /// Segments of `rows` rows (the last may have fewer), without codes.
    fn collection(&self, rows: usize) -> Collection<'_> {
        self.segments(rows, |_| false)
    }

    /// Segments of `rows` rows (the last may have fewer), with codes in the segments that `coded` picks.
    fn segments(&self, rows: usize, coded: impl Fn(usize) -> bool) -> Collection<'_> {
        let (dim, all) = (self.dim, &self.codes);
        let pieces: Vec<Vectors<'_>> = match &self.values {
            Values::F32(values) => values.chunks(rows * dim).map(Vectors::F32).collect(),
            Values::F16(values) => values.chunks(rows * dim).map(Vectors::F16).collect(),
            Values::BF16(values) => values.chunks(rows * dim).map(Vectors::BF16).collect(),
        };
        let segment = |(i, vectors): (usize, Vectors<'_>)| {
            let first = i * rows;
            let range = first..first + vectors.len() / dim;
            let codes = Codes {
                values: &all.codes[range.start * dim..range.end * dim],
                scales: &all.scales[range.clone()],
                residual_norms: &all.residual_norms[range],
            };
            (first, codes)
        };
        let segments = pieces.into_iter().enumerate().map(|(i, vectors)| {
            let (first, codes) = segment((i, vectors));
            Segment { first: DocOrd(first as u32), vectors, codes: coded(i).then_some(codes) }
        });
        Collection::new(dim, segments.collect()).unwrap()
    }
}

const SCANS: [Scan; 4] = [Scan::Auto, Scan::F32, Scan::F16, Scan::Int8];

fn with(scan: Scan) -> IpTopkOptions<'static> {
    IpTopkOptions { scan, ..IpTopkOptions::default() }
}

/// What searches.
#[derive(Clone, Debug)]
enum Backend {
    Cpu(Isa),
    Devices(Devices),
}

impl Backend {
    fn search(
        &self,
        collection: &Collection<'_>,
        queries: &[f32],
        k: usize,
        options: &IpTopkOptions<'_>,
    ) -> TopK {
        match self {
            Self::Cpu(isa) => cpu::search(*isa, collection, queries, k, options),
            Self::Devices(devices) => {
                let index = DeviceSearch::new(devices, collection, options.scan, &|_| {}).unwrap();
                index.search(collection, queries, k, options).unwrap()
            }
        }
    }
}

/// Every instruction set and the machine's GPU. If it has none, stand-ins, which are slow: one case in
/// [`EMULATED`] gets a stand-in with memory for everything, another case two stand-ins for older GPUs, of
/// which one has `little` memory, so that most of its rows are streamed, and a third case two such stand-ins
/// for an H100.
fn backends(seed: u64, little: u64) -> Vec<Backend> {
    let mut backends: Vec<Backend> = Isa::available().into_iter().map(Backend::Cpu).collect();
    if let Some(devices) = crate::cuda::tests::of_machine() {
        backends.push(Backend::Devices(devices));
        return backends;
    }
    match seed % EMULATED {
        0 => backends.push(Backend::Devices(Devices::shim(&[1 << 30]))),
        1 => {
            let devices = Devices::shim(&[little, 1 << 30]);
            devices.limit_capability((8, 0));
            backends.push(Backend::Devices(devices));
        }
        2 => {
            backends.push(Backend::Devices(Devices::shim(&[little, 1 << 30])));
        }
        _ => {}
    }
    backends
}

/// See [`backends`].
const EMULATED: u64 = 24;
/// A seed without a stand-in.
const NONE_EMULATED: u64 = EMULATED - 1;

/// Ordinals and score bits.
fn bits(rankings: &[Ranking]) -> Vec<Vec<(u32, u32)>> {
    let hits = |ranking: &Ranking| ranking.hits.iter().map(|hit| (hit.doc.0, hit.score.to_bits())).collect();
    rankings.iter().map(hits).collect()
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn equals_the_reference(
        data in prop::sample::select(DATA.to_vec()),
        dtype in prop::sample::select(vec![DType::F32, DType::F16, DType::BF16]),
        n in 1_usize..900, q in prop::sample::select(vec![1_usize, 2, 3, 5, 6, 7, 16, 17, 33, 70]),
        dim in prop_oneof![1_usize..20, 20_usize..140],
        depth in prop_oneof![1_usize..12, 1_usize..1000], segment_rows in 1_usize..900, seed: u64,
    ) {
        let (vectors, queries) = make(data, n, q, dim, seed);
        let stored = Stored::new(dtype, &vectors, dim);
        let whole = stored.segments(n, |_| seed % 2 == 0);
        let divided = stored.segments(segment_rows, |segment| !segment.is_multiple_of(3));
        let expected = bits(&reference::ip_topk(&whole, &queries, depth, &Filter::default()).unwrap());
        for backend in backends(seed, 150_000) {
            for scan in SCANS {
                let got = with_threads(1, || backend.search(&whole, &queries, depth, &with(scan)));
                prop_assert!(bits(&got.rankings) == expected, "{backend:?}, {scan}, one thread");
            }
            let scan = SCANS[(seed % 4) as usize];
            let got = with_threads(3, || backend.search(&divided, &queries, depth, &with(scan)));
            prop_assert!(bits(&got.rankings) == expected, "{backend:?}, {scan}, segments of {segment_rows}");
        }
    }

    #[test]
    fn filters_equal_the_reference(
        data in prop::sample::select(DATA.to_vec()),
        dtype in prop::sample::select(vec![DType::F32, DType::F16]),
        n in 1_usize..900, q in 1_usize..40, dim in 1_usize..70, depth in 1_usize..1000,
        segment_rows in 1_usize..900, kept in 1_usize..100, excluded in 0_usize..100, seed: u64,
    ) {
        let (vectors, queries) = make(data, n, q, dim, seed);
        let stored = Stored::new(dtype, &vectors, dim);
        let mut random = Random::new(seed ^ 1);
        let mut some = |percent: usize| -> Vec<DocOrd> {
            (0..n as u32).map(DocOrd).filter(|_| random.below(100) < percent).collect()
        };
        let allowed: DocSet = some(kept).into_iter().collect();
        let excluded: Vec<Vec<DocOrd>> = (0..q).map(|query| some(excluded / (query + 1))).collect();
        let allowed = (seed % 3 != 0).then_some(&allowed);
        let excluded: &[Vec<DocOrd>] = if seed % 3 == 1 { &[] } else { &excluded };
        let filter = Filter { allowed, excluded };
        let collection = stored.segments(segment_rows, |segment| segment.is_multiple_of(2));
        let expected = bits(&reference::ip_topk(&collection, &queries, depth, &filter).unwrap());
        for backend in backends(seed, 150_000) {
            for scan in SCANS {
                let options = IpTopkOptions { scan, filter, read_ahead: None };
                let got = with_threads(2, || backend.search(&collection, &queries, depth, &options));
                prop_assert!(bits(&got.rankings) == expected, "{backend:?}, {scan}");
            }
        }
    }

    #[test]
    fn wide_vectors_equal_the_reference(
        data in prop::sample::select(DATA.to_vec()),
        n in 1_usize..40, q in 1_usize..20, dim in 1_usize..4200, depth in 1_usize..40, seed: u64,
    ) {
        let (vectors, queries) = make(data, n, q, dim, seed);
        let stored = Stored::new(DType::F32, &vectors, dim);
        let collection = stored.segments(n, |_| seed % 2 == 0);
        let expected = bits(&reference::ip_topk(&collection, &queries, depth, &Filter::default()).unwrap());
        // Wide rows are slow on stand-ins: a quarter of the cases that the others give them.
        for backend in backends(if seed.is_multiple_of(4) { seed / 4 } else { NONE_EMULATED }, 1 << 20) {
            for scan in SCANS {
                let got = backend.search(&collection, &queries, depth, &with(scan));
                prop_assert!(bits(&got.rankings) == expected, "{backend:?}, {scan}");
            }
        }
    }
}

/// Enough vectors that every thread reduces its candidates many times.
#[test]
fn scans_batches_depths_threads_and_segments_do_not_matter() {
    let (n, q, dim) = (12_000, 40, 48);
    for data in DATA {
        let (vectors, queries) = make(data, n, q, dim, 5);
        let stored = Stored::new(DType::F32, &vectors, dim);
        let whole = stored.collection(n);
        let expected = bits(&reference::ip_topk(&whole, &queries, 1000, &Filter::default()).unwrap());

        let divisions = [(1, n, 40), (2, n / 8, 40), (2, n, 7), (4, 1000, 1)];
        for ((threads, segment_rows, batch), scan) in divisions.into_iter().zip(SCANS) {
            let collection = stored.segments(segment_rows, |segment| segment.is_multiple_of(2));
            let mut got = Vec::new();
            for queries in queries.chunks(batch * dim) {
                let found =
                    with_threads(threads, || ip_topk(&collection, queries, 1000, &with(scan))).unwrap();
                got.extend(bits(&found.rankings));
            }
            assert!(
                got == expected,
                "{data:?}, {scan}: {threads} threads, segments of {segment_rows}, batches of {batch}"
            );
        }
        for (depth, scan) in [1, 10, 999].into_iter().zip([Scan::Int8, Scan::Int8, Scan::Auto]) {
            let expected: Vec<_> = expected.iter().map(|hits| hits[..depth].to_vec()).collect();
            let found = ip_topk(&whole, &queries, depth, &with(scan)).unwrap();
            assert!(bits(&found.rankings) == expected, "{data:?}, {scan}: {depth} of 1000");
        }
    }
}

/// The sample holds all that every other query looks for, so that the thresholds of these queries start too
/// high; where all vectors are equal, those of all queries do. Where all scores are infinite, no threshold
/// leaves out only what scores less.
#[test]
fn a_sample_that_misleads_costs_no_hits() {
    let (n, q, dim, k, block) = (5400, 9, 16, 100, 84);
    let (mut vectors, mut queries) = make(Data::Random, n, q, dim, 11);
    for (row, vector) in vectors.chunks_exact_mut(dim).enumerate() {
        if (row / block).is_multiple_of(32) {
            vector[0] += 100.0;
        }
    }
    for (query, numbers) in queries.chunks_exact_mut(dim).enumerate() {
        numbers[0] = if query.is_multiple_of(2) { 1.0 } else { 0.0 };
    }
    let (equal, _) = make(Data::AllEqual, n, q, dim, 12);
    let excluded: Vec<Vec<DocOrd>> = (0..q as u32)
        .map(|query| (0..n as u32).map(DocOrd).skip(query as usize).step_by(7).collect())
        .collect();
    let (huge, huge_queries) = (vec![1e30; n * dim], vec![1e30; q * dim]);
    for (vectors, queries) in [(vectors, &queries), (equal, &queries), (huge, &huge_queries)] {
        let stored = Stored::new(DType::F32, &vectors, dim);
        let collection = stored.segments(block, |_| true);
        for excluded in [&[], &excluded[..]] {
            let filter = Filter { allowed: None, excluded };
            let expected = bits(&reference::ip_topk(&collection, queries, k, &filter).unwrap());
            for scan in SCANS {
                let options = IpTopkOptions { scan, filter, read_ahead: None };
                let found = with_threads(2, || ip_topk(&collection, queries, k, &options)).unwrap();
                assert!(bits(&found.rankings) == expected, "{scan}, {} excluded", excluded.len());
            }
        }
    }
}

/// Enough rows that devices search a sample first.
#[test]
fn guesses_from_hard_data_cost_no_hits() {
    let (n, q, dim) = (1300, 3, 8);
    for (seed, data) in (40..).zip(DATA) {
        let (vectors, queries) = make(data, n, q, dim, seed);
        let stored = Stored::new(DType::F32, &vectors, dim);
        for k in [1, 40] {
            for collection in [stored.collection(n), stored.segments(700, |_| true)] {
                let expected =
                    bits(&reference::ip_topk(&collection, &queries, k, &Filter::default()).unwrap());
                for scan in [Scan::Auto, Scan::Int8] {
                    let devices = Backend::Devices(Devices::shim(&[64 << 20]));
                    let found = devices.search(&collection, &queries, k, &with(scan));
                    assert!(bits(&found.rankings) == expected, "{data:?}, {scan}, k {k}");
                }
            }
        }
    }
}

#[test]
fn few_are_nominated() {
    let (n, q, dim, k) = (20_000, 30, 128, 10);
    let (vectors, queries) = make(Data::Random, n, q, dim, 3);
    let stored = Stored::new(DType::F32, &vectors, dim);
    for (scan, limit) in [(Scan::F32, 400), (Scan::F16, 400), (Scan::Int8, 1000)] {
        for collection in [stored.collection(n), stored.segments(n, |_| true)] {
            let TopK { nominated, .. } = ip_topk(&collection, &queries, k, &with(scan)).unwrap();
            assert_eq!(nominated.len(), q);
            let range = k..limit;
            assert!(nominated.iter().all(|count| range.contains(count)), "{scan}: {nominated:?}");
        }
    }
}

/// What the sample holds already cannot mislead: nothing is looked at twice.
#[test]
fn a_sample_with_the_best_is_no_reason_to_search_again() {
    let (n, dim) = (20_000, 128);
    let (vectors, _) = make(Data::Random, 1, 1, dim, 5);
    let same: Vec<f32> = vectors.iter().copied().cycle().take(n * dim).collect();
    let stored = Stored::new(DType::F32, &same, dim);
    for k in [1, 5] {
        let found = ip_topk(&stored.collection(n), &vectors, k, &with(Scan::F32)).unwrap();
        assert!(found.nominated[0] <= n, "k {k}: {:?}", found.nominated);
    }
}

/// All that is scanned is announced, except for the very first block.
#[test]
fn bytes_are_announced_before_they_are_read() {
    let (n, dim) = (5000, 64);
    let (vectors, queries) = make(Data::Random, n, 4, dim, 8);
    let stored = Stored::new(DType::F32, &vectors, dim);
    for (scan, coded, bytes) in [(Scan::F32, false, 4), (Scan::Int8, true, 1), (Scan::Int8, false, 4)] {
        let collection = stored.segments(n / 3, |_| coded);
        let announced = std::sync::atomic::AtomicUsize::new(0);
        let read_ahead = |piece: &[u8]| {
            announced.fetch_add(piece.len(), std::sync::atomic::Ordering::Relaxed);
        };
        let options = IpTopkOptions { scan, read_ahead: Some(&read_ahead), ..IpTopkOptions::default() };
        with_threads(2, || ip_topk(&collection, &queries, 5, &options)).unwrap();
        let (announced, all) = (announced.into_inner(), n * dim * bytes);
        assert!(announced <= all && announced > all * 9 / 10, "{scan}: {announced} of {all} bytes");
    }
}

#[test]
fn more_hits_than_vectors_and_no_vectors() {
    let values = [1.0, 0.0, 3.0];
    let segment = Segment { first: DocOrd(u32::MAX - 2), vectors: Vectors::F32(&values), codes: None };
    let collection = Collection::new(1, vec![segment]).unwrap();
    for k in [3, 4, 1000, usize::MAX] {
        let TopK { rankings, .. } = ip_topk(&collection, &[2.0], k, &IpTopkOptions::default()).unwrap();
        let hits: Vec<(u32, f32)> = rankings[0].hits.iter().map(|hit| (hit.doc.0, hit.score)).collect();
        assert_eq!(hits, [(u32::MAX, 6.0), (u32::MAX - 2, 2.0), (u32::MAX - 1, 0.0)]);
    }
    assert_eq!(ip_topk(&collection, &[], 5, &IpTopkOptions::default()).unwrap(), TopK::default());

    let empty = Collection::new(7, Vec::new()).unwrap();
    for scan in SCANS {
        let found = ip_topk(&empty, &[1.0; 14], 5, &with(scan)).unwrap();
        assert_eq!(found, TopK { rankings: vec![Ranking::default(); 2], nominated: vec![0; 2] });
    }
}

#[test]
fn scores_beyond_f32_are_infinite_and_ties_go_by_ordinal() {
    let values = [1e30, -1e30, 2e30, 1.0];
    let collection = Stored::new(DType::F32, &values, 1);
    for scan in SCANS {
        let TopK { rankings, .. } = ip_topk(&collection.collection(4), &[1e30], 4, &with(scan)).unwrap();
        let hits: Vec<(u32, f32)> = rankings[0].hits.iter().map(|hit| (hit.doc.0, hit.score)).collect();
        assert_eq!(hits, [(0, f32::INFINITY), (2, f32::INFINITY), (3, 1e30), (1, f32::NEG_INFINITY)]);
    }
}

#[test]
fn what_cannot_be_searched_is_an_error() {
    let values = [0.0; 6];
    let segment = |first| Segment { first: DocOrd(first), vectors: Vectors::F32(&values), codes: None };
    let options = IpTopkOptions::default();
    assert_eq!(Collection::new(0, vec![]).unwrap_err(), IpTopkError::ZeroDim);
    let error = Collection::new(4, vec![segment(0)]).unwrap_err();
    assert_eq!(error, IpTopkError::SegmentShape { segment: 0, len: 6, dim: 4 });
    let error = Collection::new(3, vec![segment(0), segment(1)]).unwrap_err();
    assert_eq!(error, IpTopkError::SegmentOrder { segment: 1, first: 1, expected: 2 });
    assert!(matches!(Collection::new(3, vec![segment(u32::MAX)]), Err(IpTopkError::SegmentOrder { .. })));

    let collection = Collection::new(3, vec![segment(0)]).unwrap();
    assert_eq!(ip_topk(&collection, &[0.0; 3], 0, &options).unwrap_err(), IpTopkError::ZeroK);
    let error = ip_topk(&collection, &[0.0; 4], 1, &options).unwrap_err();
    assert_eq!(error, IpTopkError::QueryShape { len: 4, dim: 3 });
    assert!(error.remedy().is_some());
    let error = ip_topk(&collection, &[0.0, 0.0, 0.0, 1.0, f32::NEG_INFINITY, 0.0], 1, &options).unwrap_err();
    assert_eq!(error, IpTopkError::QueryNotFinite { query: 1, column: 1, value: f32::NEG_INFINITY });
    assert!(
        ip_topk(&collection, &[0.0, f32::NAN, 0.0], 1, &options).unwrap_err().to_string().contains("query 0")
    );

    let excluded = [vec![DocOrd(0)], vec![]];
    let options = IpTopkOptions { filter: Filter { excluded: &excluded, ..Filter::default() }, ..options };
    let error = ip_topk(&collection, &[0.0; 3], 1, &options).unwrap_err();
    assert_eq!(error, IpTopkError::ExclusionShape { lists: 2, queries: 1 });

    let codes = Codes { values: &[0; 6], scales: &[0.0; 2], residual_norms: &[0.0; 1] };
    let error = Collection::new(3, vec![Segment { codes: Some(codes), ..segment(0) }]).unwrap_err();
    assert_eq!(error, IpTopkError::CodesShape { segment: 0, rows: 2 });

    let values = vec![0.5; 70_000];
    let segment = Segment { first: DocOrd(0), vectors: Vectors::F32(&values), codes: None };
    let collection = Collection::new(70_000, vec![segment]).unwrap();
    let error = ip_topk(&collection, &values, 1, &with(Scan::Int8)).unwrap_err();
    assert_eq!(error, IpTopkError::DimTooLarge { dim: 70_000, max: 65_536 });
    for scan in [Scan::Auto, Scan::F32, Scan::F16] {
        assert_eq!(
            ip_topk(&collection, &values, 1, &with(scan)).unwrap().rankings[0].hits[0].score,
            17_500.0
        );
    }
}

/// A collection is expected to be finite; if it is not, nothing breaks.
#[test]
fn a_collection_that_is_not_finite_does_no_harm() {
    let (mut vectors, queries) = make(Data::Random, 2000, 20, 24, 9);
    for (i, x) in vectors.iter_mut().enumerate().filter(|(i, _)| i % 7 == 0) {
        *x = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY][i % 3];
    }
    let stored = Stored::new(DType::F32, &vectors, 24);
    for collection in [stored.collection(300), stored.segments(300, |_| true)] {
        for backend in backends(0, 0) {
            for scan in SCANS {
                let TopK { rankings, .. } = backend.search(&collection, &queries, 10, &with(scan));
                assert!(rankings.iter().all(|ranking| ranking.hits.len() == 10), "{backend:?}, {scan}");
            }
        }
    }
}
