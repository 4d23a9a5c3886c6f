//! Anserini's results on real collections in many languages, where the folder that `TOLLER_SHARED` names, or
//! `../shared`, has them.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use toller_analysis::Analyzer;
use toller_corpus::{ReadOptions, open_collection, read_qrels, read_queries, read_run};
use toller_datasets::{Squad, read_squad};
use toller_eval::{EvalOptions, evaluate, parse_measures};
use toller_files::{Input, InputReader, OpenOptions};
use toller_ir::{Qrels, Query, Ranking, Run, RunEntry};
use toller_sparse::{BuildJob, Ranker, Scoring, Source, SparseError, SparseIndex, SparseQuery, build};

use toller_testing::{shared, shared_path};

use crate::common::Outcome;

type Document = (String, String);

fn index_documents(
    documents: Vec<Document>,
    language: &str,
) -> Result<(SparseIndex, Analyzer), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let analyzer = Analyzer::by_name(language)?;
    let job = BuildJob {
        analyzer: &analyzer,
        source: Source {
            fingerprint: String::new(),
            passages: 0,
            title_separator: Some(String::new()),
            model: None,
        },
        doc_vectors: false,
        memory_bytes: 1 << 28,
        threads: 2,
        overwrite: false,
        stop: &AtomicBool::new(false),
    };
    build(directory.path(), &job, documents.into_iter().map(Ok::<_, SparseError>), |_| ())?;
    Ok((SparseIndex::open(directory.path(), &OpenOptions::default())?, analyzer))
}

fn search(
    index: &SparseIndex,
    analyzer: &Analyzer,
    queries: &[Query],
    ranker: Ranker,
) -> Result<Vec<Ranking>, SparseError> {
    let queries: Vec<SparseQuery> =
        queries.iter().map(|query| SparseQuery::of_text(analyzer, &query.text)).collect();
    let scoring = Scoring { ranker, ..Scoring::default() };
    index.search_each(&queries, &scoring, |search, query| search.run(query, 1000, &|_| true))
}

fn measured(
    index: &SparseIndex,
    queries: &[Query],
    rankings: &[Ranking],
    qrels: &Qrels,
    measures: &str,
) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut run = Run::default();
    for (query, ranking) in queries.iter().zip(rankings) {
        let entry = |hit: &toller_ir::Hit| RunEntry {
            doc_id: index.doc_id(hit.doc).into_owned(),
            score: f64::from(hit.score),
        };
        run.queries.insert(query.id.clone(), ranking.hits.iter().map(entry).collect());
    }
    Ok(evaluate(qrels, &run, &parse_measures(measures)?, &EvalOptions::default())?.aggregates)
}

/// The share of queries with the same first hit as in `run`.
fn same_first(index: &SparseIndex, queries: &[Query], rankings: &[Ranking], run: &Run) -> f64 {
    let same = queries.iter().zip(rankings).filter(|(query, ranking)| {
        let theirs = run.queries.get(&query.id).and_then(|entries| entries.first());
        let ours = ranking.hits.first().map(|hit| index.doc_id(hit.doc));
        ours.as_deref() == theirs.map(|entry| entry.doc_id.as_str())
    });
    same.count() as f64 / queries.len().max(1) as f64
}

/// The documents and questions of a case. The documents are sentences, or paragraphs if the set has no
/// sentences.
fn case(name: &str) -> Result<(Vec<Document>, Vec<Query>), Box<dyn Error>> {
    let data = shared_path("data");
    let mut sets: Vec<Squad> = Vec::new();
    if let Some(language) = name.strip_prefix("xquad-r-").and_then(|name| name.strip_suffix("-sentences")) {
        sets.push(read_squad(&Input::File(data.join(format!("xquad-r/{language}.json.gz"))))?);
    } else if name == "cmrc2018-dev" {
        sets.push(read_squad(&Input::File(data.join("cmrc2018/dev.json.gz")))?);
    } else if name == "jaquad-dev" {
        sets = archived_sets(&data.join("jaquad/jaquad.tar.xz"), "data/dev/")?;
    } else {
        return Err(format!("no collection is known for {name}").into());
    }
    let (mut documents, mut queries): (Vec<Document>, Vec<Query>) = (Vec::new(), Vec::new());
    for paragraph in sets.iter().flat_map(|set| &set.data).flat_map(|article| &article.paragraphs) {
        match &paragraph.sentence_breaks {
            Some(breaks) => {
                let characters: Vec<char> = paragraph.context.chars().collect();
                for &[start, end] in breaks {
                    let text = characters.get(start..end).ok_or("a sentence outside of its paragraph")?;
                    documents.push((format!("s{}", documents.len()), text.iter().collect()));
                }
            }
            None => documents.push((format!("p{}", documents.len()), paragraph.context.clone())),
        }
        queries.extend(paragraph.qas.iter().map(|question| Query {
            id: question.id.clone(),
            text: question.question.clone(),
            answers: Vec::new(),
        }));
    }
    Ok((documents, queries))
}

/// The sets of a folder of a compressed archive, by name.
fn archived_sets(archive: &Path, folder: &str) -> Result<Vec<Squad>, Box<dyn Error>> {
    let mut archive = tar::Archive::new(InputReader::open(&Input::File(archive.to_owned()))?);
    let unpacked = tempfile::tempdir()?;
    let mut files = BTreeMap::new();
    for (number, entry) in archive.entries()?.enumerate() {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().into_owned();
        if name.starts_with(folder) && name.ends_with(".json") {
            let file = unpacked.path().join(number.to_string());
            entry.unpack(&file)?;
            files.insert(name, file);
        }
    }
    Ok(files.into_values().map(|file| read_squad(&Input::File(file))).collect::<Result<_, _>>()?)
}

#[test]
fn results_are_anserinis() -> Outcome {
    let Some(golden) = shared("golden/bm25") else { return Ok(()) };
    let mut names = Vec::new();
    for entry in fs::read_dir(&golden)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let mut found = Vec::new();
    for name in names {
        let folder = golden.join(&name);
        let expected: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("expected.json"))?)?;
        let (documents, queries) = case(&name)?;
        assert_eq!(expected["documents"], documents.len(), "{name}");
        let language = expected["language"].as_str().ok_or("a language")?;
        let (index, analyzer) = index_documents(documents, language)?;
        let qrels = read_qrels(&Input::File(folder.join("qrels.txt")), &ReadOptions::default())?.0;
        let rankers = [("bm25", Ranker::BM25), ("qld", Ranker::QlDirichlet { mu: 1000.0 })];
        for (ranker_name, ranker) in rankers {
            let rankings = search(&index, &analyzer, &queries, ranker)?;
            let file = folder.join(format!("{ranker_name}.top20.run.gz"));
            let run = read_run(&Input::File(file), &ReadOptions::default())?.0;
            let first = same_first(&index, &queries, &rankings, &run);
            let values = measured(&index, &queries, &rankings, &qrels, "nDCG@10 RR R@100")?;
            let theirs: BTreeMap<String, f64> = serde_json::from_value(expected[ranker_name].clone())?;
            let theirs = ["ndcg_cut_10", "recip_rank", "recall_100"].map(|key| theirs.get(key).copied());
            println!(
                "{name} {ranker_name}: {values:.5?}, expected {theirs:.5?}, the same first hit {first:.4}"
            );
            // Japanese words come from another dictionary than Lucene's.
            let (off, least_same) = if language == "ja" { (0.02, 0.85) } else { (0.003, 0.97) };
            let close = values
                .iter()
                .zip(theirs)
                .all(|(ours, theirs)| theirs.is_some_and(|theirs| (ours - theirs).abs() <= off));
            found.push((format!("{name} {ranker_name}"), close && first >= least_same));
        }
    }
    let wrong: Vec<_> = found.iter().filter(|(_, right)| !right).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    Ok(())
}

#[test]
fn scifact_as_published() -> Outcome {
    let Some(data) = shared("data/scifact") else { return Ok(()) };
    let passages = open_collection(&[Input::File(data.join("corpus.jsonl.gz"))], &ReadOptions::default())?;
    let documents = passages
        .map(|passage| {
            let passage = passage?;
            Ok((passage.id, format!("{} {}", passage.title.unwrap_or_default(), passage.text)))
        })
        .collect::<Result<Vec<_>, toller_corpus::CorpusError>>()?;
    let (index, analyzer) = index_documents(documents, "en")?;
    let qrels = read_qrels(&Input::File(data.join("qrels/test.tsv")), &ReadOptions::default())?.0;
    let queries = read_queries(&[Input::File(data.join("queries.jsonl"))], &ReadOptions::default())?.0;
    let rankings = search(&index, &analyzer, &queries, Ranker::BM25)?;
    let values = measured(&index, &queries, &rankings, &qrels, "nDCG@10 R@100 R@1000")?;
    for (value, expected) in values.iter().zip([0.6789, 0.9253, 0.9767]) {
        assert!((value - expected).abs() <= 0.0005, "{values:?}");
    }
    Ok(())
}
