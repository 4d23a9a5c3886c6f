//! A pair composed of texts that were tokenized apart has the ids that the `tokenizers` library gives to both
//! at once, on real queries and passages. (`crates/tokenizer` compares them on invented texts.)

use std::collections::HashMap;
use std::path::Path;

use tokenizers::{Tokenizer, TruncationParams, TruncationStrategy};
use toller_corpus::{ReadOptions, open_collection, read_queries, read_run};
use toller_encoder::{CrossEncoder, CrossEncoderOptions, EncoderError};
use toller_files::Input;
use toller_tokenizer::TokenizerError;

const MODELS: [&str; 2] = ["bert-ce", "xlmr-ce"];

/// A model, and the library's tokenizer that truncates the second text.
struct Case {
    model: CrossEncoder,
    theirs: Tokenizer,
}

impl Case {
    fn load(shared: &Path, name: &str, max_length: usize) -> Self {
        let folder = shared.join("golden").join(name);
        let options = CrossEncoderOptions { max_length: Some(max_length), ..CrossEncoderOptions::default() };
        let mut theirs = Tokenizer::from_file(folder.join("tokenizer.json")).unwrap();
        let strategy = TruncationStrategy::OnlySecond;
        theirs
            .with_truncation(Some(TruncationParams { max_length, strategy, ..TruncationParams::default() }))
            .unwrap();
        theirs.with_padding(None);
        Self { model: CrossEncoder::load(&folder, &options).unwrap(), theirs }
    }

    /// Composes the pairs of a query from texts that are tokenized once, and compares.
    fn check(&self, query: &str, passages: &[&str]) {
        let query_tokens = self.model.tokenize(query).unwrap();
        for passage in passages {
            let composed = self.model.pair(&query_tokens, &self.model.tokenize(passage).unwrap());
            match (composed, self.theirs.encode((query, *passage), true)) {
                (Ok(ours), Ok(theirs)) => {
                    assert_eq!(ours.input_ids, theirs.get_ids(), "{query:?} and {passage:?}");
                    assert_eq!(ours.type_ids, theirs.get_type_ids(), "{query:?} and {passage:?}");
                }
                // The library has no room for the passage either.
                (Err(EncoderError::Tokenizer(TokenizerError::FirstTextTooLong { .. })), Err(_)) => {}
                (ours, theirs) => panic!("{query:?} and {passage:?}: {ours:?}, {theirs:?}"),
            }
        }
    }
}

#[test]
fn every_pair_of_dl_2019() {
    let Some(shared) = toller_testing::shared("") else { return };
    let file = |name: &str| Input::File(shared.join("data/msmarco-dl19").join(name));
    let passages: HashMap<String, String> =
        open_collection(&[file("collection.tsv.gz")], &ReadOptions::default())
            .unwrap()
            .map(|passage| passage.map(|passage| (passage.id, passage.text)).unwrap())
            .collect();
    let (queries, _) = read_queries(&[file("topics.dl19-passage.txt")], &ReadOptions::default()).unwrap();
    let (run, _) = read_run(&file("runs/BM25.trec_results_dl19.txt.gz"), &ReadOptions::default()).unwrap();
    for (name, max_length) in MODELS.into_iter().flat_map(|name| [(name, 384), (name, 64)]) {
        let case = Case::load(&shared, name, max_length);
        let mut pairs = 0;
        for query in &queries {
            let Some(hits) = run.queries.get(&query.id) else { continue };
            let texts: Vec<&str> = hits.iter().map(|hit| passages[&hit.doc_id].as_str()).collect();
            case.check(&query.text, &texts);
            pairs += texts.len();
        }
        assert_eq!(pairs, 4300);
    }
}

#[test]
fn every_pair_of_cmrc_2018() {
    let Some(shared) = toller_testing::shared("") else { return };
    let file = std::fs::File::open(shared.join("data/cmrc2018/dev.json.gz")).unwrap();
    let squad: serde_json::Value = serde_json::from_reader(flate2::read::GzDecoder::new(file)).unwrap();
    let list = |value: &serde_json::Value, key: &str| value[key].as_array().unwrap().clone();
    let paragraphs: Vec<_> =
        list(&squad, "data").into_iter().flat_map(|article| list(&article, "paragraphs")).collect();
    for name in MODELS {
        let case = Case::load(&shared, name, 384);
        let mut pairs = 0;
        for paragraph in &paragraphs {
            let context = paragraph["context"].as_str().unwrap();
            for question in list(paragraph, "qas") {
                case.check(question["question"].as_str().unwrap(), &[context]);
                pairs += 1;
            }
        }
        assert_eq!(pairs, 3219);
    }
}
