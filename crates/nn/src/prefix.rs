//! Keys and values in front of every text, on the host.

use std::ops::Range;

use crate::attention::Attention;
use crate::backend::Prefix;
use crate::cpu::check_width;
use crate::embed::Table;
use crate::{NnError, Sequences};

/// Where a layer's keys and values are: in a row of the states, and in a row of a prefix of this width.
pub(crate) fn columns(
    attention: &Attention,
    (layer, width): (usize, usize),
) -> Result<[Range<usize>; 2], NnError> {
    let states = attention.output_width()..attention.input_width();
    let start = layer * states.len();
    if start + states.len() > width {
        return Err(NnError::Shape(format!("layer {layer} of a prefix of width {width}")));
    }
    Ok([states.clone(), start..start + states.len()])
}

/// Puts keys and values of a prefix into states of this width.
pub(crate) fn put<T: Copy + From<f32>>(
    (values, width): (&mut [T], usize),
    sequences: &Sequences,
    attention: &Attention,
    prefix: &Prefix<'_, Table>,
) -> Result<(), NnError> {
    check_width("a prefix", width, attention.input_width())?;
    let [of_states, of_prefix] = columns(attention, (prefix.layer, prefix.table.width()))?;
    for tokens in sequences.ranges() {
        for (row, token) in tokens.enumerate().take(prefix.table.rows()) {
            let from = &prefix.table.row(row as u32)?[of_prefix.clone()];
            let to = &mut values[token * width..(token + 1) * width][of_states.clone()];
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = from.into());
        }
    }
    Ok(())
}
