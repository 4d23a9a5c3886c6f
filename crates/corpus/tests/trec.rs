//! TREC documents as collections.
#![allow(clippy::unwrap_used)]

mod common;

use std::error::Error;

use common::{assert_error, passage, passages, passages_with, skipping};
use toller_corpus::{ColumnNames, CorpusError, ReadOptions};

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn trec_documents() -> Outcome {
    let sgml = "<DOC>\n<DOCNO> FT911-1 </DOCNO>\n<HEADLINE>\nFT  14 MAY / R&amp;D\n</HEADLINE>\n<TEXT>\n<P>one\n</P>\
                two &hyph; 1 < 2\n</TEXT>\n<TEXT>three</TEXT></DOC><doc><docno>2</docno>\n<text></text></doc>\n";
    let expected =
        [passage("FT911-1", "FT 14 MAY / R&D", "one\n two &hyph; 1 < 2\n\nthree"), passage("2", "", "")];
    assert_eq!(passages("ft911", sgml)?, expected);
    assert_eq!(passages("docs.xml", format!("<?xml version='1.0'?>\n<root>\n{sgml}</root>\n"))?, expected);
    assert_error(passages("d", "<doc>\n<docno>1</docno></doc>"), &["d, line 1", "missing field", "<text>"]);
    assert_error(passages("d", "<doc>\n<text>a</text></doc>"), &["d, line 1", "missing field", "<docno>"]);
    assert_error(
        passages("d", "<doc><docno>1</docno><text>a</text>\n"),
        &["d, line 1", "</doc>", "end of the file"],
    );
    assert_error(passages("d", "<doc>\n<doc></doc>"), &["d, line 1", "another <doc> on line 2"]);
    assert_error(passages("d", "<doc><docno>1</docno><text/></doc> lost"), &["d, line 1"]);
    // The good ones around a bad one survive.
    let mixed = "<doc><docno>1</docno><text>a</text></doc>\n<doc>\n<doc><docno>2</docno><text>b</text></doc>";
    let (good, skipped) = passages_with("d", mixed, &skipping())?;
    assert_eq!(good, [passage("1", "", "a"), passage("2", "", "b")]);
    assert_eq!(skipped.total(), 1);
    Ok(())
}

#[test]
fn trec_newswire_has_more_than_titles_and_texts() -> Outcome {
    let wsj = "<DOC>\n<DOCNO> WSJ1 </DOCNO>\n<HL> Ford\n  Motor </HL>\n<DD> 04/01/92 </DD>\n<SO> WALL STREET </SO>\n\
               <LP>\n  The lead.\n</LP>\n<TEXT>\n  The rest.\n</TEXT>\n</DOC>\n";
    assert_eq!(
        passages("wsj", wsj)?,
        [passage("WSJ1", "Ford Motor", "04/01/92 \n\n  The lead.\n\n\n  The rest.")]
    );
    let ap = "<DOC><DOCNO>AP1</DOCNO><HEAD>One</HEAD><HEAD>Two</HEAD><TEXT>a <HEAD>b</HEAD></TEXT></DOC>";
    assert_eq!(passages("ap", ap)?, [passage("AP1", "One Two", "a  b")]);
    let patent =
        "<DOC><DOCNO>1</DOCNO><TTL>T</TTL><LEADPARA>l</LEADPARA><TEXT>a</TEXT><DATE>1993</DATE></DOC>";
    assert_eq!(passages("pt", patent)?, [passage("1", "T", "l\na\n1993")]);
    // The head of a page is not a title, and a title inside the text is one.
    let page = "<DOC><DOCNO>2</DOCNO><HEAD><meta x><TITLE>t</TITLE></HEAD><TEXT>a</TEXT></DOC>";
    assert_eq!(passages("page", page)?, [passage("2", "t", "a")]);
    let inside = "<DOC><DOCNO>3</DOCNO><TEXT><TITLE>t</TITLE> a</TEXT></DOC>";
    assert_eq!(passages("in", inside)?, [passage("3", "t", "t  a")]);
    Ok(())
}

#[test]
fn elements_of_trec_documents_can_be_named() -> Outcome {
    let named = |id: Option<&str>, title: Option<&str>, text: Option<&str>| {
        let [id, title, text] = [id, title, text].map(|name| name.map(str::to_owned));
        ReadOptions {
            columns: ColumnNames { id, title, text, ..ColumnNames::default() },
            ..ReadOptions::default()
        }
    };
    let documents = "<DOC><DOCNO>1</DOCNO><NR>7</NR><HEADLINE>h</HEADLINE><SUM>s</SUM><TEXT>a</TEXT></DOC>\n\
                     <DOC><DOCNO>2</DOCNO><NR>8</NR><HEADLINE>i</HEADLINE><TEXT>b</TEXT></DOC>\n";
    let read = |options| passages_with("d", documents, &options).map(|(passages, _)| passages);
    assert_eq!(read(named(Some("nr"), None, None))?, [passage("7", "h", "a"), passage("8", "i", "b")]);
    let summed = read(named(None, Some("sum"), Some("headline+text")))?;
    assert_eq!(summed, [passage("1", "s", "h\na"), passage("2", "", "i\nb")]);
    assert_eq!(read(named(None, None, Some("headline+text")))?[0], passage("1", "", "h\na"));
    assert_error(read(named(Some("num"), None, None)), &["d, line 1", "no <num>"]);
    assert_error(read(named(None, Some("hl"), Some("body"))), &["d, line 1", "no <body>"]);
    for (options, parts) in [
        (named(None, Some("hl"), None), ["no titles", "hl"]),
        (named(None, None, Some("text+lp")), ["no texts", "lp"]),
    ] {
        let error = assert_error(read(options), &parts);
        assert!(matches!(error, CorpusError::NoSuchName { .. }), "{error}");
    }
    Ok(())
}

#[test]
fn trec_documents_without_a_text_element() -> Outcome {
    let vaswani = "<DOC>\n<DOCNO>1</DOCNO>\ncompact memories have\nflexible capacities\n</DOC>\n<DOC>\n<DOCNO>2</DOCNO>\nb\n</DOC>\n";
    let expected = [passage("1", "", "compact memories have\nflexible capacities"), passage("2", "", "b")];
    assert_eq!(passages("doc-text.trec", vaswani)?, expected);
    let web = "<DOC><DOCNO>W-1</DOCNO><DOCHDR>HTTP/1.0 200 OK</DOCHDR>\n<html><title>T &amp; t</title><p>one</p>two</html></DOC>";
    assert_eq!(passages("B01", web)?, [passage("W-1", "T & t", "one two")]);
    let headline = "<DOC><DOCNO>3</DOCNO><HEADLINE>h</HEADLINE></DOC>";
    assert_eq!(passages("d", headline)?, [passage("3", "h", "")]);
    let both = "<DOC><DOCNO>4</DOCNO><TITLE>t</TITLE><HEADLINE>h</HEADLINE>x</DOC>";
    assert_eq!(passages("d", both)?, [passage("4", "t h", "x")]);
    Ok(())
}
