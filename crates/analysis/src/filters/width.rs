//! Full and half widths in Japanese and Chinese typography.

use crate::chars::edit;

/// The katakana from U+FF65 on, in their usual width. The last two are the voicing marks.
const KATAKANA: &str = "・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン\u{3099}\u{309A}";
const VOICED_MARK: char = '\u{FF9E}';
const HALF_VOICED_MARK: char = '\u{FF9F}';

/// Full-width Latin becomes ASCII; half-width katakana become usual ones, with the marks that follow them.
pub(in super::super) fn width(term: &mut String) {
    if term.contains(|char| matches!(char, '\u{FF01}'..='\u{FF9F}')) {
        edit(term, |word| {
            let mut folded: Vec<char> = Vec::with_capacity(word.len());
            for &char in word.iter() {
                let voiced = match char {
                    VOICED_MARK => folded.last().and_then(|&letter| voiced(letter)),
                    HALF_VOICED_MARK => folded.last().and_then(|&letter| half_voiced(letter)),
                    _ => None,
                };
                if let (Some(voiced), Some(last)) = (voiced, folded.last_mut()) {
                    *last = voiced;
                } else {
                    folded.push(fold(char));
                }
            }
            *word = folded;
        });
    }
}

fn fold(char: char) -> char {
    match char {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(char as u32 - 0xFEE0).unwrap_or(char),
        '\u{FF65}'..='\u{FF9F}' => KATAKANA.chars().nth(char as usize - 0xFF65).unwrap_or(char),
        other => other,
    }
}

/// A katakana with the voicing mark.
fn voiced(letter: char) -> Option<char> {
    match letter {
        'ウ' => Some('ヴ'),
        'カ' | 'キ' | 'ク' | 'ケ' | 'コ' | 'サ' | 'シ' | 'ス' | 'セ' | 'ソ' | 'タ' | 'チ' | 'ツ' | 'テ'
        | 'ト' | 'ハ' | 'ヒ' | 'フ' | 'ヘ' | 'ホ' | 'ヽ' => char::from_u32(letter as u32 + 1),
        'ワ'..='ヲ' => char::from_u32(letter as u32 + 8),
        _ => None,
    }
}

fn half_voiced(letter: char) -> Option<char> {
    match letter {
        'ハ' | 'ヒ' | 'フ' | 'ヘ' | 'ホ' => char::from_u32(letter as u32 + 2),
        _ => None,
    }
}
