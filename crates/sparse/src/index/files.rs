//! The names of an index's files.

/// What the index is, and the checksums of the others. Written last: a directory without it is no index.
pub(crate) const MANIFEST: &str = "manifest.json";

/// Terms to the places of their records, an `fst` map.
pub(crate) const TERMS: &str = "terms.fst";

/// The records of the terms, one after another.
pub(crate) const POSTINGS: &str = "postings.bin";

/// The lengths of the documents.
pub(crate) const LENGTHS: &str = "lengths.bin";

/// The identifiers of the documents.
pub(crate) const IDS: &str = "ids.bin";

/// The terms of each document, where asked for.
pub(crate) const VECTORS: &str = "vectors.bin";
