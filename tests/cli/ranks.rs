//! `toller ranks`: the full ranking without a run, against deep runs and published figures.

use std::collections::{BTreeMap, HashMap};

use toller_testing::{minilm, shared};

use crate::support::Workspace;

const ENCODE: &str = "encode --model tiny-bert --quiet";
const RANKS: &str = "ranks --dense store --query-vectors questions --qrels data/qrels.txt";

/// A store of the sentences and one of the questions.
fn encoded() -> Workspace {
    let workspace = Workspace::with_xquad();
    workspace.runs(&format!("{ENCODE} --corpus data/corpus.jsonl --output store"));
    workspace.runs(&format!("{ENCODE} --queries data/queries.jsonl --output questions"));
    workspace
}

#[test]
fn ranks_are_those_of_a_run_of_everything() {
    let workspace = encoded();
    let ranks = format!("{RANKS} --document-groups data/paragraphs.tsv --json --measures");
    let found = workspace.runs(&format!("{ranks} RR,Success@1,Success@10,RR@5")).json();
    let measures =
        "RR(ties='average'),Success(ties='average')@1,Success(ties='average')@10,RR(ties='average')@5";

    // The sentence level by `eval`.
    workspace.runs("search --dense store --query-vectors questions --k 5000 --output all.run --quiet");
    let deep =
        workspace.runs(&format!("eval all.run --qrels data/qrels.txt --json --measures {measures}")).json();
    assert_eq!(found["runs"][0]["aggregates"], deep["runs"][0]["aggregates"]);

    // The paragraph level by hand.
    let pairs = |file: &str, columns: [usize; 2]| -> Vec<(String, String)> {
        let lines = workspace.lines(file).into_iter();
        let cells = lines.map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        cells.map(|cells| (cells[columns[0]].clone(), cells[columns[1]].clone())).collect()
    };
    let paragraph_of: HashMap<String, String> = pairs("data/paragraphs.tsv", [0, 1]).into_iter().collect();
    let mut relevant: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (query, sentence) in pairs("data/qrels.txt", [0, 2]) {
        relevant.entry(query).or_default().push(paragraph_of[&sentence].clone());
    }
    let reciprocal = |(query, hits): (String, Vec<(String, f32)>)| {
        let mut best: HashMap<&str, f32> = HashMap::new();
        for (sentence, score) in &hits {
            let paragraph = best.entry(&paragraph_of[sentence]).or_insert(*score);
            *paragraph = paragraph.max(*score);
        }
        let score =
            relevant[&query].iter().map(|paragraph| best[paragraph.as_str()]).fold(f32::MIN, f32::max);
        let above = best.values().filter(|other| **other > score).count() as f64;
        let equal = best.values().filter(|other| **other == score).count() as f64;
        1.0 / (above + (equal + 1.0) / 2.0)
    };
    let values: Vec<f64> = workspace.hits("all.run").into_iter().map(reciprocal).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let groups = found["runs"][1]["aggregates"]["RR(ties='average')"].as_f64().unwrap();
    assert!((groups - mean).abs() < 1e-12, "{groups} {mean}");
}

#[test]
fn what_is_missing_is_reported() {
    let workspace = encoded();
    workspace.head("data/qrels.txt", 5, "some.txt");
    let mut lines = workspace.lines("some.txt");
    lines.extend(["nobody 0 s0 1".to_owned(), format!("{} 0 s99999 1", lines[0].split(' ').next().unwrap())]);
    workspace.write("some.txt", lines.join("\n") + "\n");
    let ranks = RANKS.replace("data/qrels.txt", "some.txt");
    let found = workspace.runs(&format!("{ranks} --per-query --format csv"));
    assert!(
        found.stderr.contains("1 of 5 relevant documents are not in the store, for example \"s99999\""),
        "{}",
        found.stderr
    );
    assert!(
        found.stderr.contains("1 of 6 judged queries are not given and count as zero"),
        "{}",
        found.stderr
    );
    assert!(found.stdout.contains("documents,nobody,0,0,0,0\n"), "{}", found.stdout);

    workspace.head("data/paragraphs.tsv", 20, "few.tsv");
    workspace
        .toller(&format!("{RANKS} --document-groups few.tsv"))
        .fails(1, &["few.tsv has no group", "\"s20\""]);
    let again = [&workspace.read("data/paragraphs.tsv")[..], b"s0\telsewhere\n"].concat();
    workspace.write("twice.tsv", again);
    workspace
        .toller(&format!("{RANKS} --document-groups twice.tsv"))
        .fails(1, &["twice.tsv: the document \"s0\" is in the groups", "one line for each document"]);
    workspace
        .toller(&format!("{RANKS} --measures AP"))
        .fails(2, &["AP does not depend on the rank", "use RR"]);
    workspace.write("other.txt", "nobody 0 s0 1\n");
    workspace
        .toller(&RANKS.replace("data/qrels.txt", "other.txt"))
        .fails(1, &["none of the 1190 queries is judged"]);
}

/// ReQA's measures on XQuAD-R, as sentence-transformers and the paper's script have them.
#[test]
fn published_figures() {
    let (Some(model), Some(data)) = (minilm(), shared("data")) else { return };
    let figures = [
        ("en", [0.79395, 0.69587, 0.91491, 0.94693], [0.94638, 0.91323, 0.98484, 0.99495]),
        ("de", [0.52814, 0.43486, 0.63452, 0.70135], [0.74135, 0.65905, 0.83841, 0.87902]),
        ("zh", [0.27242, 0.19306, 0.35648, 0.43184], [0.39777, 0.29043, 0.51143, 0.59949]),
    ];
    let workspace = Workspace::new();
    for (language, sentences, paragraphs) in figures {
        let squad = data.join(format!("xquad-r/{language}.json.gz"));
        workspace
            .runs(&format!("data reqa {} --unique-questions --output {language} --quiet", squad.display()));
        let encode = format!("encode --model {} --corpus {language}/corpus.jsonl", model.display());
        workspace.runs(&format!("{encode} --output {language}-store --quiet"));
        let found = workspace.runs(&format!(
            "ranks --dense {language}-store --model {} --queries {language}/queries.jsonl --qrels \
             {language}/qrels.txt --document-groups {language}/paragraphs.tsv --json --quiet",
            model.display()
        ));
        for (level, expected) in [sentences, paragraphs].into_iter().enumerate() {
            let measures = [
                "RR(ties='average')", "Success(ties='average')@1", "Success(ties='average')@5",
                "Success(ties='average')@10",
            ];
            for (measure, expected) in measures.into_iter().zip(expected) {
                let value = found.json()["runs"][level]["aggregates"][measure].as_f64().unwrap();
                assert!(
                    (value - expected).abs() < 0.000_06,
                    "{language} {level} {measure}: {value}, expected {expected}"
                );
            }
        }
    }
}
