//! Shards that are not as they were written.

use std::ops::Range;

use rayon::prelude::*;
use toller_ir::DocOrd;

use crate::verify::Verifier;
use crate::{OpenOptions, Shard, StoreError, StorePart};

/// A shard that the manifest lists and that is missing or not as it was written.
#[derive(Debug)]
pub struct Damage {
    /// Its part, by its place among those examined.
    pub part: usize,
    /// Its place in the part's manifest.
    pub shard: usize,
    /// Its rows, counted from the part's first.
    pub rows: Range<u64>,
    /// What is wrong with it.
    pub error: StoreError,
}

/// Examines every listed shard of `parts`, in parallel, in rayon's current pool: length, layout, and, with
/// [`OpenOptions::verify`], checksum. Gives all that is damaged, in order.
///
/// # Errors
/// When a shard cannot be read for another reason than damage, such as a lack of permission.
pub fn find_damage(parts: &[StorePart], options: &OpenOptions<'_>) -> Result<Vec<Damage>, StoreError> {
    let mut shards = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let mut first = 0;
        for (shard, entry) in part.manifest.shards.iter().enumerate() {
            let rows = first..first + entry.rows as u64;
            first = rows.end;
            shards.push((number, part, shard, entry, rows));
        }
    }
    let verifier = Verifier::new(options, shards.iter().map(|(_, _, _, entry, _)| entry.bytes).sum());
    let examined: Vec<Option<Damage>> = shards
        .into_par_iter()
        .map(|(number, part, shard, entry, rows)| {
            let opened = Shard::open(&part.directory, entry, &part.manifest.spec, DocOrd(0), &verifier);
            opened.err().map(|error| Damage { part: number, shard, rows, error })
        })
        .collect();
    let mut damaged = Vec::new();
    for damage in examined.into_iter().flatten() {
        if !damage.error.is_damage() {
            return Err(damage.error);
        }
        damaged.push(damage);
    }
    Ok(damaged)
}
