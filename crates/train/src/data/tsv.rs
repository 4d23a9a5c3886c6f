//! A record of tab-separated columns: texts in the order query, positive, negatives, or RocketQA's.

use super::{Candidate, Example};

/// What is expected of a line, for messages.
const EXPECTED: &str = "expected a query, a positive and negatives, separated by tabs; or RocketQA's query, title, \
     text, [title, text,] label";

/// Names of columns in a header.
const NAMES: [&str; 12] = [
    "anchor", "query", "question", "positive", "negative", "passage", "text", "title", "sentence1",
    "sentence2", "label", "score",
];

/// Whether a first line names its columns.
pub(super) fn is_header(line: &[u8]) -> bool {
    let is_name = |column: &[u8]| {
        let name = column.trim_ascii().to_ascii_lowercase();
        let name = name.split(|byte| *byte == b'_').next().unwrap_or_default();
        NAMES.iter().any(|known| known.as_bytes() == name)
    };
    line.split(|&byte| byte == b'\t').all(is_name)
}

/// Reads a line. Its number of columns decides the form; a last column that is a number is a label.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn parse(line: &[u8]) -> Result<Example, String> {
    let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let columns: Vec<&str> = line.trim_end_matches(['\r', '\n']).split('\t').collect();
    let (label, texts) = match columns.split_last() {
        Some((last, texts)) if texts.len() >= 2 => match last.trim().parse::<f64>() {
            Ok(label) if label.is_finite() => (Some(label), texts),
            _ => (None, columns.as_slice()),
        },
        _ => (None, columns.as_slice()),
    };
    let titled = |title: &str, text: &str| Candidate {
        title: Some(title.to_owned()).filter(|title| !title.is_empty()),
        ..Candidate::plain(text)
    };
    let (query, positive, negatives) = match (texts, label) {
        (&[query, title, text, other_title, other], Some(_)) => {
            (query, titled(title, text), vec![titled(other_title, other)])
        }
        (&[query, title, text], Some(_)) => (query, Candidate { label, ..titled(title, text) }, Vec::new()),
        (&[query, text], _) => (query, Candidate { label, ..Candidate::plain(text) }, Vec::new()),
        (&[query, positive, ref negatives @ ..], None) => {
            (query, Candidate::plain(positive), negatives.iter().copied().map(Candidate::plain).collect())
        }
        _ => return Err(EXPECTED.to_owned()),
    };
    Ok(Example { query: query.to_owned(), positives: vec![positive], negatives })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{is_header, parse};
    use crate::{Candidate, Example};

    #[test]
    fn the_number_of_columns_decides_the_form() {
        let titled =
            |title: &str, text: &str| Candidate { title: Some(title.to_owned()), ..Candidate::plain(text) };
        let example = |positive: Candidate, negatives: Vec<Candidate>| Example {
            query: "q".to_owned(),
            positives: vec![positive],
            negatives,
        };
        let plain = Candidate::plain;
        for (line, expected) in [
            ("q\tp", example(plain("p"), vec![])),
            ("q\tp\tn\r\n", example(plain("p"), vec![plain("n")])),
            ("q\tp\tn\tm", example(plain("p"), vec![plain("n"), plain("m")])),
            ("q\tp\t0.5", example(Candidate { label: Some(0.5), ..plain("p") }, vec![])),
            ("q\tt\tp\t0", example(Candidate { label: Some(0.0), ..titled("t", "p") }, vec![])),
            ("q\tt\tp\t\tn\t0", example(titled("t", "p"), vec![plain("n")])),
        ] {
            assert_eq!(parse(line.as_bytes()).unwrap(), expected, "{line}");
        }
        for line in [&b"q"[..], b"", b"q\tt\tp\tt\tn\tx\t1", b"q\t\xff"] {
            assert!(parse(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn a_header_names_all_columns() {
        assert!(is_header(b"query\tpositive\tnegative_1\n") && is_header(b"Sentence1\tsentence2\tlabel"));
        assert!(!is_header(b"query expansion\tpositive results"));
    }
}
