//! Bad files and bad flags: each is refused with its place, what was found and expected, and a hint.

use crate::support::{Finished, Workspace, gzip};

const GOOD: &[u8] = b"{\"_id\":\"a\",\"text\":\"one\"}\n";

/// What is said about an error.
type Words = &'static [&'static str];

/// Collections that cannot be encoded: file, content, and what is said about it.
fn bad_collections() -> Vec<(&'static str, Vec<u8>, Words)> {
    let case = |file, content: &[u8], says: Words| (file, content.to_vec(), says);
    let after_good = |file, line: &[u8], says: Words| case(file, &[GOOD, line, b"\n"].concat(), says);
    vec![
        after_good(
            "twice.jsonl",
            br#"{"_id":"a","text":"two"}"#,
            &[
                "twice.jsonl, line 2: duplicate id: found \"a\"",
                "twice.jsonl, line 1",
                "hint: identifiers must be unique",
            ],
        ),
        after_good(
            "no-id.jsonl",
            br#"{"_id":"","text":"two"}"#,
            &["no-id.jsonl, line 2: empty id", "hint: correct the line, or pass --skip-bad-lines"],
        ),
        after_good(
            "spaced-id.jsonl",
            br#"{"_id":"b ","text":"two"}"#,
            &[
                "spaced-id.jsonl, line 2: unwritable id: found \"b \", which begins or ends with white space",
                "hint: correct the line, or pass --skip-bad-lines",
            ],
        ),
        after_good(
            "latin1.jsonl",
            b"{\"_id\":\"b\",\"text\":\"caf\xe9\"}",
            &[
                "latin1.jsonl, line 2: invalid UTF-8: found byte 0xe9 as byte 23",
                "hint: convert the file to UTF-8",
            ],
        ),
        after_good(
            "no-text.jsonl",
            br#"{"_id":"b"}"#,
            &[
                "no-text.jsonl, line 2: missing field: found no text",
                "text, contents",
                "hint: if the fields have other names, give them with --id-column and --text-column",
            ],
        ),
        after_good(
            "broken.jsonl",
            br#"{"_id":"b","#,
            &["broken.jsonl, line 2: malformed record", "hint: if the file"],
        ),
        case(
            "narrow.tsv",
            b"a\tone\nb\n",
            &["narrow.tsv, line 2: missing column: found 1 column in \"b\", expected 2", "hint: if the file"],
        ),
        case("empty.jsonl", b"", &["empty.jsonl: no passages found", "hint: check that this is the file"]),
        case("blank.jsonl", b"\n\n", &["blank.jsonl: no passages found", "hint:"]),
        case(
            "cut.jsonl.gz",
            &truncated_gzip(),
            &[
                "cannot read cut.jsonl.gz: the gzip data end early",
                "(after line ",
                "hint: copy or download the file again",
            ],
        ),
        case(
            "corrupt.jsonl.gz",
            &corrupt_gzip(),
            &["cannot read corrupt.jsonl.gz: ", "(after line ", "hint: copy or download the file again"],
        ),
        case(
            "unknown",
            b"?\n",
            &["unknown: plain text files are not read", "{\"id\": ..., \"text\": ...}", "--corpus-format"],
        ),
    ]
}

/// Many compressed records.
fn compressed_records() -> Vec<u8> {
    let line = |number| format!("{{\"_id\":\"{number}\",\"text\":\"{}\"}}\n", number * 7919 % 10_007);
    gzip((0..20_000).map(line).collect::<String>().as_bytes())
}

fn truncated_gzip() -> Vec<u8> {
    let mut bytes = compressed_records();
    bytes.truncate(bytes.len() / 2);
    bytes
}

/// With another checksum at its end: only a reader that goes to the end and compares it can tell.
fn corrupt_gzip() -> Vec<u8> {
    let mut bytes = compressed_records();
    let checksum = bytes.len() - 8;
    bytes[checksum] ^= 1;
    bytes
}

#[test]
fn bad_collections_are_refused_before_anything_is_written() {
    let workspace = Workspace::new();
    for (file, content, says) in bad_collections() {
        workspace.write(file, content);
        eprintln!("{file}");
        workspace.toller(&format!("encode --model tiny-bert --corpus {file} --output store")).fails(1, says);
        assert!(!workspace.path("store").exists(), "{file}");
    }
}

#[test]
fn a_store_in_the_folder_of_its_collection_is_refused() {
    let workspace = Workspace::new();
    for folder in ["texts", "beir"] {
        std::fs::create_dir(workspace.path(folder)).unwrap();
    }
    workspace.write("texts/a.jsonl", GOOD);
    workspace.write("beir/corpus.jsonl", GOOD);
    let encode = "encode -q --model tiny-bert --corpus";
    for command in [encode, "index -q --language en --overwrite --corpus"] {
        workspace.toller(&format!("{command} texts --output texts/new/made")).fails(
            2,
            &[
                "--output texts/new/made lies in texts, whose files are all read as the collection",
                "hint: give --output a folder elsewhere",
            ],
        );
        assert!(!workspace.path("texts/new").exists());
        // Nobody reads these again.
        for output in ["texts/_made", "texts-made"] {
            workspace.runs(&format!("{command} texts --output {output}"));
            std::fs::remove_dir_all(workspace.path(output)).unwrap();
        }
    }
    for _ in 0..2 {
        workspace.runs(&format!("{encode} beir --output beir/store"));
    }
}

#[test]
fn places_and_names_that_cannot_be_written_or_read_have_hints() {
    let workspace = Workspace::new();
    workspace.write("corpus.jsonl", GOOD);
    std::fs::create_dir(workspace.path("empty")).unwrap();
    workspace
        .toller("index -q --corpus empty --language en --output index")
        .fails(1, &["empty: it holds no data files", "hint: check the path"]);
    workspace.write("file", "something");
    workspace.toller("index -q --corpus corpus.jsonl --language en --output file").fails(
        1,
        &["there is a file where a directory should be", "hint: give the name of a directory, or a new name"],
    );
    workspace.runs("index -q --corpus corpus.jsonl --language en --output index");
    workspace.write("queries.tsv", "1\tone\n");
    let search = "search --sparse index --queries queries.tsv --output";
    for name in ["empty", "new/"] {
        workspace
            .toller(&format!("{search} {name}"))
            .fails(1, &["it is a directory", "hint: give the name of a file"]);
    }
    assert!(!workspace.has_trace_of("new"));
    for name in ["run.bz2", "run.lz4", "run.zip"] {
        workspace
            .toller(&format!("{search} {name}"))
            .fails(2, &["a compression that is not written", "hint: end its name in .gz, .xz or .zst"]);
        assert!(!workspace.has_trace_of(name), "{name}");
    }
}

#[test]
fn a_line_without_end_is_refused_without_being_held_in_memory() {
    let workspace = Workspace::new();
    let mut content = GOOD.to_vec();
    content.resize((64 << 20) + 1024, b'x');
    workspace.write("long.jsonl", content);
    workspace.toller("encode --model tiny-bert --corpus long.jsonl --output store").fails(
        1,
        &[
            "long.jsonl, line 2: line too long",
            "hint: a line this long is most often a file without line breaks",
        ],
    );
}

#[test]
fn the_words_of_an_error_are_pinned() {
    let workspace = Workspace::new();
    workspace.write("twice.jsonl", [GOOD, GOOD].concat());
    let stderr =
        workspace.toller("encode --model tiny-bert --corpus twice.jsonl --output store").fails(1, &[]).stderr;
    assert_eq!(
        stderr,
        "error: twice.jsonl, line 2: duplicate id: found \"a\", expected each identifier once; this one is first in \
         twice.jsonl, line 1\n\
         hint: identifiers must be unique over all the files; pass --skip-bad-lines to keep the first of each\n"
    );
    let stderr =
        workspace.toller("encode --model tiny-bert --corpus none.jsonl --output store").fails(1, &[]).stderr;
    assert_eq!(
        stderr,
        "error: cannot open none.jsonl: No such file or directory (os error 2)\n\
         hint: check the path; relative paths start at the current directory\n"
    );
}

#[test]
fn bad_lines_are_counted_and_reported_when_they_may_be_skipped() {
    let workspace = Workspace::new();
    workspace.write("good.jsonl", b"{\"_id\":\"a\",\"text\":\"one\"}\n{\"_id\":\"c\",\"text\":\"three\"}\n");
    let bad = b"{\"_id\":\"a\",\"text\":\"one\"}\n{\"_id\":\"\",\"text\":\"x\"}\n\xff\n{\"_id\":\"a\",\"text\":\"again\"}\n\
        {\"_id\":\"c\",\"text\":\"three\"}\n";
    workspace.write("bad.jsonl", bad);
    let encode = "encode --model tiny-bert --json --skip-bad-lines";
    let done = workspace.runs(&format!("{encode} --corpus bad.jsonl --output store"));
    assert_eq!(done.json()["skipped"], 3);
    assert_eq!(done.json()["rows"], 2);
    done.says([
        "warning: skipped 3 bad lines (1 invalid UTF-8, 1 empty id, 1 duplicate id)",
        "bad.jsonl, line 2: empty id",
        "bad.jsonl, line 3: invalid UTF-8",
        "bad.jsonl, line 4: duplicate id",
    ]);
    // The rows are as if the bad lines had never been there.
    workspace.runs(&format!("{encode} --corpus good.jsonl --output good"));
    let shard = "shard-00000.safetensors";
    assert!(workspace.read(&format!("store/{shard}")) == workspace.read(&format!("good/{shard}")));
}

#[test]
fn bad_queries_are_refused() {
    let workspace = Workspace::new();
    workspace.write("one.jsonl", GOOD);
    workspace.runs("encode --model tiny-bert --corpus one.jsonl --output store");
    let cases: [(&str, &[u8], &[&str]); 4] = [
        (
            "no-text.tsv",
            b"q1\twho\nq2\t\n",
            &["no-text.tsv, line 2: query without text", "query q2", "hint:"],
        ),
        ("twice.tsv", b"q1\twho\nq1\twhat\n", &["twice.tsv, line 2: duplicate id", "hint:"]),
        ("none.tsv", b"", &["none.tsv: no queries found", "hint:"]),
        (
            "blank-in-id.jsonl",
            b"{\"_id\":\"q 1\",\"text\":\"who\"}\n",
            &["the query id \"q 1\" cannot be written to a run: it holds white space", "hint:"],
        ),
    ];
    for (file, content, says) in cases {
        workspace.write(file, content);
        workspace
            .toller(&format!("search --dense store --model tiny-bert --queries {file} --output run.txt"))
            .fails(1, says);
        assert!(!workspace.has_trace_of("run.txt"), "{file}");
    }
}

#[test]
fn a_document_id_with_a_blank_is_refused_in_a_run() {
    let workspace = Workspace::new();
    workspace.write("blank.jsonl", br#"{"_id":"a b","text":"one"}"#);
    workspace.write("q.tsv", "q1\twho\n");
    workspace.runs("encode --model tiny-bert --corpus blank.jsonl --output store");
    workspace
        .toller("search --dense store --model tiny-bert --queries q.tsv --output run.txt")
        .fails(1, &["the document id \"a b\" cannot be written to a run: it holds white space", "hint:"]);
    assert!(!workspace.has_trace_of("run.txt"));
}

#[test]
fn bad_runs_and_judgments_are_refused() {
    let workspace = Workspace::new();
    workspace.write("qrels.txt", "q1 0 d1 1\n");
    workspace.write("run.txt", "q1 Q0 d1 1 2.5 x\n");
    let cases: [(&str, &str, &[&str]); 5] = [
        (
            "run.json",
            "{\"q1\": {\"d1\": {\"score\": 0.5}}}",
            &[
                "run.json: a JSON object of objects that are not scores of documents",
                "hint: write each query",
            ],
        ),
        ("nan.txt", "q1 Q0 d1 1 nan x\n", &["nan.txt, line 1: bad number: found \"nan\"", "hint:"]),
        (
            "twice.txt",
            "q1 Q0 d1 1 2 x\nq1 Q0 d1 2 1 x\n",
            &["twice.txt, line 2: document retrieved twice", "hint:"],
        ),
        ("narrow.txt", "q1 Q0 d1 1 2 x\nq1 Q0 d2 2\n", &["narrow.txt, line 2: missing column", "hint:"]),
        ("empty.txt", "", &["empty.txt", "hint:"]),
    ];
    for (file, content, says) in cases {
        workspace.write(file, content);
        workspace.toller(&format!("eval --qrels qrels.txt {file}")).fails(1, says);
    }
    workspace.write("bad-qrels.txt", "q1 0 d1 1\nq1 0 d2 one\n");
    workspace.toller("eval --qrels bad-qrels.txt run.txt").fails(1, &["bad-qrels.txt, line 2", "hint:"]);
    for (content, says) in [
        ("{\"q1\": {\"d1\": [1]}}", "a JSON object of objects that are not grades"),
        ("query-id,corpus-id,score\nq1,d1,1\n", "judgments are not read from CSV"),
    ] {
        workspace.write("other-qrels", content);
        workspace.toller("eval --qrels other-qrels run.txt").fails(1, &["other-qrels: ", says, "hint:"]);
    }
    workspace.toller("eval --qrels none.txt run.txt").fails(1, &["cannot open none.txt", "hint:"]);
}

#[test]
#[cfg(not(feature = "candle"))]
fn a_backend_that_is_not_built_in_is_named() {
    let workspace = Workspace::new();
    workspace.write("one.jsonl", GOOD);
    let says: &[&str] = &[
        "--backend candle: this toller was built without candle",
        "hint: use --backend native, or build with the feature `candle`",
    ];
    let encode = "encode --model tiny-bert --corpus one.jsonl --output new --backend candle";
    workspace.toller(encode).fails(2, says);
    assert!(!workspace.path("new").exists());
}

#[test]
fn wrong_usage_has_another_status_than_failure() {
    let workspace = Workspace::new();
    workspace.write("one.jsonl", GOOD);
    workspace.write("q.tsv", "q1\twho\n");
    workspace.write("qrels.txt", "q1 0 d1 1\n");
    workspace.write("run.txt", "q1 Q0 d1 1 2.5 x\n");
    workspace.runs("encode --model tiny-bert --corpus one.jsonl --output store");
    let encode = "encode --model tiny-bert --corpus one.jsonl --output new";
    let search = "search --dense store --model tiny-bert --queries q.tsv --output new.txt";
    let eval = "eval --qrels qrels.txt run.txt";
    let cases: [(&str, &str, &[&str]); 32] = [
        ("", "", &["Usage: toller"]),
        ("nonsense", "", &["unrecognized subcommand 'nonsense'"]),
        ("encode --model tiny-bert --output new", "", &["--corpus"]),
        (encode, "--queries q.tsv", &["cannot be used with"]),
        (encode, "--dtype fp8", &["`fp8` is not a dtype to compute in: expected f32, f16, bf16 or int8"]),
        (
            encode,
            "--device cuda",
            &["--device cuda:0: this toller was built without CUDA", "hint: use --device cpu"],
        ),
        (encode, "--device tpu", &["'tpu'", "auto, cpu, cuda, cuda:N or cuda:all"]),
        (
            "search --dense store --query-vectors store --any-role --output new.txt",
            "--backend candle",
            &["--backend is for models, and no model computes", "hint: leave --backend out"],
        ),
        (
            "store import vectors.npy --row-ids --output new",
            "--backend candle",
            &["--backend is for the model that made the vectors", "hint: give --model, or leave"],
        ),
        (
            "diff --qrels qrels.txt --corpus corpus.jsonl",
            "a.run b.run",
            &["<RUN>...", "hint: name the runs before options that take several files, such as --corpus"],
        ),
        (
            "search --queries queries.jsonl --output run --sparse index",
            "another",
            &[
                "[WORDS]...",
                "hint: what stands alone is taken for words to search for; --sparse takes one index",
            ],
        ),
        (
            "serve --sparse index",
            "--backend candle",
            &[
                "--backend is for a model that encodes, and none is served",
                "hint: give --model or --dense, or leave",
            ],
        ),
        (
            "serve --sparse index --reranker cross-encoders/mpnet",
            "--prompt x",
            &[
                "--prompt is for a model that encodes, and none is served",
                "hint: give --model or --dense, or leave",
            ],
        ),
        (encode, "--backend torch", &["`torch` is not a backend: expected native or candle"]),
        (encode, "--store-dtype int8", &["`int8` is not a store dtype: expected f32, f16 or bf16"]),
        (encode, "--corpus-format nope", &["'nope'", "[possible values: jsonl, json, tsv, csv,"]),
        (encode, "--queries-format tsv", &["--queries-format is for --queries, which is not given"]),
        (encode, "--format tsv", &["unexpected argument '--format'"]),
        (encode, "--shard 9/8", &["there is no part 9 of 8"]),
        (encode, "--shard 0/8", &["there is no part 0 of 8"]),
        (encode, "--pooling median", &["'median'", "[possible values: cls, mean,"]),
        (encode, "--threads 0", &["'0'", "--threads"]),
        (
            encode,
            "--threads 65535",
            &["--threads: 65535 threads are too many for this machine: at most", "hint: ask for as many"],
        ),
        (search, "--k 0", &["'0'", "--k"]),
        (
            search,
            "--device cuda:1",
            &["--device cuda:1: this toller was built without CUDA", "hint: use --device cpu"],
        ),
        (search, "--queries-format nope", &["'nope'", "[possible values: jsonl,"]),
        (
            search,
            "--k1 0.9",
            &["--k1 is for sparse retrieval, and no inverted index is searched", "hint: give --sparse DIR"],
        ),
        (
            "index --corpus one.jsonl --output new",
            "",
            &["the language of the texts is not given", "hint: give --language en", "--analyzer standard"],
        ),
        ("search --dense store --output new.txt", "", &["search needs queries", "hint: give --queries or"]),
        (
            eval,
            "--measures nDCG@10,foo@3",
            &["unknown measure 'foo' in 'foo@3'", "hint: the measures are nDCG, RR"],
        ),
        (eval, "--measures R@10,100", &["unknown measure '100'", "hint: commas separate", "R@10,R@100"]),
        (eval, "--significance", &["there is only one", "hint: name two runs or more"]),
    ];
    for (command, flags, says) in cases {
        eprintln!("toller {command} {flags}");
        workspace.toller(&format!("{command} {flags}")).fails(2, says);
        assert!(!workspace.path("new").exists() && !workspace.path("new.txt").exists(), "{command} {flags}");
    }
}

#[test]
fn so_many_threads_that_they_only_wait_are_refused() {
    let threads = std::thread::available_parallelism().unwrap().get() * 4 + 65;
    let workspace = Workspace::new();
    let mut command = workspace.command("models");
    command.env("RAYON_NUM_THREADS", threads.to_string());
    let says = format!("RAYON_NUM_THREADS: {threads} threads are too many for this machine: at most");
    Finished::new(command.output().unwrap()).fails(2, &[&says, "hint: ask for as many"]);
    command.env("RAYON_NUM_THREADS", "many");
    let says = ["RAYON_NUM_THREADS is many, which is not a number of threads", "hint: correct it"];
    Finished::new(command.output().unwrap()).fails(2, &says);
}

#[test]
fn a_run_with_the_line_ends_of_old_macs_is_not_one_line() {
    let workspace = Workspace::new();
    workspace.write("qrels.txt", "q 0 a 1\nq 0 b 1\n");
    for (run, says) in [
        ("q Q0 a 1 2 x\rq Q0 b 2 1 x\r", "run.txt: lines that end in a carriage return alone"),
        (
            "q Q0 a 1 2 x\nq Q0 b 2 1 x\rq Q0 c 3 0 x\n",
            "run.txt, line 2: malformed record: found a carriage return inside",
        ),
    ] {
        workspace.write("run.txt", run);
        workspace.toller("eval --qrels qrels.txt run.txt").fails(1, &[says, "hint: "]);
    }
    workspace.write("mac.tsv", "a\tducks\rb\tdogs\r");
    workspace
        .toller("index --language en --corpus mac.tsv --output index")
        .fails(1, &["mac.tsv: lines that end in a carriage return alone", "tr"]);
    workspace.write("run.txt", "q Q0 a 1 2 x\r\nq Q0 b 2 1 x y\r\n");
    workspace.runs("eval --qrels qrels.txt run.txt -m R@2").prints(["1.0000"]);
}
