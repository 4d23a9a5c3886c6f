//! Rows of tables, summed.

use candle_core::{Device, Result, Storage, Tensor, bail};

use crate::custom_op::contiguous_f32;

/// A row of `table` `[rows, width]` for each token: `[tokens]`.
#[derive(Clone, Copy)]
pub struct Lookup<'a> {
    /// The table, in f32.
    pub table: &'a Tensor,
    /// The index of each token's row.
    pub rows: &'a [u32],
}

/// The sum of the tokens' rows of every table, in the order of the tables: `[tokens, width]`. In one pass and
/// on the calling thread, where selecting from each table and adding takes a pass and a temporary each.
///
/// # Errors
/// When there is no table, the shapes do not agree, a row does not exist, or a table is no contiguous f32 tensor
/// on the CPU.
pub fn embed(lookups: &[Lookup<'_>]) -> Result<Tensor> {
    let Some(first) = lookups.first() else { bail!("embed: no table") };
    let (_, width) = first.table.dims2()?;
    let tokens = first.rows.len();
    let mut out = vec![0.0; tokens * width];
    for (index, lookup) in lookups.iter().enumerate() {
        let (count, table_width) = lookup.table.dims2()?;
        if table_width != width || lookup.rows.len() != tokens {
            bail!("embed: {} rows of {table_width} beside {tokens} of {width}", lookup.rows.len());
        }
        let (storage, layout) = lookup.table.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else { bail!("embed takes tables on the CPU") };
        let table = contiguous_f32("embed", storage, layout)?;
        for (&row, out) in lookup.rows.iter().zip(out.chunks_exact_mut(width.max(1))) {
            let row = row as usize;
            if row >= count {
                bail!("embed: row {row} of a table of {count}");
            }
            let row = &table[row * width..(row + 1) * width];
            if index == 0 {
                out.copy_from_slice(row);
            } else {
                out.iter_mut().zip(row).for_each(|(out, x)| *out += x);
            }
        }
    }
    Tensor::from_vec(out, (tokens, width), &Device::Cpu)
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor};

    use super::{Lookup, embed};

    #[test]
    fn rows_are_summed_in_order() -> candle_core::Result<()> {
        let words = Tensor::new(&[[1_f32, 2.0], [1e8, 4.0], [5.0, 6.0]], &Device::Cpu)?;
        let types = Tensor::new(&[[0.5_f32, -1.0], [-1e8, 3.0]], &Device::Cpu)?;
        let lookups =
            [Lookup { table: &words, rows: &[2, 1, 2] }, Lookup { table: &types, rows: &[0, 1, 1] }];
        assert_eq!(embed(&lookups)?.to_vec2::<f32>()?, [[5.5, 5.0], [0.0, 7.0], [-1e8 + 5.0, 9.0]]);
        for bad in [
            vec![],
            vec![Lookup { table: &words, rows: &[3] }],
            vec![Lookup { table: &words, rows: &[0] }, Lookup { table: &types, rows: &[0, 1] }],
            vec![Lookup { table: &words, rows: &[0] }, Lookup { table: &words.narrow(1, 0, 1)?, rows: &[0] }],
        ] {
            assert!(embed(&bad).is_err());
        }
        assert_eq!(embed(&[Lookup { table: &words, rows: &[] }])?.dims(), [0, 2]);
        Ok(())
    }
}
