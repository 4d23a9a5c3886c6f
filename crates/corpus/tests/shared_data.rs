//! Every format with a real sample. Skipped where the collections are not there.
#![allow(clippy::unwrap_used)]

mod common;

use std::error::Error;
use std::path::Path;

use common::{shared, triples};
use toller_corpus::{ReadOptions, open_collection, read_qrels, read_queries, read_run, survey};
use toller_files::Input;
use toller_ir::{Passage, Qrels, Query, Run};

type Outcome = Result<(), Box<dyn Error>>;

fn input(path: impl AsRef<Path>) -> Input {
    Input::File(path.as_ref().to_owned())
}

fn passages(path: &Path) -> Result<Vec<Passage>, Box<dyn Error>> {
    Ok(open_collection(&[input(path)], &ReadOptions::default())?.collect::<Result<_, _>>()?)
}

fn queries(path: &Path) -> Result<Vec<Query>, Box<dyn Error>> {
    Ok(read_queries(&[input(path)], &ReadOptions::default())?.0)
}

fn qrels(path: &Path) -> Result<Qrels, Box<dyn Error>> {
    Ok(read_qrels(&input(path), &ReadOptions::default())?.0)
}

fn run(path: &Path) -> Result<Run, Box<dyn Error>> {
    Ok(read_run(&input(path), &ReadOptions::default())?.0)
}

fn judgments(qrels: &Qrels) -> usize {
    qrels.iter().map(|(_, docs)| docs.len()).sum()
}

#[test]
fn scifact_is_beir() -> Outcome {
    let Some(folder) = shared("scifact") else { return Ok(()) };
    let corpus = passages(&folder.join("corpus.jsonl.gz"))?;
    assert_eq!(corpus.len(), 5_183);
    assert_eq!(corpus[0].id, "4983");
    assert!(corpus[0].title.as_deref().unwrap().starts_with("Microstructural development"));
    let found = survey(&[input(folder.join("corpus.jsonl.gz"))], &ReadOptions::default(), |_| {})?;
    assert_eq!(found.passages, 5_183);
    assert_eq!(queries(&folder.join("queries.jsonl"))?.len(), 1_109);
    let test = qrels(&folder.join("qrels/test.tsv"))?;
    assert_eq!((test.len(), judgments(&test)), (300, 339));
    assert_eq!(
        test.query("1").and_then(|docs| docs.get("31715818")),
        Some(&1),
        "the grade has no carriage return"
    );
    assert_eq!(judgments(&qrels(&folder.join("qrels/train.tsv"))?), 919);
    Ok(())
}

#[test]
fn cranfield_is_trec() -> Outcome {
    let Some(folder) = shared("cranfield") else { return Ok(()) };
    let corpus = passages(&folder.join("cran.all.1400.xml"))?;
    assert_eq!(corpus.len(), 1_400);
    assert_eq!(
        corpus[0].title.as_deref(),
        Some("experimental investigation of the aerodynamics of a wing in a slipstream .")
    );
    assert!(corpus[0].text.starts_with("experimental investigation of the aerodynamics of a\nwing"));
    assert_eq!(corpus.iter().filter(|passage| passage.text.is_empty()).count(), 2, "471 and 995 are empty");
    let topics = queries(&folder.join("cran.qry.xml"))?;
    assert_eq!(topics.len(), 225);
    assert_eq!((topics[0].id.as_str(), topics[2].id.as_str()), ("1", "4"));
    let expected = "what similarity laws must be obeyed when constructing aeroelastic models of heated high speed aircraft .";
    assert_eq!(topics[0].text, expected);
    assert_eq!(qrels(&folder.join("cranqrel.trec.txt"))?.len(), 225);
    Ok(())
}

#[test]
fn dpr_questions() -> Outcome {
    let Some(folder) = shared("dpr") else { return Ok(()) };
    let nq = queries(&folder.join("topics.dpr.nq.test.txt"))?;
    assert_eq!(nq.len(), 3_610);
    assert_eq!(nq[0].answers, ["Wilhelm Conrad Röntgen"]);
    let proud =
        nq.iter().find(|query| query.text == "who sings the theme song for the proud family").unwrap();
    assert_eq!(proud.answers, ["Solange Knowles", "Destiny 's Child"]);
    assert!(nq.iter().all(|query| !query.answers.is_empty()));
    let curated = queries(&folder.join("topics.dpr.curated.test.txt"))?;
    assert_eq!(curated.len(), 694);
    assert!(curated[0].answers[0].starts_with("20\\s?,?\\s?(32|40)0"));
    assert_eq!(queries(&folder.join("topics.dpr.squad.test.txt"))?.len(), 10_570);
    Ok(())
}

#[test]
fn entity_questions_in_an_archive() -> Outcome {
    let Some(archive) = shared("entityquestions/test.tar.xz") else { return Ok(()) };
    // A tar is a file of files: cut one out by its size field, as the reader gives the decompressed bytes.
    let mut tar = Vec::new();
    std::io::Read::read_to_end(&mut toller_files::InputReader::open(&input(archive))?, &mut tar)?;
    let directory = tempfile::tempdir()?;
    let mut inputs = Vec::new();
    let mut at = 0;
    while let Some(header) = tar.get(at..at + 512).filter(|header| header[0] != 0) {
        let field = |range: std::ops::Range<usize>| {
            String::from_utf8_lossy(&header[range]).trim_matches(['\0', ' ']).to_owned()
        };
        let (name, size) = (field(0..100), usize::from_str_radix(&field(124..136), 8)?);
        if name.ends_with(".json") && header[156] == b'0' {
            let path = directory.path().join(Path::new(&name).file_name().unwrap());
            std::fs::write(&path, &tar[at + 512..at + 512 + size])?;
            inputs.push(Input::File(path));
        }
        at += 512 + size.div_ceil(512) * 512;
    }
    inputs.sort_by_key(ToString::to_string);
    assert_eq!(inputs.len(), 24);
    let (questions, _) = read_queries(&inputs, &ReadOptions::default())?;
    assert_eq!(questions.len(), 22_075);
    let marin = questions.iter().find(|query| query.id == "P36-0").unwrap();
    assert_eq!(
        (marin.text.as_str(), marin.answers[0].as_str()),
        ("What is the capital of Marin County?", "San Rafael")
    );
    Ok(())
}

#[test]
fn limit_has_ids_with_spaces() -> Outcome {
    let Some(folder) = shared("limit-small") else { return Ok(()) };
    let corpus = passages(&folder.join("corpus.jsonl"))?;
    assert_eq!((corpus.len(), corpus[0].id.as_str(), &corpus[0].title), (46, "Geneva Durben", &None));
    assert_eq!(queries(&folder.join("queries.jsonl"))?.len(), 1_000);
    let qrels = qrels(&folder.join("qrels.jsonl"))?;
    assert_eq!((qrels.len(), judgments(&qrels)), (1_000, 2_000));
    assert_eq!(qrels.query("query_0").and_then(|docs| docs.get("Geneva Durben")), Some(&1));
    Ok(())
}

#[test]
fn mr_tydi_in_eleven_languages() -> Outcome {
    let Some(folder) = shared("mrtydi") else { return Ok(()) };
    let counts = [
        ("ar", 1_081),
        ("bn", 111),
        ("en", 744),
        ("fi", 1_254),
        ("id", 829),
        ("ja", 720),
        ("ko", 421),
        ("ru", 995),
        ("sw", 670),
        ("te", 646),
        ("th", 1_190),
    ];
    for (language, count) in counts {
        let topics = queries(&folder.join(format!("topics/topics.mrtydi-v1.1-{language}.test.txt.gz")))?;
        assert_eq!(topics.len(), count, "{language}");
        let qrels = qrels(&folder.join(format!("qrels/qrels.mrtydi-v1.1-{language}.test.txt")))?;
        assert_eq!(qrels.len(), count, "{language}");
        assert!(topics.iter().all(|query| qrels.query(&query.id).is_some()));
    }
    Ok(())
}

#[test]
fn ms_marco_and_its_runs() -> Outcome {
    let Some(folder) = shared("msmarco-dl19") else { return Ok(()) };
    let corpus = passages(&folder.join("collection.tsv.gz"))?;
    assert_eq!((corpus.len(), corpus[0].id.as_str()), (28_606, "421"));
    assert_eq!(queries(&folder.join("topics.dl19-passage.txt"))?.len(), 43);
    let judged = qrels(&folder.join("qrels.dl19-passage.txt"))?;
    assert_eq!((judged.len(), judgments(&judged)), (43, 9_260));
    for name in
        ["BM25", "BM25_RM3", "D_BERT_KD_TASB", "OPEN_AI_ADA2", "REP_LLAMA", "SPLADE_P_P_ENSEMBLE_DISTIL"]
    {
        let run = run(&folder.join(format!("runs/{name}.trec_results_dl19.txt.gz")))?;
        assert_eq!((run.queries.len(), run.tag.as_str()), (43, "rank"), "{name}");
    }
    let Some(folder) = shared("msmarco-passage") else { return Ok(()) };
    assert_eq!(queries(&folder.join("topics/topics.msmarco-passage.dev-subset.txt"))?.len(), 6_980);
    assert_eq!(judgments(&qrels(&folder.join("qrels/qrels.msmarco-passage.dev-subset.txt"))?), 7_437);
    Ok(())
}

#[test]
fn rocketqa_samples() -> Outcome {
    let Some(folder) = shared("rocketqa") else { return Ok(()) };
    let para = passages(&folder.join("dureader.para"))?;
    assert_eq!((para.len(), para[99].id.as_str(), &para[0].title), (100, "99", &None));
    let marco = passages(&folder.join("marco.tp.1k"))?;
    assert_eq!(marco.len(), 1_000);
    assert_eq!(marco[0].title.as_deref(), Some("Paula Deen & Brother Bubba Sued for Harassment"));
    assert_eq!(marco[1].title, None);
    let four = queries(&folder.join("dureader.q"))?;
    assert_eq!((four.len(), four[0].text.as_str()), (100, "国家法定节假日共多少天"));
    assert_eq!(queries(&folder.join("marco.q"))?[1].text, "Androgen receptor define");
    // Training pairs are not a collection, and are not taken for one.
    assert!(passages(&folder.join("dual.train.tsv")).is_err());
    assert!(passages(&folder.join("cross.train.tsv")).is_err());
    Ok(())
}

#[test]
fn trec_eval_tests_with_their_comments() -> Outcome {
    let Some(folder) = shared("trec_eval-test") else { return Ok(()) };
    let plain = qrels(&folder.join("qrels.test"))?;
    let commented = qrels(&folder.join("qrels.test.with-comments"))?;
    assert_eq!((plain.len(), commented.len()), (3, 3));
    assert_eq!(judgments(&plain), judgments(&commented));
    assert!(triples(&commented).iter().any(|(_, doc, _)| doc == "CR#93E-1860"));
    assert_eq!(qrels(&folder.join("qrels.comment.test"))?.len(), 31);
    for name in ["qrels-302.test", "qrels.rel_level"] {
        assert!(!qrels(&folder.join(name))?.is_empty(), "{name}");
    }
    // Judgments of several groups for one pair; trec_eval too reads them only as another format.
    for name in ["qrels.123", "qrels.comments.123"] {
        let error = qrels(&folder.join(name)).unwrap_err().to_string();
        assert!(error.contains("judged twice") && error.contains("on line 1"), "{error}");
    }
    let results = run(&folder.join("results.test"))?;
    assert_eq!((results.queries.len(), results.tag.as_str()), (3, "STANDARD"));
    let truncated = run(&folder.join("results.trunc"))?;
    assert_eq!(truncated.tag, "STANDARD", "what follows the tag is ignored");
    let commented = run(&folder.join("results.comment.test"))?;
    assert_eq!(commented.tag, "comment.test");
    assert!(commented.queries.values().flatten().any(|hit| hit.doc_id.ends_with("#13_3087841662")));
    Ok(())
}

#[test]
fn robust_runs() -> Outcome {
    let Some(folder) = shared("trec-runs") else { return Ok(()) };
    let rutcor = run(&folder.join("robust03/runs/input.rutcor03100.gz"))?;
    assert_eq!((rutcor.queries.len(), rutcor.queries.values().map(Vec::len).sum::<usize>()), (100, 100_000));
    assert_eq!(run(&folder.join("robust03/runs/input.uic0301.gz"))?.tag, "uic0301");
    for name in ["robust03_qrels.txt", "robust03_cs_qrels.txt"] {
        assert_eq!(qrels(&folder.join("robust03").join(name))?.len(), 100);
    }
    for name in ["r1.run", "r2.run", "r3.run", "r4.run"] {
        assert!(!run(&folder.join("trectools-unit").join(name))?.queries.is_empty());
    }
    assert_eq!(judgments(&qrels(&folder.join("trectools-unit/qrel1.txt"))?), 30);
    Ok(())
}

#[test]
fn a_directory_of_topics_is_read_in_order() -> Outcome {
    let Some(folder) = shared("mrtydi/topics") else { return Ok(()) };
    let inputs = toller_files::expand([&folder])?;
    assert_eq!(inputs.len(), 11);
    assert!(inputs[0].to_string().ends_with("-ar.test.txt.gz"));
    Ok(())
}
