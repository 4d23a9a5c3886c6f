//! The stemmer of F. Z. Tala for Indonesian (A study of stemming effects on information retrieval in Bahasa
//! Indonesia, Amsterdam, 2003): particles, possessives, then prefixes and suffixes, while there are more than
//! two syllables.

/// Stems a term in lower case.
pub(in super::super) fn indonesian(term: &mut String) {
    let syllables = term.chars().filter(|&char| is_vowel(char)).count();
    let mut word = Word { term, syllables, removed: Removed::default() };
    word.ending(&["kah", "lah", "pun"]);
    word.ending(&["ku", "mu", "nya"]);
    if word.first_prefix() {
        if word.suffix() {
            word.second_prefix();
        }
    } else {
        word.second_prefix();
        word.suffix();
    }
}

fn is_vowel(char: char) -> bool {
    matches!(char, 'a' | 'e' | 'i' | 'o' | 'u')
}

/// The prefixes that were removed: not every suffix goes with every prefix.
#[derive(Default)]
struct Removed {
    ke: bool,
    peng: bool,
    di: bool,
    meng: bool,
    ter: bool,
    ber: bool,
    pe: bool,
}

struct Word<'t> {
    term: &'t mut String,
    syllables: usize,
    removed: Removed,
}

impl Word<'_> {
    fn is_long(&self) -> bool {
        self.syllables > 2
    }

    /// Takes the first of these endings off a long word.
    fn ending(&mut self, endings: &[&str]) -> bool {
        let found = endings.iter().find(|ending| self.is_long() && self.term.ends_with(*ending));
        if let Some(ending) = found {
            self.term.truncate(self.term.len() - ending.len());
            self.syllables -= 1;
        }
        found.is_some()
    }

    /// Replaces the first `length` bytes by `new`.
    fn replace_prefix(&mut self, length: usize, new: &str) {
        self.term.replace_range(..length, new);
        self.syllables -= 1;
    }

    fn first_prefix(&mut self) -> bool {
        if !self.is_long() {
            return false;
        }
        let next_is_vowel = |prefix: &str| {
            self.term.strip_prefix(prefix).is_some_and(|rest| rest.chars().next().is_some_and(is_vowel))
        };
        let term = self.term.as_str();
        let (length, new, removed) = if term.starts_with("meng") {
            (4, "", &mut self.removed.meng)
        } else if next_is_vowel("meny") {
            (4, "s", &mut self.removed.meng)
        } else if term.starts_with("men") || term.starts_with("mem") {
            (3, "", &mut self.removed.meng)
        } else if term.starts_with("me") {
            (2, "", &mut self.removed.meng)
        } else if term.starts_with("peng") {
            (4, "", &mut self.removed.peng)
        } else if next_is_vowel("peny") {
            (4, "s", &mut self.removed.peng)
        } else if term.starts_with("peny") {
            (4, "", &mut self.removed.peng)
        } else if next_is_vowel("pen") {
            (3, "t", &mut self.removed.peng)
        } else if term.starts_with("pen") || term.starts_with("pem") {
            (3, "", &mut self.removed.peng)
        } else if term.starts_with("di") {
            (2, "", &mut self.removed.di)
        } else if term.starts_with("ter") {
            (3, "", &mut self.removed.ter)
        } else if term.starts_with("ke") {
            (2, "", &mut self.removed.ke)
        } else {
            return false;
        };
        *removed = true;
        self.replace_prefix(length, new);
        true
    }

    fn second_prefix(&mut self) {
        if !self.is_long() {
            return;
        }
        let term = self.term.as_str();
        if term.starts_with("ber") || term == "belajar" {
            self.removed.ber = true;
            self.replace_prefix(3, "");
        } else if is_be_and_er(term) {
            self.removed.ber = true;
            self.replace_prefix(2, "");
        } else if term.starts_with("per") || term == "pelajar" {
            self.replace_prefix(3, "");
        } else if term.starts_with("pe") {
            self.removed.pe = true;
            self.replace_prefix(2, "");
        }
    }

    fn suffix(&mut self) -> bool {
        let Removed { ke, peng, di, meng, ter, ber, pe } = self.removed;
        if !(ke || peng || pe) && self.ending(&["kan"]) {
            return true;
        }
        if !(di || meng || ter) && self.ending(&["an"]) {
            return true;
        }
        !(ber || ke || peng || self.term.ends_with("si")) && self.ending(&["i"])
    }
}

/// `be`, a consonant, `er`, as in `bekerja`.
fn is_be_and_er(term: &str) -> bool {
    let Some(rest) = term.strip_prefix("be") else { return false };
    let mut chars = rest.chars();
    chars.next().is_some_and(|char| !is_vowel(char)) && chars.as_str().starts_with("er")
}
