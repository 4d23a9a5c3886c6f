//! What is known of published models: the manifests of `models/`, built into the binary.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The names of manifests with their text.
macro_rules! manifests {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../models/", $name, ".toml")))),*]
    };
}

/// Every manifest of `models/`: the name, and the file.
pub const MANIFESTS: &[(&str, &str)] = manifests![
    "Qwen3-Embedding-0.6B", "Qwen3-Embedding-4B", "Qwen3-Embedding-8B", "Qwen3-Reranker-0.6B",
    "Qwen3-Reranker-4B", "Qwen3-Reranker-8B", "Splade_PP_en_v1", "Splade_PP_en_v2", "all-MiniLM-L6-v2",
    "bert-base-chinese", "bert-base-multilingual-cased", "bge-base-en-v1.5", "bge-base-zh-v1.5",
    "bge-large-en-v1.5", "bge-large-zh-v1.5", "bge-reranker-base", "bge-reranker-large",
    "bge-reranker-v2-m3", "bge-small-en-v1.5", "bge-small-zh-v1.5", "chinese-bert-wwm-ext",
    "chinese-macbert-base", "chinese-roberta-wwm-ext", "contriever", "contriever-msmarco",
    "dpr-ctx_encoder-multiset-base", "dpr-ctx_encoder-single-nq-base", "dpr-question_encoder-multiset-base",
    "dpr-question_encoder-single-nq-base", "e5-base", "e5-base-v2", "e5-large", "e5-large-v2",
    "e5-mistral-7b-instruct", "e5-small", "e5-small-v2", "efficient-splade-V-large-doc",
    "efficient-splade-V-large-query", "embeddinggemma-300m", "ernie-1.0-base-zh", "ernie-3.0-base-zh",
    "granite-embedding-30m-sparse", "gte-base", "gte-base-en-v1.5", "gte-large", "gte-large-en-v1.5",
    "gte-multilingual-base", "gte-multilingual-reranker-base", "gte-small", "gtr-t5-base", "gtr-t5-large",
    "mcontriever-msmarco", "mdpr-passage-nq", "mdpr-question-nq", "mdpr-tied-pft-msmarco",
    "mdpr-tied-pft-msmarco-ft-all", "ms-marco-MiniLM-L12-v2", "ms-marco-MiniLM-L6-v2",
    "multilingual-e5-base", "multilingual-e5-large", "multilingual-e5-small", "nomic-embed-text-v1",
    "nomic-embed-text-v1.5", "opensearch-sparse-v1", "opensearch-sparse-v2-distill",
    "realm-cc-news-pretrained-embedder", "rocketqa-v1-marco-ce", "rocketqa-v1-marco-de", "rocketqa-v1-nq-ce",
    "rocketqa-v1-nq-de", "rocketqa-v2-marco-de", "rocketqa-zh-dureader-ce", "rocketqa-zh-dureader-ce-v2",
    "rocketqa-zh-dureader-de", "rocketqa-zh-dureader-de-v2", "sentence-t5-base", "sentence-t5-large",
    "snowflake-arctic-embed-l-v2.0", "snowflake-arctic-embed-m-v1.5", "snowflake-arctic-embed-m-v2.0",
    "splade-cocondenser-ensembledistil", "splade-cocondenser-selfdistil", "splade-v3",
    "splade-v3-distilbert", "zerank-2",
];

/// What is known of a model: the manifest `models/NAME.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownModel {
    /// Its name, that of the manifest's file.
    #[serde(skip)]
    pub name: &'static str,
    /// Its id on the hub; none for a model that is not there in a form that can be loaded.
    pub source: Option<String>,
    /// The commit: the one that the checksums are of, else one whose files are known to be whole.
    pub revision: Option<String>,
    /// The licence, as an SPDX identifier.
    pub license: Option<String>,
    /// The dimension of the embeddings.
    pub dimensions: Option<usize>,
    /// How token states become one vector: a name that modules of sentence-transformers have for it.
    pub pooling: Option<String>,
    /// Whether embeddings have unit length.
    pub normalize: Option<bool>,
    /// The longest input, in tokens.
    pub max_length: Option<usize>,
    /// How the model was given a passage's title: `sep` or `pair`, as in stores; none if it is a part of the
    /// text.
    pub title_mode: Option<String>,
    /// How two vectors compare, `dot` or `cosine`; `cross-encoder` for a model that scores pairs of texts,
    /// `sparse` for one that gives weights to terms.
    pub similarity: Option<String>,
    /// What is put before a text, by the text's role: `query`, `passage`.
    #[serde(default)]
    pub prompts: BTreeMap<String, String>,
    /// A checkpoint that `toller convert` makes a model of, for a model without a source.
    pub checkpoint: Option<CheckpointCopy>,
    /// A Python package with the same files, for where the hub cannot be reached.
    pub pypi: Option<PypiCopy>,
    /// The files and their sha256, by path inside the model; empty where they are not known.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// A Python package that holds a model's files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PypiCopy {
    /// The package's name.
    pub package: String,
    /// The version.
    pub version: String,
    /// The folder of the model inside the package.
    pub folder: String,
}

/// Where a checkpoint of another framework is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointCopy {
    /// Its address.
    pub url: String,
    /// Its MD5, as its publisher gives it.
    pub md5: String,
}

impl KnownModel {
    /// Reads the manifest of a name.
    ///
    /// # Errors
    /// When `text` is not such a manifest.
    pub fn parse(name: &'static str, text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text).map(|model: Self| Self { name, ..model })
    }
}
