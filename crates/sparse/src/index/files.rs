//! The names of an index's files.

/// What the index is, and the checksums of its files. It is written last: a directory without it is not an
/// index.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The terms, each with its only posting or the place of its record.
pub(crate) const TERMS: &str = "terms.bin";

/// The terms in format versions 1 and 2. It is removed when such an index is replaced.
pub(crate) const FORMER: &str = "terms.fst";

/// The records of the terms with more than one posting.
pub(crate) const POSTINGS: &str = "postings.bin";

/// The lengths of the documents.
pub(crate) const LENGTHS: &str = "lengths.bin";

/// The identifiers of the documents.
pub(crate) const IDS: &str = "ids.bin";

/// The terms of each document, if the index has them.
pub(crate) const VECTORS: &str = "vectors.bin";
