//! Sparse retrieval: the flags of inverted indexes and rankers, and opening them.

use std::sync::Arc;

use toller_engine::{Engine, Pooled, SparseOptions};
use toller_ir::{ModelInfo, NO_IMPACTS, Query, Role, has_impacts};
use toller_pipeline::SparseSearcher;
use toller_pipeline::feedback::{Feedback, Rm3, Rocchio};
use toller_sparse::{Bm25Variant, Lengths, Manifest, Ranker};
use toller_store::{Content, ImpactStore, OpenOptions, content_of};

use super::analyzer::IndexAnalyzerArgs;
use super::device::ComputeArgs;
use super::paths::{InputPath, ModelName};
use crate::engine::in_flags;
use crate::error::UsageError;
use crate::flags::first_given;

/// Flags of sparse retrieval.
#[derive(Debug, clap::Args)]
pub struct SparseArgs {
    /// Inverted index to search (`toller index`)
    #[arg(long, value_name = "DIR")]
    pub sparse: Option<InputPath>,

    /// How documents are scored [default: impact for an index of impacts, else bm25]
    #[arg(long, value_enum, value_name = "NAME")]
    ranker: Option<RankerName>,

    /// BM25: saturation of the term frequency [default: 0.9]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = k1)]
    k1: Option<f32>,

    /// BM25: normalisation by length, 0 to 1 [default: 0.4]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = b)]
    b: Option<f32>,

    /// Query likelihood: the weight of the collection's model, in terms [default: 1000]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = mu)]
    mu: Option<f32>,

    /// Query likelihood by Jelinek and Mercer: the share of the collection's model [default: 0.1]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = lambda)]
    lambda: Option<f32>,

    /// Score with exact document lengths, not Lucene's one-byte lengths
    #[arg(long)]
    exact_lengths: bool,

    /// Sparse model that gives the terms of queries impacts (SPLADE), for an index of impacts [default: the
    /// one that made the index's, where it names one]
    #[arg(long, value_name = "M", requires = "sparse")]
    sparse_model: Option<ModelName>,

    #[command(flatten)]
    analyzer: IndexAnalyzerArgs,

    #[command(flatten)]
    feedback: FeedbackArgs,
}

/// Flags of the expansion of queries.
#[derive(Debug, clap::Args)]
struct FeedbackArgs {
    /// Expand queries of an inverted index with a relevance model of their best hits (RM3)
    #[arg(long, conflicts_with = "rocchio")]
    rm3: bool,

    /// Terms that RM3 adds
    #[arg(long, value_name = "N", requires = "rm3", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rm3_fb_terms: u32,

    /// Best hits that RM3 takes terms from
    #[arg(long, value_name = "N", requires = "rm3", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rm3_fb_docs: u32,

    /// Share of the original query, 0 to 1
    #[arg(long, value_name = "X", requires = "rm3", default_value_t = 0.5, allow_negative_numbers = true, value_parser = share)]
    rm3_original_query_weight: f32,

    /// Let RM3 also take terms with characters other than a to z and 0 to 9: languages other than English
    /// need that
    #[arg(long, requires = "rm3")]
    rm3_no_term_filter: bool,

    /// Expand queries of an inverted index by terms of their best hits (Rocchio)
    #[arg(long)]
    rocchio: bool,

    /// Terms that Rocchio takes from the best hits
    #[arg(long, value_name = "N", requires = "rocchio", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rocchio_top_fb_terms: u32,

    /// Best hits that Rocchio takes terms from
    #[arg(long, value_name = "N", requires = "rocchio", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rocchio_top_fb_docs: u32,

    /// Weight of the original query
    #[arg(long, value_name = "X", requires = "rocchio", default_value_t = 1.0, allow_negative_numbers = true, value_parser = weight)]
    rocchio_alpha: f32,

    /// Weight of the best hits
    #[arg(long, value_name = "X", requires = "rocchio", default_value_t = 0.75, allow_negative_numbers = true, value_parser = weight)]
    rocchio_beta: f32,

    /// Also move queries away from their last hits, of as many as are searched for
    #[arg(long, requires = "rocchio")]
    rocchio_use_negative: bool,

    /// Terms that Rocchio takes from the last hits
    #[arg(long, value_name = "N", requires = "rocchio_use_negative", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rocchio_bottom_fb_terms: u32,

    /// Last hits that Rocchio takes terms from
    #[arg(long, value_name = "N", requires = "rocchio_use_negative", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rocchio_bottom_fb_docs: u32,

    /// Weight of the last hits
    #[arg(long, value_name = "X", requires = "rocchio_use_negative", default_value_t = 0.15, allow_negative_numbers = true, value_parser = weight)]
    rocchio_gamma: f32,
}

/// A ranking function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum RankerName {
    /// BM25 as in Lucene
    #[default]
    Bm25,
    /// BM25 as Robertson published it
    Bm25Robertson,
    /// Query likelihood with Dirichlet's smoothing
    #[value(alias = "qld", alias = "ql-dirichlet")]
    Ql,
    /// Query likelihood with Jelinek and Mercer's smoothing
    #[value(alias = "qljm")]
    QlJm,
    /// Sums of products of weights, of an index of impacts
    Impact,
}

fn k1(text: &str) -> Result<f32, String> {
    parameter(text, |k1| Ranker::Bm25 { k1, b: 0.0, variant: Bm25Variant::Lucene })
}

fn b(text: &str) -> Result<f32, String> {
    parameter(text, |b| Ranker::Bm25 { k1: 0.0, b, variant: Bm25Variant::Lucene })
}

fn mu(text: &str) -> Result<f32, String> {
    parameter(text, |mu| Ranker::QlDirichlet { mu })
}

fn lambda(text: &str) -> Result<f32, String> {
    parameter(text, |lambda| Ranker::QlJelinekMercer { lambda })
}

/// A parameter that a ranker accepts.
fn parameter(text: &str, ranker: impl FnOnce(f32) -> Ranker) -> Result<f32, String> {
    let value = text.parse().map_err(|_| "a number".to_owned())?;
    ranker(value).check().map(|()| value).map_err(|error| error.to_string())
}

pub(super) fn weight(text: &str) -> Result<f32, String> {
    let weight = text.parse::<f32>().ok().filter(|weight| (0.0..=1e9).contains(weight));
    weight.ok_or_else(|| "a number from 0 to 1e9".to_owned())
}

fn share(text: &str) -> Result<f32, String> {
    let share = text.parse::<f32>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a number from 0 to 1".to_owned())
}

impl FeedbackArgs {
    /// How queries are expanded.
    fn feedback(&self) -> Option<Feedback> {
        if self.rm3 {
            return Some(Feedback::Rm3(Rm3 {
                terms: self.rm3_fb_terms as usize,
                documents: self.rm3_fb_docs as usize,
                original_weight: self.rm3_original_query_weight,
                filter_terms: !self.rm3_no_term_filter,
            }));
        }
        self.rocchio.then_some(Feedback::Rocchio(Rocchio {
            top_terms: self.rocchio_top_fb_terms as usize,
            top_documents: self.rocchio_top_fb_docs as usize,
            bottom_terms: self.rocchio_bottom_fb_terms as usize,
            bottom_documents: self.rocchio_bottom_fb_docs as usize,
            alpha: self.rocchio_alpha,
            beta: self.rocchio_beta,
            gamma: self.rocchio_gamma,
            use_negative: self.rocchio_use_negative,
        }))
    }
}

impl SparseArgs {
    /// How documents are scored, if that is given.
    fn ranker(&self) -> Result<Option<Ranker>, UsageError> {
        let parameters = [self.k1, self.b, self.mu, self.lambda];
        if self.ranker.is_none() && parameters.iter().all(Option::is_none) {
            return Ok(None);
        }
        let ranker = self.ranker.unwrap_or_default();
        let bm25 = matches!(ranker, RankerName::Bm25 | RankerName::Bm25Robertson);
        for (flag, given, has_it) in [
            ("--k1", self.k1.is_some(), bm25),
            ("--b", self.b.is_some(), bm25),
            ("--mu", self.mu.is_some(), ranker == RankerName::Ql),
            ("--lambda", self.lambda.is_some(), ranker == RankerName::QlJm),
        ] {
            if given && !has_it {
                let value = clap::ValueEnum::to_possible_value(&ranker);
                let name = value.as_ref().map_or("", |value| value.get_name());
                let remedy = "--k1 and --b are for bm25, --mu is for ql, --lambda for ql-jm";
                return Err(UsageError::new(format!("{flag} has no meaning for --ranker {name}"), remedy));
            }
        }
        let bm25 = |variant| Ranker::Bm25 { k1: self.k1.unwrap_or(0.9), b: self.b.unwrap_or(0.4), variant };
        let ranker = match ranker {
            RankerName::Bm25 => bm25(Bm25Variant::Lucene),
            RankerName::Bm25Robertson => bm25(Bm25Variant::Robertson),
            RankerName::Ql => Ranker::QlDirichlet { mu: self.mu.unwrap_or(1000.0) },
            RankerName::QlJm => Ranker::QlJelinekMercer { lambda: self.lambda.unwrap_or(0.1) },
            RankerName::Impact => Ranker::Impact,
        };
        Ok(Some(ranker))
    }

    /// The manifest of the index. An index that cannot be read is reported when it is opened.
    fn manifest(&self) -> Option<Manifest> {
        self.sparse.as_ref().and_then(|directory| Manifest::read(directory).ok().flatten())
    }

    /// Whether an index of impacts is searched.
    pub fn has_impacts(&self) -> bool {
        self.manifest().is_some_and(|manifest| manifest.has_impacts())
    }

    /// Whether a model reads the queries.
    pub fn has_model(&self) -> bool {
        self.sparse_model.is_some() || self.own_model().is_some()
    }

    /// The model that the index names, if it is the one that reads the queries.
    pub fn own_model(&self) -> Option<ModelInfo> {
        self.manifest()?.source.model.filter(|_| self.sparse_model.is_none())
    }

    /// Refuses an index of impacts without a model where the queries are also texts; `instead` says what else
    /// to do.
    pub fn check_reads_texts(&self, instead: &'static str) -> Result<(), UsageError> {
        match &self.sparse {
            Some(directory) if self.has_impacts() && !self.has_model() => Err(UsageError::new(
                format!(
                    "the index {} holds impacts and names no model: its queries are weights of terms, and not texts \
                     that a model or a person reads",
                    directory.display()
                ),
                format!("name its model with --sparse-model, or {instead}"),
            )),
            _ => Ok(()),
        }
    }

    /// Refuses wrong usage before anything is read.
    pub fn check(&self) -> Result<(), UsageError> {
        self.check_unused()?;
        self.ranker().map(|_| ())
    }

    /// Refuses flags that have no effect without an inverted index.
    fn check_unused(&self) -> Result<(), UsageError> {
        let flags = [
            ("--ranker", self.ranker.is_some()),
            ("--k1", self.k1.is_some()),
            ("--b", self.b.is_some()),
            ("--mu", self.mu.is_some()),
            ("--lambda", self.lambda.is_some()),
            ("--exact-lengths", self.exact_lengths),
            ("--analyzer", self.analyzer.analyzer.is_some()),
            ("--rm3", self.feedback.rm3),
            ("--rocchio", self.feedback.rocchio),
        ];
        match first_given(flags) {
            Some(flag) if self.sparse.is_none() => Err(UsageError::new(
                format!("{flag} is for sparse retrieval, and no inverted index is searched"),
                format!("give --sparse DIR, or leave {flag} out"),
            )),
            _ => Ok(()),
        }
    }

    /// The queries of a store of impacts, if `paths` name one and impacts are searched.
    pub fn stored_queries(&self, paths: &[InputPath]) -> crate::Result<Option<Vec<Query>>> {
        let ([path], Some(manifest)) = (paths, self.manifest().filter(Manifest::has_impacts)) else {
            return Ok(None);
        };
        if !matches!(content_of(path), Ok(Content::Impacts)) {
            return Ok(None);
        }
        let store = ImpactStore::open(path, &OpenOptions::default())?;
        let spec = &store.manifest().spec;
        if spec.encoding.role != Role::Query {
            let message = format!("{} holds passages, and not queries", path.display());
            return Err(UsageError::new(message, "encode the queries: `toller encode --queries`").into());
        }
        if let Some(model) = manifest.source.model.filter(|model| !model.encodes_passages_as(&spec.model)) {
            let message = format!(
                "the impacts of {} were made by {}, and those of the index by {model}",
                path.display(),
                spec.model
            );
            return Err(UsageError::new(message, "encode the queries with the model of the index").into());
        }
        let query = |(id, impacts): (&str, &str)| Query {
            id: id.to_owned(),
            text: if impacts.is_empty() { NO_IMPACTS } else { impacts }.to_owned(),
            ..Query::default()
        };
        Ok(Some(store.rows().map(query).collect()))
    }

    /// Opens the index, if one was asked for, to search it for these queries. A model that reads them
    /// computes as `compute` says.
    pub fn open(
        &self,
        queries: &[Query],
        verify: bool,
        compute: Option<&ComputeArgs>,
        engine: &Engine,
    ) -> crate::Result<Option<Arc<Pooled<SparseSearcher>>>> {
        let Some(directory) = &self.sparse else { return Ok(None) };
        let queries_have_impacts =
            !queries.is_empty() && queries.iter().all(|query| has_impacts(&query.text));
        if queries_have_impacts && self.sparse_model.is_some() {
            let message = "--sparse-model is for queries that are texts, and all have impacts";
            return Err(UsageError::new(message, "leave it out").into());
        }
        let options = SparseOptions { queries_have_impacts, ..self.options(verify, compute)? };
        Ok(Some(engine.sparse(directory, &options).map_err(in_flags)?))
    }

    /// How an index is searched.
    pub fn options(&self, verify: bool, compute: Option<&ComputeArgs>) -> Result<SparseOptions, UsageError> {
        Ok(SparseOptions {
            ranker: self.ranker()?,
            lengths: if self.exact_lengths { Lengths::Exact } else { Lengths::Encoded },
            feedback: self.feedback.feedback(),
            analyzer: self.analyzer.analyzer.as_deref().map(str::to_owned),
            model: self.sparse_model.as_ref().map(Into::into),
            encoder: compute.map(ComputeArgs::encoder).unwrap_or_default(),
            queries_have_impacts: false,
            verify,
        })
    }
}
