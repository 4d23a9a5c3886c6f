//! What is exported comes back as it was; what cannot be exported is an error.

mod common;

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use common::{TestResult, error, fixture, import_to, read, rows_of};
use half::{bf16, f16};
use proptest::prelude::*;
use toller_exchange::{
    ExchangeError, ExportFormat, ExportOptions, Precision, Source, SourceOptions, export, store_spec, survey,
};
use toller_ir::Explain;
use toller_store::{DType, ModelInfo, OpenOptions, Role, Store, StoreWriter};

const GO_ON: fn(u64) -> ControlFlow<()> = |_| ControlFlow::Continue(());

/// A store of these rows.
fn store(
    path: &Path,
    ids: &[String],
    vectors: &[Vec<f32>],
    dtype: DType,
) -> Result<Store, Box<dyn std::error::Error>> {
    let spec = toller_store::StoreSpec {
        model: ModelInfo::new("m", "m"),
        encoding: toller_store::Encoding::unknown(Role::Passage, false),
        dim: vectors.first().map_or(1, Vec::len),
        content: dtype.into(),
        rows_per_shard: 4,
        source: toller_store::Source { fingerprint: "s".to_owned(), passages: ids.len() as u64 },
        part: None,
    };
    let mut writer = StoreWriter::create_or_resume(path, spec)?;
    for (id, vector) in ids.iter().zip(vectors) {
        writer.push(id, vector)?;
    }
    writer.finish()?;
    Ok(Store::open(&[path.to_owned()], &OpenOptions::default())?)
}

fn output(directory: &Path, format: ExportFormat) -> std::path::PathBuf {
    directory.join(match format {
        ExportFormat::Npy => "out.npy",
        ExportFormat::Parquet => "out.parquet",
        ExportFormat::Faiss => "flat.faiss",
        ExportFormat::FaissIdMap => "out.index",
        ExportFormat::Pyserini => "out",
        ExportFormat::Jsonl => "out.jsonl",
    })
}

/// Exports, imports, and compares ids and the bits of the vectors.
fn there_and_back(ids: &[String], vectors: &[Vec<f32>], dtype: DType, widen: bool) -> TestResult {
    let directory = tempfile::tempdir()?;
    let stored = store(&directory.path().join("store"), ids, vectors, dtype)?;
    let (ids, rounded) = rows_of(&stored);
    for format in ExportFormat::holding(dtype.into()) {
        let path = output(directory.path(), format);
        let options = ExportOptions { widen, overwrite: false };
        let exported = export(&stored, &path, format, &options, &mut GO_ON.clone())?;
        assert_eq!(
            exported.bytes,
            exported.files.iter().map(|file| fs::read(file).map_or(0, |b| b.len() as u64)).sum::<u64>()
        );
        let source = Source::open(&[path], &SourceOptions::default())?;
        let half =
            dtype == DType::F16 && !widen && matches!(format, ExportFormat::Npy | ExportFormat::Parquet);
        assert_eq!(source.precision(), if half { Precision::F16 } else { Precision::F32 }, "{format}");
        let (back_ids, back) = read(&source)?;
        assert_eq!(back_ids, ids, "{format}");
        let bits =
            |rows: &[Vec<f32>]| rows.iter().flatten().map(|number| number.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back), bits(&rounded), "{format}");
        let again = import_to(&directory.path().join(format!("back-{format}")), &source, dtype)?;
        assert_eq!(rows_of(&again), (ids.clone(), rounded.clone()), "{format}");
    }
    Ok(())
}

/// A finite number of any size that fits in f16 and bf16.
fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => -2.0_f32..2.0,
        1 => any::<f32>().prop_filter("fits", |n| {
            n.is_finite() && f16::from_f32(*n).is_finite() && bf16::from_f32(*n).is_finite()
        }),
        1 => Just(-0.0),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_format_dtype_and_size(
        (rows, dim) in (1_usize..14, 1_usize..40),
        numbers in proptest::collection::vec(number(), 13 * 39),
        dtype in prop_oneof![Just(DType::F32), Just(DType::F16), Just(DType::BF16)],
        widen in any::<bool>(),
        first in -5_i64..i64::MAX - 20,
    ) {
        let ids: Vec<String> = (0..rows as i64).map(|row| (first + row).to_string()).collect();
        let vectors: Vec<Vec<f32>> = numbers.chunks(dim).take(rows).map(<[f32]>::to_vec).collect();
        prop_assume!(vectors.last().is_some_and(|last| last.len() == dim) && vectors.len() == rows);
        there_and_back(&ids, &vectors, dtype, widen).map_err(|error| TestCaseError::fail(error.to_string()))?;
    }
}

#[test]
fn ids_that_a_format_cannot_hold_are_refused_before_anything_is_written() -> TestResult {
    let directory = tempfile::tempdir()?;
    let vectors = vec![vec![1.0, 2.0]; 2];
    for (id, refusing) in [
        (
            "line\nbreak",
            &[ExportFormat::Npy, ExportFormat::Faiss, ExportFormat::FaissIdMap, ExportFormat::Pyserini][..],
        ),
        ("d1", &[ExportFormat::FaissIdMap]),
        ("007", &[ExportFormat::FaissIdMap]),
        ("9223372036854775808", &[ExportFormat::FaissIdMap]),
        (" é\t🐕", &[ExportFormat::FaissIdMap]),
        ("é 🐕", &[ExportFormat::FaissIdMap]),
    ] {
        let folder = tempfile::tempdir_in(directory.path())?;
        let ids = [id.to_owned(), "2".to_owned()];
        let stored = store(&folder.path().join("store"), &ids, &vectors, DType::F32)?;
        for format in ExportFormat::holding(DType::F32.into()) {
            let path = output(folder.path(), format);
            let outcome = export(&stored, &path, format, &ExportOptions::default(), &mut GO_ON.clone());
            if refusing.contains(&format) {
                let refused = error(outcome)?;
                assert!(
                    matches!(&refused, ExchangeError::UnwritableId { id: found, .. } if found == id),
                    "{refused}"
                );
                assert!(!path.is_file() && !path.join("index").exists(), "{format} {id:?}");
            } else {
                outcome?;
                let source = Source::open(&[path], &SourceOptions::default())?;
                match toller_corpus::id_flaw("document", id) {
                    None => assert_eq!(read(&source)?, (ids.to_vec(), vectors.clone()), "{format}"),
                    Some(flaw) => assert!(error(read(&source))?.to_string().contains(flaw), "{format}"),
                }
            }
        }
    }
    Ok(())
}

#[test]
fn nothing_is_replaced_unless_asked_for() -> TestResult {
    let directory = tempfile::tempdir()?;
    let stored = store(&directory.path().join("store"), &["1".to_owned()], &[vec![1.0]], DType::F32)?;
    for format in ExportFormat::holding(DType::F32.into()) {
        let path = output(directory.path(), format);
        let write = |overwrite| {
            export(&stored, &path, format, &ExportOptions { overwrite, widen: false }, &mut GO_ON.clone())
        };
        let first = write(false)?;
        let bytes: Vec<_> = first.files.iter().map(fs::read).collect::<Result<_, _>>()?;
        assert!(matches!(error(write(false))?, ExchangeError::Exists { .. }), "{format}");
        assert_eq!(write(true)?, first);
        assert_eq!(first.files.iter().map(fs::read).collect::<Result<Vec<_>, _>>()?, bytes);
    }
    Ok(())
}

#[test]
fn an_export_that_fails_leaves_the_pair_that_was_there() -> TestResult {
    let directory = tempfile::tempdir()?;
    let named = |name: &str, id: &str| {
        store(&directory.path().join(name), &[id.to_owned()], &[vec![1.0, 2.0]], DType::F32)
    };
    let (old, new) = (named("old", "a")?, named("new", "b")?);
    let options = ExportOptions { widen: false, overwrite: true };
    for format in [ExportFormat::Npy, ExportFormat::Faiss, ExportFormat::Pyserini] {
        let path = output(directory.path(), format);
        let files = export(&old, &path, format, &options, &mut GO_ON.clone())?.files;
        let before: Vec<_> = files.iter().map(fs::read).collect::<Result<_, _>>()?;
        let stop = &mut |_| ControlFlow::Break(());
        assert!(matches!(error(export(&new, &path, format, &options, stop))?, ExchangeError::Stopped));
        assert_eq!(files.iter().map(fs::read).collect::<Result<Vec<_>, _>>()?, before, "{format}");
        export(&new, &path, format, &options, &mut GO_ON.clone())?;
        assert_eq!(read(&Source::open(&[path], &SourceOptions::default())?)?.0, ["b"]);
    }
    let names = fs::read_dir(directory.path())?.map(|entry| Ok(entry?.file_name()));
    let names: Vec<_> = names.collect::<Result<_, std::io::Error>>()?;
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{names:?}");
    Ok(())
}

#[test]
fn two_formats_share_a_file_of_ids_if_the_ids_are_the_same() -> TestResult {
    let directory = tempfile::tempdir()?;
    let named = |name: &str, id: &str| {
        store(&directory.path().join(name), &[id.to_owned()], &[vec![1.0, 2.0]], DType::F32)
    };
    let (first, second) = (named("first", "a")?, named("second", "b")?);
    let (faiss, npy) = (directory.path().join("x.faiss"), directory.path().join("x.npy"));
    let write = |store, path: &Path, format, overwrite| {
        export(store, path, format, &ExportOptions { overwrite, widen: false }, &mut GO_ON.clone())
    };
    write(&first, &faiss, ExportFormat::Faiss, false)?;
    let refused = error(write(&second, &npy, ExportFormat::Npy, false))?;
    assert!(matches!(&refused, ExchangeError::Exists(ids) if ids.ends_with("x.ids.txt")), "{refused}");
    let refused = error(write(&second, &npy, ExportFormat::Npy, true))?;
    assert!(matches!(&refused, ExchangeError::IdsInUse { vectors, .. } if *vectors == faiss), "{refused}");
    assert!(refused.remedy().is_some() && !npy.exists());
    write(&first, &npy, ExportFormat::Npy, false)?;
    // Another export replaces the ids that are to stay.
    let ids = directory.path().join("x.ids.txt");
    let during = &mut |_| {
        std::fs::write(&ids, "b\n").ok();
        ControlFlow::Continue(())
    };
    let options = ExportOptions { overwrite: true, widen: false };
    let refused = error(export(&first, &npy, ExportFormat::Npy, &options, during))?;
    assert!(matches!(&refused, ExchangeError::IdsReplaced(path) if *path == ids), "{refused}");
    std::fs::write(&ids, "a\n")?;
    for path in [faiss, npy] {
        assert_eq!(read(&Source::open(&[path], &SourceOptions::default())?)?.0, ["a"]);
    }
    Ok(())
}

#[test]
fn a_stopped_export_leaves_no_vectors() -> TestResult {
    let directory = tempfile::tempdir()?;
    let ids: Vec<String> = (0..9).map(|id| id.to_string()).collect();
    let stored = store(&directory.path().join("store"), &ids, &vec![vec![0.5; 3]; 9], DType::F32)?;
    for format in ExportFormat::holding(DType::F32.into()) {
        let path = output(directory.path(), format);
        let stop = &mut |_| ControlFlow::Break(());
        let refused = error(export(&stored, &path, format, &ExportOptions::default(), stop))?;
        assert!(matches!(refused, ExchangeError::Stopped));
        assert!(!path.is_file() && !path.join("index").exists(), "{format}");
    }
    Ok(())
}

#[test]
fn a_format_leaves_no_trace_in_a_fingerprint() -> TestResult {
    let options = SourceOptions::default();
    let print = |name: &str| -> Result<String, ExchangeError> {
        let source = Source::open(&[fixture(name)], &options)?;
        Ok(survey(&source, &mut GO_ON.clone())?.fingerprint)
    };
    let first = print("f4.npy")?;
    for name in ["pyserini", "list-f4.parquet", "list-f2.parquet", "tevatron-4.pkl", "dpr.pkl"] {
        assert_eq!(print(name)?, first, "{name}");
    }
    assert_ne!(print("id-map.faiss")?, first);
    Ok(())
}

#[test]
fn an_imported_store_does_not_know_its_model() -> TestResult {
    let directory = tempfile::tempdir()?;
    let source = Source::open(&[fixture("dpr.pkl")], &SourceOptions::default())?;
    let surveyed = survey(&source, &mut GO_ON.clone())?;
    assert!(!surveyed.normalized);
    let spec = store_spec(&source, &surveyed, Role::Query, DType::F32);
    assert!(!spec.model.is_known());
    let stored = import_to(&directory.path().join("store"), &source, DType::F16)?;
    let other = ModelInfo::new("m", "m");
    let refused = error(stored.check_model(&other))?;
    assert!(refused.remedy().is_some_and(|remedy| remedy.to_string().contains("assume_model")), "{refused}");
    stored.check_model(&spec.model)?;
    Ok(())
}

#[test]
fn numbers_that_are_not_finite_are_reported_with_the_id() -> TestResult {
    let directory = tempfile::tempdir()?;
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let path = directory.path().join("bad.npy");
        let mut bytes = fs::read(fixture("f4.npy"))?;
        let place = bytes.len() - 4 * 7;
        bytes[place..place + 4].copy_from_slice(&value.to_le_bytes());
        fs::write(&path, bytes)?;
        fs::copy(fixture("f4.ids.txt"), directory.path().join("bad.ids.txt"))?;
        let source = Source::open(&[path], &SourceOptions::default())?;
        let refused = error(survey(&source, &mut GO_ON.clone()))?;
        assert!(
            matches!(&refused, ExchangeError::NotFinite { id, row: 6, column: 3, .. } if id == "d5"),
            "{refused}"
        );
    }
    Ok(())
}
