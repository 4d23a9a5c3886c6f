//! Opening stores of vectors: one or several directories as one sequence of rows.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;
use toller_files::{Checksum, OpenOptions, Verifier, VerifyProgress};
use toller_ir::{DocOrd, Role};

use crate::codes::MappedCodes;
use crate::manifest::{self, Manifest};
use crate::spec::Agreement;
use crate::status::{check_agreement, read_vectors};
use crate::{CodesEntry, DType, ModelInfo, Shard, ShardEntry, StoreError, StorePart, StoreSpec};

/// One or several stores of vectors, opened for reading as one sequence: the rows of the first, then those
/// of the next. Rows are numbered from zero, as [`DocOrd`].
#[derive(Debug)]
pub struct Store {
    manifests: Vec<Manifest>,
    shards: Vec<Shard>,
    dtype: DType,
    count: usize,
    /// Whether several stores were opened as one, not only the parts of one.
    several: bool,
}

impl Store {
    /// Opens stores. A path is a directory that [`StoreWriter`](crate::StoreWriter) wrote, whole or in parts,
    /// which are opened in their order. Several stores must agree in the model's fingerprint, role, prompt,
    /// normalization, pooling, dimension and dtype; parts of one store also in everything else of the
    /// encoding. With [`OpenOptions::verify`], does what [`Store::verify`] does.
    ///
    /// # Errors
    /// If a path is not a store, holds impacts, is incomplete, damaged, of another version of the format, or
    /// disagrees with the others; each names the file.
    pub fn open<P: AsRef<Path>>(paths: &[P], options: &OpenOptions<'_>) -> Result<Self, StoreError> {
        let mut opened: Vec<StorePart> = Vec::new();
        for path in paths {
            let mut store = read_vectors(path.as_ref())?;
            if let (Some(first), Some(other)) = (opened.first(), store.first()) {
                check_agreement(first, other, Agreement::Stores)?;
            }
            opened.append(&mut store);
        }
        let rows: u64 = opened.iter().map(|store| store.manifest.count).sum();
        // Every part has a number format: `read_vectors` refuses impacts.
        let Some(dtype) = opened.first().and_then(|part| part.manifest.spec.content.dtype()) else {
            return Err(StoreError::NoStore);
        };
        if rows > u64::from(u32::MAX) {
            return Err(StoreError::TooManyRows(rows));
        }

        let shards = open_shards(&opened, options)?;
        let manifests = opened.into_iter().map(|store| store.manifest).collect();
        let store = Self { manifests, shards, dtype, count: rows as usize, several: paths.len() > 1 };
        if options.verify && store.several {
            store.check_unique_ids()?;
        }
        Ok(store)
    }

    /// Verifies the checksums of all files and, for several stores, that no id occurs twice: what
    /// [`Store::open`] leaves out without [`OpenOptions::verify`]. Runs in rayon's current pool. Between the
    /// two calls, a caller can make cheap checks.
    ///
    /// # Errors
    /// The first file in order whose checksum is wrong, or [`StoreError::DuplicateId`].
    pub fn verify(&self, progress: &(dyn Fn(VerifyProgress) + Sync)) -> Result<(), StoreError> {
        self.verify_rows(&(0..self.count), progress)
    }

    /// As [`Store::verify`], but only the files that hold one of `rows`. Identifiers are compared in all
    /// rows.
    ///
    /// # Errors
    /// As those of [`Store::verify`].
    pub fn verify_rows(
        &self,
        rows: &Range<usize>,
        progress: &(dyn Fn(VerifyProgress) + Sync),
    ) -> Result<(), StoreError> {
        let entries = self.manifests.iter().flat_map(|manifest| {
            let shards = manifest.shards.iter().enumerate();
            shards.map(|(index, entry)| (entry, manifest.codes.get(index)))
        });
        let mut listed: Vec<_> = self.shards.iter().zip(entries).collect();
        listed.retain(|(shard, _)| !shard.rows_within(rows).is_empty());
        let options = OpenOptions { verify: true, progress: Some(progress) };
        let bytes_total = listed.iter().map(|(_, (shard, codes))| bytes(shard, *codes)).sum();
        let verifier = Verifier::new(&options, bytes_total);
        let verified: Vec<Result<(), StoreError>> = listed
            .into_par_iter()
            .map(|(shard, (entry, codes))| shard.verify(entry, codes, &verifier))
            .collect();
        // As in `open_shards`: the first error in order.
        verified.into_iter().collect::<Result<(), _>>()?;
        if self.several { self.check_unique_ids() } else { Ok(()) }
    }

    /// Identifies the content of the stores: their models, and the checksums of their shards.
    #[must_use]
    pub fn fingerprint(&self) -> Checksum {
        manifest::fingerprint(&self.manifests)
    }

    /// The number of rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Numbers in a vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.manifest().spec.dim
    }

    /// The number format of the vectors.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The manifest of the first store or part; [`Store::open`] says what the others share with it.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        // There is one: `open` refuses to open nothing.
        &self.manifests[0]
    }

    /// The manifests of all stores and parts, in order.
    #[must_use]
    pub fn manifests(&self) -> &[Manifest] {
        &self.manifests
    }

    /// The shards of all stores and parts, in order.
    #[must_use]
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// The shard of a row, and the row's place in it.
    ///
    /// # Panics
    /// If `doc` is not below [`Store::count`].
    #[must_use]
    pub fn locate(&self, doc: DocOrd) -> (&Shard, usize) {
        assert!(doc.index() < self.count, "document {} of a store of {}", doc.0, self.count);
        let next = self.shards.partition_point(|shard| shard.first() <= doc);
        let shard = &self.shards[next - 1];
        (shard, doc.index() - shard.first().index())
    }

    /// The id of a row.
    ///
    /// # Panics
    /// If `doc` is not below [`Store::count`].
    #[must_use]
    pub fn id(&self, doc: DocOrd) -> &str {
        let (shard, row) = self.locate(doc);
        shard.id(row)
    }

    /// Calls `take` with each identifier and its vector, in order.
    pub fn each_vector(&self, mut take: impl FnMut(&str, &[f32])) {
        let mut vector = vec![0.0; self.dim()];
        for shard in self.shards() {
            for row in 0..shard.rows() {
                shard.embeddings().widen(row * self.dim()..(row + 1) * self.dim(), &mut vector);
                take(shard.id(row), &vector);
            }
        }
    }

    /// As [`Store::check_model`], but says whether that was possible: it is not if the model of the store or
    /// the given one is unknown.
    ///
    /// # Errors
    /// [`StoreError::WrongModel`] if another model made the vectors.
    pub fn check_known_model(&self, model: &ModelInfo) -> Result<bool, StoreError> {
        let is_known = self.manifest().spec.model.is_known() && model.is_known();
        match self.check_model(model) {
            Err(_) if !is_known => Ok(false),
            checked => checked.map(|()| true),
        }
    }

    /// Checks that the vectors were made by `model`, by its fingerprint. Vectors of passages may also be
    /// those of another model that has the same encoder of passages: only its encoder of queries was trained.
    ///
    /// # Errors
    /// [`StoreError::WrongModel`] if they were not, [`StoreError::UnknownModel`] if the store does not know.
    pub fn check_model(&self, model: &ModelInfo) -> Result<(), StoreError> {
        let StoreSpec { model: stored, encoding, .. } = &self.manifest().spec;
        let holds_passages = encoding.role == Role::Passage;
        if stored.fingerprint == model.fingerprint || holds_passages && stored.encodes_passages_as(model) {
            return Ok(());
        }
        if !stored.is_known() {
            return Err(StoreError::UnknownModel(Box::new(model.clone())));
        }
        Err(StoreError::WrongModel { stored: Box::new(stored.clone()), given: Box::new(model.clone()) })
    }
}

/// The bytes of a shard and its codes.
fn bytes(shard: &ShardEntry, codes: Option<&CodesEntry>) -> u64 {
    shard.bytes + codes.map_or(0, |codes| codes.bytes)
}

/// Opens the shards of all directories, in parallel.
fn open_shards(opened: &[StorePart], options: &OpenOptions<'_>) -> Result<Vec<Shard>, StoreError> {
    let entries = || {
        opened.iter().flat_map(|store| {
            let shards = store.manifest.shards.iter().enumerate();
            shards.map(move |(index, entry)| (store, entry, store.manifest.codes.get(index)))
        })
    };
    let mut next = 0;
    let placed: Vec<_> = entries()
        .map(|(store, entry, codes)| {
            let first = DocOrd(next);
            // Does not wrap: all rows together are known to fit.
            next += entry.rows as u32;
            (store, entry, codes, first)
        })
        .collect();
    let verifier = Verifier::new(options, entries().map(|(_, shard, codes)| bytes(shard, codes)).sum());
    let shards: Vec<Result<Shard, StoreError>> = placed
        .into_par_iter()
        .map(|(store, entry, codes, first)| {
            let spec = &store.manifest.spec;
            let shard = Shard::open(&store.directory, entry, spec, first, &verifier)?;
            let Some(codes) = codes else { return Ok(shard) };
            Ok(shard.with_codes(MappedCodes::open(&store.directory, codes, entry, spec.dim, &verifier)?))
        })
        .collect();
    // Not collected into a result in parallel: the first error in order is reported, not the first in time.
    shards.into_iter().collect()
}
