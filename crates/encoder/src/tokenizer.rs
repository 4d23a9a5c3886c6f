//! From text to token ids, as Hugging Face's tokenizers do it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::bert::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{
    AddedToken, NormalizerWrapper, PostProcessor, TruncationDirection, TruncationParams, TruncationStrategy,
};
use toller_files::FileError;

use crate::EncoderError;
use crate::batch::Tokens;
use crate::fingerprint::Fingerprint;

/// A tokenizer that truncates to a maximum length and never pads.
pub(crate) struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// Whether texts are lower-cased first (`do_lower_case` of sentence_bert_config.json).
    lowercase: bool,
}

/// tokenizer_config.json, as far as it matters here.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct TokenizerConfig {
    do_lower_case: Option<bool>,
    strip_accents: Option<bool>,
    tokenize_chinese_chars: Option<bool>,
    model_max_length: Option<f64>,
    truncation_side: Option<String>,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

impl TokenizerConfig {
    /// Reads `tokenizer_config.json` of a folder; nothing is set where there is none.
    pub(crate) fn read(folder: &Path) -> Result<Self, EncoderError> {
        let path = folder.join("tokenizer_config.json");
        if !path.is_file() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(&path).map_err(FileError::on("read", &path))?;
        serde_json::from_str(&text)
            .map_err(|error| EncoderError::Config { problem: error.to_string(), path: path.clone() })
    }

    /// The longest input, special tokens included, where the configuration has a real one: "unlimited" is
    /// written as a number of thirty digits.
    pub(crate) fn max_length(&self) -> Option<usize> {
        self.model_max_length.filter(|&length| (1.0..1e9).contains(&length)).map(|length| length as usize)
    }

    /// The side on which texts are cut.
    fn truncation_direction(&self, folder: &Path) -> Result<TruncationDirection, EncoderError> {
        match self.truncation_side.as_deref() {
            None | Some("right") => Ok(TruncationDirection::Right),
            Some("left") => Ok(TruncationDirection::Left),
            Some(other) => Err(EncoderError::Config {
                path: folder.join("tokenizer_config.json"),
                problem: format!("truncation_side is {other:?}, neither \"left\" nor \"right\""),
            }),
        }
    }

    /// Lets the flags overrule the normalizer of a `tokenizer.json`, as transformers does for BERT.
    fn correct_normalizer(&self, tokenizer: &mut tokenizers::Tokenizer) -> Result<(), String> {
        let Some(NormalizerWrapper::BertNormalizer(normalizer)) = tokenizer.get_normalizer() else {
            return Ok(());
        };
        let corrected = BertNormalizer::new(
            normalizer.clean_text,
            self.tokenize_chinese_chars.unwrap_or(normalizer.handle_chinese_chars),
            self.strip_accents.or(normalizer.strip_accents),
            self.do_lower_case.unwrap_or(normalizer.lowercase),
        );
        tokenizer.with_normalizer(Some(corrected)).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// The text of a special token, written as a string or as an object.
    fn special(&self, name: &str, default: &str) -> String {
        let value = self.other.get(name);
        let text = value.and_then(|value| value.as_str().or_else(|| value.get("content")?.as_str()));
        text.unwrap_or(default).to_owned()
    }
}

impl Tokenizer {
    /// Loads the tokenizer of a folder: `tokenizer.json`, else BERT's `vocab.txt` with the flags of
    /// `tokenizer_config.json`. Texts are truncated to `max_length` tokens, special tokens included.
    pub(crate) fn load(
        folder: &Path,
        config: &TokenizerConfig,
        max_length: usize,
        lowercase: bool,
        fingerprint: &mut Fingerprint,
    ) -> Result<Self, EncoderError> {
        let json = folder.join("tokenizer.json");
        let vocabulary = folder.join("vocab.txt");
        let mut inner = if json.is_file() {
            let bytes = std::fs::read(&json).map_err(FileError::on("read", &json))?;
            let problem = |problem: String| EncoderError::Config { problem, path: json.clone() };
            let mut tokenizer =
                tokenizers::Tokenizer::from_bytes(&bytes).map_err(|error| problem(error.to_string()))?;
            let mut value: Value =
                serde_json::from_slice(&bytes).map_err(|error| problem(error.to_string()))?;
            if let Some(fields) = value.as_object_mut() {
                // Neither is used: texts are not padded, and truncated to the length that is asked for.
                fields.remove("truncation");
                fields.remove("padding");
            }
            fingerprint.json("tokenizer.json", &value);
            config.correct_normalizer(&mut tokenizer).map_err(problem)?;
            tokenizer
        } else if vocabulary.is_file() {
            word_piece(&vocabulary, config, fingerprint)?
        } else {
            return Err(missing_tokenizer(folder));
        };
        let direction = config.truncation_direction(folder)?;
        let flags = [config.do_lower_case, config.strip_accents, config.tokenize_chinese_chars];
        fingerprint
            .value("tokenizer flags", format!("{lowercase} {flags:?} {}", direction.as_ref()).as_bytes());
        inner.with_padding(None);
        let special = inner.get_post_processor().map_or(0, |processor| processor.added_tokens(false));
        if max_length <= special {
            return Err(EncoderError::MaxLength {
                asked: max_length,
                reason: format!("{special} of them are special tokens, so nothing is left for the text"),
            });
        }
        let truncation =
            TruncationParams { max_length, strategy: TruncationStrategy::LongestFirst, direction, stride: 0 };
        inner
            .with_truncation(Some(truncation))
            .map_err(|error| EncoderError::Tokenizer(error.to_string()))?;
        Ok(Self { inner, lowercase })
    }

    /// The tokens of a text, special tokens included.
    pub(crate) fn encode(&self, text: &str) -> Result<Tokens, EncoderError> {
        let lowered;
        let text = if self.lowercase {
            lowered = text.to_lowercase();
            &lowered
        } else {
            text
        };
        let encoding =
            self.inner.encode_fast(text, true).map_err(|error| EncoderError::Tokenizer(error.to_string()))?;
        Ok(Tokens { input_ids: encoding.get_ids().to_vec(), type_ids: encoding.get_type_ids().to_vec() })
    }
}

/// BERT's tokenizer from its vocabulary, a token a line (Devlin et al. 2019).
fn word_piece(
    path: &Path,
    config: &TokenizerConfig,
    fingerprint: &mut Fingerprint,
) -> Result<tokenizers::Tokenizer, EncoderError> {
    let config_error = |problem: String| EncoderError::Config { problem, path: path.to_owned() };
    let text = std::fs::read_to_string(path).map_err(FileError::on("read", path))?;
    fingerprint.value("vocab.txt", text.as_bytes());
    let lowercase = config.do_lower_case.unwrap_or(true);
    let chinese = config.tokenize_chinese_chars.unwrap_or(true);

    let vocabulary: Vec<(String, u32)> = text
        .strip_suffix('\n')
        .unwrap_or(&text)
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned())
        .zip(0..)
        .collect();
    let specials = [
        ("pad_token", "[PAD]"),
        ("unk_token", "[UNK]"),
        ("cls_token", "[CLS]"),
        ("sep_token", "[SEP]"),
        ("mask_token", "[MASK]"),
    ]
    .map(|(name, default)| config.special(name, default));
    fingerprint.value("special tokens", specials.join("\n").as_bytes());
    let [_, unknown, cls, sep, _] = &specials;
    let id_of = |token: &str| {
        let found = vocabulary.iter().rev().find(|(known, _)| known == token).map(|(_, id)| *id);
        found.ok_or_else(|| config_error(format!("the special token {token} is not in the vocabulary")))
    };
    let (cls_id, sep_id) = (id_of(cls)?, id_of(sep)?);
    id_of(unknown)?;

    let model = WordPiece::builder()
        .vocab(vocabulary.iter().cloned().collect::<ahash::AHashMap<_, _>>())
        .unk_token(unknown.clone())
        .build()
        .map_err(|error| config_error(error.to_string()))?;
    let mut tokenizer = tokenizers::Tokenizer::new(model);
    let template = TemplateProcessing::builder()
        .try_single(vec![format!("{cls}:0"), "$A:0".to_owned(), format!("{sep}:0")])
        .and_then(|builder| {
            builder.try_pair(
                [
                    format!("{cls}:0"),
                    "$A:0".to_owned(),
                    format!("{sep}:0"),
                    "$B:1".to_owned(),
                    format!("{sep}:1"),
                ]
                .to_vec(),
            )
        })
        .map_err(|error| config_error(error.to_string()))?
        .special_tokens(vec![(cls.clone(), cls_id), (sep.clone(), sep_id)])
        .build()
        .map_err(|error| config_error(error.to_string()))?;
    let normalizer = BertNormalizer::new(true, chinese, config.strip_accents, lowercase);
    tokenizer.with_normalizer(Some(normalizer)).map_err(|error| config_error(error.to_string()))?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    tokenizer.with_post_processor(Some(template));
    let known = specials.iter().filter(|token| id_of(token).is_ok());
    tokenizer
        .add_special_tokens(known.map(|token| AddedToken::from(token.clone(), true)))
        .map_err(|error| config_error(error.to_string()))?;
    Ok(tokenizer)
}

fn missing_tokenizer(folder: &Path) -> EncoderError {
    for name in ["sentencepiece.bpe.model", "spiece.model", "vocab.json"] {
        let path = folder.join(name);
        if path.is_file() {
            return EncoderError::Unsupported {
                path,
                what: format!("a tokenizer that is only there as {name}"),
                supported: "tokenizer.json, vocab.txt; transformers writes the former: \
                            AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)"
                    .to_owned(),
            };
        }
    }
    EncoderError::MissingFile {
        directory: folder.to_owned(),
        missing: "tokenizer.json or vocab.txt".to_owned(),
    }
}
