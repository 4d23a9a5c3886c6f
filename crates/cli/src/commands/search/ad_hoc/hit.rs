//! A hit as people read it: title, the best part of the text, the parts of the score.

use std::collections::HashSet;
use std::io::{self, Write};
use std::ops::Range;

use console::{Style, Term, measure_text_width, truncate_str};
use serde::Serialize;
use toller_analysis::Analyzer;
use toller_ir::Passage;
use toller_pipeline::{best_part, matched_words};
use toller_sparse::Explanation;

/// Characters of a text that are shown.
const SNIPPET: usize = 240;

/// Where snippets begin.
const INDENT: &str = "    ";

/// A hit.
#[derive(Debug, Serialize)]
pub(super) struct ShownHit {
    rank: usize,
    score: f32,
    doc_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The bytes of the text that the query's terms are in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    matches: Vec<Range<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<ShownExplanation>,
}

/// The parts of a score.
#[derive(Debug, Serialize)]
struct ShownExplanation {
    length: u32,
    terms: Vec<ShownTerm>,
}

/// A term's part of a score.
#[derive(Debug, Serialize)]
struct ShownTerm {
    term: String,
    weight: f32,
    documents: u32,
    frequency: u32,
    score: f32,
}

impl ShownHit {
    /// The hit, and what is known of it. `analyzer` finds where the text has `terms`.
    pub(super) fn new(
        rank: usize,
        score: f32,
        doc_id: String,
        passage: Option<Passage>,
        explanation: Option<Explanation>,
        analyzer: Option<&Analyzer>,
        terms: &HashSet<&str>,
    ) -> Self {
        let (title, text) = passage.map(|passage| (passage.title, passage.text)).unzip();
        let matches = match (&text, analyzer) {
            (Some(text), Some(analyzer)) => matched_words(text, analyzer, terms),
            _ => Vec::new(),
        };
        let explanation = explanation.map(|explanation| ShownExplanation {
            length: explanation.length,
            terms: explanation
                .terms
                .into_iter()
                .map(|term| ShownTerm {
                    term: term.term,
                    weight: term.weight,
                    documents: term.statistics.doc_freq,
                    frequency: term.tf,
                    score: term.score,
                })
                .collect(),
        });
        Self { rank, score, doc_id, title: title.flatten(), text, matches, explanation }
    }

    /// Prints it, with the matches in bold where stdout is a terminal.
    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let (bold, dim) = (Style::new().bold(), Style::new().dim());
        let id = readable(&self.doc_id);
        // Rank, score and three gaps have 18 columns.
        let room = terminal_width().saturating_sub(18 + measure_text_width(&id)).max(20);
        let title = self.title.as_deref().map(readable).unwrap_or_default();
        let title = truncate_str(&title, room, "…");
        writeln!(
            out,
            "{:>3}  {:<9.4}  {}  {}",
            self.rank,
            self.score,
            dim.apply_to(id),
            bold.apply_to(title)
        )?;
        if let Some(text) = &self.text {
            let part = best_part(text, &self.matches, SNIPPET);
            let (before, after) = (part.start > 0, part.end < text.len());
            let words = marked(text, &self.matches, part);
            print_wrapped(out, &words, before, after, &bold)?;
        }
        if let Some(explanation) = &self.explanation {
            let part = |term: &ShownTerm| {
                let weight =
                    if term.weight == 1.0 { String::new() } else { format!(", weight {}", term.weight) };
                let (frequency, documents) = (term.frequency, term.documents);
                format!("{} {:.4} (tf {frequency}, df {documents}{weight})", readable(&term.term), term.score)
            };
            let found = explanation.terms.iter().filter(|term| term.frequency > 0);
            let parts: Vec<String> = found.map(part).collect();
            let length = explanation.length;
            let line = format!("{INDENT}{:.4} = {}; length {length}", self.score, parts.join(" + "));
            writeln!(out, "{}", dim.apply_to(line))?;
        }
        Ok(())
    }
}

/// The words of a part of the text, and whether each is a match.
fn marked(text: &str, matches: &[Range<usize>], part: Range<usize>) -> Vec<(String, bool)> {
    let mut words = Vec::new();
    let mut push = |range: Range<usize>, is_match: bool| {
        // A piece that is not followed by a blank is glued to the next one.
        for word in text[range].split_inclusive(char::is_whitespace) {
            words.push((readable(word), is_match));
        }
    };
    let mut at = part.start;
    for range in matches.iter().filter(|range| range.start >= part.start && range.end <= part.end) {
        push(at..range.start, false);
        push(range.clone(), true);
        at = range.end;
    }
    push(at..part.end, false);
    words
}

/// Prints words in lines that fit the terminal.
fn print_wrapped(
    out: &mut impl Write,
    words: &[(String, bool)],
    cut_before: bool,
    cut_after: bool,
    bold: &Style,
) -> io::Result<()> {
    let width = terminal_width() - INDENT.len() - 2;
    write!(out, "{INDENT}{}", if cut_before { "… " } else { "" })?;
    // A blank is written when it is known that its line goes on.
    let (mut column, mut blank) = (0, false);
    for (word, is_match) in words {
        let shown = word.trim_end();
        let long = measure_text_width(shown) + usize::from(blank);
        if column > 0 && column + long > width {
            write!(out, "\n{INDENT}")?;
            (column, blank) = (0, false);
        }
        let before = if blank { " " } else { "" };
        match is_match {
            true => write!(out, "{before}{}", bold.apply_to(shown))?,
            false => write!(out, "{before}{shown}")?,
        }
        column += long;
        blank = shown.len() < word.len() && column > 0;
    }
    writeln!(out, "{}", if cut_after { " …" } else { "" })
}

/// Columns of a line; 80 where stdout is not a terminal.
fn terminal_width() -> usize {
    usize::from(Term::stdout().size().1).clamp(40, 110)
}

/// The text without what would steer the terminal: each control character is a blank.
fn readable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::{marked, readable};

    #[test]
    fn a_part_is_cut_into_words_and_matches() {
        let text = "a white-matter brain\nscan";
        let words = marked(text, &[2..7, 15..20], 2..text.len());
        let expected = [("white", true), ("-matter ", false), ("brain", true), (" ", false), ("scan", false)];
        assert_eq!(words, expected.map(|(word, is_match)| (word.to_owned(), is_match)));
    }

    #[test]
    fn a_document_cannot_steer_the_terminal() {
        assert_eq!(readable("\u{1b}]0;pwn\u{7}\r\u{9b}x"), " ]0;pwn   x");
    }
}
