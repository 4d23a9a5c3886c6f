//! Memory does not grow with the collection. One test, since the figures are the process's.
#![cfg(target_os = "linux")]

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use toller_index::FlatIndex;
use toller_ir::{DocOrd, Query, SearchError, SearchRequest, SearchResponse, Searcher};
use toller_pipeline::DenseSearcher;
use toller_pipeline::fusion::{Collections, Hybrid, METHODS};
use toller_store::{DType, Encoding, ModelInfo, OpenOptions, Role, Source, Store, StoreSpec, StoreWriter};
use toller_topk::Scan;

type Tested = Result<(), Box<dyn Error + Send + Sync>>;

/// Documents of a hybrid: 48 MB a searcher as sorted entries, of which two million are in memory at a time.
const DOCUMENTS: u32 = 3_000_000;

/// Vectors of queries: 64 MB in f32.
const VECTORS: u64 = 62_500;
const DIM: usize = 256;

/// Documents without memory, in their order or against it.
struct Numbered {
    reversed: bool,
}

impl Searcher for Numbered {
    fn search(&self, _: &SearchRequest<'_>) -> Result<SearchResponse, SearchError> {
        Ok(SearchResponse::default())
    }

    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        let number = if self.reversed { DOCUMENTS - 1 - doc.0 } else { doc.0 };
        number.to_string().into()
    }

    fn doc_count(&self) -> usize {
        DOCUMENTS as usize
    }
}

/// A line of the process's status, in megabytes.
fn megabytes(name: &str) -> Result<u64, Box<dyn Error + Send + Sync>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("the line is missing")?;
    Ok(line.trim_matches(&[':', ' ', '\t', 'k', 'B'][..]).parse::<u64>()? >> 10)
}

#[test]
fn memory_does_not_grow_with_the_collection() -> Tested {
    let before = megabytes("VmHWM")?;
    let searchers = [false, true].map(|reversed| Arc::new(Numbered { reversed }) as Arc<dyn Searcher>);
    let hybrid = Hybrid::new(searchers.to_vec(), METHODS[0].fusion(), 10, Collections::Same)?;
    assert_eq!(hybrid.doc_count(), DOCUMENTS as usize);
    let taken = megabytes("VmHWM")? - before;
    assert!(taken < 160, "a hybrid took {taken} MB");
    drop(hybrid);

    let folder = tempfile::tempdir()?;
    let mut writer = StoreWriter::create_or_resume(folder.path(), spec())?;
    for row in 0..VECTORS {
        writer.push(&row.to_string(), &[(row % 100) as f32; DIM])?;
    }
    writer.finish()?;
    let open = || Store::open(&[folder.path()], &OpenOptions { verify: false, progress: None });
    let (index, queries) = (FlatIndex::new(open()?, Scan::Auto), open()?);
    let before = megabytes("RssAnon")?;
    let searcher = DenseSearcher::of_store(index, queries)?;
    let query = Query { id: "7".to_owned(), ..Query::default() };
    let found = searcher.search(&SearchRequest::new(&[query], 1))?;
    assert_eq!(searcher.doc_id(found.rankings[0].hits[0].doc), "99");
    let taken = megabytes("RssAnon")?.saturating_sub(before);
    assert!(taken < 32, "the vectors of queries took {taken} MB");
    Ok(())
}

fn spec() -> StoreSpec {
    StoreSpec {
        model: ModelInfo::new("tiny", "f00d"),
        encoding: Encoding {
            role: Role::Query,
            prompt: String::new(),
            max_length: 256,
            title_mode: "join".to_owned(),
            context_field: None,
            title_separator: " ".to_owned(),
            compute_dtype: "f32".to_owned(),
            normalized: true,
            pooling: "mean".to_owned(),
        },
        dim: DIM,
        content: DType::F16.into(),
        rows_per_shard: 10_000,
        source: Source { fingerprint: "c0ffee".to_owned(), passages: VECTORS },
        part: None,
    }
}
