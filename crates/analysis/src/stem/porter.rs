//! Porter's stemmer for English, with the two changes of Porter's own program: `-bli` and `-logi` in step 2.
//!
//! M. F. Porter, An algorithm for suffix stripping, Program 14(3), 1980.

/// Stems a term in lower case. Characters other than `a` to `z` count as consonants.
pub(in super::super) fn porter(term: &mut String) {
    if term.is_ascii() {
        let mut word = Word { letters: std::mem::take(term).into_bytes() };
        word.stem();
        *term = String::from_utf8(word.letters).unwrap_or_default();
    } else {
        let mut word = Word { letters: term.encode_utf16().collect() };
        word.stem();
        *term = String::from_utf16_lossy(&word.letters);
    }
}

/// A suffix and its replacement.
type Rule = (&'static [u8], &'static [u8]);

/// A word in bytes of ASCII, or in code units of UTF-16.
struct Word<U> {
    letters: Vec<U>,
}

impl<U: Copy + Eq + From<u8> + Into<u32>> Word<U> {
    fn stem(&mut self) {
        if self.letters.len() <= 2 {
            return;
        }
        self.plurals();
        self.participles();
        self.final_y();
        self.replace_one(double_suffixes);
        self.replace_one(suffixes_of_double_ones);
        self.last_suffix();
        self.final_e();
        self.final_l();
    }

    /// Step 1a: `-s`.
    fn plurals(&mut self) {
        if !self.ends(b"s") {
            return;
        }
        let shorter = if self.ends(b"sses") || self.ends(b"ies") {
            2
        } else if self.ends(b"ss") {
            0
        } else {
            1
        };
        self.letters.truncate(self.letters.len() - shorter);
    }

    /// Step 1b: `-eed`, `-ed`, `-ing`.
    fn participles(&mut self) {
        if let Some(stem) = self.before(b"eed") {
            if self.measure(stem) > 0 {
                self.letters.pop();
            }
            return;
        }
        let Some(stem) = self.before(b"ed").or_else(|| self.before(b"ing")) else { return };
        if !self.has_vowel(stem) {
            return;
        }
        self.letters.truncate(stem);
        if self.ends(b"at") || self.ends(b"bl") || self.ends(b"iz") {
            self.letters.push(U::from(b'e'));
        } else if self.doubled_consonant() {
            if !(self.ends(b"l") || self.ends(b"s") || self.ends(b"z")) {
                self.letters.pop();
            }
        } else if self.measure(stem) == 1 && self.short_syllable_before(stem) {
            self.letters.push(U::from(b'e'));
        }
    }

    /// Step 1c: `-y`, with a vowel anywhere before.
    fn final_y(&mut self) {
        if let Some(stem) = self.before(b"y")
            && self.has_vowel(stem)
        {
            self.letters[stem] = U::from(b'i');
        }
    }

    /// Steps 2 and 3: the first rule whose suffix is found, if a syllable is left.
    fn replace_one(&mut self, rules: fn(u8, u8) -> &'static [Rule]) {
        let rules = rules(self.letter_from_end(2), self.letter_from_end(1));
        if let Some((stem, new)) = rules.iter().find_map(|(old, new)| Some((self.before(old)?, new)))
            && self.measure(stem) > 0
        {
            self.letters.truncate(stem);
            self.letters.extend(new.iter().map(|&letter| U::from(letter)));
        }
    }

    /// Step 4: takes one more suffix off, if two syllables are left.
    fn last_suffix(&mut self) {
        let suffixes = single_suffixes(self.letter_from_end(2));
        let Some((suffix, stem)) = suffixes.iter().find_map(|suffix| Some((suffix, self.before(suffix)?)))
        else {
            return;
        };
        let fits = **suffix != *b"ion" || matches!(self.letter(stem.wrapping_sub(1)), b's' | b't');
        if fits && self.measure(stem) > 1 {
            self.letters.truncate(stem);
        }
    }

    /// Step 5a: the final `e`.
    fn final_e(&mut self) {
        if let Some(stem) = self.before(b"e") {
            let measure = self.measure(stem);
            if measure > 1 || measure == 1 && !self.short_syllable_before(stem) {
                self.letters.pop();
            }
        }
    }

    /// The second.
    fn final_l(&mut self) {
        if self.ends(b"l") && self.doubled_consonant() && self.measure(self.letters.len()) > 1 {
            self.letters.pop();
        }
    }

    /// The letter at a place, or 0 if there is none or it is not of ASCII.
    fn letter(&self, at: usize) -> u8 {
        self.letters.get(at).map_or(0, |&unit| u8::try_from(unit.into()).unwrap_or(0))
    }

    fn letter_from_end(&self, back: usize) -> u8 {
        self.letter(self.letters.len().wrapping_sub(back))
    }

    fn ends(&self, suffix: &[u8]) -> bool {
        self.before(suffix).is_some()
    }

    /// The length of the part before a suffix, if the word ends with the suffix.
    fn before(&self, suffix: &[u8]) -> Option<usize> {
        let stem = self.letters.len().checked_sub(suffix.len())?;
        self.letters[stem..]
            .iter()
            .zip(suffix)
            .all(|(&unit, &letter)| unit == U::from(letter))
            .then_some(stem)
    }

    /// A `y` is a consonant at the beginning and after vowels.
    fn is_consonant(&self, at: usize) -> bool {
        match self.letter(at) {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => at == 0 || !self.is_consonant(at - 1),
            _ => true,
        }
    }

    fn has_vowel(&self, length: usize) -> bool {
        (0..length).any(|at| !self.is_consonant(at))
    }

    /// How often consonants follow vowels in the first `length` letters: the m of the paper.
    fn measure(&self, length: usize) -> usize {
        let (mut measure, mut after_vowel, mut after_consonant) = (0, false, false);
        for at in 0..length {
            // Not by `is_consonant`, which looks back along a row of `y`.
            let consonant = match self.letter(at) {
                b'a' | b'e' | b'i' | b'o' | b'u' => false,
                b'y' => !after_consonant,
                _ => true,
            };
            measure += usize::from(consonant && after_vowel);
            (after_vowel, after_consonant) = (!consonant, consonant);
        }
        measure
    }

    fn doubled_consonant(&self) -> bool {
        let last = self.letters.len().wrapping_sub(1);
        self.letters.len() >= 2 && self.letters[last] == self.letters[last - 1] && self.is_consonant(last)
    }

    /// Whether the letters before `end` are consonant, vowel, and a consonant that is not `w`, `x` or `y`, as
    /// in `hop`.
    fn short_syllable_before(&self, end: usize) -> bool {
        end >= 3
            && self.is_consonant(end - 1)
            && !self.is_consonant(end - 2)
            && self.is_consonant(end - 3)
            && !matches!(self.letter(end - 1), b'w' | b'x' | b'y')
    }
}

/// Step 2, by the last letter but one.
fn double_suffixes(last_but_one: u8, _: u8) -> &'static [Rule] {
    match last_but_one {
        b'a' => &[(b"ational", b"ate"), (b"tional", b"tion")],
        b'c' => &[(b"enci", b"ence"), (b"anci", b"ance")],
        b'e' => &[(b"izer", b"ize")],
        b'l' => &[(b"bli", b"ble"), (b"alli", b"al"), (b"entli", b"ent"), (b"eli", b"e"), (b"ousli", b"ous")],
        b'o' => &[(b"ization", b"ize"), (b"ation", b"ate"), (b"ator", b"ate")],
        b's' => &[(b"alism", b"al"), (b"iveness", b"ive"), (b"fulness", b"ful"), (b"ousness", b"ous")],
        b't' => &[(b"aliti", b"al"), (b"iviti", b"ive"), (b"biliti", b"ble")],
        b'g' => &[(b"logi", b"log")],
        _ => &[],
    }
}

/// Step 3, by the last letter.
fn suffixes_of_double_ones(_: u8, last: u8) -> &'static [Rule] {
    match last {
        b'e' => &[(b"icate", b"ic"), (b"ative", b""), (b"alize", b"al")],
        b'i' => &[(b"iciti", b"ic")],
        b'l' => &[(b"ical", b"ic"), (b"ful", b"")],
        b's' => &[(b"ness", b"")],
        _ => &[],
    }
}

/// Step 4, by the last letter but one.
fn single_suffixes(last_but_one: u8) -> &'static [&'static [u8]] {
    match last_but_one {
        b'a' => &[b"al"],
        b'c' => &[b"ance", b"ence"],
        b'e' => &[b"er"],
        b'i' => &[b"ic"],
        b'l' => &[b"able", b"ible"],
        b'n' => &[b"ant", b"ement", b"ment", b"ent"],
        b'o' => &[b"ion", b"ou"],
        b's' => &[b"ism"],
        b't' => &[b"ate", b"iti"],
        b'u' => &[b"ous"],
        b'v' => &[b"ive"],
        b'z' => &[b"ize"],
        _ => &[],
    }
}
