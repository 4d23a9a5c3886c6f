//! An index that is not as it was written is refused; one that is opened unverified never panics.

use std::fs;
use std::path::Path;

use toller_analysis::Analyzer;
use toller_files::OpenOptions;
use toller_ir::{DocOrd, Explain};
use toller_sparse::{Lengths, Scoring, SparseError, SparseIndex, SparseQuery};

use crate::common::{Building, Outcome, PLAIN, build_texts, random_texts};

const FILES: [&str; 6] =
    ["manifest.json", "terms.bin", "postings.bin", "lengths.bin", "ids.bin", "vectors.bin"];

const UNVERIFIED: OpenOptions<'static> = OpenOptions { verify: false, progress: None };

/// Uses everything that an index has.
fn use_all(index: &SparseIndex) {
    for k in [3, 500] {
        let words = (0..40).map(|word| (format!("w{word}"), 1.0));
        let query = SparseQuery::weighted(words).unwrap_or_default();
        let _ = index.search(&query, &Scoring::default(), k);
        let _ = index.search(&query, &Scoring { lengths: Lengths::Exact, ..Scoring::default() }, k);
    }
    for doc in 0..index.doc_count() as u32 {
        let _ = (index.doc_id(DocOrd(doc)).len(), index.doc_vector(DocOrd(doc)).is_ok());
    }
}

fn expect_refusal(path: &Path, what: &str) -> Outcome {
    let verified = SparseIndex::open(path, &OpenOptions::default())
        .and_then(|index| index.verify_doc_vectors(&OpenOptions::default()));
    let error = verified.err().ok_or_else(|| what.to_owned())?;
    assert!(error.remedy().is_some(), "{what}: {error}");
    if let Ok(index) = SparseIndex::open(path, &UNVERIFIED) {
        use_all(&index);
    }
    Ok(())
}

#[test]
fn flipped_bytes_and_truncated_files_are_found() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = directory.path();
    build_texts(path, &random_texts(600, 60, 40, 9), Building { doc_vectors: true, ..PLAIN })?;
    for name in FILES {
        let file = path.join(name);
        let whole = fs::read(&file)?;
        let step = (whole.len() / 150).max(1);
        for place in (0..whole.len()).step_by(step).chain([whole.len() - 1]) {
            for flip in [1, 0xff] {
                let mut damaged = whole.clone();
                damaged[place] ^= flip;
                fs::write(&file, &damaged)?;
                expect_refusal(path, &format!("{name}, byte {place}"))?;
            }
        }
        for length in [0, 1, whole.len() / 2, whole.len() - 1] {
            fs::write(&file, &whole[..length])?;
            expect_refusal(path, &format!("{name} of {length} bytes"))?;
        }
        fs::write(&file, [whole.as_slice(), b"x"].concat())?;
        expect_refusal(path, &format!("{name} with a byte more"))?;
        fs::remove_file(&file)?;
        expect_refusal(path, &format!("{name} missing"))?;
        fs::write(&file, &whole)?;
    }
    use_all(&SparseIndex::open(path, &OpenOptions::default())?);
    Ok(())
}

#[test]
fn document_vectors_are_verified_when_they_are_needed() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = directory.path();
    build_texts(path, &random_texts(600, 60, 40, 9), Building { doc_vectors: true, ..PLAIN })?;
    let file = path.join("vectors.bin");
    let whole = fs::read(&file)?;
    let mut damaged = whole.clone();
    damaged[7] ^= 1;
    fs::write(&file, &damaged)?;
    let index = SparseIndex::open(path, &OpenOptions::default())?;
    let found = index.verify_doc_vectors(&OpenOptions::default());
    assert!(matches!(found, Err(SparseError::Damaged { path, .. }) if path == file));
    index.verify_doc_vectors(&UNVERIFIED)?;
    fs::write(&file, &whole[1..])?;
    let shorter = SparseIndex::open(path, &UNVERIFIED);
    assert!(matches!(shorter, Err(SparseError::Damaged { path, .. }) if path == file));
    build_texts(path, &random_texts(9, 9, 9, 9), Building { overwrite: true, ..PLAIN })?;
    Ok(SparseIndex::open(path, &UNVERIFIED)?.verify_doc_vectors(&OpenOptions::default())?)
}

#[test]
fn another_analyzer_is_refused() -> Outcome {
    let directory = tempfile::tempdir()?;
    build_texts(directory.path(), &random_texts(5, 5, 5, 1), PLAIN)?;
    let index = SparseIndex::open(directory.path(), &OpenOptions::default())?;
    index.check_analyzer(&Analyzer::by_name(index.analyzer_name())?)?;
    let error = index.check_analyzer(&Analyzer::by_name("en")?).err().ok_or("another analyzer")?;
    assert!(error.to_string().contains("whitespace") && error.remedy().is_some(), "{error}");
    // The same name is not enough: the analyzer must make the same terms.
    struct Shouting;
    impl toller_analysis::Tokenize for Shouting {
        fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) {
            text.split_whitespace().for_each(|word| each(&word.to_uppercase()));
        }
    }
    let other = Analyzer::custom("whitespace", std::sync::Arc::new(Shouting));
    assert!(matches!(index.check_analyzer(&other), Err(SparseError::WrongAnalyzer { .. })));
    Ok(())
}

#[test]
fn what_is_no_index_is_left_alone() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = directory.path();
    assert!(matches!(SparseIndex::open(path, &UNVERIFIED), Err(SparseError::NotAnIndex { .. })));
    fs::write(path.join("manifest.json"), "{\"format\": \"toller-store\", \"format_version\": 1}")?;
    assert!(matches!(SparseIndex::open(path, &UNVERIFIED), Err(SparseError::OtherFormat { .. })));
    let texts = random_texts(5, 5, 5, 1);
    let overwrite = Building { overwrite: true, ..PLAIN };
    assert!(matches!(build_texts(path, &texts, overwrite), Err(SparseError::DirectoryInUse { .. })));
    fs::remove_file(path.join("manifest.json"))?;
    fs::write(path.join("thesis.tex"), "")?;
    assert!(matches!(build_texts(path, &texts, overwrite), Err(SparseError::DirectoryInUse { .. })));
    fs::remove_file(path.join("thesis.tex"))?;
    // What a killed build leaves.
    for name in ["postings.bin", ".terms.bin.9bTw1C.tmp", ".manifest.json.Zk30xQ.tmp", ".lock"] {
        fs::write(path.join(name), "half")?;
    }
    build_texts(path, &texts, PLAIN)?;
    assert!(toller_files::names_in(path)?.iter().all(|name| !name.ends_with(".tmp")));
    use_all(&SparseIndex::open(path, &OpenOptions::default())?);
    Ok(())
}
