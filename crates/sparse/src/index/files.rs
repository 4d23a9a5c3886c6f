//! The names of an index's files.

/// What the index is, and the checksums of the others. Written last: a directory without it is no index.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The terms, and where the list of each is.
pub(crate) const TERMS: &str = "terms.bin";

/// What former versions wrote: it is removed when such an index is replaced.
pub(crate) const FORMER: &str = "terms.fst";

/// The lists of the terms that are in more than one document, one after another.
pub(crate) const POSTINGS: &str = "postings.bin";

/// The lengths of the documents.
pub(crate) const LENGTHS: &str = "lengths.bin";

/// The identifiers of the documents.
pub(crate) const IDS: &str = "ids.bin";

/// The terms of each document, where asked for.
pub(crate) const VECTORS: &str = "vectors.bin";
