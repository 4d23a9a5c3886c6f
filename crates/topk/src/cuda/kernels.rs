//! The kernels by operation and type: names, grids, shared memory.

use std::sync::Arc;

use toller_gpu::{Device, DeviceError, Matrix, Queue};

use super::abi;
use crate::collection::Vectors;

/// The type of a vector's numbers, in the order of the kernels' names below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DType {
    F32,
    F16,
    BF16,
    Int8,
}

impl DType {
    /// The type of stored vectors.
    pub(crate) fn of(vectors: Vectors<'_>) -> Self {
        match vectors {
            Vectors::F32(_) => Self::F32,
            Vectors::F16(_) => Self::F16,
            Vectors::BF16(_) => Self::BF16,
        }
    }

    /// Bytes of a number.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::BF16 => 2,
            Self::Int8 => 1,
        }
    }

    /// Bytes from row to row: a multiple of sixteen.
    pub(crate) fn stride(self, dim: usize) -> usize {
        (dim * self.size()).next_multiple_of(16)
    }
}

/// A variant of the scan: its kernels and their sizes.
#[derive(Debug)]
pub(crate) struct Variant {
    /// Rows of a tile.
    rows: u32,
    /// Queries of a tile.
    width: u32,
    threads: u32,
    /// Dynamic shared memory of a block.
    shared_bytes: u32,
    /// Blocks of a multiprocessor.
    blocks: u32,
    /// Whether bulk copies fill the stages.
    is_bulk: bool,
    names: [&'static str; 4],
}

impl Variant {
    /// A variant whose threads copy.
    const fn copying(width: u32, stages: u32, blocks: u32, names: [&'static str; 4]) -> Self {
        Self {
            rows: abi::SCAN_ROWS,
            width,
            threads: abi::SCAN_THREADS,
            shared_bytes: abi::scan_shared(width, stages),
            blocks,
            is_bulk: false,
            names,
        }
    }

    /// Rows of a tile.
    pub(crate) fn tile_rows(&self) -> usize {
        self.rows as usize
    }

    /// The pairs of `queries` queries, up to the end of a tile.
    pub(crate) fn pairs(&self, queries: usize) -> usize {
        queries.next_multiple_of(self.width as usize) / 2
    }
}

/// The names of a kernel for each [`DType`], in order.
macro_rules! by_dtype {
    ($prefix:literal, $suffix:literal) => {
        [
            concat!($prefix, "f32", $suffix),
            concat!($prefix, "f16", $suffix),
            concat!($prefix, "bf16", $suffix),
            concat!($prefix, "int8", $suffix),
        ]
    };
}

/// For up to 8 queries, up to 64 queries, and more.
const VARIANTS: [Variant; 3] = [
    Variant::copying(8, abi::SCAN_STAGES_8, abi::SCAN_BLOCKS_8, by_dtype!("toller_ip_topk_scan_", "_8")),
    Variant::copying(64, abi::SCAN_STAGES_64, abi::SCAN_BLOCKS_64, by_dtype!("toller_ip_topk_scan_", "_64")),
    Variant::copying(
        256,
        abi::SCAN_STAGES_256,
        abi::SCAN_BLOCKS_256,
        by_dtype!("toller_ip_topk_scan_", "_256"),
    ),
];

/// Replaces the widest variant on devices that have wgmma and bulk copies.
const TMA: Variant = Variant {
    rows: abi::SCAN_TMA_ROWS,
    width: abi::SCAN_TMA_QUERIES,
    threads: abi::SCAN_TMA_THREADS,
    shared_bytes: abi::SCAN_SHARED_TMA,
    blocks: 1,
    is_bulk: true,
    names: by_dtype!("toller_ip_topk_scan_", "_tma"),
};

/// The most pairs for each query of a group: those of one query fill a tile of 8.
pub(crate) const MOST_PAIRS_OF_QUERY: usize = 4;

/// The narrowest variant that takes all `queries` at once, if the device has its shared memory.
fn variant(queries: usize, device: &dyn Device) -> &'static Variant {
    let [narrow @ .., widest] = &VARIANTS;
    let fits = |variant: &&Variant| variant.shared_bytes <= device.shared_bytes();
    let wide = narrow.iter().find(|variant| variant.width as usize >= queries);
    let wide = wide.unwrap_or(if device.copies_in_bulk() { &TMA } else { widest });
    if fits(&wide) {
        return wide;
    }
    // Several tiles of queries then read the same rows one after another.
    VARIANTS.iter().rev().find(fits).unwrap_or(&VARIANTS[0])
}

const ROW_NORMS: [&str; 4] = [
    "toller_ip_topk_row_norms_f32", "toller_ip_topk_row_norms_f16", "toller_ip_topk_row_norms_bf16",
    "toller_ip_topk_code_norms",
];

const PREPARE_QUERIES: [&str; 4] = by_dtype!("toller_ip_topk_prepare_queries_", "");

/// Only stored numbers are scored, never codes.
const RESCORE: [&str; 3] =
    ["toller_ip_topk_rescore_f32", "toller_ip_topk_rescore_f16", "toller_ip_topk_rescore_bf16"];

/// The kernels that every device has code for.
#[cfg(test)]
pub(super) fn names() -> Vec<&'static str> {
    let scans = VARIANTS.iter().flat_map(|variant| variant.names);
    let others =
        ["toller_ip_topk_start", "toller_ip_topk_cutoffs", "toller_ip_topk_select", "toller_ip_topk_best"];
    scans.chain(ROW_NORMS).chain(PREPARE_QUERIES).chain(RESCORE).chain(others).collect()
}

/// The kernels of a device.
///
/// # Safety
/// All `unsafe` functions have the same contract: the addresses in `args` point to arrays as large as
/// `kernels/ip_topk.h` says for the other fields of `args`, and the arrays live until the queue is done.
#[derive(Clone, Debug)]
pub(crate) struct Kernels {
    device: Arc<dyn Device>,
}

impl Kernels {
    pub(crate) fn new(device: Arc<dyn Device>) -> Self {
        Self { device }
    }

    /// Upper bounds of the lengths of rows.
    pub(crate) unsafe fn row_norms(&self, dtype: DType, args: abi::RowNorms) -> Result<(), DeviceError> {
        if args.row_count == 0 {
            return Ok(());
        }
        let blocks = self.blocks_of_warps(args.row_count, abi::ROW_THREADS);
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.device.run(ROW_NORMS[dtype as usize], [blocks, 1, 1], abi::ROW_THREADS, 0, &args) }
    }

    /// Sets the thresholds and counts of a group of queries.
    pub(crate) unsafe fn start(&self, args: abi::Start) -> Result<(), DeviceError> {
        let grid = [args.query_count.div_ceil(abi::ROW_THREADS), 1, 1];
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.device.run("toller_ip_topk_start", grid, abi::ROW_THREADS, 0, &args) }
    }

    /// Brings queries into the form that the scan multiplies.
    pub(crate) unsafe fn prepare_queries(
        &self,
        dtype: DType,
        args: abi::PrepareQueries,
    ) -> Result<(), DeviceError> {
        let blocks = self.blocks_of_warps(args.query_count, abi::ROW_THREADS);
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe {
            self.device.run(PREPARE_QUERIES[dtype as usize], [blocks, 1, 1], abi::ROW_THREADS, 0, &args)
        }
    }

    /// Writes what the scan compares with.
    pub(crate) unsafe fn cutoffs(&self, args: abi::Cutoffs) -> Result<(), DeviceError> {
        let grid = [args.pair_count.div_ceil(abi::ROW_THREADS), 1, 1];
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.device.run("toller_ip_topk_cutoffs", grid, abi::ROW_THREADS, 0, &args) }
    }

    /// The variant of the scan for a group of queries.
    pub(crate) fn variant(&self, queries: usize) -> &'static Variant {
        variant(queries, &*self.device)
    }

    /// Nominates rows. The tiles of `args` are the variant's.
    pub(crate) unsafe fn scan(
        &self,
        variant: &Variant,
        dtype: DType,
        args: abi::Scan,
    ) -> Result<(), DeviceError> {
        if args.tile_count == 0 {
            return Ok(());
        }
        let tiles = u64::from(args.tile_count) * u64::from(args.query_count.div_ceil(variant.width));
        let blocks = (self.device.multiprocessors() * variant.blocks).max(1);
        let blocks = u64::from(blocks).min(tiles) as u32;
        let (name, grid) = (variant.names[dtype as usize], [blocks, 1, 1]);
        if variant.is_bulk {
            let args = self.with_maps(variant, args)?;
            // SAFETY: the caller keeps the contract for the arrays, which the maps describe.
            return unsafe { self.device.run(name, grid, variant.threads, variant.shared_bytes, &args) };
        }
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.device.run(name, grid, variant.threads, variant.shared_bytes, &args) }
    }

    /// Describes rows and queries to bulk copies. The driver only encodes numbers, so this is done for each
    /// launch.
    fn with_maps(&self, variant: &Variant, scan: abi::Scan) -> Result<abi::ScanTma, DeviceError> {
        let map = |start, rows, box_rows| {
            self.device.tensor_map(&Matrix { start, rows, row_bytes: scan.stride, box_rows })
        };
        Ok(abi::ScanTma {
            rows: map(scan.rows, scan.row_count, variant.rows)?,
            queries: map(scan.queries, scan.query_count, variant.width)?,
            scan,
            reserved: [0; 15],
        })
    }

    /// Raises the thresholds, and drops candidates that cannot reach them.
    pub(crate) unsafe fn select(&self, args: abi::Select) -> Result<(), DeviceError> {
        let grid = [args.query_count, 1, 1];
        let (name, shared_bytes) = ("toller_ip_topk_select", abi::SELECT_SHARED);
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.device.run(name, grid, abi::SELECT_THREADS, shared_bytes, &args) }
    }

    /// Scores the candidates among the rows of `args`.
    pub(crate) unsafe fn rescore(&self, dtype: DType, args: abi::Rescore) -> Result<(), DeviceError> {
        let of_query = args.capacity.div_ceil(abi::RESCORE_THREADS / WARP * abi::RESCORE_LOOKED_THROUGH);
        // Enough blocks to fill the device a few times; further candidates take turns.
        let shared = (8 * self.device.multiprocessors()).div_ceil(args.query_count);
        let (name, grid) = (RESCORE[dtype as usize], [args.query_count, of_query.min(shared).max(1), 1]);
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.device.run(name, grid, abi::RESCORE_THREADS, abi::RESCORE_SHARED, &args) }
    }

    /// The best candidates, in order.
    pub(crate) unsafe fn best(&self, args: abi::Best) -> Result<(), DeviceError> {
        let grid = [args.query_count, 1, 1];
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.device.run("toller_ip_topk_best", grid, abi::SELECT_THREADS, abi::BEST_SHARED, &args) }
    }

    /// Waits for all of them.
    pub(crate) fn wait(&self) -> Result<(), DeviceError> {
        self.device.synchronize(Queue::Compute)
    }

    /// Blocks for items that a warp does one at a time.
    fn blocks_of_warps(&self, items: u32, threads: u32) -> u32 {
        let needed = items.div_ceil(threads / WARP);
        needed.min(8 * self.device.multiprocessors()).max(1)
    }
}

/// Threads of a warp.
const WARP: u32 = 32;
