//! The partial runs of a search make the run of one machine, and nothing else.

use std::borrow::Cow;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use tempfile::TempDir;
use toller_corpus::TrecRunWriter;
use toller_files::Checksum;
use toller_ir::{DocOrd, Explain, Hit, Query, Ranking, SearchError, SearchRequest, SearchResponse, Searcher};
use toller_shares::{Header, MergeError, PartialRunError, PartialRunWriter, is_partial_run, merge};
use toller_store::Part;

type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// Scores of every document for every query.
struct Scores(Vec<Vec<f32>>);

impl Searcher for Scores {
    fn search(&self, request: &SearchRequest<'_>) -> std::result::Result<SearchResponse, SearchError> {
        let all = 0..self.doc_count() as u64;
        Ok(SearchResponse { rankings: self.rankings(&all, request.k), ..SearchResponse::default() })
    }

    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        format!("dé{}", doc.0).into()
    }

    fn doc_count(&self) -> usize {
        self.0.first().map_or(0, Vec::len)
    }
}

impl Scores {
    fn rankings(&self, rows: &std::ops::Range<u64>, k: usize) -> Vec<Ranking> {
        let of_query = |scores: &Vec<f32>| {
            let mut hits: Vec<Hit> =
                rows.clone().map(|row| Hit::new(DocOrd(row as u32), scores[row as usize])).collect();
            hits.sort_unstable();
            hits.truncate(k);
            Ranking { hits }
        };
        self.0.iter().map(of_query).collect()
    }

    fn queries(&self) -> Vec<Query> {
        (0..self.0.len()).map(|number| Query { id: format!("q{number}"), ..Query::default() }).collect()
    }

    fn header(&self, index: u32, of: u32, k: usize) -> Header {
        let (queries, documents) = (self.0.len() as u64, self.doc_count() as u64);
        Header { index, of, k: k as u64, queries, documents, stores: Checksum::of(b"store") }
    }

    /// Writes the partial run of a share.
    fn part(&self, header: &Header, identity: &[u8]) -> Result<Vec<u8>> {
        let rows = Part::new(header.index, header.of, header.documents)?.rows(header.documents);
        let mut writer = PartialRunWriter::new(Vec::new(), "part", header)?;
        let (queries, rankings) = (self.queries(), self.rankings(&rows, header.k as usize));
        writer.write_rankings(&queries, &vec![Checksum::of(identity); queries.len()], &rankings, self)?;
        Ok(writer.finish()?)
    }

    /// The run of one machine.
    fn run(&self, k: usize) -> Result<Vec<u8>> {
        let mut writer = TrecRunWriter::new(Vec::new(), "run", "tag")?;
        writer.write_rankings(&self.queries(), &self.rankings(&(0..self.doc_count() as u64), k), self)?;
        Ok(writer.finish()?)
    }
}

fn merged(paths: &[PathBuf]) -> std::result::Result<Vec<u8>, MergeError> {
    let mut writer = TrecRunWriter::new(Vec::new(), "run", "tag")?;
    merge(paths, &mut writer, &AtomicBool::new(false))?;
    Ok(writer.finish()?)
}

/// Three parts of a small search.
fn three_parts() -> Result<(TempDir, Scores, Vec<PathBuf>)> {
    let folder = tempfile::tempdir()?;
    let scores = Scores(vec![vec![1.0, 3.0, 2.0, 3.0, 0.5], vec![0.0; 5]]);
    let mut paths = Vec::new();
    for index in 1..=3 {
        let path = folder.path().join(format!("part-{index}"));
        fs::write(&path, scores.part(&scores.header(index, 3, 4), b"vector")?)?;
        paths.push(path);
    }
    Ok((folder, scores, paths))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Few different scores, so that there are many ties.
    #[test]
    fn any_division_makes_the_run_of_one_machine(
        (documents, scores) in (0_usize..40).prop_flat_map(|documents| {
            let score = prop_oneof![Just(-0.0_f32), Just(0.0), Just(1.5), Just(f32::MIN_POSITIVE), -1.0_f32..1.0];
            (Just(documents), proptest::collection::vec(proptest::collection::vec(score, documents), 0..5))
        }),
        of in 1_u32..9,
        k in 1_usize..50,
    ) {
        let folder = tempfile::tempdir()?;
        let scores = Scores(scores);
        let mut paths = Vec::new();
        for index in (1..=of).rev() {
            let header = Header { documents: documents as u64, ..scores.header(index, of, k) };
            let header = if scores.0.is_empty() { Header { documents: 0, ..header } } else { header };
            let path = folder.path().join(index.to_string());
            fs::write(&path, scores.part(&header, b"vector").map_err(|error| TestCaseError::fail(error.to_string()))?)?;
            paths.push(path);
        }
        let expected = scores.run(k).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let found = merged(&paths).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(&expected));
    }
}

#[test]
fn missing_doubled_and_foreign_parts_are_errors() -> Result {
    let (folder, scores, paths) = three_parts()?;
    assert_eq!(merged(&paths)?, scores.run(4)?);
    let error = merged(&paths[1..2]).err().ok_or("two are missing")?;
    assert_eq!(error.to_string(), "2 of 3 shards are missing: 1, 3");
    assert!(error.remedy().is_some());
    let again = [paths.clone(), vec![paths[1].clone()]].concat();
    let error = merged(&again).err().ok_or("one is doubled")?;
    assert!(matches!(error, MergeError::Doubled { index: 2, .. }) && error.remedy().is_some(), "{error}");

    let other = folder.path().join("other");
    let header = scores.header(3, 3, 4);
    let foreign: [(&str, Header, &[u8]); 6] = [
        ("k: 4, and 3", Header { k: 3, ..header.clone() }, b"vector"),
        ("the stores: ", Header { stores: Checksum::of(b"other"), ..header.clone() }, b"vector"),
        ("the number of shards: 3, and 4", Header { of: 4, ..header.clone() }, b"vector"),
        ("the number of queries: 2, and 1", Header { queries: 1, ..header.clone() }, b"vector"),
        ("the number of documents: 5, and 4", Header { documents: 4, ..header.clone() }, b"vector"),
        ("query \"q0\" has another vector", header, b"other vector"),
    ];
    for (what, header, identity) in foreign {
        fs::write(&other, scores.part(&header, identity)?)?;
        let error = merged(&[paths[0].clone(), paths[1].clone(), other.clone()]).err().ok_or(what)?;
        assert!(matches!(error, MergeError::Foreign { .. }), "{error}");
        assert!(error.to_string().contains(what) && error.remedy().is_some(), "{error}");
    }
    assert!(matches!(merged(&[]), Err(MergeError::Missing { .. })));
    Ok(())
}

#[test]
fn every_byte_of_a_part_is_guarded() -> Result {
    let (_folder, _, paths) = three_parts()?;
    let whole = fs::read(&paths[1])?;
    let header = whole.iter().position(|byte| *byte == b'\n').ok_or("a header")? + 1;
    assert!(is_partial_run(&paths[1]));
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        fs::write(&paths[1], &damaged)?;
        let error = merged(&paths).err().ok_or_else(|| format!("byte {place} is not guarded"))?;
        // Of the header, a change may make another search.
        assert!(place < header || matches!(error, MergeError::Part(_)), "byte {place}: {error}");
        fs::write(&paths[1], &whole[..place])?;
        assert!(merged(&paths).is_err(), "cut at {place}");
    }
    fs::write(&paths[1], [&whole[..], b"x"].concat())?;
    let error = merged(&paths).err().ok_or("something follows")?;
    assert_eq!(error.to_string(), format!("{} is damaged: something follows its end", paths[1].display()));
    // A length that no file has asks for no memory.
    let mut damaged = whole.clone();
    damaged[header..header + 4].fill(0xff);
    fs::write(&paths[1], &damaged)?;
    assert!(merged(&paths).is_err_and(|error| error.to_string().contains("it ends early")));

    fs::write(&paths[1], "q Q0 d 1 0.5 tag\n")?;
    let error = merged(&paths).err().ok_or("a run is not a partial run")?;
    assert!(matches!(error, MergeError::Part(PartialRunError::Foreign(_))) && error.remedy().is_some());
    let version =
        String::from_utf8_lossy(&whole[..header]).replace("\"format_version\":1", "\"format_version\":2");
    fs::write(&paths[1], version)?;
    assert!(matches!(merged(&paths), Err(MergeError::Part(PartialRunError::Version { found: 2, .. }))));
    assert!(!is_partial_run(&paths[0].join("none")));
    Ok(())
}

#[test]
fn a_merge_can_be_stopped() -> Result {
    let (_folder, _, paths) = three_parts()?;
    let mut writer = TrecRunWriter::new(Vec::new(), "run", "tag")?;
    assert!(matches!(merge(&paths, &mut writer, &AtomicBool::new(true)), Err(MergeError::Stopped)));
    Ok(())
}
