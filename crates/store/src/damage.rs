//! Shards and files of codes that are not as they were written.

use std::ops::Range;

use rayon::prelude::*;
use toller_files::Verifier;
use toller_ir::DocOrd;

use crate::codes::MappedCodes;
use crate::impacts::ImpactShard;
use crate::{CodesEntry, Content, OpenOptions, Shard, ShardEntry, StoreError, StorePart};

/// A listed file that is missing or not as it was written: a shard, or its codes.
#[derive(Debug)]
pub struct Damage {
    /// Its part, by its place among the examined parts.
    pub part: usize,
    /// The place of the shard in the part's manifest.
    pub shard: usize,
    /// The shard's rows, counted from the part's first.
    pub rows: Range<u64>,
    /// What is wrong with it.
    pub error: StoreError,
}

/// A listed shard, and where it is.
struct Listed<'a> {
    part: usize,
    place: usize,
    rows: Range<u64>,
    store: &'a StorePart,
    shard: &'a ShardEntry,
    codes: Option<&'a CodesEntry>,
}

/// Examines every listed shard of `parts`, in parallel, in rayon's current pool: length, layout, and, with
/// [`OpenOptions::verify`], checksum. Returns everything that is damaged, in order.
///
/// # Errors
/// When a shard cannot be read for another reason than damage, such as missing permission.
pub fn find_damage(parts: &[StorePart], options: &OpenOptions<'_>) -> Result<Vec<Damage>, StoreError> {
    let listed = listed(parts);
    let verifier = Verifier::new(options, listed.iter().map(|listed| listed.shard.bytes).sum());
    let examine = |listed: &Listed<'_>| {
        let StorePart { directory, manifest } = listed.store;
        match manifest.spec.content {
            Content::Vectors(_) => {
                Shard::open(directory, listed.shard, &manifest.spec, DocOrd(0), &verifier).err()
            }
            Content::Impacts => ImpactShard::open(directory, listed.shard, 0, &verifier).err(),
        }
    };
    damaged(listed, examine, StoreError::is_damage)
}

/// As [`find_damage`], for the listed files of codes: those that are damaged, or were made of another shard.
/// The vectors are not read. No vector is lost with its codes: [`quantize`](crate::quantize) makes new codes.
///
/// # Errors
/// As [`find_damage`].
pub fn find_damaged_codes(parts: &[StorePart], options: &OpenOptions<'_>) -> Result<Vec<Damage>, StoreError> {
    let listed = listed(parts);
    let bytes = listed.iter().filter_map(|listed| listed.codes).map(|codes| codes.bytes).sum();
    let verifier = Verifier::new(options, bytes);
    let examine = |listed: &Listed<'_>| {
        let StorePart { directory, manifest } = listed.store;
        MappedCodes::open(directory, listed.codes?, listed.shard, manifest.spec.dim, &verifier).err()
    };
    damaged(listed, examine, |error| matches!(error, StoreError::CodesDamaged { .. }))
}

/// All shards of `parts`, in order.
fn listed(parts: &[StorePart]) -> Vec<Listed<'_>> {
    let mut listed = Vec::new();
    for (part, store) in parts.iter().enumerate() {
        let mut first = 0;
        for (place, shard) in store.manifest.shards.iter().enumerate() {
            let rows = first..first + shard.rows as u64;
            first = rows.end;
            listed.push(Listed { part, place, rows, store, shard, codes: store.manifest.codes.get(place) });
        }
    }
    listed
}

/// The damage that `examine` finds, in order. An error that is not damage by `is_damage` is returned as an
/// error.
fn damaged(
    listed: Vec<Listed<'_>>,
    examine: impl Fn(&Listed<'_>) -> Option<StoreError> + Sync,
    is_damage: impl Fn(&StoreError) -> bool,
) -> Result<Vec<Damage>, StoreError> {
    let examined: Vec<Option<Damage>> = listed
        .into_par_iter()
        .map(|listed| {
            let error = examine(&listed)?;
            Some(Damage { part: listed.part, shard: listed.place, rows: listed.rows, error })
        })
        .collect();
    let mut damaged = Vec::new();
    for damage in examined.into_iter().flatten() {
        if !is_damage(&damage.error) {
            return Err(damage.error);
        }
        damaged.push(damage);
    }
    Ok(damaged)
}
