//! The ranks of relevant vectors against the reference.

use proptest::prelude::*;
use toller_ir::{DocOrd, DocSet, Filter};
use toller_simd::Isa;

use super::{DATA, DType, Random, SCANS, Stored, make, with_threads};
use crate::{FirstRank, IpTopkError, IpTopkOptions, cpu, ip_first_ranks, reference};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn equal_the_reference(
        data in prop::sample::select(DATA.to_vec()),
        dtype in prop::sample::select(vec![DType::F32, DType::F16, DType::BF16]),
        n in 1_usize..900, q in prop::sample::select(vec![1_usize, 2, 3, 5, 16, 17, 40]),
        dim in prop_oneof![1_usize..20, 20_usize..140],
        relevant in 0_usize..9, groups in 1_usize..200, segment_rows in 1_usize..900, seed: u64,
    ) {
        let (vectors, queries) = make(data, n, q, dim, seed);
        let stored = Stored::new(dtype, &vectors, dim);
        let collection = stored.segments(segment_rows, |segment| segment.is_multiple_of(2));
        let mut random = Random::new(seed ^ 1);
        let mut some = |count: usize| -> Vec<DocOrd> {
            (0..count).map(|_| DocOrd(random.below(n) as u32)).collect()
        };
        // A query without a relevant vector, too.
        let relevant: Vec<Vec<DocOrd>> = (0..q).map(|query| some((relevant + query) % 9)).collect();
        let (allowed, mut excluded) = (some(n), vec![some(n / 2); q]);
        excluded.iter_mut().for_each(|docs| docs.sort_unstable());
        let allowed: DocSet = allowed.into_iter().collect();
        let filter = match seed % 3 {
            0 => Filter::default(),
            1 => Filter { allowed: Some(&allowed), excluded: &[] },
            _ => Filter { allowed: None, excluded: &excluded },
        };
        let groups: Vec<u32> = (0..n).map(|_| random.below(groups.min(n)) as u32).collect();
        for groups in [None, Some(&groups[..])] {
            let options = |scan| IpTopkOptions { scan, filter, read_ahead: None };
            let expected =
                reference::ip_first_ranks(&collection, &queries, &relevant, groups, &options(SCANS[0]));
            let expected = expected.unwrap();
            for isa in Isa::available() {
                for scan in SCANS {
                    let ranks =
                        || cpu::first_ranks(isa, &collection, &queries, &relevant, groups, &options(scan));
                    prop_assert_eq!(&with_threads(2, ranks), &expected, "{:?}, {}", isa, scan);
                }
            }
        }
    }
}

/// More pairs than are scored at a time, all of one score.
#[test]
fn ties_count_half() {
    let (n, q) = (40_000, 5);
    let stored = Stored::new(DType::F32, &vec![1.0; 2 * n], 2);
    let collection = stored.collection(n);
    let relevant = vec![vec![DocOrd(7)]; q];
    let ranks = |groups| {
        ip_first_ranks(&collection, &vec![0.5; 2 * q], &relevant, groups, &IpTopkOptions::default()).unwrap()
    };
    assert_eq!(ranks(None), vec![Some(FirstRank { above: 0, equal: n }); q]);
    assert_eq!(ranks(None)[0].unwrap().average(), 20_000.5);
    let groups: Vec<u32> = (0..n as u32).map(|doc| doc / 100).collect();
    assert_eq!(ranks(Some(&groups)), vec![Some(FirstRank { above: 0, equal: n / 100 }); q]);
}

#[test]
fn wrong_arguments_are_errors() {
    let stored = Stored::new(DType::F32, &[1.0; 8], 2);
    let collection = stored.collection(2);
    let ranks = |relevant: &[Vec<DocOrd>], groups| {
        ip_first_ranks(&collection, &[0.5, 0.5], relevant, groups, &IpTopkOptions::default()).unwrap_err()
    };
    assert_eq!(ranks(&[], None), IpTopkError::RelevantShape { lists: 0, queries: 1 });
    assert_eq!(ranks(&[vec![DocOrd(4)]], None), IpTopkError::UnknownVector { doc: 4 });
    let shape = |groups| IpTopkError::GroupShape { groups, ordinals: 4 };
    assert_eq!(ranks(&[Vec::new()], Some(&[0; 3])), shape(3));
    assert_eq!(ranks(&[Vec::new()], Some(&[0, 1, 2, 4])), shape(4));
}
