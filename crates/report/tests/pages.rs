//! Pages as a whole: whatever names and texts say, a page has the same elements and attributes; and what is
//! shown of two runs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use proptest::prelude::*;
use toller_annotation::{Package, Pair};
use toller_eval::{EvalOptions, Test};
use toller_ir::{Passage, Qrels, Run, RunEntry};
use toller_report::{
    Analyst, Choice, Contrast, ContrastOptions, Failures, GradeLabel, ReportOptions, Sample, Texts,
    annotation_page, diff_page, failures_page, report_page,
};

/// The words of a page: two queries, three documents, a run, a title, a text.
type Words = [String; 8];

/// Two queries, for which the second run ranks the relevant document second and first.
fn collection(words: &Words) -> (Qrels, [Run; 2], Texts) {
    let [first, second, relevant, other, third, _, title, text] = words;
    let mut qrels = Qrels::new();
    for query in [first, second] {
        qrels.insert(query, relevant, 1);
        qrels.insert(query, other, 0);
    }
    let ranking = |documents: [&String; 3]| -> Vec<RunEntry> {
        let entry =
            |(score, doc_id): (i32, &String)| RunEntry { doc_id: doc_id.clone(), score: f64::from(-score) };
        (0..).zip(documents).map(entry).collect()
    };
    let (mut a, mut b) = (Run::default(), Run::default());
    for (query, documents) in [(first, [relevant, other, third]), (second, [other, third, relevant])] {
        a.queries.insert(query.clone(), ranking(documents));
    }
    for (query, documents) in [(first, [other, relevant, third]), (second, [relevant, third, other])] {
        b.queries.insert(query.clone(), ranking(documents));
    }
    let passage = |id: &String| {
        (
            id.clone(),
            Passage { id: id.clone(), title: Some(title.clone()), text: text.clone(), context: None },
        )
    };
    let texts = Texts {
        queries: [first, second].map(|query| (query.clone(), text.clone())).into(),
        passages: [relevant, other, third].map(passage).into(),
    };
    (qrels, [a, b], texts)
}

fn options(choice: Choice) -> ContrastOptions {
    let (measure, eval) = ("RR".parse().unwrap(), EvalOptions::default());
    ContrastOptions { measure, choice, limit: 5, documents: 3, eval }
}

/// Every kind of page.
fn pages(words: &Words) -> Vec<String> {
    let (qrels, [a, b], texts) = collection(words);
    let name = &words[5];
    let report_options = ReportOptions {
        title: name.clone(),
        judgments: name.clone(),
        measures: vec!["RR".parse().unwrap(), "NumRel".parse().unwrap()],
        relevance_level: 1,
        test: Test::Wilcoxon,
        queries: 2,
        documents: 3,
        groups: Some([(name.clone(), [words[0].clone()].into())].into()),
    };
    let mut analyst = Analyst::new(&qrels, report_options, format!("{name}.a"), a.clone()).unwrap();
    analyst.add(format!("{name}.b"), &b).unwrap();
    analyst.add(format!("{name}.c"), &a).unwrap();
    let names = [name.clone(), name.clone()];
    let contrast = Contrast::new(&qrels, names, [&a, &b], &options(Choice::All)).unwrap();
    let sample = Sample { queries: None, seed: 1 };
    let failures = Failures::new(&qrels, name.clone(), &b, 1, sample, &EvalOptions::default()).unwrap();
    let pairs = vec![Pair { query_id: words[0].clone(), doc_id: words[2].clone() }];
    let grades = [GradeLabel { grade: 1, label: name.clone() }];
    vec![
        report_page(&analyst.finish().unwrap(), &texts),
        diff_page(&contrast, &texts),
        failures_page(&failures, &texts, true),
        annotation_page(&Package { number: 1, pairs }, &texts, &grades),
    ]
}

/// The names of all elements and of their attributes, in their order.
fn structure(page: &str) -> Vec<String> {
    // The page's own script holds no words.
    let (page, _) = page.rsplit_once("<script>").unwrap();
    let mut names = Vec::new();
    for tag in page.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        // Quoted values are every second part.
        names.push(tag.split('"').step_by(2).collect::<Vec<_>>().join("\""));
    }
    names
}

/// Words that are eight different ones, and hostile.
fn words() -> impl Strategy<Value = Words> {
    let piece = prop_oneof![
        any::<String>().prop_map(|text| text.chars().take(12).collect::<String>()),
        proptest::sample::select(vec![
            "</script>", "<img src=x onerror=alert(1)>", "\"onload=\"x", "'", "-->", "<!--", "]]>", "&lt;",
            "&#60;", "\u{202e}", "\u{2066}", "\0", "\u{1b}[31m", "=1+1", "</title>", "</style>", "{{x}}",
            "`${x}`",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::array::uniform8(piece).prop_map(|pieces| {
        let mut number = 0;
        pieces.map(|piece| {
            number += 1;
            format!("{number}{piece}")
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn words_change_no_element(words in words()) {
        let mut number = 0;
        let harmless = words.each_ref().map(|word| {
            number += 1;
            // As long, since long names are cut and long texts are folded.
            format!("{number}{}", "x".repeat(word.chars().count() - 1))
        });
        for (page, expected) in pages(&words).iter().zip(pages(&harmless)) {
            prop_assert_eq!(structure(page), structure(&expected));
            let has_controls = page.contains(['\0', '\u{1b}']);
            prop_assert!(!has_controls);
        }
    }
}

#[test]
fn losses_gains_and_both_ends() {
    let words = ["loses", "gains", "r", "o", "t", "n", "title", "text"].map(str::to_owned);
    let (qrels, [a, b], _) = collection(&words);
    let contrast =
        |choice| Contrast::new(&qrels, ["a".into(), "b".into()], [&a, &b], &options(choice)).unwrap();
    let shown =
        |choice| contrast(choice).shown.iter().map(|query| query.query_id.clone()).collect::<Vec<_>>();
    assert_eq!(shown(Choice::Losses), ["loses"]);
    assert_eq!(shown(Choice::Gains), ["gains"]);
    assert_eq!(
        (shown(Choice::All), shown(Choice::Ends)),
        (vec!["loses".into(), "gains".into()], shown(Choice::All))
    );
    let all = contrast(Choice::All);
    assert_eq!((all.all, all.lost, all.gained), (2, 1, 1));
    assert_eq!(all.means, [(1.0 + 1.0 / 3.0) / 2.0, 0.75]);
    assert_eq!(all.shown[0].relevant[0].ranks, [Some(1), Some(2)]);
}

#[test]
fn a_run_without_results_for_what_it_loses() {
    let words = ["loses", "gains", "r", "o", "t", "n", "title", "text"].map(str::to_owned);
    let (qrels, [a, mut b], texts) = collection(&words);
    b.queries.shift_remove("loses");
    let names = ["a".to_owned(), "b".to_owned()];
    let contrast = Contrast::new(&qrels, names, [&a, &b], &options(Choice::Losses)).unwrap();
    assert_eq!((contrast.shown.len(), contrast.shown[0].rankings[1].len()), (1, 0));
    assert!(diff_page(&contrast, &texts).contains("No results."));
}
