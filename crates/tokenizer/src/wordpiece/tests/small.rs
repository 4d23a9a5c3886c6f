//! Random small vocabularies and random added tokens, which test rules rather than languages.

use tokenizers::AddedToken;

use super::random::Random;
use super::{CASED, Flags, Pair, UNCASED, vocabulary};

fn string(random: &mut Random, letters: &[&str], max: usize) -> String {
    (0..=random.below(max)).map(|_| random.pick(letters)).collect()
}

#[test]
fn pieces_of_random_vocabularies() {
    let mut random = Random::new(7);
    for _ in 0..3_000 {
        let prefix = random.pick(&["##", "##", "", "a", "é"]);
        let mut words = Vec::new();
        for _ in 0..random.below(30) {
            let word = string(&mut random, &["a", "b", "é", "中", "#", "\u{1d165}"], 6);
            words.push(if random.one_in(2) { format!("{prefix}{word}") } else { word });
        }
        if random.one_in(2) {
            words.push(prefix.to_owned());
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let max_chars = if random.one_in(2) { 100 } else { random.below(6) };
        let flags = Flags { strip_accents: Some(false), ..CASED };
        let pair = Pair::with_model(vocabulary(&words), prefix, max_chars, flags, &[]);
        for _ in 0..10 {
            pair.check(&string(&mut random, &["a", "b", "é", "x", "中", "#", " ", "ab", "aba"], 20));
        }
    }
}

#[test]
fn random_added_tokens() {
    let mut random = Random::new(8);
    let letters = ["a", "B", "b", "É", "é", " ", "_", "[", ".", "中", "\u{a0}"];
    let mut compared = 0;
    for _ in 0..4_000 {
        let mut added = Vec::new();
        for _ in 0..random.below(6) {
            // The reference panics if a token begins with spaces that the token before has taken.
            let content = string(&mut random, &letters[..9], 4).trim_start().to_owned();
            let token = AddedToken::from(content, random.one_in(2));
            let token = token.single_word(random.one_in(3)).lstrip(random.one_in(3)).rstrip(random.one_in(3));
            added.push(token.normalized(random.one_in(2)));
        }
        let vocabulary = vocabulary(&["a", "b", "##b", "é", "e", "##e", "[", ".", "中"]);
        let flags = if random.one_in(2) { UNCASED } else { CASED };
        let Some(pair) = Pair::try_with_model(vocabulary, "##", 100, flags, &added) else { continue };
        compared += 1;
        for _ in 0..10 {
            let text = string(&mut random, &letters, 24);
            pair.check(&text);
            pair.check_limit(&text, random.below(6));
        }
    }
    assert!(compared > 2_000);
}

#[test]
fn tokenizers_of_another_kind_are_left_alone() {
    let pair = Pair::new(vocabulary(&["a"]), UNCASED, &[]);
    let is_ours = |change: &dyn Fn(&mut tokenizers::Tokenizer)| {
        let mut other = pair.reference.clone();
        change(&mut other);
        super::WordPiece::like(&other).is_some()
    };
    assert!(is_ours(&|_| {}));
    assert!(!is_ours(&|other| other.set_encode_special_tokens(true)));
    assert!(!is_ours(&|other| {
        other.with_pre_tokenizer(None::<tokenizers::PreTokenizerWrapper>);
    }));
    assert!(!is_ours(&|other| {
        other.with_normalizer(Some(tokenizers::normalizers::utils::Lowercase)).unwrap();
    }));
    assert!(!is_ours(&|other| {
        other.with_model(tokenizers::models::wordpiece::WordPiece::default());
    }));
    assert!(!is_ours(&|other| {
        other.with_model(tokenizers::models::wordlevel::WordLevel::default());
    }));
}
