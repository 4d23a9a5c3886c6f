//! The layouts in which models are published: everything around the transformer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use toller_checkpoint::{
    ADAPTER_CONFIG, AdapterConfig, Fingerprint, ModelError, ModelType, read_json, read_route, required_json,
};
use toller_ir::{Role, UnknownName};
use toller_nn::Pooling;
use toller_tokenizer::{ChatSettings, ChatTemplate, Tokenizer, TokenizerConfig, TokenizerError};

use crate::EncoderError;
use crate::config::TransformerConfig;
use crate::dual_encoder::prompt_names;
use crate::masked_lm::Saturation;
use crate::modules::{DenseConfig, LogitScore, Module, PoolingConfig, read_splade};
use crate::titles::TitleMode;

/// How a text becomes a vector with this model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    /// The model's directory.
    pub(crate) directory: PathBuf,
    /// The folder of config.json, the weights and the tokenizer.
    pub(crate) transformer: PathBuf,
    /// The poolings, concatenated. `None` if the layout does not give any.
    pub(crate) pooling: Option<Vec<Pooling>>,
    /// How the weights of terms are made, if the model is a sparse encoder.
    pub(crate) splade: Option<Saturation>,
    /// The tokens whose logits are the score, if the model is a language model that reranks.
    pub(crate) logit_score: Option<LogitScore>,
    /// Whether the model reads texts as messages of its chat template, and how. Plain transformers leave that
    /// open.
    pub(crate) reads_messages: Option<bool>,
    pub(crate) chat: ChatSettings,
    /// Whether the model is only a weight for each term, in the folder `transformer`.
    pub(crate) has_static_weights: bool,
    /// Whether the prompt's tokens are pooled with the text's (`include_prompt`).
    pub(crate) pools_prompt: bool,
    /// The width of the vectors that are pooled, and the file that gives it.
    pooled_width: Option<(u64, PathBuf)>,
    pub(crate) modules: Vec<Module>,
    /// Whether there is no `modules.json`, so that the steps after the transformer are unknown.
    pub(crate) is_plain: bool,
    /// `max_seq_length` of sentence_bert_config.json.
    pub(crate) max_length: Option<usize>,
    /// The same for one role: `query_length` and `document_length`.
    pub(crate) query_length: Option<usize>,
    pub(crate) document_length: Option<usize>,
    pub(crate) lowercase: bool,
    /// Whether every input ends in the tokenizer's end token, also where the tokenizer does not end it so.
    pub(crate) appends_eos: bool,
    /// Dimensions that are kept of a vector (`truncate_dim`).
    pub(crate) truncate_dim: Option<usize>,
    /// The prompts by name, and the name of the default one.
    pub(crate) prompts: BTreeMap<String, String>,
    pub(crate) default_prompt: Option<String>,
    /// How vectors are compared, by sentence-transformers' name for it.
    pub(crate) similarity: Option<String>,
    /// How titles were given to the model in training.
    pub(crate) titles: Option<TitleMode>,
    /// The Python class that sentence-transformers applies to the logits of pairs.
    pub(crate) activation_class: Option<String>,
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
    query_length: Option<usize>,
    document_length: Option<usize>,
    do_lower_case: bool,
    query_expansion: Option<Value>,
    /// What the transformer makes: `fill-mask` for the logits of a masked language model, `text-generation`
    /// for those of a causal one.
    transformer_task: Option<String>,
    /// The kinds of input; `message` for texts in a chat template.
    modality_config: Option<BTreeMap<String, Modality>>,
    /// Arguments of the tokenizer, by the kind of input.
    processing_kwargs: Option<BTreeMap<String, Value>>,
}

/// How one kind of input is read.
#[derive(Deserialize)]
struct Modality {
    /// Of messages: `flat` where a content is a string, `structured` where it is a list of parts.
    format: Option<String>,
}

/// Arguments next to the variables of a chat template that sentence-transformers and transformers take, and
/// that change the input.
const OF_CHATS: [&str; 10] = [
    "chat_template", "continue_final_message", "max_length", "processor_kwargs", "restore_suffix",
    "return_assistant_tokens_mask", "sanitize_control_tokens", "tokenize", "tokenizer_kwargs", "truncation",
];

/// Arguments of a tokenizer that change no vector.
const HARMLESS: [&str; 3] = ["padding", "pad_to_multiple_of", "return_tensors"];

impl SentenceBertConfig {
    fn read(path: &Path) -> Result<Option<Self>, ModelError> {
        let Some(config) = read_json::<Self>(path)? else { return Ok(None) };
        for (name, length) in [
            ("max_seq_length", config.max_seq_length),
            ("query_length", config.query_length),
            ("document_length", config.document_length),
        ] {
            if length == Some(0) {
                return Err(ModelError::Config { path: path.to_owned(), problem: format!("{name} is 0") });
            }
        }
        let supported = "max_seq_length, query_length, document_length, do_lower_case";
        match config.unknown() {
            Some(what) => Err(ModelError::unsupported(path, what, supported)),
            None => Ok(Some(config)),
        }
    }

    /// A setting that changes inputs and is not known here.
    fn unknown(&self) -> Option<String> {
        let arguments = self.processing_kwargs.iter().flatten();
        let of_texts = arguments.filter(|(kind, _)| ["text", "common"].contains(&kind.as_str()));
        let names = of_texts.filter_map(|(_, values)| values.as_object()).flat_map(|values| values.keys());
        let of_chats = self.chat_variables().filter(|(name, _)| OF_CHATS.contains(&name.as_str()));
        let mut names = names.chain(of_chats.map(|(name, _)| name));
        if let Some(name) = names.find(|name| !HARMLESS.contains(&name.as_str())) {
            return Some(format!("{name:?} in processing_kwargs"));
        }
        let expansion = self.query_expansion.as_ref().filter(|value| **value != Value::Bool(false));
        expansion.map(|_| "query_expansion".to_owned())
    }

    /// The variables of the chat template, and other arguments next to them.
    fn chat_variables(&self) -> impl Iterator<Item = (&String, &Value)> {
        let arguments = self.processing_kwargs.iter().flatten();
        let of_chats = arguments.filter(|(kind, _)| *kind == "chat_template");
        of_chats.filter_map(|(_, values)| values.as_object()).flatten()
    }

    /// How the chat template is run.
    fn chat(&self, path: &Path) -> Result<ChatSettings, ModelError> {
        let modalities = self.modality_config.as_ref();
        let format = modalities.and_then(|modalities| modalities.get("message")?.format.as_deref());
        let has_parts = match format {
            None | Some("auto") => None,
            Some("flat") => Some(false),
            Some("structured") => Some(true),
            Some(other) => {
                let what = format!("messages in the format {other:?}");
                return Err(ModelError::unsupported(path, what, "flat, structured"));
            }
        };
        let variables = self.chat_variables().filter(|(name, _)| !HARMLESS.contains(&name.as_str()));
        let variables = variables.map(|(name, value)| (name.clone(), value.clone())).collect();
        Ok(ChatSettings { has_parts, variables })
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SentenceTransformersConfig {
    /// A prompt may be null, which is an empty one.
    prompts: Option<BTreeMap<String, Option<String>>>,
    default_prompt_name: Option<String>,
    truncate_dim: Option<usize>,
    similarity_fn_name: Option<String>,
    activation_fn: Option<String>,
    /// The most terms of a text that a sparse encoder keeps.
    max_active_dims: Option<usize>,
    /// Toller's own.
    title_mode: Option<String>,
    title_separator: Option<String>,
}

impl SentenceTransformersConfig {
    fn read(directory: &Path) -> Result<(PathBuf, Self), ModelError> {
        let path = directory.join("config_sentence_transformers.json");
        let config = read_json(&path)?.unwrap_or_default();
        Ok((path, config))
    }

    /// How titles were given to the model in training.
    fn titles(&self, path: &Path) -> Result<Option<TitleMode>, ModelError> {
        let problem = |problem: String| ModelError::Config { path: path.to_owned(), problem };
        let name = self.title_mode.as_deref().map(str::parse).transpose();
        let name = name.map_err(|error: UnknownName| problem(error.to_string()))?;
        let separator = self.title_separator.clone();
        TitleMode::of(None, name, separator, None).map_err(|error| problem(error.to_string()))
    }
}

impl Layout {
    /// Reads the layout of a directory: sentence-transformers' `modules.json`, else plain transformers. Of a
    /// Router, the route of the role counts.
    pub(crate) fn read(directory: &Path, role: Role) -> Result<Self, EncoderError> {
        let Some(entries) = read_route(directory, Some(prompt_names(role)))? else {
            let (path, config) = SentenceTransformersConfig::read(directory)?;
            return Ok(Self { titles: config.titles(&path)?, ..Self::plain(directory) });
        };
        let mut layout = Self { is_plain: false, ..Self::plain(directory) };
        for (index, entry) in entries.iter().enumerate() {
            let folder = directory.join(&entry.path);
            let class = entry.class.rsplit('.').next().unwrap_or_default();
            match class {
                "Transformer" | "MLMTransformer" if index == 0 => layout.transformer = folder,
                "SparseStaticEmbedding" if index == 0 && entries.len() == 1 => {
                    layout.transformer = folder;
                    layout.has_static_weights = true;
                }
                "LogitScore" if index == 1 => layout.logit_score = Some(LogitScore::read(&folder)?),
                "SpladePooling" if index == 1 => layout.splade = Some(read_splade(&folder)?),
                "Pooling" if layout.pooling.is_none() && layout.logit_score.is_none() => {
                    let config = PoolingConfig::read(&folder)?;
                    layout.pooling = Some(config.poolings);
                    layout.pools_prompt = config.pools_prompt;
                    layout.pooled_width = config.width.map(|width| (width, config.path));
                }
                "Dense" if layout.pooling.is_some() => {
                    let config = DenseConfig::read(&folder)?;
                    if config.gives_scores && index + 1 < entries.len() {
                        let what = "a module after a Dense module of \"scores\"";
                        let supported = "scores at the end";
                        let path = directory.join("modules.json");
                        return Err(ModelError::unsupported(path, what, supported).into());
                    }
                    layout.modules.push(Module::Dense { folder, config });
                }
                "LayerNorm" if layout.pooling.is_some() => {
                    let config = required_json(&folder.join("config.json"))?;
                    layout.modules.push(Module::LayerNorm { folder, config });
                }
                "Normalize" if layout.pooling.is_some() => layout.modules.push(Module::Normalize),
                // Dropout does nothing outside training.
                "Dropout" => {}
                _ => {
                    let what = format!("module {index} of type {:?}", entry.class);
                    let supported = "a Transformer, then Pooling, then any number of Dense, LayerNorm, \
                                     Normalize and Dropout; or an MLMTransformer and SpladePooling; or a \
                                     SparseStaticEmbedding; or a Transformer and a LogitScore";
                    let path = directory.join("modules.json");
                    return Err(ModelError::unsupported(path, what, supported).into());
                }
            }
        }
        let is_inside = layout.transformer != directory;
        if is_inside && AdapterConfig::read(directory)?.is_some_and(|adapter| adapter.is_lora()) {
            let what = "an adapter next to a model whose transformer is in a folder of its own";
            let supported = "an adapter in the folder of the transformer";
            return Err(ModelError::unsupported(directory.join(ADAPTER_CONFIG), what, supported).into());
        }
        let mut sentence_bert = SentenceBertConfig::default();
        for name in SENTENCE_BERT_CONFIGS {
            let path = layout.transformer.join(name);
            if let Some(config) = SentenceBertConfig::read(&path)? {
                layout.chat = config.chat(&path)?;
                sentence_bert = config;
                break;
            }
        }
        let is_masked_lm = entries.first().is_some_and(|entry| entry.class.ends_with("MLMTransformer"))
            || sentence_bert.transformer_task.as_deref() == Some("fill-mask");
        if is_masked_lm && layout.splade.is_none() {
            let what = "a masked language model whose logits are not pooled by SpladePooling";
            let path = directory.join("modules.json");
            return Err(ModelError::unsupported(path, what, "an MLMTransformer and SpladePooling").into());
        }
        if sentence_bert.transformer_task.as_deref() == Some("text-generation")
            && layout.logit_score.is_none()
        {
            let what = "a language model without a module that makes a score of its logits";
            let path = directory.join("modules.json");
            return Err(ModelError::unsupported(path, what, "a Transformer and a LogitScore").into());
        }
        let modalities = sentence_bert.modality_config.as_ref();
        layout.reads_messages = Some(modalities.is_some_and(|modalities| modalities.contains_key("message")));
        layout.max_length = sentence_bert.max_seq_length;
        layout.query_length = sentence_bert.query_length;
        layout.document_length = sentence_bert.document_length;
        layout.lowercase = sentence_bert.do_lower_case;
        let (path, config) = SentenceTransformersConfig::read(directory)?;
        layout.titles = config.titles(&path)?;
        if config.max_active_dims.is_some() && layout.splade.is_some() {
            return Err(ModelError::unsupported(path, "max_active_dims", "all terms of a text").into());
        }
        let prompts = config.prompts.unwrap_or_default().into_iter();
        layout.prompts = prompts.map(|(name, prompt)| (name, prompt.unwrap_or_default())).collect();
        layout.activation_class = config.activation_fn;
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
            directory: directory.to_owned(),
            transformer: directory.to_owned(),
            pooling: None,
            splade: None,
            logit_score: None,
            reads_messages: None,
            chat: ChatSettings::default(),
            has_static_weights: false,
            pools_prompt: true,
            pooled_width: None,
            modules: Vec::new(),
            is_plain: true,
            max_length: None,
            query_length: None,
            document_length: None,
            lowercase: false,
            appends_eos: false,
            truncate_dim: None,
            prompts: BTreeMap::new(),
            default_prompt: None,
            similarity: None,
            titles: None,
            activation_class: None,
        }
    }

    /// Scales the vectors to unit length, if that is not done.
    pub(crate) fn normalize(&mut self) {
        if self.modules.last() != Some(&Module::Normalize) {
            self.modules.push(Module::Normalize);
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
                let usual = config.usual_length.unwrap_or(longest);
                self.max_length.or_else(|| read.max_length()).unwrap_or(usual).min(longest)
            }
        };
        let tokenizer = Tokenizer::load(folder, &read, length, lowercase, config.model_type, fingerprint)?;
        let tokenizer = if self.appends_eos { tokenizer.with_end(&read, fingerprint)? } else { tokenizer };
        // Without embeddings of types, there is nothing to leave out.
        let uses_types = config.token_types == 0 || read.gives_token_types();
        Ok(if uses_types { tokenizer } else { tokenizer.without_token_types(fingerprint) })
    }

    /// Loads the tokenizer of terms with fixed weights, which come without special tokens.
    pub(crate) fn tokenizer_of_terms(
        &self,
        asked: Option<usize>,
        fingerprint: &mut Fingerprint,
    ) -> Result<Tokenizer, EncoderError> {
        let folder = &self.transformer;
        let read = TokenizerConfig::read(folder)?;
        let length = asked.or_else(|| read.max_length()).unwrap_or(LONGEST_OF_TERMS);
        // The folder has no model, whose type says how files without a `tokenizer.json` are read.
        let tokenizer = Tokenizer::load(folder, &read, length, false, ModelType::Bert, fingerprint)?;
        Ok(tokenizer.without_special_tokens(fingerprint).without_token_types(fingerprint))
    }

    /// The last module, if it makes the scores of a cross-encoder: its folder and its configuration.
    pub(crate) fn scores(&self) -> Option<(&Path, &DenseConfig)> {
        match self.modules.last()? {
            Module::Dense { folder, config } if config.gives_scores => Some((folder, config)),
            _ => None,
        }
    }

    /// The chat template of the tokenizer's folder, unless the files say that the model reads no messages.
    pub(crate) fn chat_template(&self) -> Result<Option<ChatTemplate>, TokenizerError> {
        if self.reads_messages == Some(false) {
            return Ok(None);
        }
        ChatTemplate::read(&self.transformer, &TokenizerConfig::read(&self.transformer)?, &self.chat)
    }

    /// The prompt under the first of these names that the model has. As in sentence-transformers, its default
    /// one is not for texts with a role.
    pub(crate) fn prompt(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.prompts.get(*name)).map(String::as_str)
    }

    /// The model's default prompt.
    pub(crate) fn prompt_by_default(&self) -> Option<&str> {
        self.prompts.get(self.default_prompt.as_ref()?).map(String::as_str)
    }
}

/// Tokens of a text of terms with fixed weights, where no length is given.
const LONGEST_OF_TERMS: usize = u32::MAX as usize;

/// A maximum length that was asked for, if the model has positions for it.
pub(crate) fn check_length(asked: usize, config: &TransformerConfig) -> Result<usize, TokenizerError> {
    let longest = config.longest_input();
    if asked > longest {
        let reason = format!("the model has positions for {longest}");
        return Err(TokenizerError::MaxLength { asked, reason });
    }
    Ok(asked)
}
