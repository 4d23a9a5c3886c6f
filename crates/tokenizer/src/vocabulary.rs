//! BERT's and MPNet's tokenizers from `vocab.txt`.

use std::path::Path;

use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::bert::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::roberta::RobertaProcessing;
use tokenizers::processors::template::TemplateProcessing;
use toller_checkpoint::{Fingerprint, ModelError, ModelType, read_text};

use super::TokenizerConfig;
use super::config::GENERIC_CLASSES;
use super::special::Specials;
use crate::TokenizerError;

/// The special tokens of a family and their roles.
type Roles = [(&'static str, &'static str); 5];

const BERT: Roles = [
    ("pad_token", "[PAD]"),
    ("unk_token", "[UNK]"),
    ("cls_token", "[CLS]"),
    ("sep_token", "[SEP]"),
    ("mask_token", "[MASK]"),
];

const MPNET: Roles = [
    ("pad_token", "<pad>"),
    ("unk_token", "[UNK]"),
    ("cls_token", "<s>"),
    ("sep_token", "</s>"),
    ("mask_token", "<mask>"),
];

/// The classes whose tokens are BERT's. Other classes read a `vocab.txt` too, and make other tokens from it.
const BERT_CLASSES: [&str; 8] = [
    "BertTokenizer", "DistilBertTokenizer", "DPRQuestionEncoderTokenizer", "DPRContextEncoderTokenizer",
    "DPRReaderTokenizer", "ElectraTokenizer", "ErnieTokenizer", "RealmTokenizer",
];

/// Classes for which transformers has no fast tokenizer, so that it cannot write their `tokenizer.json`.
const SLOW_CLASSES: [&str; 3] = ["BertJapaneseTokenizer", "BertweetTokenizer", "PhobertTokenizer"];

/// A word piece tokenizer from its vocabulary, a token a line (Devlin et al. 2019).
///
/// `do_basic_tokenize` and `never_split` have no effect, as in transformers since 5.0 and in its fast
/// tokenizers before.
pub(super) fn word_piece(
    path: &Path,
    config: &TokenizerConfig,
    model_type: ModelType,
    fingerprint: &mut Fingerprint,
) -> Result<tokenizers::Tokenizer, TokenizerError> {
    let config_error = |problem: String| ModelError::Config { problem, path: path.to_owned() };
    if let Some(words) = config.words().filter(|words| *words != "basic") {
        let what = format!("a tokenizer with word_tokenizer_type {words:?}");
        return Err(ModelError::unsupported(path, what, "\"basic\", BERT's own words").into());
    }
    let is_mpnet = match config.class() {
        Some("MPNetTokenizer") => true,
        Some(class) if BERT_CLASSES.contains(&class) || GENERIC_CLASSES.contains(&class) => false,
        None => model_type == ModelType::Mpnet,
        Some(class) => {
            let what = format!("the tokenizer {class} without its tokenizer.json");
            let mut supported = format!("MPNetTokenizer, {}", BERT_CLASSES.join(", "));
            if !SLOW_CLASSES.contains(&class) {
                supported = format!("{supported}; {}", super::CONVERT);
            }
            return Err(ModelError::unsupported(path, what, supported).into());
        }
    };
    let roles = if is_mpnet { MPNET } else { BERT };
    let text = read_text(path)?;
    fingerprint.value("vocab.txt", text.as_bytes());

    let vocabulary: Vec<(String, u32)> = text
        .strip_suffix('\n')
        .unwrap_or(&text)
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned())
        .zip(0..)
        .collect();
    let specials = roles.map(|(role, default)| config.special(role, default).content);
    fingerprint.value("special tokens", specials.join("\n").as_bytes());
    let [_, unknown, cls, sep, _] = specials;
    let with_id = |token: String| {
        let found = vocabulary.iter().rev().find(|(known, _)| *known == token).map(|(_, id)| *id);
        match found {
            Some(id) => Ok((token, id)),
            None => Err(config_error(format!("the special token {token} is not in the vocabulary"))),
        }
    };
    let (cls, sep, (unknown, _)) = (with_id(cls)?, with_id(sep)?, with_id(unknown)?);

    let model = WordPiece::builder()
        .vocab(vocabulary.into_iter().collect::<ahash::AHashMap<_, _>>())
        .unk_token(unknown)
        .build()
        .map_err(|error| config_error(error.to_string()))?;
    let mut tokenizer = tokenizers::Tokenizer::new(model);
    let (chinese, lowercase) =
        (config.tokenize_chinese_chars.unwrap_or(true), config.do_lower_case.unwrap_or(true));
    let normalizer = BertNormalizer::new(true, chinese, config.strip_accents, lowercase);
    tokenizer.with_normalizer(Some(normalizer)).map_err(|error| config_error(error.to_string()))?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    let specials = Specials::read(config, &roles);
    if is_mpnet {
        tokenizer.with_post_processor(Some(RobertaProcessing::new(sep, cls)));
        specials.with_lstrip("mask_token").add_to(&mut tokenizer, path, fingerprint)?;
    } else {
        let template = bert_template(cls, sep).map_err(|error| config_error(error.to_string()))?;
        tokenizer.with_post_processor(Some(template));
        specials.add_to(&mut tokenizer, path, fingerprint)?;
    }
    Ok(tokenizer)
}

/// `[CLS] A [SEP]` and `[CLS] A [SEP] B [SEP]`, the second text and what follows it of type 1.
fn bert_template(cls: (String, u32), sep: (String, u32)) -> tokenizers::Result<TemplateProcessing> {
    let place = |what: &str, type_id: u32| format!("{what}:{type_id}");
    let single = vec![place(&cls.0, 0), place("$A", 0), place(&sep.0, 0)];
    let pair = [&single[..], &[place("$B", 1), place(&sep.0, 1)]].concat();
    Ok(TemplateProcessing::builder()
        .try_single(single)?
        .try_pair(pair)?
        .special_tokens(vec![cls, sep])
        .build()?)
}
