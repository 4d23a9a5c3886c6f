//! Biases of attention scores by relative position.

use candle_core::{DType, Result, Tensor, bail};

/// What is added to an attention score by the distance of the key from the query, for each head. Distances
/// beyond the table's reach take its outermost values.
pub struct RelativeBias {
    /// `[heads, 2 * reach + 1]`, from distance -reach (the key before the query) to reach.
    table: Vec<f32>,
    heads: usize,
    reach: usize,
}

impl RelativeBias {
    /// With a table `[heads, 2 * reach + 1]`.
    ///
    /// # Errors
    /// When the table has no rows or an even number of columns.
    pub fn new(table: &Tensor) -> Result<Self> {
        let (heads, columns) = table.dims2()?;
        if heads == 0 || columns % 2 == 0 {
            bail!("relative bias: a table [{heads}, {columns}]");
        }
        let table = table.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
        Ok(Self { table, heads, reach: columns / 2 })
    }

    /// The number of heads.
    #[must_use]
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// The bias of `head` for a key at `distance` after the query.
    #[must_use]
    pub fn at(&self, head: usize, distance: isize) -> f32 {
        let reach = self.reach as isize;
        let column = (distance.clamp(-reach, reach) + reach) as usize;
        self.table[head * (2 * self.reach + 1) + column]
    }

    /// Writes the biases of `head` for every distance in a sequence of `n` tokens, from -(n - 1) to n - 1.
    pub(crate) fn write_line(&self, head: usize, n: usize, line: &mut Vec<f32>) {
        let last = n as isize - 1;
        line.clear();
        line.extend((-last..=last).map(|distance| self.at(head, distance)));
    }
}
