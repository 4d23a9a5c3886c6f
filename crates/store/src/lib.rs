//! Embeddings on disk, or the impacts that a sparse model makes instead.
//!
//! A store is a directory: `manifest.json` says what the vectors are (model, encoding, dimension, dtype,
//! source) and lists the shards with their checksums; each `shard-NNNNN.safetensors` holds the vectors
//! and ids of a run of passages. [`StoreWriter`] writes one atomically, shard by shard, and resumes after
//! an interruption to the same bytes; [`Store`] verifies and memory-maps one or several as one sequence.
//! [`Content`] says which of the two a store holds; [`ImpactStore`] reads impacts. The layout is specified in
//! docs/formats.md.
//!
//! ```
//! # use toller_store::{DType, Encoding, ModelInfo, OpenOptions, Role};
//! # use toller_store::{Source, Store, StoreSpec, StoreWriter};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("store");
//! let spec = StoreSpec {
//!     model: ModelInfo::new("all-MiniLM-L6-v2", "5f0e..."),
//!     encoding: Encoding {
//!         role: Role::Passage,
//!         prompt: String::new(),
//!         max_length: 256,
//!         title_mode: "join".into(),
//!         context_field: None,
//!         title_separator: " ".into(),
//!         compute_dtype: "f32".into(),
//!         normalized: true,
//!         pooling: "mean".into(),
//!     },
//!     dim: 2,
//!     content: DType::F16.into(),
//!     rows_per_shard: toller_store::DEFAULT_ROWS_PER_SHARD,
//!     source: Source { fingerprint: "91c2...".into(), passages: 2 },
//!     part: None,
//! };
//! let passages = [("d1", [0.6, 0.8]), ("d2", [1.0, 0.0])];
//!
//! let mut writer = StoreWriter::create_or_resume(&path, spec)?;
//! for (id, embedding) in passages.iter().skip(writer.rows_done() as usize) {
//!     writer.push(id, embedding)?;
//! }
//! writer.finish()?;
//!
//! let store = Store::open(&[path], &OpenOptions::default())?;
//! assert_eq!(store.count(), 2);
//! assert_eq!(store.shards()[0].id(1), "d2");
//! # Ok(())
//! # }
//! ```

mod codes;
mod content;
mod damage;
mod directory;
mod dtype;
mod duplicates;
mod error;
mod impacts;
mod manifest;
mod part;
mod quantize;
mod shard;
mod shard_buffer;
mod spec;
mod status;
mod store;
mod strings;
mod tensors;
mod writer;

pub use codes::CodesEntry;
pub use content::Content;
pub use damage::{Damage, find_damage, find_damaged_codes};
pub use dtype::DType;
pub use error::StoreError;
pub use impacts::ImpactStore;
pub use manifest::{FORMAT_VERSION, Manifest, ShardEntry};
pub use part::Part;
pub use quantize::{Codes, QuantizeProgress, quantize};
pub use shard::Shard;
pub use spec::{DEFAULT_ROWS_PER_SHARD, Difference, Encoding, Source, StoreSpec, default_rows_per_shard};
pub use status::{StorePart, StoreStatus, content_of, inspect, status};
pub use store::Store;
pub use toller_files::{Checksum, OpenOptions, ParseChecksumError, VerifyProgress};
pub use toller_ir::{ModelInfo, Role};
pub use toller_topk::Vectors;
pub use writer::StoreWriter;
