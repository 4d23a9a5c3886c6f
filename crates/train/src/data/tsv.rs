//! A record of tab-separated columns: texts in the order query, positive, negatives, or RocketQA's.

use std::str::Utf8Error;

use super::column::Column;
use super::{Candidate, Example};

/// What is expected of a line, for messages.
const EXPECTED: &str = "expected a query, a positive and negatives, separated by tabs; RocketQA's query, title, text, \
     [title, text,] label; or the scores of a positive and a negative, then query, positive, negative";

/// What the last column of the lines of a file is, after a query and a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// By the header, a text, whatever it looks like.
    Text,
    /// By the header, a label.
    Label,
    /// By the first record, a text, which is not a number.
    Plain,
    /// By the first record, a label, from 0 to 1.
    Labelled,
    /// A negative. Two scores come first: a teacher's, of the positive and of the negative (Hofstätter et
    /// al. 2020).
    Scored,
}

/// What a first line that names the columns says of the last; `None` if it names only a query and a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header(pub(super) Option<Last>);

impl Last {
    /// What the first record says.
    pub(super) fn of(line: &[u8]) -> Self {
        let columns = columns(line).unwrap_or_default();
        let is_labelled = columns.len() > 2 && columns.last().is_some_and(|own| number(own).is_some());
        if is_labelled { Self::Labelled } else { Self::Plain }
    }
}

/// The columns of a line.
fn columns(line: &[u8]) -> Result<Vec<&str>, Utf8Error> {
    Ok(std::str::from_utf8(line)?.trim_end_matches(['\r', '\n']).split('\t').collect())
}

fn number(column: &str) -> Option<f64> {
    column.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// Whether lines are a teacher's: two scores, then a query, a positive and a negative.
pub(super) fn are_scored(lines: &[&[u8]]) -> bool {
    let is_scored = |line: &&[u8]| match columns(line).unwrap_or_default()[..] {
        [positive, negative, ref texts @ ..] => {
            let are_scores = number(positive).is_some() && number(negative).is_some();
            are_scores && texts.len() == 3 && texts.iter().any(|text| number(text).is_none())
        }
        _ => false,
    };
    !lines.is_empty() && lines.iter().all(is_scored)
}

/// What the columns of lines look like, in words, if the first has a number in every line, where a query is
/// expected: as in files of queries, of collections, or of candidates for reranking. The first line may be a
/// header.
pub(super) fn numbered(lines: &[&[u8]]) -> Option<String> {
    let lines = if lines.len() > 1 { &lines[1..] } else { lines };
    let lines: Vec<Vec<&str>> = lines.iter().map(|line| columns(line).unwrap_or_default()).collect();
    let has_number = |index: usize| {
        let mut own = lines.iter().map(|columns| columns.get(index));
        own.all(|column| column.is_some_and(|column| number(column).is_some()))
    };
    let count = lines.first()?.len();
    (count > 1 && has_number(0)).then(|| {
        let kinds: Vec<&str> =
            (0..count).map(|index| if has_number(index) { "number" } else { "text" }).collect();
        format!("the columns {}", kinds.join(", "))
    })
}

/// If the texts of this many lines are single words with digits, that is not by accident.
const MANY: usize = 10;

/// Whether lines have identifiers where texts are expected: only numbers, judgments, or lines of a TREC run;
/// in many lines, only single words with digits. The first may be a header.
pub(super) fn are_identifiers(lines: &[&[u8]]) -> bool {
    let is_number = |column: &str| number(column).is_some();
    let lines = if lines.len() > 1 { &lines[1..] } else { lines };
    let is_word = |column: &&str| !column.is_empty() && column.bytes().all(|byte| byte.is_ascii_graphic());
    let are_words = |line: &[u8]| {
        let columns = columns(line).unwrap_or_default();
        // The last may be a label.
        let has_digit = columns.iter().take(2).any(|column| column.contains(|c: char| c.is_ascii_digit()));
        columns.len() > 1 && has_digit && columns.iter().all(is_word)
    };
    if lines.len() >= MANY && lines.iter().all(|line| are_words(line)) {
        return true;
    }
    lines.iter().all(|line| match columns(line).unwrap_or_default()[..] {
        [_, "0" | "Q0", _, grade] if is_number(grade) => true,
        [_, "0" | "Q0", _, rank, score, _] if is_number(rank) && is_number(score) => true,
        [first, ref others @ ..] => {
            !others.is_empty() && is_number(first) && others.iter().all(|column| is_number(column))
        }
        [] => false,
    })
}

/// What is wrong with a header, for messages.
const ORDER: &str = "the header's columns are not in the order query, positive, negatives; or query, positive, label; or \
     RocketQA's query, title, text, [title, text,] label";

/// Reads a first line that names the columns.
///
/// # Errors
/// When the columns are not in an order that can be read.
pub(super) fn header(line: &[u8]) -> Result<Option<Header>, String> {
    use Column::{Identifier, Label, Negative, Query, Text, Title};
    let Ok(names) = columns(line) else { return Ok(None) };
    let known: Vec<Option<Column>> = names.iter().map(|name| Column::named(name)).collect();
    // Texts may have `neg` in them, so that alone makes no header.
    let is_header = known.contains(&Some(Query)) && known.contains(&Some(Text));
    let is_negative = |name: &str| is_header && Column::is_negative(name);
    let columns = names.iter().zip(known);
    let columns = columns.map(|(name, known)| known.or_else(|| is_negative(name).then_some(Negative)));
    let Some(columns) = columns.collect::<Option<Vec<Column>>>() else {
        return if is_header { Err(ORDER.to_owned()) } else { Ok(None) };
    };
    match columns[..] {
        _ if columns.contains(&Identifier) => {
            Err("the header names a column of identifiers; leave out columns that hold no texts".to_owned())
        }
        [Query, Text, Label] | [Query, Title, Text, Label] | [Query, Title, Text, Title, Text, Label] => {
            Ok(Some(Header(Some(Last::Label))))
        }
        [Query, Text] => Ok(Some(Header(None))),
        [Query, Text, ref negatives @ ..] if negatives.iter().all(|own| matches!(own, Text | Negative)) => {
            names[2..].iter().try_for_each(|name| Column::check_negative(name, names[1]))?;
            Ok(Some(Header(Some(Last::Text))))
        }
        _ => Err(ORDER.to_owned()),
    }
}

/// Reads a line. Its number of columns decides the form.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn parse(line: &[u8], last: Last) -> Result<Example, String> {
    let columns = columns(line).map_err(|error| error.to_string())?;
    if last == Last::Scored {
        return scored(&columns)?.checked();
    }
    let (label, texts) = match columns.split_last() {
        Some((own, texts)) if texts.len() >= 2 => match label(own, last)? {
            Some(label) => (Some(label), texts),
            None => (None, columns.as_slice()),
        },
        Some((_, [_])) if matches!(last, Last::Label | Last::Labelled) => {
            return Err("no label, and the other lines have one".to_owned());
        }
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

/// A teacher's line.
fn scored(columns: &[&str]) -> Result<Example, String> {
    let &[of_positive, of_negative, query, positive, negative] = columns else {
        return Err(
            "expected the scores of a positive and a negative, then query, positive and negative, as in \
                    the first lines"
                .to_owned(),
        );
    };
    let candidate = |score: &str, text: &str| match number(score) {
        Some(number) => Ok(Candidate { score: Some(number), ..Candidate::plain(text) }),
        None => Err(format!("the score {score:?} is not a number")),
    };
    Ok(Example {
        query: query.to_owned(),
        positives: vec![candidate(of_positive, positive)?],
        negatives: vec![candidate(of_negative, negative)?],
    })
}

/// The label in a last column; `None` if the column is a text.
fn label(column: &str, last: Last) -> Result<Option<f64>, String> {
    let header = "if the number is a label or a negative, begin the file with a header such as query, positive, negative";
    match (last, number(column)) {
        (Last::Text | Last::Scored, _) | (Last::Plain, None) => Ok(None),
        (Last::Label, None) => Err(format!("{column:?} in the column of labels, where a number is expected")),
        (Last::Labelled, None) => {
            Err(format!("{column:?} in the last column, where the first line has a label"))
        }
        (Last::Labelled, Some(number)) if !(0.0..=1.0).contains(&number) => {
            Err(format!("the last column is {number}, and a label is from 0 to 1; {header}"))
        }
        (Last::Plain, Some(number)) => {
            Err(format!("the last column is {number}, and the first line has no label; {header}"))
        }
        (Last::Labelled | Last::Label, Some(number)) => Ok(Some(number)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{Header, Last, are_identifiers, are_scored, header, numbered, parse};
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
            assert_eq!(parse(line.as_bytes(), Last::of(line.as_bytes())).unwrap(), expected, "{line}");
        }
        assert_eq!(parse(b"q\tp\t\t", Last::Plain).unwrap(), example(plain("p"), vec![]), "no negatives");
        for line in [&b"q"[..], b"", b"q\tt\tp\tt\tn\tx\t1", b"q\t\xff", b"\tp", b"q\t \tn"] {
            assert!(parse(line, Last::of(line)).is_err(), "{line:?}");
        }
    }

    #[test]
    fn a_number_is_a_label_or_what_the_header_says() {
        let negative = example(Candidate::plain("p"), vec![Candidate::plain("1950")]);
        assert_eq!(parse(b"q\tp\t1950", Last::Text).unwrap(), negative);
        assert_eq!(parse(b"q\tp\t4.5", Last::Label).unwrap(), labelled(4.5));
        let error = parse(b"q\tp\t1950", Last::of(b"q\tp\t1950")).unwrap_err();
        assert!(error.contains("the last column is 1950, and a label is from 0 to 1"), "{error}");
        let error = parse(b"q\tp\tn", Last::Label).unwrap_err();
        assert!(error.contains("\"n\" in the column of labels"), "{error}");
    }

    #[test]
    fn a_line_is_as_the_first() {
        for (first, line, problem) in [
            (
                "q\tt\tp\tt\tn\t0",
                "q\tt\tp\tt\tn",
                "\"n\" in the last column, where the first line has a label",
            ),
            ("q\tt\tp\t1", "q\tt\tp", "\"p\" in the last column"),
            ("q\tp\t1", "q\tp", "no label, and the other lines have one"),
            ("q\tp\tn", "q\tp\t0.5", "the last column is 0.5, and the first line has no label"),
            ("q\tp", "q\tp\t1", "the last column is 1, and the first line"),
        ] {
            let error = parse(line.as_bytes(), Last::of(first.as_bytes())).unwrap_err();
            assert!(error.contains(problem), "{line}: {error}");
        }
        assert_eq!(parse(b"q\tp", Last::of(b"q\tp\tn")), Ok(example(Candidate::plain("p"), vec![])));
    }

    #[test]
    fn identifiers_are_no_texts() {
        let are = |text: &str| are_identifiers(&lines(text));
        for text in [
            "1\t23\n1\t5", "1\t0\t123\t1", "q1\t0\td1\t2", "1\t2\t3", "1\t23\t1\t9.5",
            "q\tQ0\td\t1\t9.5\ttag", "query-id\tcorpus-id\tscore\n1\t2\t1", "query\tpositive\n1\t2\n3\t4",
        ] {
            assert!(are(text), "{text}");
        }
        for text in ["1 + 1\t2", "1\t23\nwho\t5", "q\tt\tp\t1", "7", "q\tp", "q\tt\tp\tt\tn\t0"] {
            assert!(!are(text), "{text}");
        }
    }

    fn lines(text: &str) -> Vec<&[u8]> {
        text.lines().map(str::as_bytes).collect()
    }

    #[test]
    fn a_teachers_lines_begin_with_two_scores() {
        assert!(are_scored(&lines("9.5\t-0.5\tq\tp\tn\n1\t2\t1984\tp\tn")));
        for other in
            ["", "9.5\t0.5\tq\tp", "9.5\tq\tp\tn\tm", "1\t2\t3\t4\t5", "1\t2\tq\tp\tn\nq\tp\tn\tm\to"]
        {
            assert!(!are_scored(&lines(other)), "{other}");
        }
        let scored = |text: &str, score: f64| Candidate { score: Some(score), ..Candidate::plain(text) };
        let expected = example(scored("p", 9.5), vec![scored("n", -0.5)]);
        assert_eq!(parse(b"9.5\t-0.5\tq\tp\tn\r\n", Last::Scored), Ok(expected));
        for (line, problem) in [
            ("9.5\tq\tp\tn", "expected the scores of"),
            ("9.5\tx\tq\tp\tn", "the score \"x\" is not a number"),
            ("9.5\t1\tq\t\tn", "a positive passage is empty"),
        ] {
            let error = parse(line.as_bytes(), Last::Scored).unwrap_err();
            assert!(error.contains(problem), "{line}: {error}");
        }
    }

    #[test]
    fn numbers_are_no_queries() {
        for (text, columns) in [
            ("7\ta query\n8\tanother", Some("number, text")),
            ("id\ta text\n1\tone\n2\ttwo", Some("number, text")),
            ("1\t2\tq\tp\n1\t3\tq\to", Some("number, number, text, text")),
            ("1\t2\tq\tp\n1\t3\tq\t7", Some("number, number, text, number")),
            ("7\tp\nwho\to", None),
            ("q\t7\t8", None),
            ("7", None),
        ] {
            let expected = columns.map(|columns| format!("the columns {columns}"));
            assert_eq!(numbered(&lines(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_header_names_all_columns_in_their_order() {
        for (line, expected) in [
            ("query\tpassage", Some(Header(None))),
            ("query\tpositive\tnegative_1\n", Some(Header(Some(Last::Text)))),
            ("query\tpassage_1\tpassage_2", Some(Header(Some(Last::Text)))),
            ("query\tpositive\thard_negative\tneg_2", Some(Header(Some(Last::Text)))),
            ("what is negligence\tnegligence is", None),
            ("query\tnegotiation", None),
            ("Sentence1\tsentence2\tlabel", Some(Header(Some(Last::Label)))),
            ("query\ttitle\ttext\tlabel", Some(Header(Some(Last::Label)))),
            ("query\ttitle\ttext\ttitle\ttext\tlabel", Some(Header(Some(Last::Label)))),
            ("query expansion\tpositive results", None),
            ("what is a query\ttext", None),
            ("text_source\tpassage", None),
        ] {
            assert_eq!(header(line.as_bytes()), Ok(expected), "{line}");
        }
        for line in [
            "negative\tpositive\tquery", "label\tsentence1\tsentence2", "query\tnegative\tpositive",
            "query\tlabel\tpositive", "query\ttitle\ttext", "query\tpositive\tnegative\tlabel", "query",
            "query\tpositive\tsource", "source\tquery\tpositive",
        ] {
            let error = header(line.as_bytes()).unwrap_err();
            assert!(error.contains("not in the order query, positive, negatives"), "{line}: {error}");
        }
        let error = header(b"question\tanswer\tpassage\r\n").unwrap_err();
        assert!(error.starts_with("answer and passage are both passages"), "{error}");
        for line in ["query\tpassage_id\tpassage", "qid\tquestion\tanswer", "id\tid"] {
            let error = header(line.as_bytes()).unwrap_err();
            assert!(error.contains("a column of identifiers"), "{line}: {error}");
        }
    }
}
