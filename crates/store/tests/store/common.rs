//! What the tests of the store share: specs, rows and pictures of directories.

use std::error::Error;
use std::fs;
use std::path::Path;

use toller_ir::push_impact;
use toller_store::{
    Content, DType, Encoding, ModelInfo, OpenOptions, Part, Role, Source, Store, StoreError, StoreSpec,
    StoreWriter,
};

pub(crate) use toller_testing::files;

pub(crate) type TestResult = Result<(), Box<dyn Error>>;

/// A field of the manifest, and a change of it.
pub(crate) type Change = (&'static str, fn(&mut StoreSpec));

/// A spec for `passages` passages of dimension 4 in f32, three to a shard.
pub(crate) fn spec(passages: u64) -> StoreSpec {
    StoreSpec {
        model: ModelInfo::new("tiny", "f00d"),
        encoding: Encoding {
            role: Role::Passage,
            prompt: "passage: ".to_owned(),
            max_length: 256,
            title_mode: "join".to_owned(),
            context_field: None,
            title_separator: " ".to_owned(),
            compute_dtype: "f32".to_owned(),
            normalized: true,
            pooling: "mean".to_owned(),
        },
        dim: 4,
        content: DType::F32.into(),
        rows_per_shard: 3,
        source: Source { fingerprint: "c0ffee".to_owned(), passages },
        part: None,
    }
}

pub(crate) fn part_of(mut spec: StoreSpec, index: u32, of: u32) -> Result<StoreSpec, StoreError> {
    spec.part = Some(Part::new(index, of, spec.source.passages)?);
    Ok(spec)
}

/// The id of passage `row`: of several lengths, ASCII or not.
pub(crate) fn id(row: u64) -> String {
    match row % 4 {
        0 => format!("doc-{row}"),
        1 => format!("文書{row}"),
        2 => format!("{row}"),
        _ => format!("🐕 {row}\n\"é\""),
    }
}

/// The embedding of passage `row`: exact in every dtype.
pub(crate) fn embedding(row: u64, dim: usize) -> Vec<f32> {
    (0..dim as u64).map(|column| ((row * 7 + column * 3) % 101) as f32 / 64.0 - 0.5).collect()
}

/// The text with impacts of passage `row`: of several lengths, every third without terms.
pub(crate) fn impacts(row: u64) -> String {
    let mut text = String::new();
    for term in 0..row % 3 {
        push_impact(&mut text, &format!("語{term}"), 1 + row as u32);
    }
    text
}

/// Pushes the missing rows of the writer, up to `until` (of its own rows).
pub(crate) fn push_until(writer: &mut StoreWriter, until: u64) -> Result<(), StoreError> {
    let spec = writer.manifest().spec.clone();
    let first = spec.part.map_or(0, |part| part.first_row);
    let missing = writer.missing_rows().into_iter().flatten().skip(writer.rows_buffered());
    for row in missing.filter(|row| *row < until) {
        let (row, id) = (first + row, id(first + row));
        match spec.content {
            Content::Vectors(_) => writer.push(&id, &embedding(row, spec.dim))?,
            Content::Impacts => writer.push_impacts(&id, &impacts(row))?,
        }
    }
    Ok(())
}

/// Writes the store, or the part, of `spec` to its end.
pub(crate) fn write(store: &Path, spec: StoreSpec) -> Result<(), StoreError> {
    finish(StoreWriter::create_or_resume(store, spec)?)
}

/// As [`write`], in place of the existing store.
pub(crate) fn overwrite(store: &Path, spec: StoreSpec) -> Result<(), StoreError> {
    finish(StoreWriter::overwrite(store, spec)?)
}

pub(crate) fn finish(mut writer: StoreWriter) -> Result<(), StoreError> {
    let rows = writer.manifest().spec.expected_rows();
    push_until(&mut writer, rows)?;
    writer.finish().map(drop)
}

/// Pushes the missing rows up to `until`, and stops.
pub(crate) fn interrupt(store: &Path, spec: StoreSpec, until: u64) -> Result<(), StoreError> {
    push_until(&mut StoreWriter::create_or_resume(store, spec)?, until)
}

/// Flips a bit in the middle of a file.
pub(crate) fn flip(path: &Path) -> std::io::Result<()> {
    let mut bytes = fs::read(path)?;
    let place = bytes.len() / 2;
    bytes[place] ^= 1;
    fs::write(path, bytes)
}

pub(crate) fn open(store: &Path) -> Result<Store, StoreError> {
    Store::open(&[store.to_owned()], &OpenOptions::default())
}

/// The error of a call that must fail.
pub(crate) fn error<T>(result: Result<T, StoreError>) -> Result<StoreError, &'static str> {
    result.err().ok_or("no error where one was expected")
}

/// Reads everything that a store gives, and checks it against [`id`] and [`embedding`].
pub(crate) fn check_content(store: &Store) {
    let dim = store.dim();
    for shard in store.shards() {
        let first = shard.first().index();
        for row in 0..shard.rows() {
            let mut values = vec![0.0; dim];
            shard.embeddings().widen(row * dim..(row + 1) * dim, &mut values);
            assert_eq!(values, embedding((first + row) as u64, dim), "row {}", first + row);
            assert_eq!(shard.id(row), id((first + row) as u64));
        }
    }
}
