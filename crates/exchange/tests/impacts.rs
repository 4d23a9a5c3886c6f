//! Stores of impacts become JSON lines, and nothing else does.

mod common;

use std::fs;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use common::{TestResult, error};
use toller_exchange::{ExchangeError, ExportFormat, ExportOptions, export, export_impacts};
use toller_files::{Input, InputReader};
use toller_ir::{Explain, push_impact};
use toller_store::{
    Content, DType, Encoding, ImpactStore, ModelInfo, OpenOptions, Role, Source, Store, StoreSpec,
    StoreWriter,
};

const GO_ON: fn(u64) -> ControlFlow<()> = |_| ControlFlow::Continue(());

const LINES: &str = r###"{"id":"a\"b\n","contents":"","vector":{"the":3,"##ing":250,"\\":2,"日":1}}
{"id":"none","contents":"","vector":{}}
{"id":"é","contents":"","vector":{"^":16777216}}
"###;

fn spec(content: Content, passages: u64) -> StoreSpec {
    StoreSpec {
        model: ModelInfo::new("m", "m"),
        encoding: Encoding::unknown(Role::Passage, false),
        dim: 7,
        content,
        rows_per_shard: 2,
        source: Source { fingerprint: "s".to_owned(), passages },
        part: None,
    }
}

/// A store of the texts of [`LINES`].
fn impacts(path: &Path) -> Result<ImpactStore, Box<dyn std::error::Error>> {
    let mut writer = StoreWriter::create_or_resume(path, spec(Content::Impacts, 3))?;
    let rows: [(&str, &[(&str, u32)]); 3] = [
        ("a\"b\n", &[("the", 3), ("##ing", 250), ("\\", 2), ("日", 1)]),
        ("none", &[]),
        ("é", &[("^", 1 << 24)]),
    ];
    for (id, terms) in rows {
        let mut text = String::new();
        terms.iter().for_each(|(term, impact)| push_impact(&mut text, term, *impact));
        writer.push_impacts(id, &text)?;
    }
    writer.finish()?;
    Ok(ImpactStore::open(path, &OpenOptions::default())?)
}

#[test]
fn texts_are_lines_of_terms_in_their_order() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = impacts(&directory.path().join("store"))?;
    for name in ["x.jsonl", "x.jsonl.gz", "x.jsonl.zst", "x.JSONL.XZ"] {
        let path = directory.path().join(name);
        let mut counts = Vec::new();
        let mut progress = |rows| {
            counts.push(rows);
            ControlFlow::Continue(())
        };
        let exported = export_impacts(&store, &path, &ExportOptions::default(), &mut progress)?;
        assert_eq!(counts, [3], "{name}");
        assert_eq!(exported.files, std::slice::from_ref(&path));
        assert_eq!(exported.bytes, fs::metadata(&path)?.len());
        assert_eq!(fs::read(&path)? == LINES.as_bytes(), name == "x.jsonl", "{name}");
        let mut lines = String::new();
        InputReader::open(&Input::File(path))?.read_to_string(&mut lines)?;
        assert_eq!(lines, LINES, "{name}");
    }
    Ok(())
}

#[test]
fn nothing_is_replaced_unasked_or_left_half() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = impacts(&directory.path().join("store"))?;
    let path = directory.path().join("x.jsonl");
    let write = |overwrite| {
        export_impacts(&store, &path, &ExportOptions { overwrite, widen: false }, &mut GO_ON.clone())
    };
    fs::write(&path, "old")?;
    assert!(matches!(error(write(false))?, ExchangeError::Exists(found) if found == path));
    let options = ExportOptions { overwrite: true, widen: false };
    let stop = &mut |_| ControlFlow::Break(());
    assert!(matches!(error(export_impacts(&store, &path, &options, stop))?, ExchangeError::Stopped));
    assert_eq!(fs::read(&path)?, b"old");
    write(true)?;
    assert_eq!(fs::read_to_string(&path)?, LINES);
    let refused = error(export_impacts(&store, &path.with_extension("bz2"), &options, &mut GO_ON.clone()))?;
    assert!(refused.remedy().is_some() && refused.to_string().contains(".bz2"), "{refused}");
    assert_eq!(fs::read_dir(directory.path())?.count(), 2, "a store and a file");
    Ok(())
}

#[test]
fn each_format_is_for_vectors_or_for_impacts() -> TestResult {
    let vectors = Content::Vectors(DType::F16);
    for format in ExportFormat::ALL {
        let [held, other] = match format {
            ExportFormat::Jsonl => [Content::Impacts, vectors],
            _ => [vectors, Content::Impacts],
        };
        format.check(held)?;
        let refused = error(format.check(other))?;
        assert!(refused.to_string().ends_with(&format!("is not exported as {format}")), "{refused}");
    }
    let remedies =
        [ExportFormat::Jsonl.check(vectors), ExportFormat::Npy.check(Content::Impacts)].map(|refused| {
            refused
                .err()
                .and_then(|error| error.remedy())
                .map(|remedy| remedy.to_string())
                .unwrap_or_default()
        });
    assert_eq!(
        remedies,
        ["export it with `format npy|parquet|faiss|faiss-idmap|pyserini`", "export it with `format jsonl`"]
    );

    let directory = tempfile::tempdir()?;
    let (path, output) = (directory.path().join("store"), directory.path().join("x.jsonl"));
    let mut writer = StoreWriter::create_or_resume(&path, spec(vectors, 1))?;
    writer.push("a", &[0.5; 7])?;
    writer.finish()?;
    let store = Store::open(&[path], &OpenOptions::default())?;
    let options = ExportOptions::default();
    let refused = error(export(&store, &output, ExportFormat::Jsonl, &options, &mut GO_ON.clone()))?;
    assert!(matches!(refused, ExchangeError::OtherContent { content, .. } if content == vectors));
    assert_eq!(fs::read_dir(directory.path())?.count(), 1, "only the store");
    Ok(())
}

#[test]
fn the_name_tells_the_format() {
    let named = |name: &str| ExportFormat::of_name(Path::new(name));
    for name in ["x.jsonl", "a.b/x.jsonl.gz", "X.JSONL.ZST", "x.jsonl.xz"] {
        assert_eq!(named(name), Some(ExportFormat::Jsonl), "{name}");
    }
    for name in ["x.gz", "x.npy.gz", "x.jsonl.bz2", "jsonl", "x.json"] {
        assert_eq!(named(name), None, "{name}");
    }
}
