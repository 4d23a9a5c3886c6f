//! The analyzers against Lucene's, on fixtures that `scripts/make-analysis-fixtures` makes, and on any
//! string.

use std::error::Error;
use std::fs;
use std::sync::LazyLock;

use proptest::prelude::*;
use toller_analysis::Analyzer;
use toller_ir::Explain;

type Outcome = Result<(), Box<dyn Error>>;

/// The text or term of a fixture's field.
fn unescape(field: &str) -> String {
    let mut text = String::new();
    let mut chars = field.chars();
    while let Some(char) = chars.next() {
        text.push(match char {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                other => other.unwrap_or('\\'),
            },
            other => other,
        });
    }
    text
}

/// Every line of the fixtures gives the terms of Lucene.
#[test]
fn terms_are_those_of_lucene() -> Outcome {
    let folder = toller_testing::repository("crates/analysis/tests/fixtures/analysis");
    let mut checked = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).ok_or("a file without a name")?;
        let analyzer = Analyzer::by_name(name)?;
        for line in fs::read_to_string(&path)?.split_terminator('\n') {
            let (text, terms) = line.split_once('\t').ok_or("a line without a tab")?;
            let text = unescape(text);
            let expected: Vec<String> =
                terms.split(' ').filter(|term| !term.is_empty()).map(unescape).collect();
            assert_eq!(analyzer.analyze(&text), expected, "{name}: {text:?}");
            checked += 1;
        }
    }
    assert!(checked > 500, "{checked} lines");
    Ok(())
}

#[test]
fn every_name_has_an_analyzer_that_knows_it() -> Outcome {
    for name in Analyzer::names() {
        assert_eq!(Analyzer::by_name(name)?.name(), name);
    }
    let error = Analyzer::by_name("xx").err().ok_or("there is no analyzer xx")?;
    assert!(error.remedy().unwrap().to_string().contains("zh"));
    Ok(())
}

/// Words of Thai and Japanese come from ICU's dictionaries. Java and Kuromoji have other words, so there is
/// no fixture.
#[test]
fn thai_is_cut_into_words() -> Outcome {
    let thai = Analyzer::by_name("th")?;
    assert_eq!(thai.analyze("อยุธยามีกี่อำเภอ ?"), ["อยุธยา", "กี่", "อำเภอ"]);
    assert_eq!(thai.analyze("ปี ๒๕๕๔ Lucene's"), ["ปี", "2554", "lucene's"]);
    Ok(())
}

#[test]
fn japanese_is_cut_into_words_without_particles() -> Outcome {
    let japanese = Analyzer::by_name("ja")?;
    assert_eq!(japanese.analyze("東大寺の仏像は、奈良市にある。"), ["東大寺", "仏像", "奈良", "市"]);
    assert_eq!(japanese.analyze("Ｌｕｃｅｎｅ 9"), ["lucene", "9"]);
    Ok(())
}

/// A string of characters that the rules look at, and of any others.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        any::<char>().prop_map(String::from),
        "[a-zA-Z]{1,8}",
        "[\u{900}-\u{DFF}]{1,6}",
        "[\u{600}-\u{6FF}]{1,6}",
        "[\u{370}-\u{3FF}]{1,6}",
        "[\u{E00}-\u{EFF}]{1,8}",
        "[\u{3040}-\u{30FF}\u{4E00}-\u{4E20}\u{FF01}-\u{FFEE}]{1,5}",
        "[ .,:;'’\"_-]{1,3}",
        "[\u{200C}\u{200D}\u{FE0F}\u{20E3}\u{1F3FB}😀🇩🇪©#*0-9]{1,6}",
        "[a_\u{301}]{250,260}",
    ];
    prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}

/// All analyzers, made once: some take long to make.
static ANALYZERS: LazyLock<Vec<Analyzer>> =
    LazyLock::new(|| Analyzer::names().filter_map(|name| Analyzer::by_name(name).ok()).collect());

proptest! {
    /// Whatever the text is: no panic, no empty term, and the same again.
    #[test]
    fn any_text_can_be_analyzed(text in text()) {
        for analyzer in ANALYZERS.iter() {
            let name = analyzer.name();
            let terms = analyzer.analyze(&text);
            prop_assert!(terms.iter().all(|term| !term.is_empty()), "{name}");
            prop_assert_eq!(&terms, &analyzer.analyze(&text), "{}", name);
        }
    }

    /// Terms do not depend on the lines before and after.
    #[test]
    fn lines_are_analyzed_apart(first in text(), second in text()) {
        let (first, second) = (first.replace(' ', ""), second.replace(' ', ""));
        let by_rules = |analyzer: &&Analyzer| !["ja", "jieba", "th"].contains(&analyzer.name());
        for analyzer in ANALYZERS.iter().filter(by_rules) {
            let mut apart = analyzer.analyze(&first);
            apart.extend(analyzer.analyze(&second));
            prop_assert_eq!(analyzer.analyze(&format!("{first}\n\n{second}")), apart, "{}", analyzer.name());
        }
    }
}
