//! Tokens composed of pieces are the tokens that the `tokenizers` library makes of the whole text.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tokenizers::tokenizer::{Encoding, Token};
use tokenizers::utils::truncation::truncate_encodings;
use tokenizers::{PostProcessor, TruncationParams, TruncationStrategy};
use toller_ir::Explain;
use toller_testing::{repository, shared_path};

use super::{PairTruncation, Side, Tokenizer, TokenizerConfig};
use crate::tokens::{TokenizedText, Tokens};
use toller_checkpoint::{Fingerprint, ModelType};

/// The fixtures with a tokenizer of each kind.
fn folders() -> Vec<PathBuf> {
    let in_repository = [
        "tiny-bert", "cross-encoders/bert", "cross-encoders/mpnet", "cross-encoders/roberta",
        "cross-encoders/modernbert-cls", "cross-encoders/xlm-roberta", "cross-encoders/camembert",
        "models/qwen3",
    ]
    .map(|name| repository(&format!("tests/fixtures/{name}")));
    let golden = ["bert-ce", "ernie-ce", "mbert-dpr/ctx_encoder", "xlmr-ce"]
        .map(|name| shared_path(&format!("golden/{name}")));
    in_repository.into_iter().chain(golden).filter(|folder| folder.is_dir()).collect()
}

fn load(folder: &Path, max_length: usize) -> Tokenizer {
    let config = TokenizerConfig::read(folder).unwrap();
    let text = std::fs::read_to_string(folder.join("config.json")).unwrap();
    let model: serde_json::Value = serde_json::from_str(&text).unwrap();
    let model_type = model["model_type"].as_str().unwrap().parse().unwrap();
    Tokenizer::load(folder, &config, max_length, false, model_type, &mut Fingerprint::new()).unwrap()
}

/// The library's tokens of a text or a pair: tokenized whole, then truncated, special tokens added last.
/// (With its truncation switched on, release 0.23.2 stops tokenizing early, and then treats texts of
/// different lengths as equally long.)
fn by_library(
    tokenizer: &Tokenizer,
    first: &str,
    second: Option<&str>,
    strategy: TruncationStrategy,
) -> Result<Tokens, tokenizers::Error> {
    let library = &tokenizer.inner;
    let encode = |text: &str, type_id: u32| {
        let encoding = library.encode(text, false)?;
        let tokens = encoding.get_ids().iter().map(|&id| Token::new(id, String::new(), (0, 0))).collect();
        Ok::<_, tokenizers::Error>(Encoding::from_tokens(tokens, type_id))
    };
    let specials =
        library.get_post_processor().map_or(0, |processor| processor.added_tokens(second.is_some()));
    let params = TruncationParams {
        max_length: tokenizer.max_length - specials,
        strategy,
        direction: tokenizer.side,
        stride: 0,
    };
    let second = second.map(|second| encode(second, 1)).transpose()?;
    let (first, second) = truncate_encodings(encode(first, 0)?, second, &params)?;
    let encoding = library.post_process(first, second, true)?;
    Ok(Tokens { input_ids: encoding.get_ids().to_vec(), type_ids: encoding.get_type_ids().to_vec() })
}

/// Texts of words, blanks and signs of many scripts, added tokens among them.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-z]{1,9}",
        "[A-Z][a-z]{2,7}",
        "[0-9]{1,4}",
        "[\u{4e00}-\u{4fff}]{1,6}",
        "[\u{f900}-\u{f9ff}\u{3400}-\u{34ff}]{1,2}",
        "[\u{3040}-\u{30ff}]{1,4}",
        "[\u{600}-\u{6ff}]{1,5}",
        "[\u{900}-\u{97f}]{1,5}",
        "[\u{e00}-\u{e7f}]{1,5}",
        "[\u{ac00}-\u{acff}\u{1100}-\u{11ff}]{1,3}",
        "[\u{fb50}-\u{fdff}\u{fe70}-\u{feff}]{1,2}",
        "[\u{37a}\u{d4e}\u{345}\u{11000}-\u{111ff}]{1,2}",
        "[\u{300}-\u{36f}]{1,2}",
        "\\PC{1,3}",
        "[!-/:-@\\[-`{-~]{1,2}",
        prop::sample::select(
            "[CLS] [SEP] [MASK] <s> </s> <mask> <pad> ΑΣ İ ß ▁ 's don't \0 ﷺ e\u{301} \
             👩\u{200d}👩\u{200d}👧 \u{3000} \u{a0} \u{ad} {2,}"
                .split(' ')
                .collect::<Vec<_>>(),
        )
        .prop_map(str::to_owned),
    ];
    let blank = prop_oneof![
        6 => Just(" "), 2 => Just(""), 1 => Just("  "), 1 => Just("\n"), 1 => Just(" \t "), 1 => Just("\u{2003}"),
    ];
    prop::collection::vec((word, blank), 0..60)
        .prop_map(|parts| parts.into_iter().map(|(word, blank)| word + blank).collect())
}

#[test]
fn pairs_of_pieces_are_the_pairs_of_the_library() {
    for folder in folders() {
        let template = load(&folder, 512).template;
        let smallest = template.pair_specials().max(template.specials()) + 1;
        for max_length in [smallest, 11, 12, 40, 512] {
            let tokenizer = load(&folder, max_length);
            proptest!(ProptestConfig::with_cases(60), |(first in text(), second in text())| {
                for (truncation, strategy) in [
                    (PairTruncation::OnlySecond, TruncationStrategy::OnlySecond),
                    (PairTruncation::LongestFirst, TruncationStrategy::LongestFirst),
                ] {
                    let pieces = [&first, &second].map(|text| tokenizer.tokenize(text, truncation).unwrap());
                    let ours = tokenizer.compose_pair(&pieces[0], &pieces[1], truncation);
                    let theirs = by_library(&tokenizer, &first, Some(&second), strategy);
                    prop_assert_eq!(ours.ok(), theirs.ok());
                }
                let titled = tokenizer.encode_titled(&first, &second).ok();
                let theirs = by_library(&tokenizer, &first, Some(&second), TruncationStrategy::LongestFirst);
                prop_assert_eq!(titled, theirs.ok());
                // The library refuses a first text that leaves no room. Cut to the room, that text is alone.
                let ours = tokenizer.encode_in_context(&first, &second).ok();
                let theirs = by_library(&tokenizer, &first, Some(&second), TruncationStrategy::OnlySecond)
                    .or_else(|_| by_library(&tokenizer, &first, Some(""), TruncationStrategy::OnlyFirst));
                prop_assert_eq!(ours, theirs.ok());
            });
        }
    }
}

#[test]
fn a_text_is_the_text_of_the_library() {
    for folder in folders() {
        for max_length in [5, 13, 512] {
            let tokenizer = load(&folder, max_length);
            proptest!(ProptestConfig::with_cases(100), |(text in text())| {
                let theirs = by_library(&tokenizer, &text, None, TruncationStrategy::LongestFirst);
                prop_assert_eq!(tokenizer.encode(&text).ok(), theirs.ok());
            });
        }
    }
}

/// The cuts of [`super::segments`], at the length at which there are the most cuts.
#[test]
fn a_text_is_cut_on_the_side_that_is_asked_for() {
    for folder in folders() {
        let (short, whole) = (load(&folder, 12), load(&folder, 4096));
        let text = "a toller lures ducks within range of the hunter and fetches them from the water";
        let all = whole.all_ids(text).unwrap();
        let room = 12 - short.template.specials();
        for (side, kept) in [(Side::Right, &all[..room]), (Side::Left, &all[all.len() - room..])] {
            let expected = short.template.compose(kept);
            assert_eq!(short.encode_cut(text, Some(side)).unwrap(), (expected, true), "{folder:?}");
        }
        assert_eq!(short.encode_cut(text, None).unwrap(), (short.encode(text).unwrap(), true));
        assert_eq!(whole.encode_cut(text, None).unwrap(), (whole.encode(text).unwrap(), false));
        // As long as fits, and one more.
        for (extra, is_cut) in [(0, false), (1, true)] {
            let longest = load(&folder, all.len() + short.template.specials() - extra);
            assert_eq!(longest.encode_cut(text, None).unwrap().1, is_cut);
        }
    }
}

#[test]
fn an_input_of_tokens_is_cut_like_its_text() {
    for folder in folders() {
        let (short, whole) = (load(&folder, 12), load(&folder, 4096));
        let text = "a toller lures ducks within range of the hunter and fetches them from the water";
        let ids = whole.encode(text).unwrap().input_ids;
        for side in [None, Some(Side::Left), Some(Side::Right)] {
            let expected = short.encode_cut(text, side).unwrap().0.input_ids;
            assert_eq!(short.cut_input(ids.clone(), side).unwrap(), (expected, true), "{folder:?}");
            assert_eq!(whole.cut_input(ids.clone(), side).unwrap(), (ids.clone(), false));
        }
        // Without special tokens there are none to keep.
        let bare = whole.all_ids(text).unwrap();
        let first = (bare[..12].to_vec(), true);
        assert_eq!(short.cut_input(bare.clone(), Some(Side::Right)).unwrap(), first, "{folder:?}");
        let last = (bare[bare.len() - 12..].to_vec(), true);
        assert_eq!(short.cut_input(bare, Some(Side::Left)).unwrap(), last, "{folder:?}");
    }
}

#[test]
fn a_pair_of_a_shortened_text_is_that_of_a_short_text() {
    for folder in folders() {
        let tokenizer = load(&folder, 24);
        for truncation in [PairTruncation::OnlySecond, PairTruncation::LongestFirst] {
            let [query, text] =
                ["who lures ducks?", "a toller lures ducks within range of the hunter of ducks"]
                    .map(|text| tokenizer.tokenize(text, truncation).unwrap());
            for length in [0, 1, 5, 23, 24, 1000] {
                let kept: TokenizedText = tokenizer.cut(&text.ids, length).to_vec().into();
                let [found, expected] = [tokenizer.shorten(&text, length), kept]
                    .map(|text| tokenizer.compose_pair(&query, &text, truncation).unwrap());
                assert_eq!(found, expected, "{folder:?} {length}");
            }
            assert_eq!(tokenizer.shorten(&text, 1000), text);
            assert_eq!(tokenizer.shorten(&text, 5).len(), 5);
        }
    }
}

#[test]
fn inspected_tokens_are_those_of_the_text_with_their_places() {
    for folder in folders() {
        let tokenizer = load(&folder, 512);
        let text = "Tollers lure ducks.";
        let tokens = tokenizer.inspect(text, true).unwrap();
        let ids: Vec<u32> = tokens.iter().map(|token| token.id).collect();
        assert_eq!(ids, tokenizer.encode(text).unwrap().input_ids, "{folder:?}");
        assert!(tokens.iter().all(|token| token.is_special == token.bytes.is_none()));
        for token in tokens.iter().filter(|token| !token.is_special) {
            assert_eq!(text.get(token.bytes.clone().unwrap()), Some(token.text.as_str()));
        }
        let bare = tokenizer.inspect(text, false).unwrap();
        assert!(bare.iter().all(|token| !token.is_special));
        assert_eq!(
            tokenizer.decode(&ids, true).unwrap(),
            tokenizer.decode(&tokenizer.all_ids(text).unwrap(), true).unwrap()
        );
    }
}

#[test]
fn segments_have_the_tokens_of_the_whole() {
    for folder in folders() {
        let tokenizer = load(&folder, 512);
        let cuts = Cell::new(0);
        proptest!(ProptestConfig::with_cases(400), |(text in text())| {
            let whole = tokenizer.inner.encode(text.as_str(), false).unwrap();
            let segments: Vec<&str> = tokenizer.cuts.segments(&text, 1).collect();
            cuts.set(cuts.get() + segments.len() - 1);
            let mut ids = Vec::new();
            for segment in &segments {
                ids.extend_from_slice(tokenizer.inner.encode(*segment, false).unwrap().get_ids());
            }
            prop_assert_eq!(ids, whole.get_ids(), "{:?}", segments);
        });
        assert!(cuts.get() > 100, "{} is cut {} times in 400 texts", folder.display(), cuts.get());
    }
}

#[test]
fn a_huge_text_is_tokenized_as_far_as_it_is_used() {
    for folder in folders() {
        let tokenizer = load(&folder, 64);
        let sentence = "Deep learning is 维基百科检索 of many words, and of more. ";
        let huge = sentence.repeat(100_000);
        let enough = sentence.repeat(100);
        assert_eq!(tokenizer.encode(&huge).unwrap(), tokenizer.encode(&enough).unwrap());
        let used: usize = tokenizer.cuts.segments(&huge, 64).take(1).map(str::len).sum();
        assert!(used < 1000, "{} tokenizes {used} bytes first", folder.display());
    }
}

/// A damaged byte in the decoder makes the library panic.
#[test]
fn a_tokenizer_that_is_no_json_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(repository("tests/fixtures/tiny-bert/tokenizer.json")).unwrap();
    let decoder = whole.windows(9).position(|window| window == b"\"decoder\"").unwrap();
    for at in decoder..whole.len().min(decoder + 200) {
        let mut damaged = whole.clone();
        damaged[at] = 0;
        std::fs::write(folder.path().join("tokenizer.json"), damaged).unwrap();
        let config = TokenizerConfig::read(folder.path()).unwrap();
        let loaded =
            Tokenizer::load(folder.path(), &config, 9, false, ModelType::Bert, &mut Fingerprint::new());
        assert!(loaded.is_err(), "byte {at}");
    }
}

/// As sentence-transformers does, which puts a normalizer in front.
#[test]
fn lowering_keeps_special_tokens() {
    let folder = repository("tests/fixtures/cross-encoders/bert");
    let config = TokenizerConfig::read(&folder).unwrap();
    let load = |lowercase| {
        let mut fingerprint = Fingerprint::new();
        Tokenizer::load(&folder, &config, 64, lowercase, ModelType::Bert, &mut fingerprint).unwrap()
    };
    let (cased, lowered) = (load(false), load(true));
    let ids = |tokenizer: &Tokenizer, text: &str| tokenizer.all_ids(text).unwrap();
    let text = "The RIVER [SEP] and [MASK]";
    assert_ne!(ids(&cased, text), ids(&cased, "the river [SEP] and [MASK]"));
    assert_eq!(ids(&lowered, text), ids(&cased, "the river [SEP] and [MASK]"));
    let places = lowered.inspect("The RIVER", false).unwrap();
    assert_eq!(places.first().unwrap().text, "The");
}

#[test]
fn byte_pairs_of_decoders_are_refused_without_their_own_file() {
    let folder = tempfile::tempdir().unwrap();
    let roberta = repository("tests/fixtures/cross-encoders/roberta");
    for name in ["vocab.json", "merges.txt"] {
        std::fs::copy(roberta.join(name), folder.path().join(name)).unwrap();
    }
    let config = TokenizerConfig::read(folder.path()).unwrap();
    let load =
        |model_type| Tokenizer::load(folder.path(), &config, 64, false, model_type, &mut Fingerprint::new());
    assert!(load(ModelType::Roberta).is_ok());
    let error = load(ModelType::Qwen3).err().unwrap();
    assert!(error.to_string().contains("\"qwen3\""), "{error}");
    assert!(error.remedy().unwrap().to_string().contains("tokenizer.json"));
}
