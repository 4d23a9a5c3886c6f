//! The stemmer of G. Ntais for Greek (Development of a stemmer for the Greek language, Stockholm, 2006).
//!
//! A rule takes an ending off and, after some stems, puts the beginning of it back.

use super::greek_rules::RULES;
use super::suffixes::{ends_with_one, remove_last, units};

pub(super) const VOWELS: &[&str] = &["α", "ε", "η", "ι", "ο", "υ", "ω"];
pub(super) const VOWELS_BUT_Y: &[&str] = &["α", "ε", "η", "ι", "ο", "ω"];

/// Stems a term in lower case, without accents and with one form of sigma.
pub(in super::super) fn greek(term: &mut String) {
    if units(term) < 4 {
        return;
    }
    let length = term.len();
    irregular(term);
    for rule in RULES {
        rule.apply(term);
    }
    if term.len() == length {
        other_endings(term);
    }
    comparison(term);
}

/// An ending, and the stems after which its beginning is put back.
pub(super) struct Rule {
    /// Taken off first, without a condition.
    pub(super) first: &'static [&'static str],
    /// The endings. At least one letter must be left.
    pub(super) endings: &'static [&'static str],
    /// What is put back,
    pub(super) back: &'static str,
    /// if exactly one of these is left,
    pub(super) words: &'static [&'static str],
    /// or if the rest ends with one of these.
    pub(super) stems: &'static [&'static str],
    /// Nothing is put back if the rest is one of these,
    pub(super) never_words: &'static [&'static str],
    /// or ends with one of these.
    pub(super) never_stems: &'static [&'static str],
}

impl Rule {
    pub(super) const NONE: Self = Self {
        first: &[],
        endings: &[],
        back: "",
        words: &[],
        stems: &[],
        never_words: &[],
        never_stems: &[],
    };

    fn apply(&self, term: &mut String) {
        strip(term, self.first);
        if !strip(term, self.endings) {
            return;
        }
        let back = if self.endings == PARTICIPLES && term.ends_with("κρε") {
            "ωντ"
        } else if (self.words.contains(&term.as_str()) || ends_with_one(term, self.stems))
            && !self.never_words.contains(&term.as_str())
            && !ends_with_one(term, self.never_stems)
        {
            self.back
        } else {
            ""
        };
        term.push_str(back);
    }
}

/// Takes the first of the endings off that leaves a letter.
fn strip(term: &mut String, endings: &[&str]) -> bool {
    let ending = endings.iter().find(|&&ending| term.len() > ending.len() && term.ends_with(ending));
    if let Some(ending) = ending {
        term.truncate(term.len() - ending.len());
    }
    ending.is_some()
}

/// Nouns that change within: endings, and the number of letters that go.
fn irregular(term: &mut String) {
    #[rustfmt::skip]
    const ENDINGS: &[(usize, &[&str])] = &[
        (
            4,
            &[
                "καθεστωτοσ", "καθεστωτων", "γεγονοτοσ", "γεγονοτων", "τατογιου", "τατογιων", "σκαγιου",
                "σκαγιων", "ολογιου", "ολογιων", "κρεατοσ", "κρεατων", "περατοσ", "περατων", "τερατοσ",
                "τερατων", "φαγιου", "φαγιων", "σογιου", "σογιων",
            ],
        ),
        (
            3,
            &[
                "καθεστωτα", "γεγονοτα", "τατογια", "σκαγια", "ολογια", "κρεατα", "περατα", "τερατα", "φαγια",
                "σογια", "φωτοσ", "φωτων",
            ],
        ),
        (2, &["καθεστωσ", "γεγονοσ", "κρεασ", "περασ", "τερασ", "φωτα"]),
        (1, &["φωσ"]),
    ];
    if let Some((letters, _)) = ENDINGS.iter().find(|(_, endings)| ends_with_one(term, endings)) {
        remove_last(term, *letters);
    }
}

/// Takes the longest of these endings off. Used if no other rule has changed the word's length.
fn other_endings(term: &mut String) {
    #[rustfmt::skip]
    const ENDINGS: &[&str] = &[
        "ιοντουσαν", "ιομασταν", "ιοσασταν", "ιουμαστε", "οντουσαν", "ιεμαστε", "ιεσαστε", "ιομουνα", "ιοσαστε",
        "ιοσουνα", "ιουνται", "ιουνταν", "ηθηκατε", "ομασταν", "οσασταν", "ουμαστε", "ιομουν", "ιονταν",
        "ιοσουν", "ηθειτε", "ηθηκαν", "ομουνα", "οσαστε", "οσουνα", "ουνται", "ουνταν", "ουσατε", "αγατε",
        "ιεμαι", "ιεται", "ιεσαι", "ιοταν", "ιουμα", "ηθεισ", "ηθουν", "ηκατε", "ησατε", "ησουν", "ομουν",
        "ονται", "ονταν", "οσουν", "ουμαι", "ουσαν", "αγαν", "αμαι", "ασαι", "αται", "ειτε", "εσαι", "εται",
        "ηδεσ", "ηδων", "ηθει", "ηκαν", "ησαν", "ησει", "ησεσ", "ομαι", "οταν", "αει", "εισ", "ηθω", "ησω",
        "ουν", "ουσ", "αν", "ασ", "αω", "ει", "εσ", "ησ", "οι", "οσ", "ου", "υσ", "ων", "α", "ε", "η", "ι", "ο",
        "υ", "ω",
    ];
    strip(term, ENDINGS);
}

/// Comparatives and superlatives.
fn comparison(term: &mut String) {
    if ends_with_one(term, &["εστερ", "εστατ"]) {
        remove_last(term, 5);
    } else if ends_with_one(term, &["οτερ", "οτατ", "υτερ", "υτατ", "ωτερ", "ωτατ"]) {
        remove_last(term, 4);
    }
}

/// After `κρε` these endings get other letters back.
pub(super) const PARTICIPLES: &[&str] = &["οντασ", "ωντασ"];
