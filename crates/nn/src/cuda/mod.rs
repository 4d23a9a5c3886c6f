//! The transformer on a GPU, in f16, bf16 or f32.
//!
//! `docs/kernels.md` says what the kernels compute, `kernels/encoder.h` how they are called. States are in
//! the backend's type from the embeddings to the last layer, except that residuals are f32 in bf16; poolings
//! and what follows them are f32. A session queues all steps of a batch and waits only for the result, so
//! that the next session's batch is queued meanwhile. A layer's kernel depends only on the layer and the
//! device, and its sums have one order: the bits of a sequence do not depend on its batch.

mod abi;
mod batch;
mod kernels;
mod layout;
mod norm;
mod number;
mod session;

#[cfg(test)]
pub(crate) mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use toller_gpu::{Address, Device, DeviceError, LibraryProduct};

pub use self::batch::CudaBatch;
use self::kernels::Kernels;
pub use self::kernels::operation_of;
pub use self::layout::{CudaAttention, CudaLinear, CudaNorm, CudaTable};
use self::number::{Number, UNIT};
pub use self::session::{CudaScratch, CudaStates};
use crate::attention::Attention;
use crate::backend::{Backend, Closing, Prefix, Stream, Work};
use crate::cpu::{check_gated, check_linear, check_width};
use crate::profile::{Operation, count};
use crate::{
    Activation, AttentionParameters, LinearParameters, Matrix, NnError, NormParameters, NormPlacement, Place,
    Pooling, Precision, Sequences, prefix,
};

/// Batches of a device at the same time: while one is computed, the next is prepared and queued.
const SESSIONS: usize = 2;

/// At no time are more matrices alive than this many as wide as the widest layer.
const MATRICES: usize = 4;

/// A GPU, in one precision.
#[derive(Debug)]
pub struct Cuda {
    device: Arc<dyn Device>,
    kernels: Kernels,
    number: Number,
    /// The bytes of a token's widest states, of the layers so far.
    widest_bytes: AtomicUsize,
    /// Tokens of a batch, once asked for: every query asks.
    batch_tokens: OnceLock<usize>,
}

/// What follows a product.
#[derive(Clone, Copy)]
struct Follows {
    activation: Activation,
    gated: bool,
    /// The type of the result: the layer's, or f32.
    to: Number,
}

impl Cuda {
    /// The device, multiplying in `precision`.
    ///
    /// # Errors
    /// [`NnError::GpuPrecision`] for int8.
    pub fn new(device: Arc<dyn Device>, precision: Precision) -> Result<Self, NnError> {
        let number = Number::of(precision)?;
        Ok(Self {
            kernels: Kernels::new(device.clone()),
            device,
            number,
            widest_bytes: AtomicUsize::new(0),
            batch_tokens: OnceLock::new(),
        })
    }

    /// Notes that states of this width will be needed.
    fn note_width(&self, width: usize) {
        self.widest_bytes.fetch_max(self.number.stride(width), Ordering::Relaxed);
    }

    /// Bytes that a token needs at most at any time.
    fn token_bytes(&self) -> usize {
        MATRICES * self.widest_bytes.load(Ordering::Relaxed)
    }

    /// The largest batch whose products fill all multiprocessors: a tile of rows for each.
    fn full_tokens(&self) -> usize {
        (self.device.multiprocessors() * kernels::tile_rows(&*self.device)) as usize
    }

    /// Tokens of a batch: as many as fill the device, or as half of the free memory has room for, since a
    /// search may need some. A device that does not answer reports its error at the next step.
    fn plan(&self) -> usize {
        let full = self.full_tokens();
        let Ok(free) = self.device.available_bytes() else { return full };
        (free as usize / 2 / SESSIONS / self.token_bytes().max(1)).clamp(1, full.max(1))
    }

    fn upload(&self, scratch: &mut CudaScratch, batch: &CudaBatch) -> Result<(), NnError> {
        scratch.upload(batch, self.work().batch_tokens, self.token_bytes())
    }

    /// The product of a layer with what follows it, in the type `to`: the layer's, or f32.
    fn multiply(
        &self,
        scratch: &mut CudaScratch,
        x: &CudaStates,
        layer: &CudaLinear,
        residual: Option<&CudaStates>,
        follows: Follows,
    ) -> Result<CudaStates, NnError> {
        check_width("a linear layer", x.width, layer.inputs)?;
        if x.number != layer.number {
            let problem = format!("a layer in {:?} over states in {:?}", layer.number, x.number);
            return Err(NnError::Shape(problem));
        }
        let halves = 1 + usize::from(follows.gated);
        count(Operation::Linear, 2 * x.rows * layer.inputs * layer.outputs * halves);
        let out = scratch.take(x.rows, layer.outputs, follows.to)?;
        let args = abi::Product {
            x: x.address(),
            residual: residual.map_or(Address::default(), CudaStates::address),
            out: out.address(),
            rows: x.rows as u32,
            stride: out.stride() as u32,
            residual_stride: residual.map_or(0, CudaStates::stride) as u32,
            activation: follows.activation as u32,
            gated: u32::from(follows.gated),
            is_wide: u32::from(out.number == Number::F32),
            residual_is_wide: u32::from(residual.is_some_and(|states| states.number == Number::F32)),
            ..layer.argument()
        };
        // SAFETY: the states are of `x.rows` rows and their widths were checked; a residual has the shape of
        // `out`, as `close` checks. Blocks are used again only by work that is queued later.
        unsafe {
            match layer.library_product(&args) {
                Some(product) => self.multiply_by_library(&product, args)?,
                None => self.kernels.product(layer.number, args)?,
            }
        }
        Ok(out)
    }

    /// A layer's product by NVIDIA's library, and the activation that follows.
    ///
    /// # Safety
    /// The arrays are as `kernels/encoder.h` says; `product` is of the same ones as `args`.
    unsafe fn multiply_by_library(
        &self,
        product: &LibraryProduct,
        args: abi::Product,
    ) -> Result<(), DeviceError> {
        if args.rows == 0 {
            return Ok(());
        }
        let abi::Product { out: x, rows, columns, stride, activation, .. } = args;
        // SAFETY: the caller keeps the contract for the arrays. Rows of f16 are dense, and a residual is of
        // f16, too: only sums of bf16 are wide.
        unsafe {
            self.device.multiply(product)?;
            if activation == Activation::Identity as u32 {
                return Ok(());
            }
            self.kernels.activate(abi::Activate { x, rows, columns, stride, activation })
        }
    }

    /// The type of sums with a residual, and of residuals after the first. In bf16 they are f32: rounding
    /// them costs more than its share of the error that is promised.
    fn sums(layer: &CudaLinear, norms: [Option<&CudaNorm>; 2]) -> Number {
        let is_wide = layer.number == Number::Bf16 && norms.iter().any(Option::is_some);
        if is_wide { Number::F32 } else { layer.number }
    }

    /// Copies the first `width` numbers of f32 rows, scaled to unit length or not.
    fn rows(
        &self,
        scratch: &mut CudaScratch,
        x: CudaStates,
        width: usize,
        unit: bool,
    ) -> Result<CudaStates, NnError> {
        if x.number != Number::F32 || width > x.width {
            return Err(NnError::Shape(format!("{width} columns of states [{}] in {:?}", x.width, x.number)));
        }
        let out = scratch.take(x.rows, width, Number::F32)?;
        let args = abi::Rows {
            x: x.address(),
            out: out.address(),
            rows: x.rows as u32,
            width: width as u32,
            stride: x.stride() as u32,
            out_stride: out.stride() as u32,
            unit: u32::from(unit),
            reserved: 0,
        };
        // SAFETY: both have as many rows, and the input is at least as wide.
        unsafe { self.kernels.rows(args)? };
        Ok(out)
    }

    /// Queries, keys and values as the kernel takes them: padded, normalised and rotated.
    fn prepare_heads(
        &self,
        scratch: &mut CudaScratch,
        qkv: CudaStates,
        batch: &CudaBatch,
        kind: &CudaAttention,
        head_norms: Option<&[CudaNorm; 2]>,
    ) -> Result<CudaStates, NnError> {
        let Attention { heads, key_heads, head_size, .. } = kind.attention;
        for norm in head_norms.into_iter().flatten() {
            check_width("a norm of heads", head_size.next_multiple_of(UNIT), norm.padded_width())?;
        }
        let parts = heads + 2 * key_heads;
        let out = scratch.take(qkv.rows, parts * kind.padded, self.number)?;
        let angles = kind.angles(&self.device, batch.longest)?;
        let (cosines, sines) = angles.as_ref().map_or_else(Default::default, |angles| angles.addresses());
        let args = abi::Heads {
            qkv: qkv.address(),
            out: out.address(),
            positions: scratch.at(&batch.positions),
            cosines,
            sines,
            norms: head_norms.map_or_else(Default::default, |norms| norms.each_ref().map(CudaNorm::argument)),
            tokens: qkv.rows as u32,
            parts: parts as u32,
            queries: heads as u32,
            prepared: (heads + key_heads) as u32,
            head_size: head_size as u32,
            padded: kind.padded as u32,
            stride: qkv.stride() as u32,
            reserved: 0,
        };
        // SAFETY: the widths follow from the heads, and the angles have the longest sequence's positions.
        // Giving angles back waits for the queue.
        unsafe { self.kernels.heads(self.number, args)? };
        Ok(out)
    }
}

impl Backend for Cuda {
    type Batch = CudaBatch;
    type States = CudaStates;
    type Scratch = CudaScratch;
    type Table = CudaTable;
    type Linear = CudaLinear;
    type Gated = CudaLinear;
    type Norm = CudaNorm;
    type Attention = CudaAttention;

    fn work(&self) -> Work {
        let batch_tokens = *self.batch_tokens.get_or_init(|| self.plan());
        Work { batch_tokens, least_tokens: batch_tokens, sessions: SESSIONS, uses_threads: false }
    }

    fn is_lost(&self) -> bool {
        self.device.is_lost()
    }

    fn scratch(&self) -> CudaScratch {
        CudaScratch::new(self.device.clone())
    }

    fn table(&self, table: Matrix<'_>) -> Result<CudaTable, NnError> {
        self.note_width(table.columns);
        CudaTable::new(&self.device, table)
    }

    fn linear(&self, layer: LinearParameters<'_>, place: Place) -> Result<CudaLinear, NnError> {
        check_linear(&layer)?;
        // What follows the poolings has few rows, and is exact.
        let number = if place == Place::Head { Number::F32 } else { self.number };
        self.note_width(layer.outputs());
        CudaLinear::plain(&self.device, number, &layer)
    }

    fn gated(
        &self,
        activated: LinearParameters<'_>,
        linear: LinearParameters<'_>,
    ) -> Result<CudaLinear, NnError> {
        check_gated(&activated, &linear)?;
        self.note_width(activated.outputs());
        CudaLinear::gated(&self.device, self.number, &activated, &linear)
    }

    fn norm(&self, norm: NormParameters<'_>) -> Result<CudaNorm, NnError> {
        crate::norm::check(&norm)?;
        CudaNorm::new(&self.device, &norm)
    }

    fn attention(&self, attention: AttentionParameters<'_>) -> Result<CudaAttention, NnError> {
        let kind = CudaAttention::new(&self.device, self.number, Attention::new(attention)?)?;
        let Attention { heads, key_heads, .. } = kind.attention;
        self.note_width((heads + 2 * key_heads) * kind.padded);
        Ok(kind)
    }

    fn batch(&self, rows: Vec<Vec<u32>>, sequences: Sequences) -> Result<CudaBatch, NnError> {
        if rows.iter().any(|rows| rows.len() != sequences.tokens()) {
            return Err(NnError::Shape(format!("rows for other than {} tokens", sequences.tokens())));
        }
        Ok(CudaBatch::new(&rows, sequences))
    }

    fn embed(
        &self,
        scratch: &mut CudaScratch,
        batch: &CudaBatch,
        tables: &[CudaTable],
        norm: &CudaNorm,
        placement: NormPlacement,
    ) -> Result<Stream<CudaStates>, NnError> {
        let width = tables.first().map_or(0, |table| table.width);
        let fits = tables.len() == batch.rows.len()
            && (1..=abi::TABLES).contains(&tables.len())
            && tables.iter().all(|table| table.width == width);
        if !fits {
            let problem = format!("{} tables, and rows for {}", tables.len(), batch.rows.len());
            return Err(NnError::Shape(problem));
        }
        check_width("a norm", width.next_multiple_of(UNIT), norm.padded_width())?;
        self.upload(scratch, batch)?;
        let out = scratch.take(batch.tokens, width, self.number)?;
        let is_residual = placement == NormPlacement::After;
        let mut args = abi::Embed {
            norm: if is_residual { norm.argument() } else { abi::Norm::default() },
            out: out.address(),
            table_count: tables.len() as u32,
            tokens: batch.tokens as u32,
            width: width as u32,
            stride: out.stride() as u32,
            ..abi::Embed::default()
        };
        for (index, (table, (rows, largest))) in tables.iter().zip(&batch.rows).enumerate() {
            if batch.tokens > 0 && *largest as usize >= table.rows {
                return Err(NnError::Shape(format!("row {largest} of a table of {}", table.rows)));
            }
            (args.tables[index], args.rows[index]) = (table.values.address(), scratch.at(rows));
        }
        // SAFETY: the tables have the rows and the width, as was just checked.
        unsafe { self.kernels.embed(self.number, args)? };
        if is_residual { Ok(out.into()) } else { self.place_norm(scratch, out, norm, placement) }
    }

    fn project(
        &self,
        scratch: &mut CudaScratch,
        x: &CudaStates,
        layer: &CudaLinear,
        activation: Activation,
    ) -> Result<CudaStates, NnError> {
        self.multiply(scratch, x, layer, None, Follows { activation, gated: false, to: layer.number })
    }

    fn gate(
        &self,
        scratch: &mut CudaScratch,
        x: &CudaStates,
        layer: &CudaLinear,
        activation: Activation,
    ) -> Result<CudaStates, NnError> {
        self.multiply(scratch, x, layer, None, Follows { activation, gated: true, to: layer.number })
    }

    fn put_prefix(
        &self,
        scratch: &mut CudaScratch,
        qkv: CudaStates,
        batch: &CudaBatch,
        kind: &CudaAttention,
        prefix: Prefix<'_, CudaTable>,
    ) -> Result<CudaStates, NnError> {
        check_width("a prefix", qkv.width, kind.attention.input_width())?;
        if qkv.number != self.number || qkv.rows != batch.tokens {
            return Err(NnError::Shape(format!("a prefix of {} states of another batch", qkv.rows)));
        }
        let [of_states, of_prefix] = prefix::columns(&kind.attention, (prefix.layer, prefix.table.width))?;
        self.upload(scratch, batch)?;
        let args = abi::Prefix {
            qkv: qkv.address(),
            table: prefix.table.values.address(),
            positions: scratch.at(&batch.positions),
            tokens: qkv.rows as u32,
            stride: qkv.stride() as u32,
            first: of_states.start as u32,
            columns: of_states.len() as u32,
            table_rows: prefix.table.rows as u32,
            table_width: prefix.table.width.next_multiple_of(UNIT) as u32,
            table_first: of_prefix.start as u32,
            reserved: 0,
        };
        // SAFETY: the columns are inside the rows of states and table, and every token has a position.
        unsafe { self.kernels.put_prefix(self.number, args)? };
        Ok(qkv)
    }

    fn attend(
        &self,
        scratch: &mut CudaScratch,
        qkv: CudaStates,
        batch: &CudaBatch,
        kind: &CudaAttention,
        head_norms: Option<&[CudaNorm; 2]>,
    ) -> Result<CudaStates, NnError> {
        let attention = &kind.attention;
        check_width("attention", qkv.width, attention.input_width())?;
        if qkv.number != self.number || qkv.rows != batch.tokens {
            return Err(NnError::Shape(format!("attention over {} states of another batch", qkv.rows)));
        }
        count(Operation::Attention, attention.operations(&batch.sequences));
        self.upload(scratch, batch)?;
        let prepares = head_norms.is_some() || kind.prepares_heads();
        let qkv = if prepares { self.prepare_heads(scratch, qkv, batch, kind, head_norms)? } else { qkv };
        let out = scratch.take(qkv.rows, attention.output_width(), self.number)?;
        let (bias, reach) = kind.bias();
        let side =
            |reach: Option<usize>| reach.map_or(u32::MAX, |reach| reach.try_into().unwrap_or(u32::MAX));
        let args = abi::Attend {
            qkv: qkv.address(),
            out: out.address(),
            tiles: scratch.at(&batch.tiles),
            bias,
            tile_count: batch.tile_count as u32,
            tokens: batch.tokens as u32,
            heads: attention.heads as u32,
            key_heads: attention.key_heads as u32,
            head_size: attention.head_size as u32,
            qkv_stride: qkv.stride() as u32,
            stride: out.stride() as u32,
            reach: reach as u32,
            before: side(attention.before),
            after: side(attention.after),
            scale: attention.scale,
            reserved: 0,
        };
        // SAFETY: the tiles belong to the batch, which has as many tokens as both states have rows; the
        // widths follow from the heads.
        unsafe { self.kernels.attend(self.number, kind.padded, args)? };
        Ok(out)
    }

    fn close(
        &self,
        scratch: &mut CudaScratch,
        x: CudaStates,
        Closing { layer, inner_norm, norm, placement }: Closing<'_, CudaLinear, CudaNorm>,
        residual: CudaStates,
    ) -> Result<Stream<CudaStates>, NnError> {
        check_width("a residual", residual.width, layer.outputs)?;
        if residual.rows != x.rows || ![layer.number, Number::F32].contains(&residual.number) {
            return Err(NnError::Shape("a residual of another batch".to_owned()));
        }
        let to = Self::sums(layer, [inner_norm, norm]);
        let follows = Follows { activation: Activation::Identity, gated: false, to };
        let added = inner_norm.is_none().then_some(&residual);
        let sum = self.multiply(scratch, &x, layer, added, follows)?;
        if let Some(norm) = inner_norm {
            self.normalize_and_add(&sum, norm, &residual)?;
        }
        drop((x, residual));
        match norm {
            Some(norm) => self.place_norm(scratch, sum, norm, placement),
            None => Ok(sum.into()),
        }
    }

    fn normalize(&self, _: &mut CudaScratch, x: CudaStates, norm: &CudaNorm) -> Result<CudaStates, NnError> {
        self.normalize_into(&x, &x, norm, false)?;
        Ok(x)
    }

    fn pool(
        &self,
        scratch: &mut CudaScratch,
        x: &CudaStates,
        batch: &CudaBatch,
        poolings: &[Pooling],
        skipped: usize,
    ) -> Result<CudaStates, NnError> {
        if poolings.len() > abi::POOLINGS || x.rows != batch.tokens {
            let problem = format!("{} poolings of {} states", poolings.len(), x.rows);
            return Err(NnError::Shape(problem));
        }
        self.upload(scratch, batch)?;
        let out = scratch.take(batch.sequences.count(), poolings.len() * x.width, Number::F32)?;
        let mut args = abi::Pool {
            x: x.address(),
            out: out.address(),
            offsets: scratch.at(&batch.offsets),
            pooling_count: poolings.len() as u32,
            sequences: batch.sequences.count() as u32,
            tokens: batch.tokens as u32,
            width: x.width as u32,
            stride: x.stride() as u32,
            out_stride: out.stride() as u32,
            skipped: skipped.try_into().unwrap_or(u32::MAX),
            ..abi::Pool::default()
        };
        args.poolings.iter_mut().zip(poolings).for_each(|(to, &pooling)| *to = pooling as u32);
        // SAFETY: the offsets belong to the batch, and the states have a row for each of its tokens.
        unsafe { self.kernels.pool(x.number, args)? };
        Ok(out)
    }

    fn truncate(
        &self,
        scratch: &mut CudaScratch,
        x: CudaStates,
        width: usize,
    ) -> Result<CudaStates, NnError> {
        self.rows(scratch, x, width, false)
    }

    fn unit(&self, scratch: &mut CudaScratch, x: CudaStates) -> Result<CudaStates, NnError> {
        let width = x.width;
        self.rows(scratch, x, width, true)
    }

    fn to_host(&self, scratch: &mut CudaScratch, x: CudaStates, host: &mut Vec<f32>) -> Result<(), NnError> {
        Ok(scratch.read(&x, host)?)
    }
}
