//! Searches on stand-ins for GPUs: divisions, overflows, streaming; and the constants of the kernels' header.
//!
//! With the environment variable TOLLER_WATCH_LAUNCHES, the tests on the machine's GPU print every launch.

#![allow(clippy::unwrap_used)]

pub(crate) mod smoke;
mod streaming;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, LazyLock, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use half::f16;
use toller_gpu::{DeviceError, Devices, KernelTimes, Memory, Watcher};
use toller_ir::{DocOrd, DocSet, Explain};

use super::kernels::{Kernels, MOST_PAIRS_OF_QUERY};
use super::{DeviceSearch, abi, kernels};
use crate::tests::Random;
use crate::{Collection, Filter, IpTopkError, IpTopkOptions, Scan, Segment, Vectors, ip_topk, reference};

const HEADER: &str = include_str!("../../../../kernels/ip_topk.h");

/// Pseudo-random numbers in -1..1.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    Random::new(seed).numbers(count)
}

fn one_segment(values: &[f32], dim: usize) -> Collection<'_> {
    let segment = Segment { first: DocOrd(0), vectors: Vectors::F32(values), codes: None };
    Collection::new(dim, vec![segment]).unwrap()
}

/// How many vectors were nominated for each query. Asserts that the hits equal those of the reference.
fn search(
    devices: &Devices,
    collection: &Collection<'_>,
    queries: &[f32],
    k: usize,
    scan: Scan,
) -> Vec<usize> {
    let expected = reference::ip_topk(collection, queries, k, &Filter::default()).unwrap();
    let index = DeviceSearch::new(devices, collection, scan, &|_| {}).unwrap();
    let found = index.search(collection, queries, k, &IpTopkOptions::default()).unwrap();
    for (query, (found, expected)) in found.rankings.iter().zip(&expected).enumerate() {
        assert!(found == expected, "query {query}: {found:?} {expected:?}");
    }
    found.nominated
}

#[test]
fn constants_and_names_are_those_of_the_header() {
    let defined = |name: &str| -> u32 {
        let line = HEADER.lines().find_map(|line| line.strip_prefix(&format!("#define {name} "))).unwrap();
        line.trim().parse().unwrap()
    };
    assert!(HEADER.contains(&format!("#define TOLLER_INCOMPLETE {:#x}u", abi::INCOMPLETE)));
    for (name, value) in [
        ("TOLLER_ROW_THREADS", abi::ROW_THREADS),
        ("TOLLER_SCAN_THREADS", abi::SCAN_THREADS),
        ("TOLLER_SELECT_THREADS", abi::SELECT_THREADS),
        ("TOLLER_RESCORE_THREADS", abi::RESCORE_THREADS),
        ("TOLLER_RESCORE_LOOKED_THROUGH", abi::RESCORE_LOOKED_THROUGH),
        ("TOLLER_RESCORE_SHARED", abi::RESCORE_SHARED),
        ("TOLLER_SCAN_BLOCKS_8", abi::SCAN_BLOCKS_8),
        ("TOLLER_SCAN_BLOCKS_64", abi::SCAN_BLOCKS_64),
        ("TOLLER_SCAN_BLOCKS_256", abi::SCAN_BLOCKS_256),
        ("TOLLER_SCAN_ROWS", abi::SCAN_ROWS),
        ("TOLLER_SCAN_SLICE", abi::SCAN_SLICE),
        ("TOLLER_SCAN_SAMPLE", abi::SCAN_SAMPLE),
        ("TOLLER_BEST_IN_SHARED", abi::BEST_IN_SHARED),
        ("TOLLER_SCAN_STAGES_8", abi::SCAN_STAGES_8),
        ("TOLLER_SCAN_STAGES_64", abi::SCAN_STAGES_64),
        ("TOLLER_SCAN_TMA_ROWS", abi::SCAN_TMA_ROWS),
        ("TOLLER_SCAN_TMA_QUERIES", abi::SCAN_TMA_QUERIES),
        ("TOLLER_SCAN_TMA_STAGES", abi::SCAN_TMA_STAGES),
        ("TOLLER_SCAN_TMA_THREADS", abi::SCAN_TMA_THREADS),
        ("TOLLER_SCAN_TMA_HITS", abi::SCAN_TMA_HITS),
        ("TOLLER_SCAN_STAGES_256", abi::SCAN_STAGES_256),
    ] {
        assert_eq!(defined(name), value, "{name}");
    }
    let sizes = [
        ("toller_candidate", size_of::<abi::Candidate>(), 12),
        ("toller_hit", size_of::<abi::KernelHit>(), 8),
        ("toller_query_facts", abi::QUERY_FACTS_BYTES, 16),
        ("toller_scan_tma_args", size_of::<abi::ScanTma>(), 512),
    ];
    for (name, ours, header) in sizes {
        assert!(HEADER.contains(name) && ours == header, "{name}");
    }
    let listed: BTreeSet<&str> = HEADER
        .lines()
        .take_while(|line| !line.contains("TOLLER_IP_TOPK_SM90A_KERNELS"))
        .filter_map(|line| line.trim().strip_prefix("X(")?.split(',').next())
        .collect();
    assert_eq!(listed, kernels::names().into_iter().collect());
}

/// With the capabilities of an A100 and of an H100.
#[test]
fn pairs_take_no_more_than_is_planned() {
    for (capability, widest) in [((8, 0), 256), ((9, 0), 192)] {
        let devices = Devices::shim(&[1 << 20]);
        devices.limit_capability(capability);
        let kernels = Kernels::new(devices.iter().next().unwrap().clone());
        for queries in [1, 2, 8, 9, 10, 63, 64, 65, 257, 6980, 8192] {
            let pairs = kernels.variant(queries).pairs(queries);
            assert!(2 * pairs >= queries && pairs <= MOST_PAIRS_OF_QUERY * queries, "{queries}: {pairs}");
            assert!(queries <= 64 || 2 * pairs == queries.next_multiple_of(widest), "{queries}: {pairs}");
        }
    }
}

#[test]
fn devices_and_memory_do_not_matter() {
    let (rows, dim, k) = (1500, 64, 30);
    let (vectors, queries) = (numbers(rows * dim, 1), numbers(9 * dim, 2));
    let collection = one_segment(&vectors, dim);
    for memory in [&[64 << 20][..], &[180_000], &[180_000, 160_000], &[64 << 20, 120_000, 64 << 20]] {
        for scan in [Scan::Auto, Scan::Int8] {
            let devices = Devices::shim(memory);
            let index = DeviceSearch::new(&devices, &collection, scan, &|_| {}).unwrap();
            let is_streamed = index.plans().any(|plan| plan.resident_rows < plan.rows);
            assert_eq!(is_streamed, memory.iter().all(|&bytes| bytes < 1 << 20), "{memory:?}");
            drop(index);
            search(&devices, &collection, &queries, k, scan);
        }
    }
}

/// All scores are equal, or rows have ascending scores. With little memory, all rows are resident, but no
/// buffer holds all of them: if their scores are equal, each query is searched again, and chunks again and
/// again.
#[test]
fn full_buffers_lose_nothing() {
    let (rows, dim, k) = (5000, 8, 40);
    let equal = numbers(dim, 3).repeat(rows);
    let ascending: Vec<f32> =
        (0..rows).flat_map(|row| (0..dim).map(move |i| if i == 0 { row as f32 } else { 0.5 })).collect();
    let queries = [vec![1.0; dim], numbers(dim, 4)].concat();
    for (vectors, is_equal) in [(equal, true), (ascending, false)] {
        let collection = one_segment(&vectors, dim);
        for (memory, is_little) in [(64 << 20, false), (220_000, true)] {
            let devices = Devices::shim(&[memory]);
            let index = DeviceSearch::new(&devices, &collection, Scan::Auto, &|_| {}).unwrap();
            assert!(index.plans().all(|plan| plan.resident_rows == plan.rows));
            drop(index);
            let times = KernelTimes::default();
            let nominated =
                devices.watched(&times.watcher(), || search(&devices, &collection, &queries, k, Scan::Auto));
            assert!(nominated.iter().all(|&count| count >= k), "{nominated:?}");
            let groups =
                times.all().iter().find(|time| time.kernel == "toller_ip_topk_start").unwrap().launches;
            assert!(groups == 4 || !(is_equal && is_little), "{groups} groups for 2 queries");
        }
    }
}

/// The sample, which is the first tile, holds all hits of every other query. So the guesses for these queries
/// are too high, and only they are searched again.
#[test]
fn a_sample_that_misleads_costs_no_hits() {
    let (rows, dim, k, count) = (1500, 16, 30, 9);
    let mut vectors = numbers(rows * dim, 12);
    vectors.chunks_exact_mut(dim).take(128).for_each(|vector| vector[0] += 100.0);
    let mut queries = numbers(count * dim, 13);
    for (query, numbers) in queries.chunks_exact_mut(dim).enumerate() {
        numbers[0] = if query.is_multiple_of(2) { 1.0 } else { 0.0 };
    }
    let collection = one_segment(&vectors, dim);
    let misled: Vec<f32> = queries.chunks_exact(dim).step_by(2).flatten().copied().collect();
    let others: Vec<f32> = queries.chunks_exact(dim).skip(1).step_by(2).flatten().copied().collect();
    for (queries, expected) in [(&queries, [9, 5].as_slice()), (&misled, &[5, 5]), (&others, &[4])] {
        let devices = Devices::shim(&[64 << 20]);
        let groups = Arc::new(Mutex::new(Vec::new()));
        let seen = groups.clone();
        let watcher: Watcher = Arc::new(move |watched| {
            // It has a block for each query of a group.
            if watched.kernel == "toller_ip_topk_best" && watched.seconds.is_none() {
                seen.lock().unwrap().push(watched.grid[0]);
            }
        });
        devices.watched(&watcher, || search(&devices, &collection, queries, k, Scan::Auto));
        assert_eq!(*groups.lock().unwrap(), expected);
        search(&devices, &collection, queries, k, Scan::Int8);
    }
}

/// With bulk copies, tiles have other sizes. The first tile holds all hits, so that every query is searched
/// again, chunk by chunk. The last tile is not full, and 70 queries do not fill theirs.
#[test]
fn bulk_copies_find_what_others_find() {
    let (rows, dim, k, count) = (1800, 40, 30, 70);
    let mut vectors = numbers(rows * dim, 25);
    vectors.chunks_exact_mut(dim).take(192).for_each(|vector| vector[0] += 100.0);
    let mut queries = numbers(count * dim, 26);
    queries.chunks_exact_mut(dim).for_each(|query| query[0] = 1.0);
    let collection = one_segment(&vectors, dim);
    for (scan, kernel) in
        [(Scan::Auto, "toller_ip_topk_scan_f32_tma"), (Scan::Int8, "toller_ip_topk_scan_int8_tma")]
    {
        let devices = Devices::shim(&[64 << 20]);
        let times = KernelTimes::default();
        devices.watched(&times.watcher(), || search(&devices, &collection, &queries, k, scan));
        let launches = |name: &str| times.all().iter().find(|time| time.kernel == name).unwrap().launches;
        assert_eq!(launches("toller_ip_topk_start"), 2, "{scan}: searched again");
        assert!(launches(kernel) > 3, "{scan}: {}", launches(kernel));
    }
}

/// The first sample is only tile 0. Its best rows make a guess that no other row reaches, so that the other
/// rows of the second sample are dropped. The second guess is low enough, which must not hide that the first
/// was too high.
#[test]
fn an_early_guess_that_is_too_high_is_not_forgotten() {
    let (rows, k) = (258 * 128, 300);
    let vectors: Vec<f32> = numbers(rows, 19)
        .iter()
        .enumerate()
        .flat_map(|(row, &score)| [if row < 21 { 100.0 + score } else { score }, 0.0])
        .collect();
    search(&Devices::shim(&[64 << 20]), &one_segment(&vectors, 2), &[1.0, 0.0], k, Scan::Auto);
}

/// Rows of two types are searched one after the other, each with guesses of their own.
#[test]
fn the_rows_of_each_type_are_guessed_about() {
    let dim = 8;
    let (wide, queries) = (numbers(1200 * dim, 16), numbers(3 * dim, 17));
    for factor in [0.5, 1.0, 2.0] {
        let halves: Vec<f16> =
            numbers(1400 * dim, 18).into_iter().map(|x| f16::from_f32(factor * x)).collect();
        let segment = |first, vectors| Segment { first: DocOrd(first), vectors, codes: None };
        let segments = vec![segment(0, Vectors::F32(&wide)), segment(1200, Vectors::F16(&halves))];
        let collection = Collection::new(dim, segments).unwrap();
        for k in [5, 60] {
            for scan in [Scan::Auto, Scan::Int8] {
                search(&Devices::shim(&[64 << 20]), &collection, &queries, k, scan);
            }
        }
    }
}

/// The memory of a search is kept for the next one, which allocates nothing.
#[test]
fn searches_leave_no_more_memory_than_the_largest_needs() {
    let (rows, dim) = (3000, 16);
    let vectors = numbers(rows * dim, 14);
    let (collection, queries) = (one_segment(&vectors, dim), numbers(20 * dim, 15));
    let devices = Devices::shim(&[64 << 20]);
    let index = DeviceSearch::new(&devices, &collection, Scan::Auto, &|_| {}).unwrap();
    let free = || devices.iter().next().unwrap().free_bytes().unwrap();
    let mut left = free();
    for (count, is_larger) in [(3, true), (20, true), (1, false), (20, false)] {
        index.search(&collection, &queries[..count * dim], 10, &IpTopkOptions::default()).unwrap();
        assert_eq!(free() < left, is_larger, "{count} queries");
        left = free();
    }
}

/// Another program may take memory after an index was opened.
#[test]
fn less_memory_than_planned_means_smaller_groups() {
    let (rows, dim, k) = (3000, 16, 10);
    let (vectors, queries) = (numbers(rows * dim, 16), numbers(200 * dim, 17));
    let collection = one_segment(&vectors, dim);
    let devices = Devices::shim(&[64 << 20]);
    let device = devices.iter().next().unwrap();
    let index = DeviceSearch::new(&devices, &collection, Scan::Auto, &|_| {}).unwrap();
    // A group of all queries takes seven megabytes.
    let taken = Memory::<u8>::new(device, device.free_bytes().unwrap() as usize - (3 << 20)).unwrap();
    let expected = reference::ip_topk(&collection, &queries, k, &Filter::default()).unwrap();
    assert_eq!(index.search(&collection, &queries, k, &IpTopkOptions::default()).unwrap().rankings, expected);
    drop(taken);
    let free = device.free_bytes().unwrap() as usize;
    let _taken = Memory::<u8>::new(device, free).unwrap();
    let index = DeviceSearch::new(&devices, &collection, Scan::Auto, &|_| {});
    assert!(index.is_err(), "no memory at all");
}

/// What an earlier search left is given back for them; then there is too little for the same group.
#[test]
fn filters_find_room_after_an_earlier_search() {
    let (rows, dim, k, count) = (3000, 16, 10, 200);
    let (vectors, queries) = (numbers(rows * dim, 29), numbers(count * dim, 30));
    let collection = one_segment(&vectors, dim);
    let devices = Devices::shim(&[64 << 20]);
    let device = devices.iter().next().unwrap();
    let index = DeviceSearch::new(&devices, &collection, Scan::Auto, &|_| {}).unwrap();
    index.search(&collection, &queries, k, &IpTopkOptions::default()).unwrap();
    let _taken = Memory::<u8>::new(device, device.free_bytes().unwrap() as usize).unwrap();
    let allowed: DocSet = (0..rows as u32).step_by(2).map(DocOrd).collect();
    let excluded: Vec<Vec<DocOrd>> = (0..count as u32).map(|query| vec![DocOrd(2 * query)]).collect();
    let filter = Filter { allowed: Some(&allowed), excluded: &excluded };
    let expected = reference::ip_topk(&collection, &queries, k, &filter).unwrap();
    let options = IpTopkOptions { filter, ..IpTopkOptions::default() };
    assert_eq!(index.search(&collection, &queries, k, &options).unwrap().rankings, expected);
}

/// Each has a bus of its own.
#[test]
fn devices_get_their_rows_at_the_same_time() {
    let (rows, dim) = (300, 16);
    let vectors = numbers(rows * dim, 20);
    let devices = Devices::shim(&[64 << 20; 3]);
    let loaded = AtomicUsize::new(0);
    let watcher: Watcher = Arc::new(move |watched| {
        if watched.seconds.is_none() {
            // The norms of its rows: a device that comes first waits for the others.
            let (arrived, asked) = (loaded.fetch_add(1, Ordering::Relaxed), Instant::now());
            while loaded.load(Ordering::Relaxed) < 3 {
                assert!(asked.elapsed() < Duration::from_mins(5), "device {arrived} is alone");
                thread::yield_now();
            }
        }
    });
    let read = Cell::new(0);
    let progress = |bytes| read.set(read.get() + bytes);
    let index = devices.watched(&watcher, || {
        DeviceSearch::new(&devices, &one_segment(&vectors, dim), Scan::Auto, &progress).unwrap()
    });
    assert_eq!(index.plans().map(|plan| plan.resident_rows).sum::<u64>(), rows as u64);
    assert_eq!(read.get() as usize, size_of_val(&vectors[..]));
}

/// Equal shares would be streamed to the device in the middle, which gets a smaller one.
#[test]
fn a_device_with_little_memory_has_fewer_rows() {
    let (rows, dim) = (1500, 64);
    let (vectors, queries) = (numbers(rows * dim, 27), numbers(3 * dim, 28));
    let collection = one_segment(&vectors, dim);
    let devices = Devices::shim(&[64 << 20, 100_000, 64 << 20]);
    let index = DeviceSearch::new(&devices, &collection, Scan::Auto, &|_| {}).unwrap();
    let shares: Vec<u64> = index.plans().map(|plan| plan.rows).collect();
    assert!(index.plans().all(|plan| plan.resident_rows == plan.rows), "{shares:?}");
    assert!(
        (1..rows as u64 / 3).contains(&shares[1]) && shares.iter().sum::<u64>() == rows as u64,
        "{shares:?}"
    );
    drop(index);
    search(&devices, &collection, &queries, 30, Scan::Auto);
}

/// A stand-in, and the machine's GPU if it has one.
fn devices() -> Vec<Devices> {
    [Some(Devices::shim(&[64 << 20])), of_machine()].into_iter().flatten().collect()
}

/// Small enough for tools that watch every access.
#[test]
fn small_sizes_on_every_device() {
    for devices in devices() {
        for (rows, dim, queries, k) in [(700, 24, 3, 20), (300, 40, 70, 5), (10, 8, 1, 10)] {
            let (vectors, queries) = (numbers(rows * dim, 8), numbers(queries * dim, 9));
            for scan in [Scan::Auto, Scan::Int8] {
                search(&devices, &one_segment(&vectors, dim), &queries, k, scan);
            }
        }
    }
}

/// The kernels that the machine's GPU chooses. Each choice has its own test, so that one that fails does not
/// hide what the others find.
mod a_million_vectors {
    use super::have_the_hits_of_the_cpu;

    #[test]
    #[ignore = "a million vectors: for a GPU, see scripts/device-check"]
    fn usual_kernels() {
        have_the_hits_of_the_cpu(&[(1, 10), (32, 1000), (1024, 100)], |_| ());
    }

    #[test]
    #[ignore = "a million vectors: for a GPU, see scripts/device-check"]
    fn kernels_of_sm_80() {
        have_the_hits_of_the_cpu(&[(1024, 100)], |devices| devices.limit_capability((8, 0)));
    }
}

/// Searches a million vectors of BERT's width for batches of (queries, k).
fn have_the_hits_of_the_cpu(batches: &[(usize, usize)], choose: fn(&Devices)) {
    let (rows, dim) = (1_000_000, 768);
    let vectors: Vec<f16> = numbers(rows * dim, 10).into_iter().map(f16::from_f32).collect();
    let segment = Segment { first: DocOrd(0), vectors: Vectors::F16(&vectors), codes: None };
    let collection = Collection::new(dim, vec![segment]).unwrap();
    let devices = opened().unwrap();
    choose(&devices);
    let indexes = [Scan::F16, Scan::Int8]
        .map(|scan| (scan, DeviceSearch::new(&devices, &collection, scan, &|_| {}).unwrap()));
    for &(count, k) in batches {
        let queries = numbers(count * dim, 11);
        let expected = ip_topk(&collection, &queries, k, &IpTopkOptions::default()).unwrap().rankings;
        for (scan, index) in &indexes {
            let found = index.search(&collection, &queries, k, &IpTopkOptions::default()).unwrap().rankings;
            assert!(found == expected, "{scan}, {count} queries, k {k}");
        }
    }
}

#[test]
fn little_is_nominated() {
    let (rows, dim, k) = (4000, 64, 10);
    let (vectors, queries) = (numbers(rows * dim, 5), numbers(3 * dim, 6));
    let collection = one_segment(&vectors, dim);
    for (scan, most) in [(Scan::Auto, 30), (Scan::Int8, 200)] {
        let nominated = search(&Devices::shim(&[64 << 20]), &collection, &queries, k, scan);
        assert!(nominated.iter().all(|count| (k..most).contains(count)), "{scan}: {nominated:?}");
    }
}

#[test]
fn what_a_device_cannot_hold_is_an_error() {
    let vectors = numbers(100 * 512, 7);
    let collection = one_segment(&vectors, 512);
    let error = DeviceSearch::new(&Devices::shim(&[4096]), &collection, Scan::Auto, &|_| {}).unwrap_err();
    assert!(matches!(error, IpTopkError::Device(DeviceError::TooLittleMemory { .. })), "{error}");
    let index = DeviceSearch::new(&Devices::shim(&[100_000]), &collection, Scan::Auto, &|_| {}).unwrap();
    let error = index.search(&collection, &vectors[..512], 1000, &IpTopkOptions::default()).unwrap_err();
    assert!(matches!(error, IpTopkError::Device(DeviceError::TooLittleMemory { .. })), "{error}");
    assert!(error.remedy().is_some());
}

/// A worker of rayon that waits takes up other work, perhaps a search that waits for what the worker holds.
#[test]
fn searches_do_not_wait_for_rayon() {
    let (dim, count) = (1024, 128);
    let (busy, workers) =
        (Arc::new(Mutex::new(())), Arc::new(Barrier::new(rayon::current_num_threads() + 1)));
    let held = busy.lock().unwrap();
    let (of_workers, all) = (busy.clone(), workers.clone());
    rayon::spawn_broadcast(move |_| {
        all.wait();
        drop(of_workers.lock());
    });
    workers.wait();
    let (send, found) = mpsc::channel();
    thread::spawn(move || {
        let (rows, queries) = (numbers(8 * dim, 1), numbers(count * dim, 2));
        let collection = one_segment(&rows, dim);
        let index = DeviceSearch::new(&Devices::shim(&[64 << 20]), &collection, Scan::Int8, &|_| {}).unwrap();
        send.send(index.search(&collection, &queries, 2, &IpTopkOptions::default())).unwrap();
    });
    let found = found.recv_timeout(Duration::from_mins(5));
    drop(held);
    assert_eq!(found.expect("a search that waits for rayon").unwrap().rankings.len(), count);
}

/// A device is opened, or the error names what the machine is missing.
#[test]
fn a_gpu_is_there_or_named_as_missing() {
    match Devices::cuda(0) {
        Ok(devices) => assert!(devices.facts().all(|facts| facts.capability >= (8, 0))),
        Err(error) => assert!(error.remedy().is_some() && !error.to_string().is_empty()),
    }
    if !cfg!(feature = "cuda") {
        assert_eq!(Devices::all().unwrap_err(), DeviceError::NotBuilt);
    }
}

/// The machine's GPU if it has one, opened once for all tests: opening a GPU takes longer than a test.
pub(crate) fn of_machine() -> Option<Devices> {
    static OPENED: LazyLock<Option<Devices>> = LazyLock::new(opened);
    OPENED.clone()
}

/// The machine's GPU if it has one.
fn opened() -> Option<Devices> {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    Devices::of_machine(is_set("TOLLER_WATCH_LAUNCHES"), is_set("TOLLER_NEEDS_GPU"))
}

/// As on a GPU for graphics: the tile for many queries does not fit.
#[test]
fn narrower_tiles_search_where_blocks_have_little_shared_memory() {
    let devices = Devices::shim(&[64 << 20]);
    devices.limit_shared_bytes(99 << 10);
    smoke::search_on(&devices, "f16", Scan::Auto, Vectors::F16(&smoke::f16s()), "64", 70);
}
