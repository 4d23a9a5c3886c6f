//! Biases of attention scores by relative position.

use crate::{Matrix, NnError};

/// Numbers that are added to attention scores, by head and by the distance of the key from the query.
/// Distances beyond the table's reach take its outermost values.
pub(crate) struct RelativeBias {
    /// `[heads, 2 * reach + 1]`, from distance -reach (the key before the query) to reach.
    pub(crate) table: Vec<f32>,
    pub(crate) reach: usize,
}

impl RelativeBias {
    /// With a table `[heads, 2 * reach + 1]`.
    pub(crate) fn new(table: Matrix<'_>, heads: usize) -> Result<Self, NnError> {
        let Matrix { values, rows, columns } = table;
        if rows != heads || columns.is_multiple_of(2) || values.len() != rows * columns {
            return Err(NnError::Shape(format!("a relative bias [{rows}, {columns}] for {heads} heads")));
        }
        Ok(Self { table: values.to_vec(), reach: columns / 2 })
    }

    /// The bias of `head` for a key at `distance` after the query.
    pub(crate) fn at(&self, head: usize, distance: isize) -> f32 {
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
