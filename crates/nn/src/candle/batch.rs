//! A batch on a device: the rows of the tables, and the sequences by their length.
//!
//! Idea: sequences of one length are a tensor `[sequences, length, width]` without padding or masks.

use std::collections::BTreeMap;

use candle_core::{Device, Tensor};

use crate::{NnError, Sequences};

/// A batch.
pub struct CandleBatch {
    /// For each table the row of every token, and one more than the largest of them.
    rows: Vec<(Tensor, usize)>,
    /// Shorter ones first.
    pub(super) groups: Vec<Group>,
    /// Of every token, in its sequence.
    pub(super) positions: Vec<u32>,
    /// Where in the concatenation of all groups each token is, and each sequence.
    tokens: Tensor,
    sequences: Tensor,
}

/// Sequences of one length.
pub(super) struct Group {
    pub(super) length: usize,
    /// Their numbers in the batch.
    pub(super) sequences: Vec<usize>,
    /// The tokens of each sequence, if there are any.
    tokens: Option<Tensor>,
}

impl CandleBatch {
    pub(super) fn new(device: &Device, rows: Vec<Vec<u32>>, sequences: &Sequences) -> Result<Self, NnError> {
        if rows.iter().any(|rows| rows.len() != sequences.tokens()) {
            return Err(NnError::Shape(format!("rows for other than {} tokens", sequences.tokens())));
        }
        let upload = |numbers: Vec<u32>| {
            let count = numbers.len();
            Tensor::from_vec(numbers, count, device)
        };
        let rows = rows.into_iter().map(|rows| {
            let end = rows.iter().max().map_or(0, |&largest| largest as usize + 1);
            Ok((upload(rows)?, end))
        });
        let rows = rows.collect::<Result<Vec<_>, NnError>>()?;

        let mut by_length: BTreeMap<usize, Vec<(usize, u32)>> = BTreeMap::new();
        for (index, range) in sequences.ranges().enumerate() {
            by_length.entry(range.len()).or_default().push((index, range.start as u32));
        }
        let mut groups = Vec::with_capacity(by_length.len());
        let mut place_of_token = vec![0; sequences.tokens()];
        let mut place_of_sequence = vec![0; sequences.count()];
        let (mut next_token, mut next_sequence) = (0, 0);
        for (length, of_length) in by_length {
            let mut tokens = Vec::with_capacity(of_length.len() * length);
            for &(index, start) in &of_length {
                place_of_sequence[index] = next_sequence;
                next_sequence += 1;
                for token in start..start + length as u32 {
                    place_of_token[token as usize] = next_token;
                    next_token += 1;
                    tokens.push(token);
                }
            }
            let sequences = of_length.into_iter().map(|(index, _)| index).collect();
            // A GPU can neither keep nor compute nothing.
            let tokens = (length > 0).then(|| upload(tokens)).transpose()?;
            groups.push(Group { length, sequences, tokens });
        }
        Ok(Self {
            rows,
            groups,
            positions: sequences.positions().collect(),
            tokens: upload(place_of_token)?,
            sequences: upload(place_of_sequence)?,
        })
    }

    /// The sum of the tokens' rows of all tables, in the order of the tables.
    pub(super) fn embed(&self, tables: &[Tensor]) -> Result<Tensor, NnError> {
        if tables.len() != self.rows.len() {
            return Err(NnError::Shape(format!("{} tables, and rows for {}", tables.len(), self.rows.len())));
        }
        let mut sum: Option<Tensor> = None;
        for (table, (rows, end)) in tables.iter().zip(&self.rows) {
            // A GPU would read beyond the table.
            if *end > table.dim(0)? {
                return Err(NnError::Shape(format!("row {} of a table of {}", end - 1, table.dim(0)?)));
            }
            let rows = table.index_select(rows, 0)?;
            sum = Some(match sum {
                Some(sum) => sum.add(&rows)?,
                None => rows,
            });
        }
        sum.ok_or_else(|| NnError::Shape("no table".to_owned()))
    }

    /// The tokens' states of a group: `[sequences, length, width]`.
    pub(super) fn gather(&self, x: &Tensor, group: &Group) -> candle_core::Result<Tensor> {
        let states = match &group.tokens {
            Some(tokens) if self.groups.len() > 1 => x.index_select(tokens, 0)?,
            // Sequences of one length are together already.
            _ => x.clone(),
        };
        states.reshape((group.sequences.len(), group.length, x.dim(1)?))
    }

    /// The states `[tokens, width]` of all groups, in the order of the batch.
    pub(super) fn tokens_in_order(&self, groups: &[Tensor]) -> candle_core::Result<Tensor> {
        in_order(groups, &self.tokens)
    }

    /// The rows `[sequences, width]` of all groups, in the order of the batch.
    pub(super) fn sequences_in_order(&self, groups: &[Tensor]) -> candle_core::Result<Tensor> {
        in_order(groups, &self.sequences)
    }
}

fn in_order(groups: &[Tensor], places: &Tensor) -> candle_core::Result<Tensor> {
    match groups {
        [all] => Ok(all.clone()),
        _ => Tensor::cat(groups, 0)?.index_select(places, 0),
    }
}
