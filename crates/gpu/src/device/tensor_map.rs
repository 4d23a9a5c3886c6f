//! Matrices as bulk tensor copies see them.

use bytemuck::{Pod, Zeroable};

use super::Address;

/// A matrix in a device's memory that kernels copy in boxes: 128 bytes of each of `box_rows` rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Where it begins: at a multiple of 16 bytes.
    pub start: Address,
    /// Rows, at least one.
    pub rows: u32,
    /// Bytes from row to row: a multiple of 16.
    pub row_bytes: u32,
    /// At most 256.
    pub box_rows: u32,
}

/// What a device's driver makes of a [`Matrix`]. It is part of a kernel's argument.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C, align(128))]
pub struct TensorMap(pub(crate) [u64; 16]);
