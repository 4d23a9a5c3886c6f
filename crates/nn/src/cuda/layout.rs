//! Parameters in a device's memory.

use std::sync::{Arc, PoisonError, RwLock};

use half::bf16;
use toller_gpu::{Address, Device, DeviceError, LibraryProduct, Memory};

use super::abi;
use super::kernels::padded_head;
use super::number::{Number, UNIT};
use crate::attention::{Attention, RotaryTable};
use crate::{LinearParameters, Matrix, NnError, NormParameters};

/// A table of embeddings, in f32.
pub struct CudaTable {
    pub(super) values: Memory<u8>,
    pub(super) rows: usize,
    pub(super) width: usize,
}

/// A linear layer, plain or gated.
pub struct CudaLinear {
    weight: Memory<u8>,
    bias: Memory<f32>,
    /// The bias as NVIDIA's library takes it, if the library multiplies this layer.
    library_bias: Option<Memory<u8>>,
    /// Rows of the weight in whole units; of both halves.
    weight_rows: usize,
    /// Bytes of a row of the weight.
    weight_stride: usize,
    pub(super) number: Number,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
}

/// A norm.
pub struct CudaNorm {
    weight: Memory<f32>,
    bias: Memory<f32>,
    epsilon: f32,
    centers: bool,
}

/// A kind of attention.
pub struct CudaAttention {
    pub(super) attention: Attention,
    /// The size of heads as the kernel takes them.
    pub(super) padded: usize,
    bias: Option<Memory<f32>>,
    /// Cosines and sines of positions, as many as the longest sequence so far has.
    rotary: RwLock<Option<Arc<Angles>>>,
}

/// Cosines and sines on the device.
pub(super) struct Angles {
    cosines: Memory<f32>,
    sines: Memory<f32>,
}

impl CudaTable {
    pub(super) fn new(device: &Arc<dyn Device>, table: Matrix<'_>) -> Result<Self, NnError> {
        let Matrix { values, rows, columns: width } = table;
        if width == 0 || values.len() != rows * width {
            return Err(NnError::Shape(format!("a table [{rows}, {width}] of {} values", values.len())));
        }
        Ok(Self { values: upload(device, values, width, Number::F32)?, rows, width })
    }
}

impl CudaLinear {
    /// A layer whose shape was checked.
    pub(super) fn plain(
        device: &Arc<dyn Device>,
        number: Number,
        layer: &LinearParameters<'_>,
    ) -> Result<Self, NnError> {
        let by_library = number == Number::F16 && device.uses_library();
        let library_bias = || {
            let zeros = vec![0.0; layer.outputs()];
            upload(device, layer.bias.unwrap_or(&zeros), layer.outputs(), number)
        };
        Ok(Self {
            library_bias: by_library.then(library_bias).transpose()?,
            weight: weight(device, layer.weight.values, layer.inputs(), number)?,
            weight_stride: weight_stride(layer.inputs(), number),
            bias: vector(device, layer.bias, layer.outputs())?,
            weight_rows: layer.outputs().next_multiple_of(UNIT),
            number,
            inputs: layer.inputs(),
            outputs: layer.outputs(),
        })
    }

    /// Both halves in turns of eight rows, zeros where the last turn is short.
    pub(super) fn gated(
        device: &Arc<dyn Device>,
        number: Number,
        activated: &LinearParameters<'_>,
        linear: &LinearParameters<'_>,
    ) -> Result<Self, NnError> {
        let (outputs, inputs) = (activated.outputs(), activated.inputs());
        let rows = interleave(activated.weight.values, linear.weight.values, outputs, inputs);
        let bias = activated.bias.zip(linear.bias).map(|(a, b)| interleave(a, b, outputs, 1));
        let weight_rows = 2 * outputs.next_multiple_of(UNIT);
        Ok(Self {
            weight: weight(device, &rows, inputs, number)?,
            weight_stride: weight_stride(inputs, number),
            bias: vector(device, bias.as_deref(), weight_rows)?,
            library_bias: None,
            weight_rows,
            number,
            inputs,
            outputs,
        })
    }

    /// The product as NVIDIA's library takes it, if the library multiplies this layer.
    pub(super) fn library_product(&self, args: &abi::Product) -> Option<LibraryProduct> {
        let bias = self.library_bias.as_ref()?.address();
        let abi::Product { x, weight, residual, out, rows, weight_rows: outputs, .. } = *args;
        let residual = (residual != Address::default()).then_some(residual);
        let depth = args.depth_bytes / self.number.size() as u32;
        Some(LibraryProduct { x, weight, bias, residual, out, rows, outputs, depth })
    }

    /// What a product takes of the layer.
    pub(super) fn argument(&self) -> abi::Product {
        abi::Product {
            weight: self.weight.address(),
            bias: self.bias.address(),
            weight_rows: self.weight_rows as u32,
            columns: self.outputs as u32,
            depth_bytes: self.number.stride(self.inputs) as u32,
            weight_stride: self.weight_stride as u32,
            ..abi::Product::default()
        }
    }
}

impl CudaNorm {
    /// A norm that was checked.
    pub(super) fn new(device: &Arc<dyn Device>, norm: &NormParameters<'_>) -> Result<Self, NnError> {
        let width = norm.weight.len();
        Ok(Self {
            weight: vector(device, Some(norm.weight), width)?,
            bias: vector(device, norm.bias, width)?,
            epsilon: norm.epsilon,
            centers: norm.centers,
        })
    }

    /// The padded width.
    pub(super) fn padded_width(&self) -> usize {
        self.weight.count()
    }

    pub(super) fn argument(&self) -> abi::Norm {
        abi::Norm {
            weight: self.weight.address(),
            bias: self.bias.address(),
            epsilon: self.epsilon,
            centers: u32::from(self.centers),
        }
    }
}

impl CudaAttention {
    pub(super) fn new(
        device: &Arc<dyn Device>,
        number: Number,
        attention: Attention,
    ) -> Result<Self, NnError> {
        let size = attention.head_size;
        let padded = padded_head(size, number).ok_or_else(|| {
            let most = "at most 128 in f32, and 256 in f16 and bf16";
            NnError::Unsupported(format!("attention on a GPU with heads of {size} values: {most}"))
        })?;
        let bias =
            attention.relative_bias.as_ref().map(|bias| Memory::of(device, &bias.table)).transpose()?;
        Ok(Self { attention, padded, bias, rotary: RwLock::default() })
    }

    /// Whether heads must be padded or rotated first.
    pub(super) fn prepares_heads(&self) -> bool {
        self.padded != self.attention.head_size || self.attention.rotary.is_some()
    }

    /// The biases, and how far their distances reach.
    pub(super) fn bias(&self) -> (Address, usize) {
        let reach = self.attention.relative_bias.as_ref().map_or(0, |bias| bias.reach);
        (self.bias.as_ref().map_or(Address::default(), Memory::address), reach)
    }

    /// The angles of at least `positions` positions.
    pub(super) fn angles(
        &self,
        device: &Arc<dyn Device>,
        positions: usize,
    ) -> Result<Option<Arc<Angles>>, DeviceError> {
        let Some(rotary) = &self.attention.rotary else { return Ok(None) };
        let needed = positions * self.attention.head_size / 2;
        let has = |angles: &Option<Arc<Angles>>| {
            angles.as_ref().filter(|angles| angles.cosines.count() >= needed).cloned()
        };
        if let Some(angles) = has(&self.rotary.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(Some(angles));
        }
        let mut angles = self.rotary.write().unwrap_or_else(PoisonError::into_inner);
        if has(&angles).is_none() {
            let table: Arc<RotaryTable> = rotary.table(positions);
            let (cosines, sines) = (Memory::of(device, &table.cos)?, Memory::of(device, &table.sin)?);
            *angles = Some(Arc::new(Angles { cosines, sines }));
        }
        Ok(angles.clone())
    }
}

impl Angles {
    pub(super) fn addresses(&self) -> (Address, Address) {
        (self.cosines.address(), self.sines.address())
    }
}

/// The rows of two matrices `[rows, depth]` in turns of [`UNIT`], zeros where the last turn is short.
fn interleave(activated: &[f32], linear: &[f32], rows: usize, depth: usize) -> Vec<f32> {
    let turn = UNIT * depth;
    let mut out = Vec::with_capacity(rows.div_ceil(UNIT) * 2 * turn);
    for first in (0..rows).step_by(UNIT) {
        let range = first * depth..(first + UNIT).min(rows) * depth;
        for half in [activated, linear] {
            let end = out.len() + turn;
            out.extend_from_slice(&half[range.clone()]);
            out.resize(end, 0.0);
        }
    }
    out
}

/// Bytes of a row of a weight. In bf16 a weight has two parts, of whole slices each: what eight bits hold of
/// it, and what they hold of the rest. Weights in one part cost MiniLM an error of 1.1e-2, where 1e-2 is
/// promised; in two 8e-3, and with residuals in f32 5.1e-3 (`TOLLER_MINILM=... cargo test --release -p
/// toller-encoder -- --ignored minilm --nocapture`).
fn weight_stride(inputs: usize, number: Number) -> usize {
    let stride = number.stride(inputs);
    if number == Number::Bf16 { 2 * stride.next_multiple_of(abi::PRODUCT_SLICE as usize) } else { stride }
}

/// A weight on the device, in whole units of rows.
fn weight(
    device: &Arc<dyn Device>,
    values: &[f32],
    inputs: usize,
    number: Number,
) -> Result<Memory<u8>, DeviceError> {
    if number != Number::Bf16 {
        return upload(device, values, inputs, number);
    }
    let stride = weight_stride(inputs, number);
    let mut bytes = Vec::new();
    for row in values.chunks_exact(inputs) {
        let end = bytes.len() + stride;
        number.push_row(row, inputs, &mut bytes);
        bytes.resize(end - stride / 2, 0);
        let rest: Vec<f32> = row.iter().map(|&x| x - bf16::from_f32(x).to_f32()).collect();
        number.push_row(&rest, inputs, &mut bytes);
        bytes.resize(end, 0);
    }
    bytes.resize(bytes.len().next_multiple_of(UNIT * stride), 0);
    Memory::of(device, &bytes)
}

/// Rows of a matrix on the device, in whole units of rows.
fn upload(
    device: &Arc<dyn Device>,
    values: &[f32],
    width: usize,
    number: Number,
) -> Result<Memory<u8>, DeviceError> {
    let mut bytes = Vec::new();
    values.chunks_exact(width).for_each(|row| number.push_row(row, width, &mut bytes));
    bytes.resize(bytes.len().next_multiple_of(UNIT * number.stride(width)), 0);
    Memory::of(device, &bytes)
}

/// A vector on the device, padded with zeros; nothing but zeros for none.
fn vector(device: &Arc<dyn Device>, values: Option<&[f32]>, len: usize) -> Result<Memory<f32>, DeviceError> {
    let mut padded = values.map(<[f32]>::to_vec).unwrap_or_default();
    padded.resize(len.next_multiple_of(UNIT), 0.0);
    Memory::of(device, &padded)
}
