//! Data that would lose hits if bounds were too narrow, on the machine's GPU, or on a stand-in. Each engine
//! is a test of its own, so that one that fails does not hide what the others find.

use super::{Backend, DATA, DType, Stored, bits, make, with};
use crate::cuda::tests::of_machine;
use crate::cuda::tests::smoke::Engine;
use crate::{Filter, Scan, reference};

/// The last tile of rows is not full, and slices of 128 bytes are not either.
const ROWS: usize = 700;
const DIM: usize = 72;

fn costs_no_hits(engine: Engine) {
    let Some(devices) = engine.devices() else { return };
    let cases =
        DATA.into_iter().flat_map(|data| [DType::F32, DType::F16, DType::BF16].map(|dtype| (data, dtype)));
    // A stand-in is slow.
    let step = if of_machine().is_some() { 1 } else { 7 };
    for (seed, (data, dtype)) in (60..).zip(cases).skip(engine as usize % step).step_by(step) {
        let (vectors, queries) = make(data, ROWS, engine.queries(), DIM, seed);
        let stored = Stored::new(dtype, &vectors, DIM);
        let collection = stored.collection(ROWS);
        for k in [1, 40] {
            let expected = bits(&reference::ip_topk(&collection, &queries, k, &Filter::default()).unwrap());
            for scan in [Scan::Auto, Scan::Int8] {
                let found = Backend::Devices(devices.clone()).search(&collection, &queries, k, &with(scan));
                assert!(bits(&found.rankings) == expected, "{data:?}, {dtype:?}, {scan}, k {k}");
            }
        }
    }
}

#[test]
fn tile_8() {
    costs_no_hits(Engine::Tile8);
}

#[test]
fn tile_64() {
    costs_no_hits(Engine::Tile64);
}

#[test]
fn tile_256() {
    costs_no_hits(Engine::Tile256);
}

#[test]
fn tma() {
    costs_no_hits(Engine::Tma);
}
