//! A small search with every type and every engine of the scan. Each is a test of its own, so that the first
//! run on a machine can give each a process, and learn which of them fails or hangs.

use toller_gpu::{Devices, KernelTimes};
use toller_ir::{DocOrd, Filter};

use super::{numbers, of_machine, opened};
use crate::cuda::{DeviceSearch, abi};
use crate::{Collection, IpTopkOptions, Scan, Segment, Vectors, reference};

/// An engine of the scan.
#[derive(Clone, Copy)]
pub(crate) enum Engine {
    Tile8,
    Tile64,
    Tile256,
    Tma,
}

impl Engine {
    /// The end of its kernels' names, a number of queries that it is chosen for, and the capability.
    fn facts(self) -> (&'static str, usize, (u32, u32)) {
        match self {
            Self::Tile8 => ("8", 5, (8, 0)),
            Self::Tile64 => ("64", 20, (8, 0)),
            Self::Tile256 => ("256", 70, (8, 0)),
            Self::Tma => ("tma", 70, (9, 0)),
        }
    }

    /// A number of queries that it is chosen for.
    pub(crate) fn queries(self) -> usize {
        self.facts().1
    }

    /// The machine's GPU, or a stand-in if it has none, with this engine; `None` if the GPU does not have it.
    pub(crate) fn devices(self) -> Option<Devices> {
        let (suffix, _, capability) = self.facts();
        // Held for all tests: a GPU that nobody has opened takes long to open again.
        of_machine();
        let devices = opened().unwrap_or_else(|| Devices::shim(&[64 << 20]));
        if capability == (9, 0) && devices.facts().any(|facts| facts.capability != capability) {
            println!("skipped: only devices of compute capability 9.0 have {suffix}");
            return None;
        }
        let needed = abi::scan_shared(256, abi::SCAN_STAGES_256);
        if matches!(self, Self::Tile256) && devices.facts().any(|facts| facts.shared_bytes < needed) {
            println!("skipped: {suffix} needs {needed} bytes of shared memory");
            return None;
        }
        // As on a stand-in: each block has several tiles, so that rings of stages go round.
        devices.limit_multiprocessors(2);
        devices.limit_capability(capability);
        Some(devices)
    }
}

/// Searches on the machine's GPU, or on a stand-in if it has none.
fn search(dtype: &str, scan: Scan, vectors: Vectors<'_>, engine: Engine) {
    let Some(devices) = engine.devices() else { return };
    let (suffix, count, _) = engine.facts();
    search_on(&devices, dtype, scan, vectors, suffix, count);
}

/// Searches for `count` queries by the kernels whose names end in `suffix`.
pub(super) fn search_on(
    devices: &Devices,
    dtype: &str,
    scan: Scan,
    vectors: Vectors<'_>,
    suffix: &str,
    count: usize,
) {
    let segment = Segment { first: DocOrd(0), vectors, codes: None };
    let collection = Collection::new(DIM, vec![segment]).unwrap();
    let queries = numbers(count * DIM, 21);
    let index = DeviceSearch::new(devices, &collection, scan, &|_| {}).unwrap();
    let search = || index.search(&collection, &queries, K, &IpTopkOptions::default()).unwrap().rankings;
    let expected = reference::ip_topk(&collection, &queries, K, &Filter::default()).unwrap();
    assert!(search() == expected, "{dtype} {suffix}");
    // The same hits when each kernel is waited for; and the kernel was the intended one.
    let times = KernelTimes::default();
    assert!(devices.watched(&times.watcher(), search) == expected, "{dtype} {suffix}, watched");
    let kernel = format!("toller_ip_topk_scan_{dtype}_{suffix}");
    let time = times.all().into_iter().find(|time| time.kernel == kernel);
    assert!(time.is_some_and(|time| time.seconds > 0.0), "{kernel} was not launched");
}

/// Several chunks of tiles, the last tile not full; slices of 128 bytes that a vector does not fill.
const ROWS: usize = 2000;
const DIM: usize = 72;
const K: usize = 10;

pub(super) fn f16s() -> Vec<half::f16> {
    numbers(ROWS * DIM, 22).into_iter().map(half::f16::from_f32).collect()
}

fn of_f16(engine: Engine) {
    search("f16", Scan::Auto, Vectors::F16(&f16s()), engine);
}

fn of_bf16(engine: Engine) {
    let vectors: Vec<half::bf16> = numbers(ROWS * DIM, 23).into_iter().map(half::bf16::from_f32).collect();
    search("bf16", Scan::Auto, Vectors::BF16(&vectors), engine);
}

fn of_f32(engine: Engine) {
    search("f32", Scan::Auto, Vectors::F32(&numbers(ROWS * DIM, 24)), engine);
}

fn of_int8(engine: Engine) {
    search("int8", Scan::Int8, Vectors::F16(&f16s()), engine);
}

/// A test for every engine, in a module named like the type.
macro_rules! tests {
    ($($dtype:ident: $search:ident),*) => {
        $(mod $dtype {
            use super::{$search, Engine};

            #[test]
            fn tile_8() {
                $search(Engine::Tile8);
            }

            #[test]
            fn tile_64() {
                $search(Engine::Tile64);
            }

            #[test]
            fn tile_256() {
                $search(Engine::Tile256);
            }

            #[test]
            fn tma() {
                $search(Engine::Tma);
            }
        })*
    };
}

tests!(f16: of_f16, bf16: of_bf16, f32: of_f32, int8: of_int8);
