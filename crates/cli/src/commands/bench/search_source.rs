//! What `toller bench search` searches: random vectors or a store, and with what.

use std::sync::Arc;

use serde_json::{Value, json};
use toller_bench::figures::grouped;
use toller_bench::search::QueryPool;
use toller_bench::{BenchError, RandomVectors};
use toller_index::FlatIndex;
use toller_ir::DocOrd;
use toller_store::{DType, OpenOptions, Shard, Store};
use toller_topk::{Codes, Collection, Filter, IpTopkOptions, Quantized, Scan, Segment, TopK, ip_topk};

use super::options::ascending;
use crate::args::paths::{InputPath, Inputs};
use crate::error::UsageError;
use crate::ui::Ui;

/// What is searched.
#[derive(Debug, clap::Args)]
pub(super) struct SourceArgs {
    /// Numbers of random unit vectors to search, as in 100000,1000000
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "100000", value_parser = clap::value_parser!(u32).range(1..))]
    vectors: Vec<u32>,

    /// Numbers in a random vector
    #[arg(long, value_name = "D", default_value_t = 384, value_parser = clap::value_parser!(u32).range(1..))]
    dim: u32,

    /// Number format of the random vectors
    #[arg(long, value_name = "f32|f16|bf16", default_value_t = DType::F32)]
    store_dtype: DType,

    /// Give the random vectors int8 codes, as a store can have: an int8 scan reads them
    #[arg(long)]
    codes: bool,

    /// Seed of the random vectors and of the choice of queries
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Stores to search instead of random vectors
    #[arg(long, value_name = "STORE", num_args = 1.., conflicts_with_all = ["vectors", "dim", "store_dtype", "codes"])]
    dense: Vec<InputPath>,

    /// Store of encoded queries to search with [default: vectors of --dense, drawn at random]
    #[arg(long, value_name = "STORE", requires = "dense")]
    query_vectors: Option<InputPath>,
}

impl SourceArgs {
    /// What is read.
    pub(super) fn inputs(&self) -> Inputs<'_> {
        let stores = self.dense.iter().chain(&self.query_vectors);
        Inputs::files([]).and_directories(stores.map(|store| &**store))
    }
}

/// The least number of queries to draw batches from, so that searches differ.
const LEAST_QUERIES: usize = 1024;

/// Vectors with something to search them with.
pub(super) struct Source {
    vectors: Searched,
    pub(super) queries: QueryPool,
    /// The numbers of vectors to search, ascending.
    pub(super) counts: Vec<usize>,
    pub(super) dim: usize,
    pub(super) dtype: DType,
    /// Where the vectors come from.
    origin: String,
}

enum Searched {
    Random(RandomVectors, Option<Quantized>),
    /// A store, as an index for each scan, in the order of [`Scan`].
    Stored(Arc<Store>, Box<[FlatIndex; 4]>),
}

impl Source {
    /// Makes or opens the vectors, with queries for batches of `largest_batch`.
    pub(super) fn open(args: &SourceArgs, largest_batch: usize, ui: &Ui) -> crate::Result<Self> {
        let pool = largest_batch.max(LEAST_QUERIES);
        if args.dense.is_empty() { Ok(Self::random(args, pool, ui)?) } else { Self::stored(args, pool, ui) }
    }

    fn random(args: &SourceArgs, pool: usize, ui: &Ui) -> Result<Self, BenchError> {
        let counts = ascending(&args.vectors);
        let most = counts.last().copied().unwrap_or(0);
        let (dim, dtype) = (args.dim as usize, args.store_dtype);
        ui.status(format!(
            "making {} random vectors of {dim} x {dtype}: {:.2} GB",
            grouped(most),
            most as f64 * dim as f64 * dtype.size() as f64 * 1e-9
        ));
        let vectors = RandomVectors::new(most, dim, dtype, args.seed)?;
        let codes = args.codes.then(|| vectors.quantize(dim));
        Ok(Self {
            vectors: Searched::Random(vectors, codes),
            queries: QueryPool::random(pool, dim, !args.seed)?,
            counts,
            dim,
            dtype,
            origin: "random unit vectors".to_owned(),
        })
    }

    fn stored(args: &SourceArgs, pool: usize, ui: &Ui) -> crate::Result<Self> {
        let open = OpenOptions::default();
        let store = Arc::new(Store::open(&args.dense, &open)?);
        if store.count() == 0 {
            return Err(
                UsageError::new("the store holds no vectors", "give --dense a store with vectors").into()
            );
        }
        let indexes = Scan::ALL.map(|scan| FlatIndex::new(store.clone(), scan));
        let queries = match &args.query_vectors {
            Some(path) => {
                let queries = Store::open(&[path], &open)?;
                indexes[0].check_dim(queries.dim())?;
                // Times are the same, whatever made the vectors.
                store.check_known_model(&queries.manifest().spec.model)?;
                QueryPool::all_of(&queries)
            }
            None => {
                ui.status("no --query-vectors: searching with vectors of the store itself, drawn at random");
                QueryPool::drawn_from(&store, pool, args.seed)
            }
        };
        let names: Vec<String> = args.dense.iter().map(|path| path.display().to_string()).collect();
        let (counts, dim, dtype) = (vec![store.count()], store.dim(), store.dtype());
        let vectors = Searched::Stored(store, Box::new(indexes));
        Ok(Self { queries, counts, dim, dtype, origin: names.join(" "), vectors })
    }

    /// The bytes of all vectors.
    pub(super) fn bytes(&self) -> Vec<&[u8]> {
        match &self.vectors {
            Searched::Random(vectors, _) => vec![vectors.as_bytes()],
            Searched::Stored(store, _) => {
                store.shards().iter().map(|shard| shard.embeddings().as_bytes()).collect()
            }
        }
    }

    /// The first `count` vectors; a store is searched whole.
    pub(super) fn collection(&self, count: usize) -> Result<Collection<'_>, BenchError> {
        match &self.vectors {
            Searched::Random(vectors, codes) => {
                let codes = codes.as_ref().map(|codes| Codes {
                    values: &codes.codes[..count * self.dim],
                    scales: &codes.scales[..count],
                    residual_norms: &codes.residual_norms[..count],
                });
                let vectors = vectors.first(count, self.dim);
                let segment = Segment { first: DocOrd(0), vectors, codes };
                Ok(Collection::new(self.dim, vec![segment])?)
            }
            Searched::Stored(_, indexes) => Ok(indexes[0].collection()?),
        }
    }

    /// Searches the first `count` vectors on the CPU.
    pub(super) fn search(
        &self,
        count: usize,
        queries: &[f32],
        k: usize,
        scan: Scan,
    ) -> Result<TopK, BenchError> {
        match &self.vectors {
            Searched::Random(..) => {
                let options = IpTopkOptions { scan, ..IpTopkOptions::default() };
                Ok(ip_topk(&self.collection(count)?, queries, k, &options)?)
            }
            Searched::Stored(_, indexes) => {
                Ok(indexes[scan as usize].search(queries, k, &Filter::default())?)
            }
        }
    }

    /// Bytes that a scan of the first `count` vectors reads.
    pub(super) fn scanned_bytes(&self, count: usize, scan: Scan) -> usize {
        let coded = match scan {
            // `auto` takes the codes if they are faster.
            Scan::Int8 | Scan::Auto => count.min(self.coded()),
            Scan::F32 | Scan::F16 => 0,
        };
        // A code has one byte per number, a scale and a residual norm.
        coded * (self.dim + 8) + (count - coded) * self.dim * self.dtype.size()
    }

    /// The number of vectors with codes: in a store, those of the parts that were quantized.
    fn coded(&self) -> usize {
        match &self.vectors {
            Searched::Random(_, codes) => codes.as_ref().map_or(0, |codes| codes.scales.len()),
            Searched::Stored(store, _) => {
                let shards = store.shards().iter();
                shards.filter(|shard| shard.codes().is_some()).map(Shard::rows).sum()
            }
        }
    }

    /// A short description.
    pub(super) fn describe(&self) -> String {
        let counts: Vec<String> = self.counts.iter().map(|&count| grouped(count)).collect();
        format!("{} x {} {}, {}", counts.join(", "), self.dim, self.dtype, self.origin)
    }

    /// The description as JSON.
    pub(super) fn json(&self) -> Value {
        json!({
            "origin": self.origin,
            "counts": self.counts,
            "dim": self.dim,
            "dtype": self.dtype.to_string(),
            "codes": self.coded() > 0,
            "queries": self.queries.count(),
        })
    }
}
