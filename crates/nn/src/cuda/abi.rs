//! `kernels/encoder.h` in Rust: the arguments of the kernels. A test compares constants and
//! names; the shim compares sizes at each launch.

use bytemuck::{AnyBitPattern, NoUninit, Pod, Zeroable};
use toller_gpu::{Address, TensorMap};

/// Tables whose rows are summed, at most.
pub(crate) const TABLES: usize = 4;
/// Poolings of one vector, at most.
pub(crate) const POOLINGS: usize = 8;

/// A norm of rows.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Norm {
    pub(crate) weight: Address,
    pub(crate) bias: Address,
    pub(crate) epsilon: f32,
    pub(crate) centers: u32,
}

/// The argument of `embed_*`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Embed {
    pub(crate) tables: [Address; TABLES],
    pub(crate) rows: [Address; TABLES],
    pub(crate) norm: Norm,
    pub(crate) out: Address,
    pub(crate) table_count: u32,
    pub(crate) tokens: u32,
    pub(crate) width: u32,
    pub(crate) stride: u32,
}

/// The argument of `norm_*`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Normalize {
    pub(crate) x: Address,
    pub(crate) out: Address,
    pub(crate) wide: Address,
    pub(crate) residual: Address,
    pub(crate) norm: Norm,
    pub(crate) rows: u32,
    pub(crate) width: u32,
    pub(crate) stride: u32,
    pub(crate) out_stride: u32,
    pub(crate) residual_stride: u32,
    pub(crate) residual_is_bf16: u32,
}

/// The argument of `product_*`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Product {
    pub(crate) x: Address,
    pub(crate) weight: Address,
    pub(crate) bias: Address,
    pub(crate) residual: Address,
    pub(crate) out: Address,
    pub(crate) rows: u32,
    pub(crate) weight_rows: u32,
    pub(crate) columns: u32,
    pub(crate) depth_bytes: u32,
    pub(crate) weight_stride: u32,
    pub(crate) stride: u32,
    pub(crate) residual_stride: u32,
    pub(crate) activation: u32,
    pub(crate) gated: u32,
    pub(crate) is_wide: u32,
    pub(crate) residual_is_wide: u32,
    pub(crate) reserved: u32,
}

/// The argument of `product_*_tma`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C, align(128))]
pub(crate) struct ProductTma {
    pub(crate) x: TensorMap,
    pub(crate) weight: TensorMap,
    pub(crate) product: Product,
    pub(crate) reserved: [u64; 5],
}

/// The argument of `activate_f16`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Activate {
    pub(crate) x: Address,
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    pub(crate) stride: u32,
    pub(crate) activation: u32,
}

/// The argument of `heads_*`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Heads {
    pub(crate) qkv: Address,
    pub(crate) out: Address,
    pub(crate) positions: Address,
    pub(crate) cosines: Address,
    pub(crate) sines: Address,
    pub(crate) norms: [Norm; 2],
    pub(crate) tokens: u32,
    pub(crate) parts: u32,
    pub(crate) queries: u32,
    pub(crate) prepared: u32,
    pub(crate) head_size: u32,
    pub(crate) padded: u32,
    pub(crate) stride: u32,
    pub(crate) reserved: u32,
}

/// The argument of `prefix_*`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Prefix {
    pub(crate) qkv: Address,
    pub(crate) table: Address,
    pub(crate) positions: Address,
    pub(crate) tokens: u32,
    pub(crate) stride: u32,
    pub(crate) first: u32,
    pub(crate) columns: u32,
    pub(crate) table_rows: u32,
    pub(crate) table_width: u32,
    pub(crate) table_first: u32,
    pub(crate) reserved: u32,
}

/// A tile of queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, NoUninit, AnyBitPattern)]
#[repr(C)]
pub(crate) struct QueryTile {
    pub(crate) first_token: u32,
    pub(crate) tokens: u32,
    pub(crate) first_query: u32,
}

/// The argument of `attention_*`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Attend {
    pub(crate) qkv: Address,
    pub(crate) out: Address,
    pub(crate) tiles: Address,
    pub(crate) bias: Address,
    pub(crate) tile_count: u32,
    pub(crate) tokens: u32,
    pub(crate) heads: u32,
    pub(crate) key_heads: u32,
    pub(crate) head_size: u32,
    pub(crate) qkv_stride: u32,
    pub(crate) stride: u32,
    pub(crate) reach: u32,
    pub(crate) before: u32,
    pub(crate) after: u32,
    pub(crate) scale: f32,
    pub(crate) reserved: u32,
}

/// The argument of `pool_*`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Pool {
    pub(crate) x: Address,
    pub(crate) out: Address,
    pub(crate) offsets: Address,
    pub(crate) poolings: [u32; POOLINGS],
    pub(crate) pooling_count: u32,
    pub(crate) sequences: u32,
    pub(crate) tokens: u32,
    pub(crate) width: u32,
    pub(crate) stride: u32,
    pub(crate) out_stride: u32,
    pub(crate) skipped: u32,
    pub(crate) reserved: u32,
}

/// The argument of `rows_f32`.
#[derive(Clone, Copy, Debug, Default, NoUninit)]
#[repr(C)]
pub(crate) struct Rows {
    pub(crate) x: Address,
    pub(crate) out: Address,
    pub(crate) rows: u32,
    pub(crate) width: u32,
    pub(crate) stride: u32,
    pub(crate) out_stride: u32,
    pub(crate) unit: u32,
    pub(crate) reserved: u32,
}

/// The widest rows that norms and embeddings keep in registers.
pub(crate) const NORM_IN_REGISTERS: u32 = 1024;

/// Threads of a block of most kernels.
pub(crate) const NORM_THREADS: u32 = 256;
/// Threads of a block of `product_*`.
pub(crate) const PRODUCT_THREADS: u32 = 256;
/// Threads of a block of `attention_*`.
pub(crate) const ATTENTION_THREADS: u32 = 128;

/// Rows of a product's tile.
pub(crate) const PRODUCT_ROWS: u32 = 128;
/// Bytes of each row in a stage of a product.
pub(crate) const PRODUCT_SLICE: u32 = 128;
/// Stages of a product.
pub(crate) const PRODUCT_STAGES: u32 = 3;
/// The same for few rows.
pub(crate) const PRODUCT_STAGES_FEW: u32 = 6;

// The tile of a product with bulk copies, its stages and threads.
pub(crate) const PRODUCT_TMA_ROWS: u32 = 192;
pub(crate) const PRODUCT_TMA_COLUMNS: u32 = 192;
pub(crate) const PRODUCT_TMA_STAGES: u32 = 4;
pub(crate) const PRODUCT_TMA_THREADS: u32 = 512;

/// Its dynamic shared memory.
pub(crate) const PRODUCT_SHARED_TMA: u32 =
    PRODUCT_TMA_STAGES * ((PRODUCT_TMA_ROWS + PRODUCT_TMA_COLUMNS) * PRODUCT_SLICE + 16) + 12 * 2048 + 1024;

/// Queries of a tile of attention.
pub(crate) const ATTENTION_QUERIES: u32 = 64;
/// Keys of a tile of attention.
pub(crate) const ATTENTION_KEYS: u32 = 64;

/// Dynamic shared memory of a product.
pub(crate) const fn product_shared(columns: u32, stages: u32) -> u32 {
    stages * (PRODUCT_ROWS + columns) * PRODUCT_SLICE + 1024
}

/// Dynamic shared memory of attention with heads of this many bytes, without a bias.
pub(crate) const fn attention_shared(head_bytes: u32) -> u32 {
    (ATTENTION_QUERIES + 4 * ATTENTION_KEYS) * head_bytes
}
