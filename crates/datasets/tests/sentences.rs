//! Sentences by rules against those that XQuAD-R marks, and ReQA's statistics of real sets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use toller_datasets::{
    Figure, ReqaOptions, SentenceRules, build_reqa, mark_sentences, read_squad, split_sentences,
};
use toller_files::Input;
use toller_testing::{repository, shared};

#[test]
fn english_rules_agree_with_xquad_r() {
    let file = repository("tests/fixtures/xquad-r/en.json.gz");
    let squad = read_squad(&Input::parse(file)).unwrap();
    let paragraphs: Vec<_> = squad.data.iter().flat_map(|article| &article.paragraphs).collect();
    let agrees = |paragraph: &&&toller_datasets::SquadParagraph| {
        let marked = paragraph.sentence_breaks.as_ref().unwrap();
        split_sentences(&paragraph.context, SentenceRules::English) == *marked
    };
    let agreed = paragraphs.iter().filter(agrees).count();
    assert_eq!((agreed, paragraphs.len()), (233, 240));
}

#[test]
fn xquad_r_has_its_published_candidates() {
    let Some(folder) = shared("data/xquad-r") else { return };
    let published = [
        ("ar", 1222),
        ("de", 1276),
        ("el", 1234),
        ("en", 1180),
        ("es", 1215),
        ("hi", 1244),
        ("ru", 1219),
        ("th", 852),
        ("tr", 1167),
        ("vi", 1209),
        ("zh", 1196),
    ];
    for (language, candidates) in published {
        let squad = read_squad(&Input::parse(folder.join(format!("{language}.json.gz")))).unwrap();
        let reqa = build_reqa(&squad, &ReqaOptions::default()).unwrap();
        assert_eq!(reqa.sentences.len(), candidates, "{language}");
        let part = reqa.statistics();
        assert_eq!(part.part("reqa").unwrap().figure("sentences"), Some(Figure::Count(candidates as u64)));
    }
}

#[test]
fn unmarked_paragraphs_are_split() {
    let Some(file) = shared("data/cmrc2018/dev.json.gz") else { return };
    let mut squad = read_squad(&Input::parse(file)).unwrap();
    let marked = mark_sentences(&mut squad, SentenceRules::Unicode);
    assert!(marked > 800, "{marked}");
    assert_eq!(mark_sentences(&mut squad, SentenceRules::Unicode), 0);
    let reqa = build_reqa(&squad, &ReqaOptions::default()).unwrap();
    let all: usize = squad.data.iter().flat_map(|article| &article.paragraphs).map(|one| one.qas.len()).sum();
    assert_eq!(reqa.questions.len() + reqa.skipped.unanswered, all);
    assert!(reqa.skipped.unanswered * 100 < all, "{:?}", reqa.skipped);
}
