//! Top-k accuracy by DPR's rules: the ranks of the first passages with an answer.

use toller_datasets::{AnswerSearch, MatchMode};
use toller_ir::{Passage, Query};

fn question(id: &str, answers: &[&str]) -> Query {
    Query {
        id: id.to_owned(),
        answers: answers.iter().map(|answer| (*answer).to_owned()).collect(),
        ..Query::default()
    }
}

fn passage(id: &str, title: &str, text: &str) -> Passage {
    Passage { id: id.to_owned(), title: Some(title.to_owned()), text: text.to_owned(), context: None }
}

#[test]
fn the_first_passage_with_an_answer_counts() {
    let questions =
        [question("q0", &["Bonn", "Berlin"]), question("q1", &["Caf\u{e9} Noir"]), question("q2", &[])];
    let passages = [
        passage("a", "Bonn", "The capital was moved."),
        passage("b", "", "It is in BERLIN, not in bonn."),
        passage("c", "", "The cafe\u{301} noir, and Bonn."),
        passage("d", "", "Parisian cafe noir"),
    ];
    let runs: [&[(&str, &[&str])]; 2] = [
        // A title is not text, so q0's first answer is in b. e is not in the collection; q9 is not a
        // question.
        &[("q0", &["a", "e", "b", "c"]), ("q1", &["d", "c"]), ("q2", &["a"]), ("q9", &["a"])],
        &[("q0", &["c"])],
    ];
    let mut search = AnswerSearch::new(&questions, MatchMode::Tokens);
    for run in runs {
        search.add_run(run.iter().map(|(query, docs)| (*query, docs.iter().copied())));
    }
    assert_eq!(search.retrieved(), 5);
    // In any order, and in pieces.
    for passage in passages.iter().rev() {
        search.look_into(std::slice::from_ref(passage));
    }
    assert!(search.is_retrieved("e") && !search.is_retrieved("f"));
    assert_eq!(search.first_ranks(), [vec![Some(3), Some(2), None], vec![Some(1), None, None]]);

    // As judgments: every passage that was retrieved, by its best rank.
    let mut all = AnswerSearch::new(&questions, MatchMode::Tokens).for_judgments();
    for run in runs {
        all.add_run(run.iter().map(|(query, docs)| (*query, docs.iter().copied())));
    }
    all.look_into(&passages);
    assert_eq!(all.first_ranks(), search.first_ranks());
    let judgments = all.judgments();
    let of = |query: &str| -> Vec<(String, i32)> {
        judgments.query(query).into_iter().flatten().map(|(id, grade)| (id.clone(), *grade)).collect()
    };
    let pairs = |pairs: &[(&str, i32)]| -> Vec<(String, i32)> {
        pairs.iter().map(|(id, grade)| ((*id).to_owned(), *grade)).collect()
    };
    assert_eq!(of("q0"), pairs(&[("a", 0), ("c", 1), ("e", 0), ("b", 1)]), "a and c are first in a run");
    assert_eq!(of("q1"), pairs(&[("d", 0), ("c", 1)]));
    assert_eq!(of("q2"), pairs(&[("a", 0)]));
    assert!(judgments.query("q9").is_none());
}

#[test]
fn patterns() {
    let questions = [question("q", &["20,?320|6,?19[04]", "(unclosed"])];
    let mut search = AnswerSearch::new(&questions, MatchMode::Patterns);
    search.add_run([("q", ["a", "b", "c"])]);
    let texts = [("a", "(unclosed 2,320"), ("b", "6194 metres"), ("c", "20,320 feet")];
    search.look_into(&texts.map(|(id, text)| passage(id, "", text)));
    assert_eq!(search.first_ranks(), [vec![Some(2)]]);
}
