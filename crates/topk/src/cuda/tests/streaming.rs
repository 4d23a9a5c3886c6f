//! Rows that do not fit a device and are copied for every search.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use toller_gpu::{Devices, Watcher};
use toller_ir::Filter;

use super::{numbers, one_segment};
use crate::cuda::DeviceSearch;
use crate::{Collection, IpTopkOptions, Scan, reference};

const ROWS: usize = 1500;
const DIM: usize = 64;
const K: usize = 30;

/// The kernels of a search for one query on a device that holds less than half of the vectors, in order, and
/// how many vectors it does not hold. Asserts that the hits are right. The first scan takes some time.
fn kernels_of_a_search(
    collection: &Collection<'_>,
    options: &IpTopkOptions<'_>,
) -> (Vec<&'static str>, usize) {
    let devices = Devices::shim(&[180_000]);
    let queries = numbers(DIM, 2);
    let index = DeviceSearch::new(&devices, collection, options.scan, &|_| {}).unwrap();
    let plan = index.plans().next().unwrap();
    assert!(plan.resident_rows * 2 < plan.rows && plan.codes == 0, "{plan}");
    let kernels = Arc::new(Mutex::new(Vec::new()));
    let seen = kernels.clone();
    let watcher: Watcher = Arc::new(move |watched| {
        if watched.seconds.is_none() {
            let mut seen = seen.lock().unwrap();
            if watched.kernel.contains("scan") && !seen.iter().any(|kernel: &&str| kernel.contains("scan")) {
                thread::sleep(Duration::from_millis(200));
            }
            seen.push(watched.kernel);
        }
    });
    let found = devices.watched(&watcher, || index.search(collection, &queries, K, options).unwrap());
    assert_eq!(found.rankings, reference::ip_topk(collection, &queries, K, &Filter::default()).unwrap());
    let kernels = kernels.lock().unwrap().clone();
    (kernels, (plan.rows - plan.resident_rows) as usize)
}

/// Codes would have to be copied, too, or even made.
#[test]
fn codes_are_left_out() {
    let vectors = numbers(ROWS * DIM, 1);
    let options = IpTopkOptions { scan: Scan::Int8, ..IpTopkOptions::default() };
    let (kernels, _) = kernels_of_a_search(&one_segment(&vectors, DIM), &options);
    assert!(!kernels.iter().any(|kernel| kernel.contains("int8") || kernel.contains("code")), "{kernels:?}");
}

/// So that slabs are free, and the next ones can be copied.
#[test]
fn resident_rows_are_searched_while_others_are_copied() {
    let vectors = numbers(ROWS * DIM, 1);
    let (kernels, _) = kernels_of_a_search(&one_segment(&vectors, DIM), &IpTopkOptions::default());
    let scored = |kernels: &[&str]| kernels.iter().filter(|kernel| kernel.contains("rescore")).count();
    let streamed = kernels.iter().filter(|kernel| kernel.contains("row_norms")).count();
    let first = kernels.iter().position(|kernel| kernel.contains("row_norms")).unwrap();
    // Only slabs that were copied need norms.
    let resident = scored(&kernels) - streamed;
    assert!(resident > 2 && streamed > 2, "{resident} and {streamed} slabs");
    assert!(scored(&kernels[..first]) < resident, "{kernels:?}");
}

#[test]
fn bytes_are_announced_before_they_are_read() {
    let vectors = numbers(ROWS * DIM, 1);
    let announced = AtomicUsize::new(0);
    let read_ahead = |bytes: &[u8]| {
        announced.fetch_add(bytes.len(), Ordering::Relaxed);
    };
    let options = IpTopkOptions { read_ahead: Some(&read_ahead), ..IpTopkOptions::default() };
    let (_, streamed) = kernels_of_a_search(&one_segment(&vectors, DIM), &options);
    assert_eq!(announced.into_inner(), streamed * DIM * size_of::<f32>());
}
