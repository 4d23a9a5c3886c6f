//! What is written is read again, whatever the ids, the dimension, the dtype and the shard size.

use crate::common::{Change, TestResult, check_content, error, open, spec, write};
use half::{bf16, f16};
use proptest::prelude::*;
use toller_ir::{DocOrd, Explain};
use toller_store::{
    DType, ModelInfo, OpenOptions, Role, Store, StoreError, StoreSpec, StoreWriter, Vectors, VerifyProgress,
};

fn dtype() -> impl Strategy<Value = DType> {
    prop_oneof![Just(DType::F32), Just(DType::F16), Just(DType::BF16)]
}

fn rows(dim: usize) -> impl Strategy<Value = Vec<(String, Vec<f32>)>> {
    // Any text is an id, the empty one included; any magnitude that f16 holds.
    let id = proptest::collection::vec(any::<char>(), 0..12).prop_map(String::from_iter);
    let value = prop_oneof![-65000.0_f32..65000.0, -1.0_f32..1.0, -1e-6_f32..1e-6, Just(-0.0)];
    proptest::collection::vec((id, proptest::collection::vec(value, dim)), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn round_trip(
        (dim, rows) in (1_usize..70).prop_flat_map(|dim| (Just(dim), rows(dim))),
        dtype in dtype(),
        rows_per_shard in 1_usize..50,
    ) {
        let directory = tempfile::tempdir()?;
        let spec = StoreSpec { dim, content: dtype.into(), rows_per_shard, ..spec(rows.len() as u64) };
        let mut writer = StoreWriter::create_or_resume(directory.path(), spec.clone())?;
        let (ids, vectors): (Vec<String>, Vec<Vec<f32>>) = rows.into_iter().unzip();
        ids.iter().zip(&vectors).try_for_each(|(id, vector)| writer.push(id, vector))?;
        let manifest = writer.finish()?;
        prop_assert_eq!(manifest.count, ids.len() as u64);

        let store = open(directory.path())?;
        prop_assert_eq!(&store.manifest().spec, &spec);
        prop_assert_eq!((store.count(), store.dim(), store.dtype()), (ids.len(), dim, dtype));
        prop_assert_eq!(store.shards().len(), ids.len().div_ceil(rows_per_shard));
        for (row, id) in ids.iter().enumerate() {
            prop_assert_eq!(store.id(DocOrd(row as u32)), id);
        }
        for shard in store.shards() {
            let first = shard.first().index();
            let expected = vectors[first..first + shard.rows()].concat();
            // Bits, so that -0.0 is not 0.0.
            let (address, equal) = match shard.embeddings() {
                Vectors::F32(found) => (found.as_ptr().addr(), bits(found, f32::to_bits) == bits(&expected, f32::to_bits)),
                Vectors::F16(found) => (found.as_ptr().addr(), bits(found, f16::to_bits) == bits(&expected, |x| f16::from_f32(x).to_bits())),
                Vectors::BF16(found) => (found.as_ptr().addr(), bits(found, bf16::to_bits) == bits(&expected, |x| bf16::from_f32(x).to_bits())),
            };
            prop_assert!(equal);
            prop_assert_eq!(address % 64, 0);
        }
    }
}

fn bits<T: Copy, B>(values: &[T], to_bits: impl Fn(T) -> B) -> Vec<B> {
    values.iter().map(|&value| to_bits(value)).collect()
}

#[test]
fn several_stores_are_one_sequence() -> TestResult {
    let directory = tempfile::tempdir()?;
    let (whole, empty) = (directory.path().join("whole"), directory.path().join("empty"));
    write(&whole, spec(8))?;
    write(&empty, spec(0))?;
    // The second has other ids, another name for the model, other shards.
    let other = directory.path().join("other");
    let mut other_spec = StoreSpec { rows_per_shard: 2, ..spec(5) };
    other_spec.model.name = "./models/tiny".to_owned();
    let mut writer = StoreWriter::create_or_resume(&other, other_spec)?;
    for row in 0..5 {
        writer.push(&format!("other-{row}"), &[row as f32; 4])?;
    }
    writer.finish()?;

    let store = Store::open(&[empty, whole.clone(), other.clone()], &OpenOptions::default())?;
    assert_eq!((store.count(), store.manifests().len()), (13, 3));
    assert_eq!(store.shards().iter().map(|shard| shard.first().0).collect::<Vec<_>>(), [0, 3, 6, 8, 10, 12]);
    assert_eq!(store.id(DocOrd(7)), crate::common::id(7));
    assert_eq!(store.id(DocOrd(8)), "other-0");
    let (shard, row) = store.locate(DocOrd(11));
    assert_eq!((shard.first().0, row), (10, 1));
    assert_eq!(shard.embeddings(), Vectors::F32(&[2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0]));

    let twice = error(Store::open(&[other, whole.clone(), whole.clone()], &OpenOptions::default()))?;
    let StoreError::DuplicateId { id, first, second } = twice else { return Err(twice.into()) };
    assert!((0..8).any(|row| crate::common::id(row) == id));
    assert_eq!(first, second);
    assert!(first.starts_with(whole));
    Ok(())
}

#[test]
fn stores_that_cannot_be_compared_are_not_searched_as_one() -> TestResult {
    let directory = tempfile::tempdir()?;
    let first = directory.path().join("first");
    write(&first, spec(4))?;
    let changes: [Change; 5] = [
        ("model.fingerprint", |spec| spec.model.fingerprint.push('x')),
        ("dim", |spec| spec.dim = 5),
        ("dtype", |spec| spec.content = DType::F16.into()),
        ("encoding.prompt", |spec| spec.encoding.prompt.clear()),
        ("encoding.normalized", |spec| spec.encoding.normalized = false),
    ];
    for (field, change) in changes {
        let second = directory.path().join(field);
        let mut other = spec(4);
        change(&mut other);
        write(&second, other)?;
        let found = error(Store::open(&[first.clone(), second.clone()], &OpenOptions::default()))?;
        let StoreError::Disagreement { differences, .. } = &found else { return Err(found.into()) };
        assert_eq!(differences.iter().map(|difference| difference.field).collect::<Vec<_>>(), [field]);
        for part in [first.display().to_string(), second.display().to_string(), field.to_owned()] {
            assert!(found.to_string().contains(&part), "{found}");
        }
    }
    Ok(())
}

#[test]
fn a_store_knows_its_model() -> TestResult {
    let directory = tempfile::tempdir()?;
    write(directory.path(), spec(4))?;
    let store = open(directory.path())?;
    check_content(&store);
    store.check_model(&ModelInfo::new("the same by another name", "f00d"))?;
    let other = ModelInfo::new("huge", "beef");
    let found = error(store.check_model(&other))?;
    assert_eq!(
        found.to_string(),
        "the store was encoded with another model: with tiny (fingerprint f00d), not with huge (fingerprint beef)"
    );
    assert!(found.remedy().is_some_and(|remedy| remedy.to_string().contains("model tiny")));
    // Only the model of queries is another.
    let pair = ModelInfo { query_model: Some("huge".to_owned()), ..ModelInfo::new("tiny", "beef") };
    let remedy =
        error(store.check_model(&pair))?.remedy().map(|remedy| remedy.to_string()).unwrap_or_default();
    assert!(remedy.contains("model tiny") && remedy.contains("without query_model"), "{remedy}");
    Ok(())
}

/// If only the question encoder was trained, it searches the passages of the model before. Vectors of queries
/// belong to one model only.
#[test]
fn models_that_share_the_encoder_of_passages_share_a_store() -> TestResult {
    let model = |fingerprint: &str, passages: Option<&str>| ModelInfo {
        passage_encoder: passages.map(str::to_owned),
        ..ModelInfo::new(fingerprint, fingerprint)
    };
    for (role, stored, given, fits) in [
        (Role::Passage, Some("p"), Some("p"), true),
        (Role::Passage, Some("p"), Some("q"), false),
        (Role::Passage, Some("p"), None, false),
        (Role::Passage, None, None, false),
        (Role::Query, Some("p"), Some("p"), false),
    ] {
        let directory = tempfile::tempdir()?;
        let mut spec = spec(4);
        (spec.model, spec.encoding.role) = (model("before", stored), role);
        write(directory.path(), spec)?;
        let store = open(directory.path())?;
        store.check_model(&model("before", None))?;
        assert_eq!(store.check_model(&model("after", given)).is_ok(), fits, "{role} {stored:?} {given:?}");
    }
    Ok(())
}

#[test]
fn bad_rows_are_named_and_left_out() -> TestResult {
    let directory = tempfile::tempdir()?;
    let mut writer =
        StoreWriter::create_or_resume(directory.path(), StoreSpec { content: DType::F16.into(), ..spec(2) })?;
    let bad: [(&str, &[f32], &str); 4] = [
        ("short", &[1.0; 3], "the embedding of \"short\" has 3 numbers, but the store has dimension 4"),
        ("nan", &[0.0, f32::NAN, 0.0, 0.0], "the embedding of \"nan\" is not finite: number 1 is NaN"),
        (
            "inf",
            &[0.0, 0.0, 0.0, f32::NEG_INFINITY],
            "the embedding of \"inf\" is not finite: number 3 is -inf",
        ),
        ("big", &[0.0, 0.0, 1e5, 0.0], "the embedding of \"big\" does not fit in f16: number 2 is 100000"),
    ];
    for (id, values, message) in bad {
        assert_eq!(error(writer.push(id, values))?.to_string(), message);
        assert_eq!(writer.rows_buffered(), 0);
    }
    writer.push("good", &[1.0; 4])?;
    writer.push("fine", &[2.0; 4])?;
    assert!(matches!(
        writer.push("third", &[3.0; 4]),
        Err(StoreError::RowCount { expected: 2, found: 3, .. })
    ));
    writer.finish()?;
    let store = open(directory.path())?;
    assert_eq!([store.id(DocOrd(0)), store.id(DocOrd(1))], ["good", "fine"]);
    Ok(())
}

#[test]
fn verification_reports_every_byte() -> TestResult {
    let directory = tempfile::tempdir()?;
    write(directory.path(), spec(20))?;
    let reports = std::sync::Mutex::new(Vec::new());
    let progress = |progress: VerifyProgress| {
        if let Ok(mut reports) = reports.lock() {
            reports.push((progress.bytes_done, progress.bytes_total));
        }
    };
    let store = Store::open(
        &[directory.path().to_owned()],
        &OpenOptions { verify: true, progress: Some(&progress) },
    )?;
    let total: u64 = store.manifest().shards.iter().map(|shard| shard.bytes).sum();
    let reports = reports.lock().map_err(|error| error.to_string())?;
    assert_eq!(reports.len(), 7);
    assert_eq!(reports.iter().max(), Some(&(total, total)));
    Ok(())
}
