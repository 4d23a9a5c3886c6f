//! The kernels by step and type: names, grids, shared memory.

use std::sync::Arc;

use bytemuck::NoUninit;
use toller_gpu::{COMMON_SHARED_BYTES, Device, DeviceError, Matrix};

use super::abi;
use super::number::{Number, UNIT};
use crate::profile::Operation;

/// The names of a kernel for each [`Number`], in order.
macro_rules! by_number {
    ($prefix:literal, $suffix:literal) => {
        [
            concat!("toller_encoder_", $prefix, "_f32", $suffix),
            concat!("toller_encoder_", $prefix, "_f16", $suffix),
            concat!("toller_encoder_", $prefix, "_bf16", $suffix),
        ]
    };
}

const EMBED: [&str; 3] = by_number!("embed", "");
const NORM: [&str; 3] = by_number!("norm", "");
const HEADS: [&str; 3] = by_number!("heads", "");
const PREFIX: [&str; 3] = by_number!("prefix", "");
const POOL: [&str; 3] = by_number!("pool", "");
const ACTIVATE: &str = "toller_encoder_activate_f16";
const NORM_WIDE: &str = "toller_encoder_norm_wide_bf16";
const ROWS: &str = "toller_encoder_rows_f32";

/// The sizes of heads that attention has kernels for; the last in f16 and bf16 alone.
const HEAD_SIZES: [usize; 4] = [32, 64, 128, 256];
const ATTENTION: [[&str; 3]; 4] = [
    by_number!("attention", "_32"),
    by_number!("attention", "_64"),
    by_number!("attention", "_128"),
    by_number!("attention", "_256"),
];

/// The tile of a product, and its kernels.
struct Tile {
    rows: u32,
    columns: usize,
    threads: u32,
    shared_bytes: u32,
    /// Whether its kernels copy in bulk. Their blocks take tiles in turn.
    is_bulk: bool,
    names: [&'static str; 3],
}

impl Tile {
    /// A tile that the threads copy which multiply it.
    const fn copying(columns: u32, stages: u32, names: [&'static str; 3]) -> Self {
        Self {
            rows: abi::PRODUCT_ROWS,
            columns: columns as usize,
            threads: abi::PRODUCT_THREADS,
            shared_bytes: abi::product_shared(columns, stages),
            is_bulk: false,
            names,
        }
    }
}

/// For few rows: so that more multiprocessors read the weight, with more slices on the way.
const FEW: Tile = Tile::copying(64, abi::PRODUCT_STAGES_FEW, by_number!("product", "_few"));
const NARROW: Tile = Tile::copying(64, abi::PRODUCT_STAGES, by_number!("product", "_64"));
const MIDDLE: Tile = Tile::copying(128, abi::PRODUCT_STAGES, by_number!("product", "_128"));
/// In f16 and bf16.
const WIDE: Tile = Tile::copying(256, abi::PRODUCT_STAGES, by_number!("product", "_256"));
/// In f16 and bf16, where there are wgmma and bulk copies.
const TMA: Tile = Tile {
    rows: abi::PRODUCT_TMA_ROWS,
    columns: abi::PRODUCT_TMA_COLUMNS as usize,
    threads: abi::PRODUCT_TMA_THREADS,
    shared_bytes: abi::PRODUCT_SHARED_TMA,
    is_bulk: true,
    names: by_number!("product", "_tma"),
};

/// The tile for a weight of this many rows, and many rows of states.
fn tile(number: Number, weight_rows: usize, device: &dyn Device) -> &'static Tile {
    let unused = |tile: &Tile| weight_rows.next_multiple_of(tile.columns) - weight_rows;
    // Up to this share of the tiles' columns is unused.
    let suits = |tile: &Tile, part: usize| {
        tile.shared_bytes <= device.shared_bytes() && unused(tile) * part <= weight_rows
    };
    match number {
        _ if weight_rows <= NARROW.columns => &NARROW,
        Number::F32 => &MIDDLE,
        Number::F16 | Number::Bf16 if device.copies_in_bulk() && suits(&TMA, 4) => &TMA,
        Number::F16 | Number::Bf16 if suits(&WIDE, 8) => &WIDE,
        Number::F16 | Number::Bf16 => &MIDDLE,
    }
}

/// Rows of the tiles of most products.
pub(super) fn tile_rows(device: &dyn Device) -> u32 {
    if device.copies_in_bulk() { TMA.rows } else { MIDDLE.rows }
}

/// The least size of heads with a kernel that holds heads of `size`.
pub(super) fn padded_head(size: usize, number: Number) -> Option<usize> {
    let largest = HEAD_SIZES[HEAD_SIZES.len() - if number == Number::F32 { 2 } else { 1 }];
    HEAD_SIZES.into_iter().find(|&padded| padded >= size && padded <= largest)
}

/// The kernels of a device. Their contract: the addresses in `args` point to arrays as large as
/// `kernels/encoder.h` says for the other fields of `args`, and the arrays live until the queue is done.
#[derive(Clone, Debug)]
pub(super) struct Kernels {
    device: Arc<dyn Device>,
    /// Products of at most this many tiles have few rows: half of the multiprocessors, and more, would have
    /// no tile.
    pub(super) few_tiles: u32,
}

impl Kernels {
    /// Those of a device.
    pub(super) fn new(device: Arc<dyn Device>) -> Self {
        Self { few_tiles: device.multiprocessors() / 2, device }
    }

    /// The tile for a layer, and how many there are. The bits do not depend on it: all kernels add the
    /// products of a sum in the same order, as many at once. (On Hopper also wgmma and mma.sync: both add 16
    /// products of f16 or bf16 to a sum of 25 bits; MMA-Sim, arXiv 2511.10909.)
    fn tile(&self, number: Number, args: &abi::Product) -> (&'static Tile, u32) {
        let count =
            |tile: &Tile| args.rows.div_ceil(tile.rows) * args.weight_rows.div_ceil(tile.columns as u32);
        let usual = tile(number, args.weight_rows as usize, &*self.device);
        let is_few = count(usual) <= self.few_tiles && FEW.shared_bytes <= self.device.shared_bytes();
        let chosen = if is_few { &FEW } else { usual };
        (chosen, count(chosen))
    }

    /// Sums and normalises rows of tables.
    ///
    /// # Safety
    /// `args` keeps the contract of [`Kernels`].
    pub(super) unsafe fn embed(&self, number: Number, args: abi::Embed) -> Result<(), DeviceError> {
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.norm_like(EMBED[number as usize], args.tokens, args.width, &args) }
    }

    /// Normalises states, to others of the same type, or of f32 to bf16.
    ///
    /// # Safety
    /// `args` keeps the contract of [`Kernels`].
    pub(super) unsafe fn normalize(
        &self,
        from: Number,
        to: Number,
        args: abi::Normalize,
    ) -> Result<(), DeviceError> {
        let kernel = if from == to { NORM[from as usize] } else { NORM_WIDE };
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.norm_like(kernel, args.rows, args.width, &args) }
    }

    /// A kernel whose warps keep a row in registers, or a wide one in shared memory.
    ///
    /// # Safety
    /// `args` is what the kernel takes, and keeps the contract of [`Kernels`].
    unsafe fn norm_like<T: NoUninit>(
        &self,
        kernel: &'static str,
        rows: u32,
        width: u32,
        args: &T,
    ) -> Result<(), DeviceError> {
        let of_warp = match width {
            ..=abi::NORM_IN_REGISTERS => 0,
            _ => width.next_multiple_of(UNIT as u32) * size_of::<f32>() as u32,
        };
        // As many warps as have room in the shared memory that every kernel may use.
        let most = abi::NORM_THREADS / WARP;
        let warps = COMMON_SHARED_BYTES.checked_div(of_warp).map_or(most, |warps| warps.clamp(1, most));
        let blocks = rows.div_ceil(warps).min(32 * self.device.multiprocessors());
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.device.run(kernel, [blocks, 1, 1], warps * WARP, warps * of_warp, args) }
    }

    /// A linear layer.
    ///
    /// # Safety
    /// `args` keeps the contract of [`Kernels`].
    pub(super) unsafe fn product(&self, number: Number, args: abi::Product) -> Result<(), DeviceError> {
        let (tile, tiles) = self.tile(number, &args);
        if tiles == 0 {
            return Ok(());
        }
        let name = tile.names[number as usize];
        if tile.is_bulk {
            let blocks = tiles.min(self.device.multiprocessors());
            let args = self.with_maps(tile, args)?;
            // SAFETY: the caller keeps the contract for the arrays, which the maps describe.
            return unsafe { self.device.run(name, [blocks, 1, 1], tile.threads, tile.shared_bytes, &args) };
        }
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.device.run(name, [tiles, 1, 1], tile.threads, tile.shared_bytes, &args) }
    }

    /// Describes states and weight to bulk copies.
    fn with_maps(&self, tile: &Tile, product: abi::Product) -> Result<abi::ProductTma, DeviceError> {
        let map = |start, rows, row_bytes, box_rows| {
            self.device.tensor_map(&Matrix { start, rows, row_bytes, box_rows })
        };
        Ok(abi::ProductTma {
            x: map(product.x, product.rows, product.depth_bytes, tile.rows)?,
            weight: map(product.weight, product.weight_rows, product.weight_stride, tile.columns as u32)?,
            product,
            reserved: [0; 5],
        })
    }

    /// Activates states of f16 in place.
    ///
    /// # Safety
    /// `args` keeps the contract of [`Kernels`].
    pub(super) unsafe fn activate(&self, args: abi::Activate) -> Result<(), DeviceError> {
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.by_warps(ACTIVATE, args.rows, &args) }
    }

    /// Pads and rotates heads.
    ///
    /// # Safety
    /// `args` keeps the contract of [`Kernels`].
    pub(super) unsafe fn heads(&self, number: Number, args: abi::Heads) -> Result<(), DeviceError> {
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.by_warps(HEADS[number as usize], args.tokens, &args) }
    }

    /// Puts keys and values in front of texts.
    ///
    /// # Safety
    /// `args` keeps the contract of [`Kernels`].
    pub(super) unsafe fn put_prefix(&self, number: Number, args: abi::Prefix) -> Result<(), DeviceError> {
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.by_warps(PREFIX[number as usize], args.tokens, &args) }
    }

    /// Attention, with the kernel for heads of `head` numbers.
    ///
    /// # Safety
    /// `args` keeps the contract of [`Kernels`]. `head` is the size of the heads in `args.qkv`: one that
    /// [`padded_head`] has returned.
    pub(super) unsafe fn attend(
        &self,
        number: Number,
        head: usize,
        args: abi::Attend,
    ) -> Result<(), DeviceError> {
        let of_size = HEAD_SIZES.iter().position(|&size| size >= head).unwrap_or(HEAD_SIZES.len() - 1);
        let of_bias = if args.bias.0 == 0 { 0 } else { (2 * args.reach + 1) * size_of::<f32>() as u32 };
        let shared_bytes = abi::attention_shared((head * number.size()) as u32) + of_bias;
        let grid = [args.tile_count * args.heads, 1, 1];
        let name = ATTENTION[of_size][number as usize];
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.device.run(name, grid, abi::ATTENTION_THREADS, shared_bytes, &args) }
    }

    /// Pools the states of each sequence.
    ///
    /// # Safety
    /// `args` keeps the contract of [`Kernels`].
    pub(super) unsafe fn pool(&self, number: Number, args: abi::Pool) -> Result<(), DeviceError> {
        let units = args.pooling_count * args.width.div_ceil(UNIT as u32);
        // Few threads a block: a sequence has about a hundred units, and each is a long sum.
        let grid = [args.sequences, units.div_ceil(WARP).clamp(1, 64), 1];
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.device.run(POOL[number as usize], grid, WARP, 0, &args) }
    }

    /// Copies the first numbers of rows, scaled or not.
    ///
    /// # Safety
    /// `args` keeps the contract of [`Kernels`].
    pub(super) unsafe fn rows(&self, args: abi::Rows) -> Result<(), DeviceError> {
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.by_warps(ROWS, args.rows, &args) }
    }

    /// A kernel whose warps take rows in turn.
    ///
    /// # Safety
    /// `args` is what the kernel takes, and keeps the contract of [`Kernels`].
    unsafe fn by_warps<T: NoUninit>(
        &self,
        kernel: &'static str,
        rows: u32,
        args: &T,
    ) -> Result<(), DeviceError> {
        let blocks = rows.div_ceil(abi::NORM_THREADS / WARP).min(32 * self.device.multiprocessors());
        // SAFETY: the caller keeps the contract for the arrays.
        unsafe { self.device.run(kernel, [blocks, 1, 1], abi::NORM_THREADS, 0, args) }
    }
}

/// Threads of a warp.
const WARP: u32 = 32;

/// The operation that a kernel's time counts as, or that of NVIDIA's library; `None` for embeddings.
pub fn operation_of(kernel: &str) -> Option<Operation> {
    let belongs = |names: &[&str]| names.iter().any(|name| kernel.contains(name));
    match () {
        () if belongs(&["_product_", "_activate_", "cublasLt"]) => Some(Operation::Linear),
        () if belongs(&["_attention_", "_heads_", "_prefix_"]) => Some(Operation::Attention),
        () if belongs(&["_norm_"]) => Some(Operation::LayerNorm),
        () if belongs(&["_pool_", "_rows_"]) => Some(Operation::Pooling),
        () => None,
    }
}

/// The kernels that every device has code for.
#[cfg(test)]
pub(super) fn names() -> Vec<&'static str> {
    let narrow = [FEW.names, NARROW.names, MIDDLE.names].concat();
    let steps = [EMBED, NORM, HEADS, PREFIX, POOL].concat();
    let others = [WIDE.names[1], WIDE.names[2], ACTIVATE, NORM_WIDE, ROWS];
    let mut attention = ATTENTION.concat();
    attention.retain(|name| !name.ends_with("f32_256"));
    [narrow, steps, attention, others.to_vec()].concat()
}

#[cfg(test)]
mod tests {
    use toller_gpu::Devices;

    use super::{Kernels, Number, abi, names, operation_of, tile};

    /// Of BERT-base's layers, on two multiprocessors and on the 132 of an H100.
    #[test]
    fn few_rows_have_tiles_of_their_own() {
        let devices = Devices::shim(&[1 << 20]);
        let mut kernels = Kernels::new(devices.iter().next().expect("a device").clone());
        assert_eq!(kernels.few_tiles, 1);
        kernels.few_tiles = 66;
        let tile_of = |number, rows, weight_rows| {
            let args = abi::Product { rows, weight_rows, ..abi::Product::default() };
            let (tile, tiles) = kernels.tile(number, &args);
            (tile.names[number as usize].trim_start_matches("toller_encoder_product_"), tiles)
        };
        assert_eq!(tile_of(Number::F16, 16, 768), ("f16_few", 12));
        assert_eq!(tile_of(Number::F16, 512, 2304), ("f16_few", 144));
        assert_eq!(tile_of(Number::F16, 1344, 2304), ("f16_tma", 84));
        assert_eq!(tile_of(Number::F32, 16, 3072), ("f32_few", 48));
        assert_eq!(tile_of(Number::F32, 16_896, 768), ("f32_128", 792));
    }

    #[test]
    fn only_embeddings_belong_to_no_operation() {
        let without: Vec<_> = names().into_iter().filter(|name| operation_of(name).is_none()).collect();
        assert!(!without.is_empty() && without.iter().all(|name| name.contains("_embed_")), "{without:?}");
    }

    #[test]
    fn bulk_copies_are_for_wide_layers_of_hopper() {
        let devices = Devices::shim(&[1 << 20]);
        let is_bulk = |number, rows| tile(number, rows, &**devices.iter().next().expect("a device")).is_bulk;
        for of_bert in [384, 768, 1152, 1536, 2304, 3072] {
            assert!(is_bulk(Number::F16, of_bert) && is_bulk(Number::Bf16, of_bert), "{of_bert}");
        }
        assert!(!is_bulk(Number::F32, 768) && !is_bulk(Number::F16, 64) && !is_bulk(Number::F16, 200));
        devices.limit_capability((8, 0));
        assert!(!is_bulk(Number::F16, 768));
    }
}
