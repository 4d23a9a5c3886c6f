//! Import and export of vectors in other programs' files.
//!
//! [`Source`] reads FAISS's flat indexes, NumPy's arrays, Parquet, JSON lines, pickles and the files of
//! benchmarks of approximate search, one or several files as one sequence of rows, any number of times and
//! without holding a file in memory. [`survey`] checks every row and identifies the whole; [`store_spec`]
//! describes the store, and [`import`] writes it. [`export`] writes a store as FAISS's flat index, a NumPy
//! array or Parquet, and [`export_impacts`] one of impacts as JSON lines. docs/formats.md says what each
//! format keeps and loses.

mod error;
mod export;
mod format;
mod ids;
mod import;
mod mapped;
mod matrix;
mod numbers;
mod progress;
mod source;
mod survey;

pub use error::ExchangeError;
pub use export::{ExportFormat, ExportOptions, Exported, export, export_impacts};
pub use format::VectorFormat;
pub use ids::IdsFrom;
pub use import::{import, store_spec};
pub use numbers::NumberType;
pub use progress::Progress;
pub use source::{Row, Source, SourceOptions};
pub use survey::{Survey, Surveyor, survey};
pub use toller_corpus::parquet::Precision;
