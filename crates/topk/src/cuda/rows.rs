//! Rows in a device's memory, and how they are copied there.

use std::ops::Range;
use std::sync::Arc;

use toller_gpu::{Address, Device, DeviceError, Memory};

use super::abi;
use super::kernels::{DType, Kernels};
use super::layout::Slab;
use super::threads::for_each_row;
use super::upload::{Transfer, Uploader};
use crate::collection::{Codes, Collection, Segment};
use crate::options::ReadAhead;
use crate::quantize::{Quantized, quantize};

/// Rows of a slab, or room for them.
#[derive(Debug)]
pub(crate) struct Rows {
    dim: usize,
    /// `[rows]`, each padded to whole vectors of sixteen bytes.
    pub(crate) vectors: Memory<u8>,
    /// `[rows]`: upper bounds of the lengths of the vectors, or of their codes if these are scanned.
    pub(crate) norms: Memory<f32>,
    /// Codes that are scanned instead of the vectors.
    pub(crate) codes: Option<DeviceCodes>,
}

/// Codes in a device's memory; see [`Codes`].
#[derive(Debug)]
pub(crate) struct DeviceCodes {
    /// `[rows]`, padded.
    pub(crate) values: Memory<u8>,
    /// `[rows]`.
    pub(crate) scales: Memory<f32>,
    /// `[rows]`.
    pub(crate) residual_norms: Memory<f32>,
}

impl DeviceCodes {
    /// The codes of `rows`, for the rows from `row` on.
    fn transfers<'a>(
        &self,
        row: usize,
        codes: &Codes<'a>,
        rows: Range<usize>,
        dim: usize,
    ) -> [Transfer<'a>; 3] {
        let stride = DType::Int8.stride(dim);
        let values = bytemuck::cast_slice(&codes.values[rows.start * dim..rows.end * dim]);
        let floats = |to, floats: &'a [f32]| Transfer {
            to,
            rows: bytemuck::cast_slice(floats),
            row_bytes: size_of::<f32>(),
            stride: size_of::<f32>(),
        };
        [
            Transfer { to: self.values.at(row * stride), rows: values, row_bytes: dim, stride },
            floats(self.scales.at(row), &codes.scales[rows.clone()]),
            floats(self.residual_norms.at(row), &codes.residual_norms[rows]),
        ]
    }
}

impl Rows {
    /// Room for `rows` rows whose numbers take up to `stride` bytes.
    pub(crate) fn new(
        device: &Arc<dyn Device>,
        rows: usize,
        dim: usize,
        stride: usize,
        coded: bool,
    ) -> Result<Self, DeviceError> {
        let codes = || {
            Ok(DeviceCodes {
                values: Memory::new(device, rows * DType::Int8.stride(dim))?,
                scales: Memory::new(device, rows)?,
                residual_norms: Memory::new(device, rows)?,
            })
        };
        Ok(Self {
            dim,
            vectors: Memory::new(device, rows * stride)?,
            norms: Memory::new(device, rows)?,
            codes: coded.then(codes).transpose()?,
        })
    }

    /// Computes the norms of the rows of `slab`, which are in this memory.
    pub(crate) fn set_norms(&self, kernels: &Kernels, slab: &Slab) -> Result<(), DeviceError> {
        let (dtype, rows, scales) = match &self.codes {
            None => (slab.dtype, self.vectors.address(), Address::default()),
            Some(codes) => (DType::Int8, codes.values.address(), codes.scales.address()),
        };
        let args = abi::RowNorms {
            rows,
            scales,
            norms: self.norms.address(),
            row_count: slab.rows as u32,
            dim: self.dim as u32,
            stride: dtype.stride(self.dim) as u32,
            reserved: 0,
        };
        // SAFETY: all arrays have as many rows as `norms`, at least those of the slab, as `Loader::load`
        // asserted when it filled them. `self` owns them, and giving them back waits for the queue.
        unsafe { kernels.row_norms(dtype, args) }
    }
}

/// Numbers that a thread rounds at a time.
const ROUNDED_AT_ONCE: usize = 1 << 20;

/// Copies rows of the host, and their codes, to a device.
#[derive(Debug)]
pub(crate) struct Loader {
    uploader: Uploader,
    /// The most threads that round rows.
    threads: usize,
}

impl Loader {
    /// For slabs of up to `slab_bytes`, of rows of a stride of up to `stride` bytes, on up to `threads`
    /// threads.
    pub(crate) fn new(
        device: &Arc<dyn Device>,
        slab_bytes: usize,
        stride: usize,
        threads: usize,
    ) -> Result<Self, DeviceError> {
        Ok(Self { uploader: Uploader::new(device, slab_bytes, stride, threads)?, threads })
    }

    /// Copies the rows of `slab` to `to`, and waits until they are there. Announces bytes of the host to
    /// `read_ahead` before they are read, and calls `progress` with the number of those that were just read.
    pub(crate) fn load(
        &mut self,
        collection: &Collection<'_>,
        slab: &Slab,
        to: &Rows,
        read_ahead: Option<ReadAhead<'_>>,
        progress: &dyn Fn(u64),
    ) -> Result<(), DeviceError> {
        let dim = collection.dim();
        let (row_bytes, stride) = (dim * slab.dtype.size(), slab.dtype.stride(dim));
        assert!(
            slab.rows * stride <= to.vectors.count() && slab.rows <= to.norms.count(),
            "room for the slab"
        );
        let mut row = 0;
        let mut transfers = Vec::new();
        for piece in &slab.pieces {
            let segment = &collection.segments()[piece.segment];
            let rows = segment.vectors.bytes(piece.rows.start * dim..piece.rows.end * dim);
            transfers.push(Transfer { to: to.vectors.at(row * stride), rows, row_bytes, stride });
            match (&to.codes, &segment.codes) {
                (None, _) => {}
                (Some(to), Some(stored)) => {
                    transfers.extend(to.transfers(row, stored, piece.rows.clone(), dim));
                }
                (Some(to), None) => {
                    // These rows are then read only once from a disk.
                    self.copy(&transfers, read_ahead, progress)?;
                    transfers.clear();
                    self.make_codes(to, row, segment, piece.rows.clone(), dim)?;
                }
            }
            row += piece.rows.len();
        }
        self.copy(&transfers, read_ahead, progress)?;
        self.uploader.synchronize()
    }

    /// Rounds rows that have no codes on all threads. A few pieces at a time, since they are widened first.
    fn make_codes(
        &mut self,
        to: &DeviceCodes,
        row: usize,
        segment: &Segment<'_>,
        rows: Range<usize>,
        dim: usize,
    ) -> Result<(), DeviceError> {
        let at_once = (ROUNDED_AT_ONCE / dim).max(1);
        let starts: Vec<usize> = rows.clone().step_by(at_once).collect();
        for starts in starts.chunks(4 * self.threads) {
            let mut made = vec![Quantized::default(); starts.len()];
            for_each_row(&mut made, 1, self.threads, |piece, made| {
                let (start, end) = (starts[piece], (starts[piece] + at_once).min(rows.end));
                made[0] = quantize(&segment.vectors.widened(start * dim..end * dim), dim);
            });
            let transfers = starts.iter().zip(&made).flat_map(|(start, made)| {
                let Quantized { codes: values, scales, residual_norms } = made;
                let codes = Codes { values, scales, residual_norms };
                to.transfers(row + start - rows.start, &codes, 0..scales.len(), dim)
            });
            self.copy(&transfers.collect::<Vec<_>>(), None, &|_| {})?;
        }
        Ok(())
    }

    /// Copies a part of the slab that [`Loader::load`] was called for.
    fn copy(
        &mut self,
        transfers: &[Transfer<'_>],
        read_ahead: Option<ReadAhead<'_>>,
        progress: &dyn Fn(u64),
    ) -> Result<(), DeviceError> {
        // SAFETY: `load` asserted that there is room for the slab, and waits until the copies are done; after
        // an error it does not, and what follows does.
        let copied = unsafe { self.uploader.copy(transfers, read_ahead, progress) };
        copied.inspect_err(|_| drop(self.uploader.synchronize()))
    }
}
