//! The library against the command line: the same bits.

use std::thread;

use toller_engine::{
    DenseOptions, EncoderOptions, Engine, ReadOptions, SearchRequest, Searcher, as_run, read_queries,
    read_run,
};
use toller_files::Input;

use crate::support::Workspace;

#[test]
fn two_engines_in_one_process_find_what_the_command_line_does() {
    let workspace = Workspace::with_xquad();
    workspace.add_fixture("models/bert-pooler");
    workspace.head("data/corpus.jsonl", 200, "corpus.jsonl");
    workspace.head("data/queries.jsonl", 40, "queries.jsonl");
    let models = [("tiny-bert", 1, "one"), ("models/bert-pooler", 2, "two")];
    for (model, _, name) in models {
        workspace.runs(&format!("encode -q --model {model} --corpus corpus.jsonl --output {name}"));
        workspace.runs(&format!(
            "search -q --dense {name} --model {model} --queries queries.jsonl --k 50 --output {name}.run"
        ));
    }
    let (queries, _) =
        read_queries(&[Input::parse(workspace.path("queries.jsonl"))], &ReadOptions::default()).unwrap();
    let search = |model: &str, threads: usize, name: &str| {
        let engine = Engine::builder().threads(threads).build().unwrap();
        let model = workspace.path(model).display().to_string();
        let encoder = engine.encoder(&model, &EncoderOptions::default()).unwrap();
        let searcher = engine.dense(&[workspace.path(name)], encoder, &DenseOptions::default()).unwrap();
        let found = searcher.search(&SearchRequest::new(&queries, 50)).unwrap();
        as_run(&*searcher, &queries, &found.rankings)
    };
    let found = thread::scope(|scope| {
        let searching = models.map(|(model, threads, name)| {
            let search = &search;
            scope.spawn(move || search(model, threads, name))
        });
        searching.map(|search| search.join().unwrap())
    });
    for ((_, _, name), found) in models.into_iter().zip(found) {
        let file = Input::parse(workspace.path(&format!("{name}.run")));
        let (run, _) = read_run(&file, &ReadOptions::default()).unwrap();
        assert_eq!(found.queries, run.queries, "{name}");
    }
}
