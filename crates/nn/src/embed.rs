//! Rows of tables, summed.

use crate::{Matrix, NnError, Sequences};

/// A batch in the host's memory: the rows of the tables that tokens take, and where sequences begin.
pub struct HostBatch {
    pub(crate) rows: Vec<Vec<u32>>,
    pub(crate) sequences: Sequences,
}

/// A table of embeddings `[rows, width]`.
pub struct Table {
    values: Vec<f32>,
    width: usize,
}

impl Table {
    pub(crate) fn new(table: Matrix<'_>) -> Result<Self, NnError> {
        let Matrix { values, rows, columns } = table;
        if columns == 0 || values.len() != rows * columns {
            return Err(NnError::Shape(format!("a table [{rows}, {columns}] of {} values", values.len())));
        }
        Ok(Self { values: values.to_vec(), width: columns })
    }

    /// Values of a row.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.values.len() / self.width
    }

    /// A row.
    pub(crate) fn row(&self, row: u32) -> Result<&[f32], NnError> {
        let start = row as usize * self.width;
        self.values
            .get(start..start + self.width)
            .ok_or_else(|| NnError::Shape(format!("row {row} of a table of {}", self.rows())))
    }
}

/// The width of tables whose rows are summed. `rows` has the numbers of the rows.
pub(crate) fn width(tables: &[Table], rows: &[Vec<u32>]) -> Result<usize, NnError> {
    match tables {
        [first, rest @ ..]
            if rows.len() == tables.len() && rest.iter().all(|table| table.width == first.width) =>
        {
            Ok(first.width)
        }
        _ => Err(NnError::Shape(format!("{} tables, and rows for {}", tables.len(), rows.len()))),
    }
}

/// Writes the sum of the tokens' rows of every table into `out` `[tokens, width]`, in the order of the
/// tables.
pub(crate) fn embed(tables: &[Table], rows: &[Vec<u32>], out: &mut [f32]) -> Result<(), NnError> {
    let width = width(tables, rows)?;
    for (index, (table, rows)) in tables.iter().zip(rows).enumerate() {
        for (&row, out) in rows.iter().zip(out.chunks_exact_mut(width)) {
            let row = table.row(row)?;
            if index == 0 {
                out.copy_from_slice(row);
            } else {
                out.iter_mut().zip(row).for_each(|(out, x)| *out += x);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Table, embed};
    use crate::{Matrix, NnError};

    #[test]
    fn rows_are_summed_in_order() -> Result<(), NnError> {
        let table = |values: &[f32]| Table::new(Matrix { values, rows: values.len() / 2, columns: 2 });
        let tables = [table(&[1.0, 2.0, 1e8, 4.0, 5.0, 6.0])?, table(&[0.5, -1.0, -1e8, 3.0])?];
        let mut out = [9.0; 6];
        embed(&tables, &[vec![2, 1, 2], vec![0, 1, 1]], &mut out)?;
        assert_eq!(out, [5.5, 5.0, 0.0, 7.0, -1e8 + 5.0, 9.0]);
        assert!(embed(&tables, &[vec![0], vec![2]], &mut out[..2]).is_err(), "a row that does not exist");
        assert!(embed(&tables, &[vec![0]], &mut out[..2]).is_err(), "rows for one table of two");
        assert!(embed(&[], &[], &mut []).is_err(), "no table");
        assert!(table(&[1.0]).is_err(), "half a row");
        Ok(())
    }
}
