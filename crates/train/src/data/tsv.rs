//! A record of tab-separated columns: texts in the order query, positive, negatives, or RocketQA's.

use super::column::Column;
use super::{Candidate, Example};

/// What is expected of a line, for messages.
const EXPECTED: &str = "expected a query, a positive and negatives, separated by tabs; or RocketQA's query, title, \
     text, [title, text,] label";

/// What the last column of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// A label if it is a number, else a text.
    Any,
    /// A text, whatever it looks like.
    Text,
    /// A label.
    Label,
}

/// What a first line says of the last column, if it names the columns.
///
/// # Errors
/// When the columns are not in an order that can be read.
pub(super) fn header(line: &[u8]) -> Result<Option<Last>, String> {
    use Column::{Identifier, Label, Negative, Query, Text, Title};
    let column = |name: &[u8]| Column::named(std::str::from_utf8(name).ok()?);
    let columns: Option<Vec<Column>> = line.split(|&byte| byte == b'\t').map(column).collect();
    let Some(columns) = columns else { return Ok(None) };
    match columns[..] {
        _ if columns.contains(&Identifier) => {
            Err("the header names a column of identifiers; leave out columns that hold no texts".to_owned())
        }
        [Query, Text, Label] | [Query, Title, Text, Label] | [Query, Title, Text, Title, Text, Label] => {
            Ok(Some(Last::Label))
        }
        [Query, Text] => Ok(Some(Last::Any)),
        [Query, Text, ref negatives @ ..] if negatives.iter().all(|own| matches!(own, Text | Negative)) => {
            Ok(Some(Last::Text))
        }
        _ => {
            Err("the header's columns are not in the order query, positive, negatives; or query, positive, \
                  label; or RocketQA's query, title, text, [title, text,] label"
                .to_owned())
        }
    }
}

/// Reads a line. Its number of columns decides the form.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn parse(line: &[u8], last: Last) -> Result<Example, String> {
    let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let columns: Vec<&str> = line.trim_end_matches(['\r', '\n']).split('\t').collect();
    let (label, texts) = match columns.split_last() {
        Some((own, texts)) if texts.len() >= 2 => match label(own, last)? {
            Some(label) => (Some(label), texts),
            None => (None, columns.as_slice()),
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
            // Some writers fill lines of fewer negatives with empty columns.
            let negatives = negatives.iter().copied().filter(|text| !text.trim().is_empty());
            (query, Candidate::plain(positive), negatives.map(Candidate::plain).collect())
        }
        _ => return Err(EXPECTED.to_owned()),
    };
    Example { query: query.to_owned(), positives: vec![positive], negatives }.checked()
}

/// The label in a last column; `None` if the column is a text.
fn label(column: &str, last: Last) -> Result<Option<f64>, String> {
    let number = column.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    match (last, number) {
        (Last::Text, _) | (Last::Any, None) => Ok(None),
        (Last::Label, None) => Err(format!("{column:?} in the column of labels, where a number is expected")),
        (Last::Any, Some(number)) if !(0.0..=1.0).contains(&number) => Err(format!(
            "the last column is {number}, and a label is from 0 to 1; if the number is a label or a negative, begin the \
             file with a header such as query, positive, negative"
        )),
        (Last::Any | Last::Label, Some(number)) => Ok(Some(number)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{Last, header, parse};
    use crate::{Candidate, Example};

    fn example(positive: Candidate, negatives: Vec<Candidate>) -> Example {
        Example { query: "q".to_owned(), positives: vec![positive], negatives }
    }

    fn labelled(label: f64) -> Example {
        example(Candidate { label: Some(label), ..Candidate::plain("p") }, vec![])
    }

    #[test]
    fn the_number_of_columns_decides_the_form() {
        let titled =
            |title: &str, text: &str| Candidate { title: Some(title.to_owned()), ..Candidate::plain(text) };
        let plain = Candidate::plain;
        for (line, expected) in [
            ("q\tp", example(plain("p"), vec![])),
            ("q\tp\tn\r\n", example(plain("p"), vec![plain("n")])),
            ("q\tp\tn\tm", example(plain("p"), vec![plain("n"), plain("m")])),
            ("q\tp\t0.5", labelled(0.5)),
            ("q\tt\tp\t0", example(Candidate { label: Some(0.0), ..titled("t", "p") }, vec![])),
            ("q\tt\tp\t\tn\t0", example(titled("t", "p"), vec![plain("n")])),
        ] {
            assert_eq!(parse(line.as_bytes(), Last::Any).unwrap(), expected, "{line}");
        }
        assert_eq!(parse(b"q\tp\t\t", Last::Any).unwrap(), example(plain("p"), vec![]), "no negatives");
        for line in [&b"q"[..], b"", b"q\tt\tp\tt\tn\tx\t1", b"q\t\xff", b"\tp", b"q\t \tn"] {
            assert!(parse(line, Last::Any).is_err(), "{line:?}");
        }
    }

    #[test]
    fn a_number_is_a_label_or_what_the_header_says() {
        let negative = example(Candidate::plain("p"), vec![Candidate::plain("1950")]);
        assert_eq!(parse(b"q\tp\t1950", Last::Text).unwrap(), negative);
        assert_eq!(parse(b"q\tp\t4.5", Last::Label).unwrap(), labelled(4.5));
        let error = parse(b"q\tp\t1950", Last::Any).unwrap_err();
        assert!(error.contains("the last column is 1950, and a label is from 0 to 1"), "{error}");
        let error = parse(b"q\tp\tn", Last::Label).unwrap_err();
        assert!(error.contains("\"n\" in the column of labels"), "{error}");
    }

    #[test]
    fn a_header_names_all_columns_in_their_order() {
        for (line, expected) in [
            ("query\tpassage", Some(Last::Any)),
            ("query\tpositive\tnegative_1\n", Some(Last::Text)),
            ("Sentence1\tsentence2\tlabel", Some(Last::Label)),
            ("query\ttitle\ttext\tlabel", Some(Last::Label)),
            ("query\ttitle\ttext\ttitle\ttext\tlabel", Some(Last::Label)),
            ("query expansion\tpositive results", None),
            ("what is a query\ttext", None),
            ("text_source\tpassage", None),
        ] {
            assert_eq!(header(line.as_bytes()), Ok(expected), "{line}");
        }
        for line in [
            "negative\tpositive\tquery", "label\tsentence1\tsentence2", "query\tnegative\tpositive",
            "query\tlabel\tpositive", "query\ttitle\ttext", "query\tpositive\tnegative\tlabel", "query",
        ] {
            let error = header(line.as_bytes()).unwrap_err();
            assert!(error.contains("not in the order query, positive, negatives"), "{line}: {error}");
        }
        for line in ["query\tpassage_id\tpassage", "qid\tquestion\tanswer", "id\tid"] {
            let error = header(line.as_bytes()).unwrap_err();
            assert!(error.contains("a column of identifiers"), "{line}: {error}");
        }
    }
}
