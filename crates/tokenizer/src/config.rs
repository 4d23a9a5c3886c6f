//! tokenizer_config.json.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use tokenizers::normalizers::bert::BertNormalizer;
use tokenizers::{AddedToken, NormalizerWrapper, PreTokenizerWrapper, TruncationDirection};
use toller_checkpoint::{ModelError, ModelType, read_json};

use crate::TokenizerError;

/// tokenizer_config.json, as far as it matters here.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct TokenizerConfig {
    pub(super) do_lower_case: Option<bool>,
    pub(super) strip_accents: Option<bool>,
    pub(super) tokenize_chinese_chars: Option<bool>,
    pub(super) add_prefix_space: Option<bool>,
    /// Whether special tokens in a text are text.
    #[serde(default)]
    pub(super) split_special_tokens: bool,
    /// The Python class. Older models have it in config.json.
    pub(super) tokenizer_class: Option<String>,
    model_max_length: Option<f64>,
    truncation_side: Option<String>,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

/// The classes that read tokenizer.json as it is. They are without `Fast`, as all classes here.
pub(super) const GENERIC_CLASSES: [&str; 2] = ["PreTrainedTokenizer", "TokenizersBackend"];

/// The classes that make the normalizer of a tokenizer.json again from their flags. (transformers 5.24 reads
/// `do_lower_case` for DPR's under another name. Here it is read.)
const BERT_CLASSES: [&str; 7] = [
    "BertTokenizer", "DistilBertTokenizer", "DPRContextEncoderTokenizer", "DPRQuestionEncoderTokenizer",
    "DPRReaderTokenizer", "ElectraTokenizer", "MPNetTokenizer",
];

/// The other classes that give a model no token types, unless `model_input_names` has them. (Before
/// transformers 5, generic classes gave them.)
const CLASSES_WITHOUT_TYPES: [&str; 5] = [
    "CamembertTokenizer", "DistilBertTokenizer", "MPNetTokenizer", "RobertaTokenizer", "XLMRobertaTokenizer",
];

/// config.json, as far as it matters here.
#[derive(Deserialize)]
struct ModelConfig {
    tokenizer_class: Option<String>,
}

impl TokenizerConfig {
    /// Reads `tokenizer_config.json` of a folder, and the files that older folders have next to it. Without
    /// these files nothing is set.
    pub fn read(folder: &Path) -> Result<Self, TokenizerError> {
        let path = folder.join("tokenizer_config.json");
        let mut config: Self = read_json(&path)?.unwrap_or_default();
        if config.tokenizer_class.is_none() {
            let model: Option<ModelConfig> = read_json(&folder.join("config.json"))?;
            config.tokenizer_class = model.and_then(|model| model.tokenizer_class);
        }
        if let Some(length) = config.model_max_length.filter(|length| *length < 1.0) {
            let problem = format!("model_max_length is {length}");
            return Err(ModelError::Config { path, problem }.into());
        }
        // The older form of a tokenizer's tokens: files of their own, which count if the newer form is
        // missing.
        if !config.other.contains_key("added_tokens_decoder") {
            let tokens: Option<BTreeMap<String, Value>> = read_json(&folder.join("special_tokens_map.json"))?;
            config.other.extend(tokens.unwrap_or_default());
            let added: Option<BTreeMap<String, u32>> = read_json(&folder.join("added_tokens.json"))?;
            if let Some(added) = added {
                let by_id =
                    added.into_iter().map(|(token, id)| (id.to_string(), json!({ "content": token })));
                config.other.insert("added_tokens_decoder".to_owned(), Value::Object(by_id.collect()));
            }
        }
        Ok(config)
    }

    /// The longest input, special tokens included, if the configuration has a real limit: "unlimited" is
    /// written as a number of thirty digits.
    pub fn max_length(&self) -> Option<usize> {
        self.model_max_length.filter(|&length| (1.0..1e9).contains(&length)).map(|length| length as usize)
    }

    /// The side on which texts are cut.
    pub(super) fn truncation_direction(&self, folder: &Path) -> Result<TruncationDirection, TokenizerError> {
        match self.truncation_side.as_deref() {
            None | Some("right") => Ok(TruncationDirection::Right),
            Some("left") => Ok(TruncationDirection::Left),
            Some(other) => Err(ModelError::Config {
                path: folder.join("tokenizer_config.json"),
                problem: format!("truncation_side is {other:?}, neither \"left\" nor \"right\""),
            }
            .into()),
        }
    }

    /// The Python class, whose fast form is the same.
    pub(super) fn class(&self) -> Option<&str> {
        self.tokenizer_class.as_deref().map(|class| class.strip_suffix("Fast").unwrap_or(class))
    }

    /// Whether the class is one that reads tokenizer.json as it is.
    fn is_generic(&self) -> bool {
        self.class().is_some_and(|class| GENERIC_CLASSES.contains(&class))
    }

    /// Whether transformers gives a model the types of its tokens. Without them, all are of type 0.
    pub fn gives_token_types(&self) -> bool {
        match self.other.get("model_input_names").and_then(Value::as_array) {
            Some(names) => names.iter().any(|name| name == "token_type_ids"),
            None => {
                let is_without = |class| CLASSES_WITHOUT_TYPES.contains(&class);
                !self.is_generic() && !self.class().is_some_and(is_without)
            }
        }
    }

    /// Lets the flags overrule the normalizer of a `tokenizer.json`, as transformers does for BERT: a flag
    /// that is not there has the class's default. Returns whether the class, and not the flags alone, decides
    /// what the normalizer is.
    pub(super) fn correct_normalizer(
        &self,
        tokenizer: &mut tokenizers::Tokenizer,
        model_type: ModelType,
    ) -> Result<bool, String> {
        let Some(NormalizerWrapper::BertNormalizer(written)) = tokenizer.get_normalizer() else {
            return Ok(false);
        };
        if self.is_generic() {
            return Ok(false);
        }
        let parts =
            |of: &BertNormalizer| (of.clean_text, of.handle_chinese_chars, of.strip_accents, of.lowercase);
        let by_flags = (
            written.clean_text,
            self.tokenize_chinese_chars.unwrap_or(written.handle_chinese_chars),
            self.strip_accents.or(written.strip_accents),
            self.do_lower_case.unwrap_or(written.lowercase),
        );
        let is_bert = match self.class() {
            Some(class) => BERT_CLASSES.contains(&class),
            None => model_type != ModelType::Realm,
        };
        // ModernBERT's tokenizer is always of a generic class.
        if !is_bert || model_type == ModelType::ModernBert {
            return Ok(parts(written) != by_flags);
        }
        let corrected = BertNormalizer::new(
            true,
            self.tokenize_chinese_chars.unwrap_or(true),
            self.strip_accents,
            self.do_lower_case.unwrap_or(true),
        );
        let by_class = parts(&corrected) != by_flags;
        tokenizer.with_normalizer(Some(corrected)).map_err(|error| error.to_string())?;
        Ok(by_class)
    }

    /// Lets `add_prefix_space` overrule the words of a `tokenizer.json`, as transformers does for RoBERTa.
    /// Returns whether that changes them.
    pub(super) fn correct_prefix(&self, tokenizer: &mut tokenizers::Tokenizer) -> bool {
        let Some(PreTokenizerWrapper::ByteLevel(words)) = tokenizer.get_pre_tokenizer() else { return false };
        let prefix = self.add_prefix_space.filter(|_| self.class() == Some("RobertaTokenizer"));
        let Some(prefix) = prefix.filter(|prefix| *prefix != words.add_prefix_space) else { return false };
        let words = words.add_prefix_space(prefix);
        tokenizer.with_pre_tokenizer(Some(words));
        true
    }

    /// The chat template: the only one, or the default one of several by name.
    pub(super) fn chat_template(&self) -> Option<&str> {
        let found = self.other.get("chat_template")?;
        let is_default = |entry: &&Value| entry["name"] == "default";
        let named = || found.as_array()?.iter().find(is_default)?["template"].as_str();
        found.as_str().or_else(named)
    }

    /// The text of the special token of a role, where the configuration has one.
    pub(super) fn content_of(&self, role: &str) -> Option<String> {
        Some(added_token(self.other.get(role)?, true)?.content)
    }

    /// A special token, written as a string or as an object with its flags.
    pub(super) fn special(&self, role: &str, default: &str) -> AddedToken {
        let written = self.other.get(role).and_then(|value| added_token(value, true));
        written.unwrap_or_else(|| AddedToken::from(default, true))
    }

    /// `eos_token`: the token at the end of a text.
    pub(super) fn end_of_text(&self) -> Option<String> {
        Some(added_token(self.other.get("eos_token")?, true)?.content)
    }

    /// `added_tokens_decoder`: the tokens with an id, in the order of the ids.
    pub(super) fn added_tokens(&self) -> Vec<(u32, AddedToken)> {
        let entries = self.other.get("added_tokens_decoder").and_then(Value::as_object);
        let tokens = entries.into_iter().flatten();
        let mut tokens: Vec<(u32, AddedToken)> =
            tokens.filter_map(|(id, token)| Some((id.parse().ok()?, added_token(token, false)?))).collect();
        tokens.sort_by_key(|(id, _)| *id);
        tokens
    }

    /// How texts become words, in a tokenizer for Japanese: `basic` is BERT's way.
    pub(super) fn words(&self) -> Option<&str> {
        self.other.get("word_tokenizer_type")?.as_str()
    }

    /// `additional_special_tokens`, which newer files call `extra_special_tokens`, and where they may have
    /// names.
    pub(super) fn additional_tokens(&self) -> Vec<AddedToken> {
        let lists = ["additional_special_tokens", "extra_special_tokens"];
        let tokens = lists.iter().filter_map(|name| self.other.get(*name)).flat_map(|found| match found {
            Value::Array(tokens) => tokens.iter().collect(),
            Value::Object(by_name) => by_name.values().collect(),
            _ => Vec::new(),
        });
        tokens.filter_map(|token| added_token(token, true)).collect()
    }
}

/// A token written as a string, or as an object with flags. A flag that is not written is not set.
fn added_token(value: &Value, special: bool) -> Option<AddedToken> {
    let content =
        value.as_str().or_else(|| value.get("content")?.as_str()).filter(|content| !content.is_empty())?;
    let flag = |name: &str, default| value.get(name).and_then(Value::as_bool).unwrap_or(default);
    let special = flag("special", special) || special;
    Some(
        AddedToken::from(content, special)
            .single_word(flag("single_word", false))
            .lstrip(flag("lstrip", false))
            .rstrip(flag("rstrip", false))
            .normalized(flag("normalized", !special)),
    )
}
