//! `kernels/ip_topk.h` in Rust: the arguments of the kernels. A test compares the two.

use bytemuck::{AnyBitPattern, NoUninit};
use toller_gpu::{Address, TensorMap};

/// A nominated vector with bounds of its score, which are equal if the score is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, NoUninit, AnyBitPattern)]
#[repr(C)]
pub(crate) struct Candidate {
    pub(crate) ordinal: u32,
    pub(crate) lower: f32,
    pub(crate) upper: f32,
}

/// A vector and its score.
#[derive(Clone, Copy, Debug, Default, PartialEq, NoUninit, AnyBitPattern)]
#[repr(C)]
pub(crate) struct KernelHit {
    pub(crate) ordinal: u32,
    pub(crate) score: f32,
}

/// What the scan compares two neighbouring queries with, which only the kernels read.
#[derive(Clone, Copy, Debug, Default, NoUninit, AnyBitPattern)]
#[repr(C)]
pub(crate) struct QueryPair {
    slope: [f32; 2],
    cutoff: [f32; 2],
}

/// Bytes of the facts of a query, which only the kernels read.
pub(crate) const QUERY_FACTS_BYTES: usize = 16;

/// The argument of `row_norms_*` and `code_norms`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct RowNorms {
    pub(crate) rows: Address,
    pub(crate) scales: Address,
    pub(crate) norms: Address,
    pub(crate) row_count: u32,
    pub(crate) dim: u32,
    pub(crate) stride: u32,
    pub(crate) reserved: u32,
}

/// The argument of `start`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Start {
    pub(crate) thresholds: Address,
    pub(crate) guesses: Address,
    pub(crate) counts: Address,
    pub(crate) bounded: Address,
    pub(crate) nominated: Address,
    pub(crate) query_count: u32,
    pub(crate) reserved: u32,
}

/// The argument of `prepare_queries_*`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct PrepareQueries {
    pub(crate) queries: Address,
    pub(crate) prepared: Address,
    pub(crate) facts: Address,
    pub(crate) residual_ratio: Address,
    pub(crate) query_count: u32,
    pub(crate) dim: u32,
    pub(crate) stride: u32,
    pub(crate) reserved: u32,
}

/// The argument of `cutoffs`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Cutoffs {
    pub(crate) facts: Address,
    pub(crate) thresholds: Address,
    pub(crate) guesses: Address,
    pub(crate) counts: Address,
    pub(crate) pairs: Address,
    pub(crate) query_count: u32,
    pub(crate) pair_count: u32,
    pub(crate) capacity: u32,
    pub(crate) reserved: u32,
}

/// The argument of `scan_*`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Scan {
    pub(crate) rows: Address,
    pub(crate) queries: Address,
    pub(crate) row_norms: Address,
    pub(crate) row_scales: Address,
    pub(crate) row_residual_norms: Address,
    pub(crate) pairs: Address,
    pub(crate) residual_ratio: Address,
    pub(crate) allowed: Address,
    pub(crate) excluded: Address,
    pub(crate) excluded_offsets: Address,
    pub(crate) candidates: Address,
    pub(crate) counts: Address,
    pub(crate) allowed_words: u32,
    pub(crate) row_count: u32,
    pub(crate) first_ordinal: u32,
    pub(crate) query_count: u32,
    pub(crate) stride: u32,
    pub(crate) capacity: u32,
    pub(crate) first_tile: u32,
    pub(crate) tile_step: u32,
    pub(crate) tile_count: u32,
    pub(crate) skips: u32,
}

/// The argument of `scan_*_tma`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C, align(128))]
pub(crate) struct ScanTma {
    pub(crate) rows: TensorMap,
    pub(crate) queries: TensorMap,
    pub(crate) scan: Scan,
    pub(crate) reserved: [u64; 15],
}

/// The argument of `select`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Select {
    pub(crate) candidates: Address,
    pub(crate) counts: Address,
    pub(crate) bounded: Address,
    pub(crate) thresholds: Address,
    pub(crate) guesses: Address,
    pub(crate) facts: Address,
    pub(crate) aims: Address,
    pub(crate) query_count: u32,
    pub(crate) capacity: u32,
    pub(crate) k: u32,
    pub(crate) depth: u32,
    pub(crate) undo: u32,
    pub(crate) verify: u32,
}

/// The argument of `rescore_*`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Rescore {
    pub(crate) rows: Address,
    pub(crate) queries: Address,
    pub(crate) candidates: Address,
    pub(crate) counts: Address,
    pub(crate) nominated: Address,
    pub(crate) aims: Address,
    pub(crate) row_count: u32,
    pub(crate) first_ordinal: u32,
    pub(crate) query_count: u32,
    pub(crate) dim: u32,
    pub(crate) stride: u32,
    pub(crate) capacity: u32,
}

/// The argument of `best`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Best {
    pub(crate) candidates: Address,
    pub(crate) counts: Address,
    pub(crate) hits: Address,
    pub(crate) hit_counts: Address,
    pub(crate) scratch: Address,
    pub(crate) query_count: u32,
    pub(crate) capacity: u32,
    pub(crate) k: u32,
    pub(crate) reserved: u32,
}

// Threads of a block.
pub(crate) const ROW_THREADS: u32 = 256;
pub(crate) const SCAN_THREADS: u32 = 256;
pub(crate) const SELECT_THREADS: u32 = 512;
pub(crate) const RESCORE_THREADS: u32 = 256;
/// Candidates that a warp of `rescore_*` looks through at a time.
pub(crate) const RESCORE_LOOKED_THROUGH: u32 = 16;
/// Dynamic shared memory of `rescore_*`.
pub(crate) const RESCORE_SHARED: u32 = 1536;

/// Rows of a tile of the scan.
pub(crate) const SCAN_ROWS: u32 = 128;
/// Bytes of each row in a stage of its pipeline.
pub(crate) const SCAN_SLICE: u32 = 128;

// Stages of its pipeline, by the queries of a tile.
pub(crate) const SCAN_STAGES_8: u32 = 4;
pub(crate) const SCAN_STAGES_64: u32 = 3;
pub(crate) const SCAN_STAGES_256: u32 = 3;

// Its blocks a multiprocessor.
pub(crate) const SCAN_BLOCKS_8: u32 = 2;
pub(crate) const SCAN_BLOCKS_64: u32 = 2;
pub(crate) const SCAN_BLOCKS_256: u32 = 1;

/// One tile in this many is a sample of them.
pub(crate) const SCAN_SAMPLE: u32 = 32;

/// What `best` reports for a query whose candidates are incomplete.
pub(crate) const INCOMPLETE: u32 = 0x8000_0000;

/// Dynamic shared memory of `select`.
pub(crate) const SELECT_SHARED: u32 = 256 * 4 + 64 * 4;
/// The largest k that `best` sorts in shared memory.
pub(crate) const BEST_IN_SHARED: u32 = 4096;
/// Dynamic shared memory of `best`.
pub(crate) const BEST_SHARED: u32 = BEST_IN_SHARED * 8 + SELECT_SHARED;

/// Dynamic shared memory of a scan with a tile of `queries` queries.
pub(crate) const fn scan_shared(queries: u32, stages: u32) -> u32 {
    stages * ((SCAN_ROWS + queries) * SCAN_SLICE + queries * 8) + scan_hits(queries) * 8 + 16 + 1024
}

// The tile of the scan with bulk copies, its stages, threads, and the hits of each warpgroup that multiplies.
pub(crate) const SCAN_TMA_ROWS: u32 = 192;
pub(crate) const SCAN_TMA_QUERIES: u32 = 192;
pub(crate) const SCAN_TMA_STAGES: u32 = 4;
pub(crate) const SCAN_TMA_THREADS: u32 = 512;
pub(crate) const SCAN_TMA_HITS: u32 = 512;

/// Its dynamic shared memory.
pub(crate) const SCAN_SHARED_TMA: u32 = SCAN_TMA_STAGES * (SCAN_TMA_ROWS + SCAN_TMA_QUERIES) * SCAN_SLICE
    + (SCAN_TMA_STAGES + 1) * SCAN_TMA_QUERIES * 8
    + 3 * (SCAN_TMA_HITS * 8 + 8)
    + 2 * (SCAN_TMA_STAGES + 3) * 8
    + 1024;

/// Hits of a tile that a block of the scan holds in shared memory.
const fn scan_hits(queries: u32) -> u32 {
    match queries {
        256.. => 1024,
        64.. => 512,
        _ => 256,
    }
}
