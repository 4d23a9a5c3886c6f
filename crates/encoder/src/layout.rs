//! The layouts in which models are published: everything around the transformer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use toller_checkpoint::{Fingerprint, ModelError, read_json, read_modules, required_json};
use toller_nn::{Activation, Pooling};
use toller_tokenizer::{Tokenizer, TokenizerConfig, TokenizerError};

use crate::EncoderError;
use crate::config::TransformerConfig;

/// A module after the pooling.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Module {
    /// A dense layer, its weights in a separate folder.
    Dense { folder: PathBuf, config: DenseConfig },
    /// Scaling to unit length.
    Normalize,
}

/// `config.json` of sentence-transformers' Dense module.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct DenseConfig {
    pub(crate) in_features: usize,
    pub(crate) out_features: usize,
    #[serde(default = "yes")]
    pub(crate) bias: bool,
    #[serde(default = "tanh", deserialize_with = "activation")]
    pub(crate) activation_function: Activation,
}

fn yes() -> bool {
    true
}

/// sentence-transformers' own default is tanh.
fn tanh() -> Activation {
    Activation::Tanh
}

fn activation<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Activation, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

/// How a text becomes a vector with this model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    /// The folder of config.json, the weights and the tokenizer.
    pub(crate) transformer: PathBuf,
    /// The poolings, concatenated. `None` if the layout does not give any.
    pub(crate) pooling: Option<Vec<Pooling>>,
    /// Whether the prompt's tokens are pooled with the text's (`include_prompt`).
    pub(crate) pools_prompt: bool,
    /// The width of the vectors that are pooled, and the file that gives it.
    pooled_width: Option<(u64, PathBuf)>,
    pub(crate) modules: Vec<Module>,
    /// Whether there is no `modules.json`, so that the steps after the transformer are unknown.
    pub(crate) is_plain: bool,
    /// `max_seq_length` of sentence_bert_config.json.
    pub(crate) max_length: Option<usize>,
    pub(crate) lowercase: bool,
    /// Dimensions that are kept of a vector (`truncate_dim`).
    pub(crate) truncate_dim: Option<usize>,
    /// The prompts by name, and the name of the default one.
    pub(crate) prompts: BTreeMap<String, String>,
    pub(crate) default_prompt: Option<String>,
    /// How vectors are compared, by sentence-transformers' name for it.
    pub(crate) similarity: Option<String>,
}

/// `config.json` of sentence-transformers' Pooling module.
struct PoolingConfig {
    poolings: Vec<Pooling>,
    pools_prompt: bool,
    /// The width of the vectors that are pooled, where it is given.
    width: Option<u64>,
    path: PathBuf,
}

/// The names that the file has had. The first that exists counts, as in sentence-transformers.
const SENTENCE_BERT_CONFIGS: [&str; 7] = [
    "sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json",
    "sentence_camembert_config.json", "sentence_albert_config.json", "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];

#[derive(Default, Deserialize)]
#[serde(default)]
struct SentenceBertConfig {
    max_seq_length: Option<usize>,
    do_lower_case: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SentenceTransformersConfig {
    prompts: Option<BTreeMap<String, String>>,
    default_prompt_name: Option<String>,
    truncate_dim: Option<usize>,
    similarity_fn_name: Option<String>,
}

impl Layout {
    /// Reads the layout of a directory: sentence-transformers' `modules.json`, else plain transformers.
    pub(crate) fn read(directory: &Path) -> Result<Self, EncoderError> {
        let Some(entries) = read_modules(directory)? else {
            return Ok(Self::plain(directory));
        };
        let mut layout = Self { is_plain: false, ..Self::plain(directory) };
        for (index, entry) in entries.iter().enumerate() {
            let folder = directory.join(&entry.path);
            let class = entry.class.rsplit('.').next().unwrap_or_default();
            match class {
                "Transformer" if index == 0 => layout.transformer = folder,
                "Pooling" if layout.pooling.is_none() => {
                    let config = read_pooling(&folder)?;
                    layout.pooling = Some(config.poolings);
                    layout.pools_prompt = config.pools_prompt;
                    layout.pooled_width = config.width.map(|width| (width, config.path));
                }
                "Dense" if layout.pooling.is_some() => {
                    let config = required_json(&folder.join("config.json"))?;
                    layout.modules.push(Module::Dense { folder, config });
                }
                "Normalize" if layout.pooling.is_some() => layout.modules.push(Module::Normalize),
                // Dropout does nothing outside training.
                "Dropout" => {}
                _ => {
                    let what = format!("module {index} of type {:?}", entry.class);
                    let supported =
                        "a Transformer, then Pooling, then any number of Dense, Normalize and Dropout";
                    let path = directory.join("modules.json");
                    return Err(ModelError::unsupported(path, what, supported).into());
                }
            }
        }
        let mut sentence_bert = SentenceBertConfig::default();
        for name in SENTENCE_BERT_CONFIGS {
            let path = layout.transformer.join(name);
            if let Some(config) = read_json(&path)? {
                sentence_bert = config;
                if sentence_bert.max_seq_length == Some(0) {
                    return Err(ModelError::Config { path, problem: "max_seq_length is 0".to_owned() }.into());
                }
                break;
            }
        }
        layout.max_length = sentence_bert.max_seq_length;
        layout.lowercase = sentence_bert.do_lower_case;
        let path = directory.join("config_sentence_transformers.json");
        let config: SentenceTransformersConfig = read_json(&path)?.unwrap_or_default();
        layout.prompts = config.prompts.unwrap_or_default();
        layout.default_prompt = config.default_prompt_name;
        layout.similarity = config.similarity_fn_name;
        layout.truncate_dim = config.truncate_dim;
        if layout.truncate_dim == Some(0) {
            return Err(ModelError::Config { path, problem: "truncate_dim is 0".to_owned() }.into());
        }
        if let Some(name) = layout.default_prompt.as_ref().filter(|name| !layout.prompts.contains_key(*name))
        {
            let problem = format!("the default prompt is {name:?}, but there is no prompt of that name");
            return Err(ModelError::Config { path, problem }.into());
        }
        Ok(layout)
    }

    /// A directory of transformers: what follows the transformer is not known.
    pub(crate) fn plain(directory: &Path) -> Self {
        Self {
            transformer: directory.to_owned(),
            pooling: None,
            pools_prompt: true,
            pooled_width: None,
            modules: Vec::new(),
            is_plain: true,
            max_length: None,
            lowercase: false,
            truncate_dim: None,
            prompts: BTreeMap::new(),
            default_prompt: None,
            similarity: None,
        }
    }

    /// Refuses a pooling of vectors that the transformer does not make: its file is another model's.
    pub(crate) fn check_pooled_width(&self, config: &TransformerConfig) -> Result<(), ModelError> {
        let Some((width, path)) = &self.pooled_width else { return Ok(()) };
        if usize::try_from(*width) == Ok(config.hidden) {
            return Ok(());
        }
        let problem = format!("pools vectors of {width} dimensions, but the model's have {}", config.hidden);
        Err(ModelError::Config { path: path.clone(), problem })
    }

    /// Loads the tokenizer, which truncates to the length that is asked for, else to the model's own. It is
    /// added to the fingerprint.
    pub(crate) fn tokenizer(
        &self,
        asked: Option<usize>,
        config: &TransformerConfig,
        fingerprint: &mut Fingerprint,
    ) -> Result<Tokenizer, EncoderError> {
        let (folder, lowercase) = (&self.transformer, self.lowercase);
        let read = TokenizerConfig::read(folder)?;
        let length = match asked {
            Some(asked) => check_length(asked, config)?,
            None => {
                let longest = config.longest_input();
                self.max_length.or_else(|| read.max_length()).unwrap_or(longest).min(longest)
            }
        };
        Ok(Tokenizer::load(folder, &read, length, lowercase, config.model_type, fingerprint)?)
    }

    /// The prompt under the first of these names that the model has, else its default one.
    pub(crate) fn prompt(&self, names: &[&str]) -> Option<&str> {
        let named = names.iter().find_map(|name| self.prompts.get(*name));
        named.or_else(|| self.prompts.get(self.default_prompt.as_ref()?)).map(String::as_str)
    }
}

/// A maximum length that was asked for, if the model has positions for it.
pub(crate) fn check_length(asked: usize, config: &TransformerConfig) -> Result<usize, TokenizerError> {
    let longest = config.longest_input();
    if asked > longest {
        let reason = format!("the model has positions for {longest}");
        return Err(TokenizerError::MaxLength { asked, reason });
    }
    Ok(asked)
}

/// Reads the old form, a boolean for each pooling, and the new one, a name or a list of names.
fn read_pooling(folder: &Path) -> Result<PoolingConfig, EncoderError> {
    let path = folder.join("config.json");
    let config: BTreeMap<String, Value> = required_json(&path)?;
    let unsupported = |what: String| ModelError::unsupported(&path, what, Pooling::NAMES.join(", "));
    let mut poolings = Vec::new();
    match config.get("pooling_mode") {
        Some(mode) => {
            let names = match mode {
                Value::Array(names) => names.clone(),
                name => vec![name.clone()],
            };
            for name in names {
                let pooling = name.as_str().and_then(|name| name.parse().ok());
                poolings.push(pooling.ok_or_else(|| unsupported(format!("pooling_mode {name}")))?);
            }
        }
        None => {
            // sentence-transformers concatenates in this order.
            for (key, pooling) in [
                ("pooling_mode_cls_token", Pooling::Cls),
                ("pooling_mode_max_tokens", Pooling::Max),
                ("pooling_mode_mean_tokens", Pooling::Mean),
                ("pooling_mode_mean_sqrt_len_tokens", Pooling::MeanSqrtLen),
                ("pooling_mode_weightedmean_tokens", Pooling::WeightedMean),
                ("pooling_mode_lasttoken", Pooling::LastToken),
            ] {
                if config.get(key) == Some(&Value::Bool(true)) {
                    poolings.push(pooling);
                }
            }
        }
    }
    if poolings.is_empty() {
        return Err(unsupported("a pooling without a mode".to_owned()).into());
    }
    let width = ["word_embedding_dimension", "embedding_dimension"].iter().find_map(|key| config.get(*key));
    Ok(PoolingConfig {
        poolings,
        pools_prompt: config.get("include_prompt") != Some(&Value::Bool(false)),
        width: width.and_then(Value::as_u64),
        path,
    })
}
