//! Laws: no input makes a parser panic, and what is written reads back.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use common::{open, qrels, run, triples};
use proptest::prelude::*;
use toller_corpus::{
    CollectionFormat, QrelsFormat, QueryFormat, ReadOptions, RunFormat, TrecRunWriter, read_collection_from,
    read_qrels_from, read_queries_from, read_run_from,
};

/// Words that parsers care about.
const WORDS: &str = concat!(
    r#"" ' [ ] { } : , \ \u - 0 1 1.5 NaN # id text title qid pid Q0 中 {"id":"a","text":"b"} "#,
    r#"<doc> </doc> <docno> <text> <top> </top> <num> <title> <![CDATA[ ]]> <!-- &amp; &#x ; "#,
    r#"<doc><docno>a</docno><text>b</text></doc> [{"question":"a"}] [{"ctxs":[]}] {"a":{"b":1}} {"a":{"b":2,"c":"x"}}"#
);

/// Identifiers, some of which begin as JSON does.
const QUERY_ID: &str = r#"(\[\{|\[\]|\{"|\{\}|\{"":\{)?[!$-~é中]{1,8}"#;

/// Bytes that parsers care about, mixed with any others.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let words: Vec<&str> = WORDS.split(' ').chain(["\n", "\t", " ", "\r\n", "\u{feff}"]).collect();
    let pieces = prop_oneof![
        prop::sample::select(words).prop_map(|piece| piece.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

fn options<F>(format: Option<F>, skip_bad_lines: bool) -> ReadOptions<F> {
    ReadOptions { format, skip_bad_lines, max_line_bytes: 64, ..ReadOptions::default() }
}

/// Every format, and detection.
fn with_detection<F: Copy>(formats: &[F]) -> impl Iterator<Item = Option<F>> {
    formats.iter().copied().map(Some).chain([None])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_a_parser_panic(bytes in bytes(), skip in any::<bool>()) {
        for format in with_detection(&CollectionFormat::ALL) {
            if let Ok(reader) = read_collection_from(open("c", &bytes), &options(format, skip)) {
                let count = reader.filter_map(Result::ok).inspect(|passage| assert!(!passage.id.is_empty())).count();
                prop_assert!(count <= bytes.len());
            }
        }
        for format in with_detection(&QueryFormat::ALL) {
            if let Ok((queries, _)) = read_queries_from(open("q", &bytes), &options(format, skip)) {
                prop_assert!(queries.iter().all(|query| !query.id.is_empty() && !query.text.is_empty()));
            }
        }
        for format in with_detection(&QrelsFormat::ALL) {
            if let Ok((qrels, _)) = read_qrels_from(open("j", &bytes), &options(format, skip)) {
                prop_assert!(!qrels.is_empty());
            }
        }
        for format in with_detection(&RunFormat::ALL) {
            if let Ok((run, _)) = read_run_from(open("r", &bytes), &options(format, skip)) {
                for hits in run.queries.values() {
                    let unique: HashSet<_> = hits.iter().map(|hit| &hit.doc_id).collect();
                    prop_assert_eq!(unique.len(), hits.len());
                    prop_assert!(hits.iter().all(|hit| hit.score.is_finite()));
                }
            }
        }
    }

    #[test]
    fn locations_strictly_ascend(bytes in bytes()) {
        for format in with_detection(&CollectionFormat::ALL) {
            // Long enough for several records on one line.
            let options = ReadOptions { max_line_bytes: 4096, ..options(format, true) };
            let Ok(mut reader) = read_collection_from(open("c", &bytes), &options) else { continue };
            let (mut last, mut line) = (None, 0);
            while let Some(Ok(_)) = reader.next() {
                prop_assert!(Some(reader.location()) > last, "{:?} after {last:?}", reader.location());
                last = Some(reader.location());
                // Lines ascend too, but not strictly.
                let position = reader.place().position.number();
                prop_assert!(position >= line.max(1), "{position} after {line}");
                line = position;
            }
        }
    }

    #[test]
    fn a_written_run_reads_back(
        queries in prop::collection::hash_map(QUERY_ID, prop::collection::hash_map("[!-~é中]{1,8}", any::<f32>().prop_filter("finite", |s| s.is_finite()), 1..20), 1..10)
    ) {
        let mut writer = TrecRunWriter::new(Vec::new(), "run.txt", "t").unwrap();
        for (query, hits) in &queries {
            writer.write_query(query, hits.iter().map(|(doc, score)| (doc.as_str(), *score))).unwrap();
        }
        let found = run(writer.finish().unwrap()).unwrap();
        prop_assert_eq!(found.queries.len(), queries.len());
        for (query, hits) in &queries {
            let found = &found.queries[query];
            prop_assert_eq!(found.len(), hits.len());
            for hit in found {
                prop_assert_eq!((hit.score as f32).to_bits(), hits[&hit.doc_id].to_bits());
            }
        }
    }

    #[test]
    fn written_qrels_read_back(
        judgments in prop::collection::btree_map((QUERY_ID, "[!-~]{1,6}"), -2_i32..4, 1..30)
    ) {
        let expected: HashSet<_> = judgments.iter().map(|((q, d), g)| (q.clone(), d.clone(), *g)).collect();
        let (mut trec, mut beir) = (String::new(), "query-id\tcorpus-id\tscore\r\n".to_owned());
        for ((query, doc), grade) in &judgments {
            writeln!(trec, "{query} 0 {doc} {grade}").unwrap();
            write!(beir, "{query}\t{doc}\t{grade}\r\n").unwrap();
        }
        prop_assert_eq!(&triples(&qrels(trec).unwrap()).into_iter().collect::<HashSet<_>>(), &expected);
        prop_assert_eq!(&triples(&qrels(beir).unwrap()).into_iter().collect::<HashSet<_>>(), &expected);
    }

    #[test]
    fn written_texts_read_back(
        texts in prop::collection::hash_map(r"(\[\]|\{\})?[!$-,.-;=-Z^-z~]{1,6}", "[a-z]{1,9}", 1..30)
    ) {
        let content: String = texts.iter().map(|(id, text)| format!("{id}\t{text}\n")).collect();
        let (queries, _) = read_queries_from(open("q", content.as_bytes()), &ReadOptions::default()).unwrap();
        let found: Vec<_> = queries.into_iter().map(|query| (query.id, query.text)).collect();
        prop_assert_eq!(found.into_iter().collect::<HashMap<_, _>>(), texts.clone());
        let reader = read_collection_from(open("c", content.as_bytes()), &ReadOptions::default()).unwrap();
        let found = reader.map(Result::unwrap).map(|passage| (passage.id, passage.text));
        prop_assert_eq!(found.collect::<HashMap<_, _>>(), texts);
    }

    #[test]
    fn lines_are_the_same_however_the_buffers_fall(
        texts in prop::collection::vec("[^\n\r\t\u{0}]{0,200}", 1..50),
        crlf in any::<bool>(),
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let content: String = texts.iter().enumerate().map(|(i, text)| format!("d{i}\t{text}{end}")).collect();
        // One byte at a time is the worst case of a pipe.
        struct Trickle(std::io::Cursor<Vec<u8>>);
        impl std::io::Read for Trickle {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let one = buffer.len().min(1);
                self.0.read(&mut buffer[..one])
            }
        }
        let trickle = Trickle(std::io::Cursor::new(content.clone().into_bytes()));
        let slow = toller_files::InputReader::from_reader(toller_files::Input::Stdin, trickle).unwrap();
        let options = ReadOptions { format: Some(CollectionFormat::Tsv), ..ReadOptions::default() };
        let slow: Vec<_> = read_collection_from(slow, &options).unwrap().map(|p| p.unwrap().text).collect();
        prop_assert_eq!(&slow, &texts);
    }
}
