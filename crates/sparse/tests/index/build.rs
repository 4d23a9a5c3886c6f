//! What is built, and that nothing but the collection decides it.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use toller_files::OpenOptions;
use toller_ir::{DocOrd, Explain};
use toller_sparse::{BuildProgress, FORMAT_VERSION, Lengths, SparseError, SparseIndex};
use toller_testing::files;

use crate::common::{Building, Outcome, PLAIN, build_texts, build_watched, index_of, random_texts};

#[test]
fn an_index_holds_what_the_texts_hold() -> Outcome {
    let texts = random_texts(3000, 50, 60, 1);
    let index = index_of(&texts, Building { doc_vectors: true, ..PLAIN })?;
    assert_eq!(index.doc_count(), texts.len());
    let mut lists: BTreeMap<&str, BTreeMap<u32, u32>> = BTreeMap::new();
    for (doc, text) in (0..).zip(&texts) {
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(index.length(DocOrd(doc), Lengths::Exact) as usize, words.len());
        assert_eq!(index.doc_id(DocOrd(doc)), format!("d{doc}"));
        for &word in &words {
            *lists.entry(word).or_default().entry(doc).or_default() += 1;
        }
        let mut counted: BTreeMap<&str, u32> = BTreeMap::new();
        words.iter().for_each(|word| *counted.entry(word).or_default() += 1);
        let vector = index.doc_vector(DocOrd(doc))?;
        let found: Vec<(&str, u32)> = vector.iter().map(|term| (term.term.as_str(), term.tf)).collect();
        assert_eq!(found, counted.into_iter().collect::<Vec<_>>());
    }
    let statistics = index.statistics();
    assert_eq!(statistics.terms as usize, lists.len());
    assert_eq!(statistics.postings as usize, lists.values().map(BTreeMap::len).sum::<usize>());
    assert_eq!(statistics.docs_with_terms as usize, texts.iter().filter(|text| !text.is_empty()).count());
    for (word, list) in lists {
        let term = index.term(word)?.ok_or("the term is there")?;
        assert_eq!(term.statistics().doc_freq as usize, list.len());
        assert_eq!(term.statistics().collection_freq, list.values().map(|&tf| u64::from(tf)).sum::<u64>());
        let mut found = BTreeMap::new();
        term.for_each_posting(|posting| {
            found.insert(posting.doc, posting.tf);
        })?;
        assert_eq!(found, list);
    }
    assert!(index.term("absent")?.is_none());
    Ok(())
}

#[test]
fn threads_and_memory_leave_no_trace() -> Outcome {
    let texts = random_texts(20_000, 3000, 60, 2);
    let mut first = None;
    for (threads, memory_bytes) in [(1, 1 << 30), (3, 1 << 20), (2, 100_000), (7, 1 << 22)] {
        let directory = tempfile::tempdir()?;
        let building = Building { threads, memory_bytes, doc_vectors: true, ..PLAIN };
        build_texts(directory.path(), &texts, building)?;
        let built = files(directory.path())?;
        assert_eq!(built.len(), 7, "{:?}", built.keys());
        assert!(
            first.get_or_insert_with(|| built.clone()) == &built,
            "{threads} threads, {memory_bytes} bytes"
        );
    }
    Ok(())
}

#[test]
fn an_index_that_is_there_is_kept_or_replaced() -> Outcome {
    let directory = tempfile::tempdir()?;
    let texts = random_texts(10, 5, 5, 3);
    let built = build_texts(directory.path(), &texts, PLAIN)?;
    let again = build_texts(directory.path(), &texts, PLAIN)?;
    assert_eq!((&again.manifest, again.duration.as_nanos()), (&built.manifest, 0));
    let others = random_texts(300, 5, 5, 4);
    let refused = build_texts(directory.path(), &others, PLAIN).err().ok_or("it is of another collection")?;
    assert!(refused.remedy().is_some_and(|remedy| remedy.to_string().contains("overwrite")), "{refused}");
    build_texts(directory.path(), &others, Building { overwrite: true, doc_vectors: true, ..PLAIN })?;
    assert_eq!(SparseIndex::open(directory.path(), &OpenOptions::default())?.doc_count(), 300);
    build_texts(directory.path(), &others, Building { overwrite: true, ..PLAIN })?;
    assert!(!directory.path().join("vectors.bin").exists());
    Ok(())
}

#[test]
fn an_index_is_replaced_when_all_of_the_new_one_is_written() -> Outcome {
    let directory = tempfile::tempdir()?;
    build_texts(directory.path(), &random_texts(10, 5, 5, 3), PLAIN)?;
    let before = files(directory.path())?;
    let (texts, stop) = (random_texts(3000, 50, 60, 1), AtomicBool::new(false));
    let replacing = Building { overwrite: true, doc_vectors: true, ..PLAIN };
    // The vectors are written last.
    let stopped = build_watched(directory.path(), &texts, replacing, &stop, |progress| {
        stop.store(matches!(progress, BuildProgress::Vectors(_)), Ordering::Relaxed);
    });
    assert!(matches!(stopped, Err(SparseError::Interrupted)));
    assert!(files(directory.path())? == before, "the index that was there is as it was");
    assert_eq!(SparseIndex::open(directory.path(), &OpenOptions::default())?.doc_count(), 10);
    Ok(())
}

#[test]
fn an_index_with_a_missing_file_is_not_complete() -> Outcome {
    let directory = tempfile::tempdir()?;
    let texts = random_texts(10, 5, 5, 3);
    build_texts(directory.path(), &texts, PLAIN)?;
    for name in ["terms.bin", "postings.bin", "lengths.bin", "ids.bin"] {
        let file = directory.path().join(name);
        let whole = fs::read(&file)?;
        fs::write(&file, &whole[..whole.len() - 1])?;
        let shorter = build_texts(directory.path(), &texts, PLAIN);
        assert!(matches!(shorter, Err(SparseError::Damaged { .. })), "{name} is shorter");
        fs::remove_file(&file)?;
        let missing = build_texts(directory.path(), &texts, PLAIN);
        assert!(matches!(missing, Err(SparseError::Damaged { .. })), "{name} is missing");
        fs::write(&file, &whole)?;
    }
    fs::remove_file(directory.path().join("ids.bin"))?;
    build_texts(directory.path(), &texts, Building { overwrite: true, ..PLAIN })?;
    SparseIndex::open(directory.path(), &OpenOptions::default())?;
    Ok(())
}

#[test]
fn an_index_of_a_former_version_says_so_and_can_be_replaced() -> Outcome {
    let directory = tempfile::tempdir()?;
    let (path, texts) = (directory.path(), random_texts(10, 5, 5, 3));
    build_texts(path, &texts, PLAIN)?;
    let manifest = fs::read_to_string(path.join("manifest.json"))?;
    let version = format!("\"format_version\": {FORMAT_VERSION}");
    let former = manifest.replace(&version, "\"format_version\": 2");
    assert_ne!(former, manifest);
    fs::write(path.join("manifest.json"), former)?;
    fs::rename(path.join("terms.bin"), path.join("terms.fst"))?;
    for error in
        [SparseIndex::open(path, &OpenOptions::default()).err(), build_texts(path, &texts, PLAIN).err()]
    {
        assert!(matches!(error, Some(SparseError::FormatVersion { found: 2, .. })), "{error:?}");
    }
    build_texts(path, &texts, Building { overwrite: true, ..PLAIN })?;
    assert!(!path.join("terms.fst").exists());
    assert_eq!(SparseIndex::open(path, &OpenOptions::default())?.doc_count(), 10);
    Ok(())
}

#[test]
fn empty_documents_count_as_documents_without_terms() -> Outcome {
    let index = index_of(&[String::new(), "a".to_owned(), " ".to_owned()], PLAIN)?;
    assert_eq!((index.doc_count(), index.statistics().docs_with_terms), (3, 1));
    let index = index_of(&[String::new()], Building { doc_vectors: true, ..PLAIN })?;
    assert_eq!((index.statistics().terms, index.doc_vector(DocOrd(0))?.len()), (0, 0));
    Ok(())
}
