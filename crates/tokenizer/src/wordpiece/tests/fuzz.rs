//! Invented texts, with a weight on what is nasty.

use std::sync::LazyLock;

use super::random::Random;
use super::{CASED, Pair, UNCASED, all_flags, models, vocabulary};

static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "the of Retrieval unaffable ATP x86 2019 don't e.g. U.S.A. naïve Ångström café électricité \
    İstanbul ıI STRASSE straße ẞ ΑΣ σς ﬁﬂ ǅ K Å Ω ſ вода ЁЛКА й ӑ Ελληνικά ά ΐ مرحبا عَرَبِيّ \
    नमस्ते क़ ไทย 한국어 각 日本語 カタカナ が 中文 豈 𠀀 Việt ệ 𝔘 ① ½ ㎏ 👨‍👩‍👧 🇩🇪 ❤️ ≠ \u{37e} \u{1fef} \u{2329}"
        .split(' ')
        .collect()
});

const SPECIAL: &[&str] =
    &["[CLS]", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "[SEP", "[[SEP]]", "[sep]", " [MASK] ", "##ing"];

const SPACES: &[&str] =
    &[" ", "  ", "\t", "\n", "\r\n", "\u{b}", "\u{85}", "\u{a0}", "\u{2003}", "\u{2028}", "\u{3000}"];

const CONTROLS: &[&str] = &[
    "\0", "\u{1}", "\u{1f}", "\u{7f}", "\u{80}", "\u{ad}", "\u{200b}", "\u{200d}", "\u{feff}", "\u{fffd}",
    "\u{e000}", "\u{378}",
];

const PUNCTUATION: &[&str] =
    &[".", ",", "--", "'", "\"", "$", "^", "`", "~", "。", "、", "«", "—", "…", "؟", "।", "・", "\u{b7}"];

/// Ranges of code points: marks, scripts, ideographs, and all.
const RANGES: &[(u32, u32)] = &[
    (0x300, 0x36f),
    (0x483, 0x489),
    (0x591, 0x5c7),
    (0x64b, 0x65f),
    (0x900, 0x963),
    (0xf71, 0xf84),
    (0x1dc0, 0x1dff),
    (0x20d0, 0x20f0),
    (0x302a, 0x302f),
    (0x3099, 0x309a),
    (0x1d15e, 0x1d172),
    (0x1e940, 0x1e94a),
    (0x20, 0x7e),
    (0xa0, 0x24f),
    (0x370, 0x3ff),
    (0x400, 0x52f),
    (0x1100, 0x11ff),
    (0xac00, 0xd7a3),
    (0x1e00, 0x1fff),
    (0x2000, 0x2bff),
    (0x3400, 0x9fff),
    (0xf900, 0xfaff),
    (0xfb00, 0xfdff),
    (0x1f300, 0x1faff),
    (0x20000, 0x323af),
    (0, 0x10ffff),
];

/// A text of up to `parts` parts.
fn text(random: &mut Random, parts: usize) -> String {
    let mut text = String::new();
    for _ in 0..random.below(parts + 1) {
        match random.below(16) {
            0..5 => text.push_str(random.pick(&WORDS)),
            5..8 => text.push_str(random.pick(SPACES)),
            8 => text.push_str(random.pick(SPECIAL)),
            9 => text.push_str(random.pick(CONTROLS)),
            10 => text.push_str(random.pick(PUNCTUATION)),
            11 => {
                let word = random.pick(&WORDS);
                text.push_str(&if random.one_in(2) { word.to_uppercase() } else { word.to_lowercase() });
            }
            12 if random.one_in(8) => {
                // Around the length from which a word is unknown.
                let unit = random.pick(&["a", "Z", "é", "e\u{301}", "в", "각", "q1"]);
                text.push_str(&unit.repeat(90 + random.below(20)));
            }
            _ => {
                let (from, to) = RANGES[random.below(RANGES.len())];
                for _ in 0..=random.below(4) {
                    text.push(random.char_in(from, to));
                }
            }
        }
    }
    text
}

/// Compares the ids of invented texts, and of beginnings of them.
fn compare(pair: &Pair, seed: u64, texts: usize) {
    let mut random = Random::new(seed);
    let mut left = 0;
    for _ in 0..texts {
        let text = text(&mut random, 24);
        left += usize::from(!pair.check(&text));
        if random.one_in(8) {
            pair.check_limit(&text, random.below(12));
        }
    }
    assert!(left < texts / 4, "{left} of {texts} texts are left to the reference");
}

/// A vocabulary that every machine has: pieces of the words above.
fn small() -> Vec<(String, u32)> {
    let mut random = Random::new(1);
    let mut words = Vec::new();
    for word in WORDS.iter().flat_map(|word| [word.to_lowercase(), word.to_string()]) {
        let chars: Vec<char> = word.chars().collect();
        for _ in 0..4 {
            let from = random.below(chars.len());
            let piece: String = chars[from..][..1 + random.below(chars.len() - from)].iter().collect();
            words.push(if from > 0 { format!("##{piece}") } else { piece });
        }
    }
    words.extend(('!'..='~').map(String::from));
    vocabulary(&words.iter().map(String::as_str).collect::<Vec<_>>()).into_iter().collect()
}

#[test]
fn invented_texts_with_every_setting() {
    for (seed, flags) in (0..).zip(all_flags()) {
        compare(&Pair::new(small(), flags, &[]), seed, 2_000);
    }
}

#[test]
fn invented_texts_with_the_vocabularies_of_models() {
    for (seed, pair) in (100..).zip(models()) {
        compare(&pair, seed, 20_000);
    }
}

#[test]
#[ignore = "a minute: a million texts"]
fn a_million_invented_texts() {
    let mut pairs = models();
    pairs.extend([UNCASED, CASED].map(|flags| Pair::new(small(), flags, &[])));
    let texts = 1_000_000_usize.div_ceil(pairs.len());
    for (seed, pair) in (1_000..).zip(pairs) {
        compare(&pair, seed, texts);
    }
}
