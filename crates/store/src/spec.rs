//! What a store is to hold, and how two stores may differ.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toller_ir::{ModelInfo, Role};

use crate::{Content, Part, StoreError};

/// Rows of a shard unless a spec says otherwise: small enough that an interruption costs minutes on a
/// CPU, large enough that 60 million passages make some 7,300 files.
pub const DEFAULT_ROWS_PER_SHARD: usize = 8192;

/// Rows of a shard of a source of `rows` texts, unless a spec says otherwise: a small source has some sixteen
/// shards, so that little of its work is lost as well.
#[must_use]
pub fn default_rows_per_shard(rows: u64) -> usize {
    let share = usize::try_from(rows / 16).unwrap_or(usize::MAX).min(DEFAULT_ROWS_PER_SHARD);
    share.next_power_of_two().max(256)
}

/// Everything that determines a store's bytes, fixed before the first row is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreSpec {
    /// The model that makes the vectors, or the impacts.
    pub model: ModelInfo,
    /// How the model is applied.
    pub encoding: Encoding,
    /// Numbers in a vector; of impacts, the terms that the model knows.
    pub dim: usize,
    /// What is held of each text: vectors, and in which number format, or impacts.
    #[serde(rename = "dtype")]
    pub content: Content,
    /// Rows of every shard but the last; see [`DEFAULT_ROWS_PER_SHARD`].
    pub rows_per_shard: usize,
    /// The collection, or the queries, that are encoded.
    pub source: Source,
    /// Which part of the source this store holds; `None` for the whole.
    pub part: Option<Part>,
}

/// A value that nobody knows.
const UNKNOWN: &str = "unknown";

/// How texts become vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encoding {
    /// Which side of the search the texts are.
    pub role: Role,
    /// The text before each text; empty for none.
    pub prompt: String,
    /// Tokens after which a text is cut, the special ones included.
    pub max_length: usize,
    /// How a title is given to the model: `join`, `sep`, `pair`; `context` if a context follows.
    #[serde(default = "join", skip_serializing_if = "is_join")]
    pub title_mode: String,
    /// The text between title and text, if they are joined.
    pub title_separator: String,
    /// The field of the context that follows a text, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_field: Option<String>,
    /// The number format that the model computes in: f32, f16, bf16, int8.
    pub compute_dtype: String,
    /// Whether the vectors have length one.
    pub normalized: bool,
    /// How token vectors become one, in words: "mean", "cls".
    pub pooling: String,
}

impl Encoding {
    /// The encoding of imported vectors. Only their role and their length are known.
    #[must_use]
    pub fn unknown(role: Role, normalized: bool) -> Self {
        Self {
            role,
            prompt: String::new(),
            max_length: 0,
            title_mode: join(),
            title_separator: String::new(),
            context_field: None,
            compute_dtype: UNKNOWN.to_owned(),
            normalized,
            pooling: UNKNOWN.to_owned(),
        }
    }
}

/// The title mode of every store before there were others; it is not written.
fn join() -> String {
    "join".to_owned()
}

fn is_join(mode: &String) -> bool {
    *mode == join()
}

/// The collection that is encoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// A hash of its ids and texts.
    pub fingerprint: String,
    /// The number of its passages (or queries), all parts together.
    pub passages: u64,
}

/// A field in which two stores differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field's path in the manifest: `encoding.prompt`.
    pub field: &'static str,
    /// Its value in the existing store, or in the store that was opened first.
    pub stored: String,
    /// Its value in the requested spec, or in the store that was opened later.
    pub other: String,
}

impl Difference {
    /// Whether both models are unknown, so that they are perhaps one.
    pub(crate) fn is_of_unknown_models(&self) -> bool {
        [&self.stored, &self.other].iter().all(|value| ModelInfo::is_unknown(value.trim_start_matches('"')))
    }
}

/// How far two specs must agree. Each level includes the levels before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Agreement {
    /// Different collections searched as one: the vectors must be comparable.
    Stores,
    /// Parts of one collection: encoded in the same way.
    Parts,
    /// The same store, resumed: byte for byte.
    Resume,
}

impl StoreSpec {
    /// The directory that this spec is written to: `store` itself, or the part's directory in it.
    #[must_use]
    pub fn directory(&self, store: &Path) -> PathBuf {
        match &self.part {
            Some(part) => store.join(part.directory_name()),
            None => store.to_owned(),
        }
    }

    /// The number of rows that the finished store has.
    #[must_use]
    pub fn expected_rows(&self) -> u64 {
        match &self.part {
            Some(part) => {
                let rows = part.rows(self.source.passages);
                rows.end - rows.start
            }
            None => self.source.passages,
        }
    }

    /// Bytes of a full shard's embeddings, or `None` if that overflows. Impacts have none.
    fn shard_embedding_bytes(&self) -> Option<usize> {
        let Some(dtype) = self.content.dtype() else { return Some(0) };
        self.rows_per_shard
            .checked_mul(self.dim)?
            .checked_mul(dtype.size())
            .filter(|&bytes| bytes <= isize::MAX as usize)
    }

    /// Why no store can have this spec, or `None` if it can.
    pub(crate) fn defect(&self) -> Option<String> {
        if self.dim == 0 {
            return Some("dim is 0".to_owned());
        }
        if self.rows_per_shard == 0 {
            return Some("rows_per_shard is 0".to_owned());
        }
        if self.shard_embedding_bytes().is_none() {
            return Some(format!(
                "a shard of {} rows of {} numbers is too large",
                self.rows_per_shard, self.dim
            ));
        }
        if self.source.passages > u64::from(u32::MAX) {
            return Some(format!(
                "{} passages are more than the {} that can be numbered",
                self.source.passages,
                u32::MAX
            ));
        }
        let part = self.part?;
        match Part::new(part.index, part.of, self.source.passages) {
            Err(error) => Some(error.to_string()),
            Ok(expected) if expected != part => Some(format!(
                "part {} of {} begins at row {}, not {}",
                part.index, part.of, expected.first_row, part.first_row
            )),
            Ok(_) => None,
        }
    }

    /// [`StoreError::InvalidSpec`] if no store can have this spec.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.defect().map_or(Ok(()), |reason| Err(StoreError::InvalidSpec(reason)))
    }

    /// Whether `other` can be another part of the same store: of the same collection, encoded in the same
    /// way.
    #[must_use]
    pub fn is_part_of_same(&self, other: &Self) -> bool {
        self.differences(other, Agreement::Parts).is_empty()
    }

    /// The fields in which `other` differs from this spec, of those that `agreement` compares.
    pub(crate) fn differences(&self, other: &Self, agreement: Agreement) -> Vec<Difference> {
        self.fields()
            .into_iter()
            .zip(other.fields())
            .filter(|((level, _, stored), (_, _, other))| *level <= agreement && stored != other)
            .map(|((_, field, stored), (_, _, other))| Difference { field, stored, other })
            .collect()
    }

    /// Each field with the first level of agreement that compares it. No level compares the names of models.
    fn fields(&self) -> [(Agreement, &'static str, String); 16] {
        use Agreement::{Parts, Resume, Stores};
        let Self { model, encoding, dim, content, rows_per_shard, source, part } = self;
        let quoted = |text: &str| format!("{text:?}");
        let part = part.map_or("none".to_owned(), |part| format!("{} of {}", part.index, part.of));
        [
            (Stores, "model.fingerprint", quoted(&model.fingerprint)),
            (Stores, "encoding.role", encoding.role.to_string()),
            (Stores, "encoding.prompt", quoted(&encoding.prompt)),
            (Stores, "encoding.normalized", encoding.normalized.to_string()),
            (Stores, "encoding.pooling", quoted(&encoding.pooling)),
            (Stores, "dim", dim.to_string()),
            (Stores, "dtype", content.to_string()),
            (Parts, "encoding.max_length", encoding.max_length.to_string()),
            (Parts, "encoding.title_mode", encoding.title_mode.clone()),
            (Parts, "encoding.title_separator", quoted(&encoding.title_separator)),
            (Parts, "encoding.context_field", quoted(encoding.context_field.as_deref().unwrap_or_default())),
            (Parts, "encoding.compute_dtype", encoding.compute_dtype.clone()),
            (Parts, "source.fingerprint", quoted(&source.fingerprint)),
            (Parts, "source.passages", source.passages.to_string()),
            (Resume, "rows_per_shard", rows_per_shard.to_string()),
            (Resume, "part", part),
        ]
    }
}
