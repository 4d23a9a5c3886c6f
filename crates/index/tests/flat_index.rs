//! The index over real stores on disk.
#![allow(missing_docs)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toller_index::{FlatIndex, IndexError};
use toller_ir::{DocOrd, Explain, Ranking};
use toller_store::{
    Codes, DType, Encoding, ModelInfo, OpenOptions, Part, Role, Source, Store, StoreSpec, StoreWriter,
    quantize,
};
use toller_topk::{DocSet, Filter, IpTopkError, Scan};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const DIM: usize = 37;
const ROWS: usize = 3000;

/// Numbers in -1..1 with many ties among vectors.
fn vectors(rows: usize, seed: u64) -> Vec<f32> {
    let mut state = seed | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let distinct: Vec<f32> = (0..97 * DIM).map(|_| (next() % 2001) as f32 / 1000.0 - 1.0).collect();
    let mut values = Vec::new();
    for _ in 0..rows {
        let at = (next() % 97) as usize * DIM;
        values.extend_from_slice(&distinct[at..at + DIM]);
        if let (0, Some(x)) = (next() % 3, values.last_mut()) {
            *x += 0.25;
        }
    }
    values
}

fn spec(rows: usize, rows_per_shard: usize, dtype: DType, part: Option<Part>) -> StoreSpec {
    StoreSpec {
        model: ModelInfo::new("m", "m"),
        encoding: Encoding::unknown(Role::Passage, false),
        dim: DIM,
        content: dtype.into(),
        rows_per_shard,
        source: Source { fingerprint: "s".to_owned(), passages: rows as u64 },
        part,
    }
}

/// Writes rows `first..` of the collection.
fn write(path: &Path, spec: StoreSpec, values: &[f32], first: usize) -> Result<()> {
    let mut writer = StoreWriter::create_or_resume(path, spec)?;
    for (row, vector) in values.chunks_exact(DIM).enumerate() {
        writer.push(&format!("doc-{}", first + row), vector)?;
    }
    writer.finish()?;
    Ok(())
}

fn open(paths: &[PathBuf]) -> Result<FlatIndex> {
    Ok(FlatIndex::new(Store::open(paths, &OpenOptions::default())?, Scan::Auto))
}

fn search(index: &FlatIndex, queries: &[f32], k: usize) -> Result<Vec<Ranking>> {
    Ok(index.search(queries, k, &Filter::default())?.rankings)
}

/// Ids and score bits.
fn found(index: &FlatIndex, rankings: &[Ranking]) -> Vec<Vec<(String, u32)>> {
    let hits = |ranking: &Ranking| {
        ranking.hits.iter().map(|hit| (index.doc_id(hit.doc).to_owned(), hit.score.to_bits())).collect()
    };
    rankings.iter().map(hits).collect()
}

#[test]
fn shards_parts_stores_threads_and_depth_do_not_matter() -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let folder = tempfile::tempdir()?;
        let values = vectors(ROWS, 11);
        let queries = vectors(23, 12);

        let one = folder.path().join("one");
        write(&one, spec(ROWS, ROWS, dtype, None), &values, 0)?;
        let eight = folder.path().join("eight");
        write(&eight, spec(ROWS, ROWS / 8, dtype, None), &values, 0)?;
        let parts = folder.path().join("parts");
        for index in 1..=3 {
            let part = Part::new(index, 3, ROWS as u64)?;
            let rows = part.rows(ROWS as u64);
            let (start, end) = (rows.start as usize, rows.end as usize);
            write(&parts, spec(ROWS, 700, dtype, Some(part)), &values[start * DIM..end * DIM], start)?;
        }
        let (front, back) = (folder.path().join("front"), folder.path().join("back"));
        write(&front, spec(1234, 500, dtype, None), &values[..1234 * DIM], 0)?;
        write(&back, spec(ROWS - 1234, 600, dtype, None), &values[1234 * DIM..], 1234)?;

        let index = open(&[one])?;
        assert_eq!((index.doc_count(), index.dim()), (ROWS, DIM));
        let expected = found(&index, &search(&index, &queries, 1000)?);
        assert!(expected.iter().all(|hits| hits.len() == 1000));
        for paths in [vec![eight], vec![parts], vec![front, back]] {
            let index = open(&paths)?;
            for threads in [1, 2] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
                let top = pool.install(|| index.search(&queries, 1000, &Filter::default()))?;
                assert!(found(&index, &top.rankings) == expected, "{paths:?}, {threads} threads");
            }
            let ten = found(&index, &search(&index, &queries, 10)?);
            assert!(ten.iter().zip(&expected).all(|(ten, all)| ten[..] == all[..10]), "{paths:?}: ten");
            let all = search(&index, &queries[..DIM], ROWS + 1)?;
            assert_eq!(all[0].hits.len(), ROWS);
        }
    }
    Ok(())
}

/// What a filter leaves of rankings of everything, to the depth `k`.
fn filtered(rankings: &[Ranking], filter: Filter<'_>, k: usize) -> Vec<Ranking> {
    let left = |(query, ranking): (usize, &Ranking)| {
        let admitted = ranking.hits.iter().filter(|hit| {
            filter.allowed.is_none_or(|allowed| allowed.contains(hit.doc))
                && filter.excluded.get(query).is_none_or(|excluded| !excluded.contains(&hit.doc))
        });
        Ranking { hits: admitted.take(k).copied().collect() }
    };
    rankings.iter().enumerate().map(left).collect()
}

#[test]
fn scans_and_codes_do_not_matter_whatever_is_left_out() -> Result<()> {
    const QUERIES: usize = 9;
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let folder = tempfile::tempdir()?;
        let (values, queries) = (vectors(ROWS, 21), vectors(QUERIES, 22));
        // A store in two parts, and one that follows it; codes are given to all, to some, to none.
        let (parts, back) = (folder.path().join("parts"), folder.path().join("back"));
        for index in 1..=2 {
            let part = Part::new(index, 2, 2000)?;
            let rows = part.rows(2000);
            let (start, end) = (rows.start as usize, rows.end as usize);
            write(&parts, spec(2000, 300, dtype, Some(part)), &values[start * DIM..end * DIM], start)?;
        }
        write(&back, spec(ROWS - 2000, 999, dtype, None), &values[2000 * DIM..], 2000)?;
        let stores = [parts.clone(), back.clone()];

        let everything = search(&open(&stores)?, &queries, ROWS)?;
        let few: DocSet = [0, 7, 299, 300, 1999, 2000, 2998, 2999].map(DocOrd).into_iter().collect();
        let many: DocSet = (0..ROWS as u32).filter(|doc| doc % 3 != 1).map(DocOrd).collect();
        let none = DocSet::default();
        // For each query except the first, its best documents. Some are among the best of another query.
        let best = |(query, ranking): (usize, &Ranking)| {
            let mut docs: Vec<DocOrd> = ranking.hits.iter().take(query * 5).map(|hit| hit.doc).collect();
            docs.sort_unstable();
            docs
        };
        let excluded: Vec<Vec<DocOrd>> = everything.iter().enumerate().map(best).collect();
        let mut filters = Vec::new();
        for allowed in [None, Some(&few), Some(&many), Some(&none)] {
            filters.extend([&[][..], &excluded[..]].map(|excluded| Filter { allowed, excluded }));
        }

        for quantized in [&[][..], std::slice::from_ref(&parts), std::slice::from_ref(&back)] {
            for store in quantized {
                quantize(store, Codes::Int8, false, None)?;
            }
            let store = Arc::new(Store::open(&stores, &OpenOptions::default())?);
            let index = FlatIndex::new(store.clone(), Scan::Auto);
            for &filter in &filters {
                for k in [1, 10, ROWS] {
                    let expected = found(&index, &filtered(&everything, filter, k));
                    for scan in [Scan::Auto, Scan::F32, Scan::F16, Scan::Int8] {
                        let top = FlatIndex::new(store.clone(), scan).search(&queries, k, &filter)?;
                        assert!(
                            found(&index, &top.rankings) == expected,
                            "{dtype}, {scan}, k {k}, codes of {quantized:?}"
                        );
                        let counts = top.nominated.iter().zip(&top.rankings);
                        assert!(counts.clone().all(|(&nominated, ranking)| nominated >= ranking.hits.len()));
                        assert_eq!(counts.len(), QUERIES);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Each of several processes searches its part of the rows; the best of all hits are the same as with one
/// process.
#[test]
fn parts_of_the_rows_have_the_hits_of_all() -> Result<()> {
    const K: usize = 50;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("store");
    write(&path, spec(ROWS, 700, DType::F32, None), &vectors(ROWS, 31), 0)?;
    quantize(&path, Codes::Int8, false, None)?;
    let store = Arc::new(Store::open(&[path], &OpenOptions::default())?);
    let queries = vectors(5, 32);
    // Some rows are left out, in every part.
    let allowed: DocSet = (0..ROWS as u32).filter(|doc| doc % 5 != 2).map(DocOrd).collect();
    let filter = Filter { allowed: Some(&allowed), excluded: &[] };
    for scan in [Scan::F32, Scan::F16, Scan::Int8] {
        let whole = FlatIndex::new(store.clone(), scan).search(&queries, K, &filter)?.rankings;
        // The last division has empty parts.
        for of in [1, 2, 7, ROWS as u32 + 3] {
            let mut merged = vec![Ranking::default(); whole.len()];
            for index in 1..=of {
                let rows = Part::new(index, of, ROWS as u64)?.rows(ROWS as u64);
                let rows = rows.start as usize..rows.end as usize;
                let index = FlatIndex::of_rows(store.clone(), rows.clone(), scan);
                for (merged, found) in merged.iter_mut().zip(index.search(&queries, K, &filter)?.rankings) {
                    assert!(found.hits.iter().all(|hit| rows.contains(&hit.doc.index())), "{rows:?}");
                    merged.hits.extend(found.hits);
                }
            }
            for ranking in &mut merged {
                ranking.hits.sort_unstable();
                ranking.hits.truncate(K);
            }
            assert!(bits(&merged) == bits(&whole), "{scan}, {of} parts");
        }
    }
    Ok(())
}

/// Ordinals and score bits.
fn bits(rankings: &[Ranking]) -> Vec<Vec<(u32, u32)>> {
    let of_query =
        |ranking: &Ranking| ranking.hits.iter().map(|hit| (hit.doc.0, hit.score.to_bits())).collect();
    rankings.iter().map(of_query).collect()
}

#[test]
fn bad_queries_are_errors_that_say_which() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("store");
    write(&path, spec(5, 5, DType::F32, None), &vectors(5, 3), 0)?;
    let index = open(&[path])?;

    let mut queries = vec![0.5; 3 * DIM];
    queries[2 * DIM + 4] = f32::NAN;
    let search = |queries: &[f32], k| index.search(queries, k, &Filter::default());
    let error = search(&queries, 1).err().ok_or("NaN was searched with")?;
    assert!(matches!(error, IndexError::Search(IpTopkError::QueryNotFinite { query: 2, column: 4, .. })));
    assert!(error.to_string().contains("query 2") && error.remedy().is_some());

    let error = search(&queries[..DIM + 1], 1).err().ok_or("a part of a query was searched with")?;
    assert!(error.to_string().contains("38") && error.to_string().contains("37"), "{error}");
    let error = search(&queries[..DIM], 0).err().ok_or("k 0 was searched with")?;
    assert_eq!((error.to_string().as_str(), error.remedy().is_some()), ("k is 0", true));
    let error = index.check_dim(768).err().ok_or("768 are not 37")?;
    assert_eq!(error.to_string(), "the queries have 768 dimensions, the index has 37");
    assert!(error.remedy().is_some());
    index.check_dim(DIM)?;
    assert!(search(&[], 3)?.rankings.is_empty());
    Ok(())
}

#[test]
fn an_empty_store_has_no_hits() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("store");
    write(&path, spec(0, 5, DType::F16, None), &[], 0)?;
    let index = open(&[path])?;
    assert_eq!(search(&index, &[0.5; 2 * DIM], 10)?, vec![Ranking::default(); 2]);
    Ok(())
}
