//! Files of negatives, as training programs read them.

use std::io::{self, Write};

use serde::Serialize;
use toller_ir::{Passage, named};

use crate::record::Mined;

named! {
    /// How negatives are written. docs/formats.md describes each.
    #[derive(Default)]
    pub enum Format: "a format of negatives" {
        /// One JSON object per query, with identifiers, ranks and scores, and with texts if they are known.
        #[default]
        Jsonl = "jsonl",
        /// One JSON object per query, as in the training data of Tevatron and Pyserini.
        Tevatron = "tevatron",
        /// One JSON object per pair of a positive and a negative: `query`, `positive`, `negative`
        /// (sentence-transformers).
        Triplets = "triplets",
        /// `qid<TAB>pid`, one line per negative.
        Pairs = "pairs",
        /// `qid<TAB>pid<TAB>index<TAB>score` with a header; the index is the rank.
        T2Ranking = "t2ranking",
        /// `query<TAB>title<TAB>text<TAB>title<TAB>text<TAB>0`: a positive, then a negative. One line per
        /// negative; the positives take turns.
        RocketQa = "rocketqa",
        /// `query<TAB>title<TAB>text<TAB>label`, one line per positive, with the label 1, and negative, with
        /// 0.
        RocketQaCross = "rocketqa-cross",
    }
}

/// A text that the format needs and that is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} {id:?} has no text")]
pub struct MissingText {
    /// "query" or "document".
    pub what: &'static str,
    /// Its identifier.
    pub id: String,
}

#[derive(Serialize)]
struct Line<'a> {
    query_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<&'a str>,
    positives: Vec<Document<'a>>,
    negatives: Vec<Document<'a>>,
}

#[derive(Serialize)]
struct Document<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

#[derive(Serialize)]
struct TevatronLine<'a> {
    query_id: &'a str,
    query: &'a str,
    positive_passages: Vec<TevatronPassage<'a>>,
    negative_passages: Vec<TevatronPassage<'a>>,
}

#[derive(Serialize)]
struct TevatronPassage<'a> {
    docid: &'a str,
    title: &'a str,
    text: &'a str,
}

#[derive(Serialize)]
struct Triplet<'a> {
    query: &'a str,
    positive: &'a str,
    negative: &'a str,
}

impl Format {
    /// Whether it holds the texts of queries and passages, so that these must be known.
    #[must_use]
    pub fn needs_texts(self) -> bool {
        matches!(self, Self::Tevatron | Self::Triplets | Self::RocketQa | Self::RocketQaCross)
    }

    /// Whether it can hold texts, if they are known.
    #[must_use]
    pub fn holds_texts(self) -> bool {
        self == Self::Jsonl || self.needs_texts()
    }

    /// The line that a file begins with, if it has one.
    #[must_use]
    pub fn header(self) -> Option<&'static str> {
        (self == Self::T2Ranking).then_some("qid\tpid\tindex\tscore")
    }

    /// Whether a line can show that a file is of this format. Pairs of identifiers could be judgments just
    /// as well, and so could the four columns of a cross-encoder.
    #[must_use]
    pub fn is_recognizable(self) -> bool {
        !matches!(self, Self::Pairs | Self::RocketQaCross)
    }

    /// Whether a file that begins with this line is of this format.
    #[must_use]
    pub fn is_shown_by(self, line: &str) -> bool {
        let is_json = |first: &str, other: &str| {
            line.starts_with(&format!("{{\"{first}\":")) && line.contains(&format!("\"{other}\":"))
        };
        match self {
            Self::Jsonl => is_json("query_id", "positives"),
            Self::Tevatron => is_json("query_id", "positive_passages"),
            Self::Triplets => is_json("query", "positive"),
            Self::Pairs | Self::RocketQaCross => false,
            Self::T2Ranking => Some(line) == self.header(),
            // A run whose tag is 0 has Q0 where this has a title.
            Self::RocketQa => {
                let cells: Vec<&str> = line.split('\t').collect();
                matches!(cells[..], [_, title, _, _, _, "0"] if title != "Q0")
            }
        }
    }

    /// The lines of one query.
    ///
    /// # Errors
    /// [`MissingText`], inside an [`io::Error`], if a necessary text is missing; and errors of `out`.
    pub fn write(self, mined: &Mined<'_>, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Jsonl => json_line(&jsonl(mined), out),
            Self::Tevatron => json_line(&tevatron(mined)?, out),
            Self::Triplets => triplets(mined, out),
            Self::Pairs => mined
                .negatives
                .iter()
                .try_for_each(|negative| writeln!(out, "{}\t{}", mined.query_id, negative.id)),
            Self::T2Ranking => mined.negatives.iter().try_for_each(|negative| {
                writeln!(out, "{}\t{}\t{}\t{:?}", mined.query_id, negative.id, negative.rank, negative.score)
            }),
            Self::RocketQa => rocketqa(mined, out),
            Self::RocketQaCross => rocketqa_cross(mined, out),
        }
    }
}

fn json_line(line: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    writeln!(out)
}

fn jsonl<'a>(mined: &Mined<'a>) -> Line<'a> {
    let document = |id, rank, score, passage: Option<&'a Passage>| Document {
        id,
        rank,
        score,
        title: passage.and_then(|passage| passage.title.as_deref()),
        text: passage.map(|passage| passage.text.as_str()),
    };
    let positives =
        mined.positives.iter().map(|positive| document(positive.id, None, positive.score, positive.passage));
    let negatives = mined.negatives.iter();
    Line {
        query_id: mined.query_id,
        query: mined.query,
        positives: positives.collect(),
        negatives: negatives
            .map(|negative| {
                document(negative.id, Some(negative.rank), Some(negative.score), negative.passage)
            })
            .collect(),
    }
}

fn query_text<'a>(mined: &Mined<'a>) -> io::Result<&'a str> {
    mined.query.ok_or_else(|| missing("query", mined.query_id))
}

fn known<'a>(id: &str, passage: Option<&'a Passage>) -> io::Result<&'a Passage> {
    passage.ok_or_else(|| missing("document", id))
}

fn missing(what: &'static str, id: &str) -> io::Error {
    io::Error::other(MissingText { what, id: id.to_owned() })
}

fn tevatron<'a>(mined: &Mined<'a>) -> io::Result<TevatronLine<'a>> {
    let passage = |id: &'a str, passage: Option<&'a Passage>| {
        let passage = known(id, passage)?;
        let title = passage.title.as_deref().unwrap_or("");
        Ok(TevatronPassage { docid: id, title, text: &passage.text })
    };
    let positives = mined.positives.iter().map(|positive| passage(positive.id, positive.passage));
    let negatives = mined.negatives.iter().map(|negative| passage(negative.id, negative.passage));
    Ok(TevatronLine {
        query_id: mined.query_id,
        query: query_text(mined)?,
        positive_passages: positives.collect::<io::Result<_>>()?,
        negative_passages: negatives.collect::<io::Result<_>>()?,
    })
}

fn triplets(mined: &Mined<'_>, out: &mut dyn Write) -> io::Result<()> {
    let query = query_text(mined)?;
    let count = mined.positives.len();
    for (place, positive) in mined.positives.iter().enumerate() {
        let positive = titled(known(positive.id, positive.passage)?);
        let (from, step) = if mined.is_dealt { (place, count) } else { (0, 1) };
        for negative in mined.negatives.iter().skip(from).step_by(step) {
            let negative = titled(known(negative.id, negative.passage)?);
            json_line(&Triplet { query, positive: &positive, negative: &negative }, out)?;
        }
    }
    Ok(())
}

/// Title and text as one, as encoders are given them by default.
fn titled(passage: &Passage) -> String {
    match passage.title.as_deref() {
        Some(title) if !title.is_empty() => format!("{title} {}", passage.text),
        _ => passage.text.clone(),
    }
}

fn rocketqa(mined: &Mined<'_>, out: &mut dyn Write) -> io::Result<()> {
    let query = cell(query_text(mined)?);
    // Without positives there are no pairs.
    for (negative, positive) in mined.negatives.iter().zip(mined.positives.iter().cycle()) {
        let positive = cells(known(positive.id, positive.passage)?);
        let negative = cells(known(negative.id, negative.passage)?);
        writeln!(out, "{query}\t{positive}\t{negative}\t0")?;
    }
    Ok(())
}

fn rocketqa_cross(mined: &Mined<'_>, out: &mut dyn Write) -> io::Result<()> {
    let query = cell(query_text(mined)?);
    let positives = mined.positives.iter().map(|positive| (positive.id, positive.passage, 1));
    let negatives = mined.negatives.iter().map(|negative| (negative.id, negative.passage, 0));
    for (id, passage, label) in positives.chain(negatives) {
        writeln!(out, "{query}\t{}\t{label}", cells(known(id, passage)?))?;
    }
    Ok(())
}

/// A passage as RocketQA's two columns.
fn cells(passage: &Passage) -> String {
    format!("{}\t{}", cell(passage.title.as_deref().unwrap_or("")), cell(&passage.text))
}

/// A text that fits between tabs on one line.
fn cell(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use toller_ir::Passage;

    use super::{Format, MissingText};
    use crate::record::{Mined, Negative, Positive};

    fn passage(title: Option<&str>, text: &str) -> Passage {
        Passage { title: title.map(str::to_owned), text: text.to_owned(), ..Passage::default() }
    }

    fn written(format: Format, mined: &Mined<'_>) -> Result<String, Box<dyn Error>> {
        let mut out = Vec::new();
        format.write(mined, &mut out)?;
        Ok(String::from_utf8(out)?)
    }

    #[test]
    fn formats_are_as_described() -> Result<(), Box<dyn Error>> {
        let (a, b, c) =
            (passage(Some("A"), "one\ttwo"), passage(None, "three"), passage(Some(""), "fo\"ur\n"));
        let positive = |id, passage| Positive { id, score: None, passage: Some(passage) };
        let negative = |id, rank, passage| Negative { id, rank, score: 1.5, passage: Some(passage) };
        let mined = Mined {
            query_id: "q",
            query: Some("what"),
            positives: vec![positive("a", &a), positive("b", &b)],
            negatives: vec![negative("c", 3, &c)],
            is_dealt: false,
        };
        for (format, expected) in [
            (
                Format::Jsonl,
                "{\"query_id\":\"q\",\"query\":\"what\",\"positives\":[{\"id\":\"a\",\"title\":\"A\",\"text\":\"one\\ttwo\"},{\"id\":\"b\",\"text\":\"three\"}],\"negatives\":[{\"id\":\"c\",\"rank\":3,\"score\":1.5,\"title\":\"\",\"text\":\"fo\\\"ur\\n\"}]}\n",
            ),
            (
                Format::Tevatron,
                "{\"query_id\":\"q\",\"query\":\"what\",\"positive_passages\":[{\"docid\":\"a\",\"title\":\"A\",\"text\":\"one\\ttwo\"},{\"docid\":\"b\",\"title\":\"\",\"text\":\"three\"}],\"negative_passages\":[{\"docid\":\"c\",\"title\":\"\",\"text\":\"fo\\\"ur\\n\"}]}\n",
            ),
            (
                Format::Triplets,
                "{\"query\":\"what\",\"positive\":\"A one\\ttwo\",\"negative\":\"fo\\\"ur\\n\"}\n{\"query\":\"what\",\"positive\":\"three\",\"negative\":\"fo\\\"ur\\n\"}\n",
            ),
            (Format::Pairs, "q\tc\n"),
            (Format::T2Ranking, "q\tc\t3\t1.5\n"),
            (Format::RocketQa, "what\tA\tone two\t\tfo\"ur \t0\n"),
            (Format::RocketQaCross, "what\tA\tone two\t1\nwhat\t\tthree\t1\nwhat\t\tfo\"ur \t0\n"),
        ] {
            let lines = written(format, &mined)?;
            assert_eq!(lines, expected, "{format}");
            let first = format.header().or(lines.lines().next()).unwrap_or_default();
            let shows: Vec<Format> =
                Format::ALL.into_iter().filter(|other| other.is_shown_by(first)).collect();
            assert_eq!(shows, if format.is_recognizable() { vec![format] } else { vec![] });
        }
        // Two negatives for each positive, and the scores of a reranker.
        let dealt = Mined {
            positives: vec![Positive { score: Some(9.0), ..positive("a", &a) }, positive("b", &b)],
            negatives: ["n1", "n2", "n3", "n4"].map(|id| negative(id, 1, &c)).to_vec(),
            is_dealt: true,
            ..mined
        };
        let pairs = written(Format::Triplets, &dealt)?;
        let of = |text: &str| pairs.lines().filter(|line| line.contains(text)).count();
        assert_eq!((of("A one\\ttwo"), of("\"three\""), pairs.lines().count()), (2, 2, 4));
        assert!(written(Format::Jsonl, &dealt)?.contains("\"positives\":[{\"id\":\"a\",\"score\":9.0,"));
        Ok(())
    }

    #[test]
    fn texts_that_are_needed_are_missed() -> Result<(), Box<dyn Error>> {
        let mined = Mined {
            query_id: "q",
            query: None,
            positives: vec![Positive { id: "a", score: None, passage: None }],
            negatives: vec![Negative { id: "c", rank: 1, score: 1.0, passage: None }],
            is_dealt: false,
        };
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
            let written = written(format, &mined);
            let missing = written.as_ref().err().and_then(|error| error.downcast_ref::<std::io::Error>());
            let missing = missing.and_then(|error| error.get_ref()?.downcast_ref::<MissingText>());
            assert_eq!(missing.is_some(), format.needs_texts(), "{format}");
        }
        assert_eq!(
            written(Format::Jsonl, &mined)?,
            "{\"query_id\":\"q\",\"positives\":[{\"id\":\"a\"}],\"negatives\":[{\"id\":\"c\",\"rank\":1,\"score\":1.0}]}\n"
        );
        assert!("json".parse::<Format>().is_err());
        Ok(())
    }
}
