//! `toller bench`: figures that are there, positive and consistent; plots that are SVG; flags that are
//! refused.

use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::{Value, json};

use crate::support::Workspace;

/// A number of a JSON object.
#[track_caller]
fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("{name} is not a number in {value:#}"))
}

#[track_caller]
fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} is not {b}");
}

/// Checks the statistics of rounds, and gives the median.
#[track_caller]
fn median(seconds: &Value) -> f64 {
    let names = ["min", "p50", "p95", "p99", "max"].map(|name| number(seconds, name));
    assert!(names[0] > 0.0 && names.is_sorted(), "{seconds:#}");
    let median = number(seconds, "median");
    assert!((names[0]..=names[4]).contains(&median) && number(seconds, "rounds") >= 3.0, "{seconds:#}");
    median
}

/// The texts of an SVG document, which must be well-formed.
#[track_caller]
fn svg_texts(workspace: &Workspace, name: &str) -> Vec<String> {
    let svg = String::from_utf8(workspace.read(name)).unwrap();
    assert!(svg.starts_with("<svg"), "{svg:.100}");
    let mut reader = Reader::from_str(&svg);
    let mut texts = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Text(text) => texts.push(text.trim().to_owned()),
            Event::Eof => return texts,
            _ => {}
        }
    }
}

/// Checks the figures of `bench search`, whose vectors have `dim` numbers and are scanned in `bytes` each.
#[track_caller]
fn check_search(result: &Value, dim: f64, bytes: f64, cases: &[(u64, u64, u64)]) {
    let limit = |name| number(&result["limits"], name);
    let (read_rate, matrix_rate) = (limit("read_gigabytes_per_second"), limit("matrix_gflop_per_second"));
    assert!(read_rate > 0.0 && matrix_rate > 0.0 && number(result, "threads") >= 1.0, "{result:#}");
    let figures = result["figures"].as_array().unwrap();
    let sizes = |figure: &Value| {
        let [vectors, queries, k] = ["vectors", "queries", "k"].map(|name| figure[name].as_u64().unwrap());
        (vectors, queries, k)
    };
    assert_eq!(figures.iter().map(sizes).collect::<Vec<_>>(), cases);
    for figure in figures {
        let seconds = median(&figure["seconds"]);
        let (vectors, queries) = (number(figure, "vectors"), number(figure, "queries"));
        let (gigabytes, gflop) = (vectors * bytes * 1e-9, 2e-9 * vectors * dim * queries);
        close(number(figure, "queries_per_second"), queries / seconds);
        close(number(figure, "gigabytes_per_second"), gigabytes / seconds);
        close(number(figure, "gflop_per_second"), gflop / seconds);
        close(number(figure, "share_of_read_rate"), gigabytes / seconds / read_rate);
        close(number(figure, "share_of_matrix_rate"), gflop / seconds / matrix_rate);
        let floor = (gigabytes / read_rate).max(gflop / matrix_rate);
        close(number(figure, "share_of_floor"), floor / seconds);
        let hits = number(figure, "k").min(vectors);
        let [mean, most] = ["mean", "max"].map(|name| number(&figure["nominated"], name));
        assert!(hits <= mean && mean <= most && most <= vectors, "{figure:#}");
    }
}

#[test]
fn search_figures_follow_from_their_sizes() {
    let workspace = Workspace::new();
    let sizes = "--vectors 500,300 --dim 24 --queries 4,1 --k 2,600 --seconds 0";
    let mut cases = Vec::new();
    for vectors in [300, 500] {
        for queries in [1, 4] {
            cases.extend([2, 600].map(|k| (vectors, queries, k)));
        }
    }
    for (dtype, bytes) in [("f32", 4.0), ("f16", 2.0), ("bf16", 2.0)] {
        let flags = format!(
            "bench search {sizes} --store-dtype {dtype} --threads 2 --json --plot cost.svg --log {dtype}.jsonl"
        );
        let done = workspace.runs(&flags);
        let result = done.json();
        check_search(&result, 24.0, 24.0 * bytes, &cases);
        assert_eq!((&result["vectors"]["dtype"], &result["threads"]), (&dtype.into(), &2.into()));
        done.says(["making 500 random vectors of 24 x"]);
        let log = String::from_utf8(workspace.read(&format!("{dtype}.jsonl"))).unwrap();
        let logged: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(&logged, result["figures"].as_array().unwrap());
    }
    let texts = svg_texts(&workspace, "cost.svg");
    for words in
        ["vectors", "queries of a batch", "hits of a query (k)", "milliseconds a search", "k 600", "300"]
    {
        assert!(texts.iter().any(|text| text == words), "{words:?} is not in {texts:?}");
    }
}

#[test]
fn a_log_is_appended_to_logs_alone() {
    let workspace = Workspace::new();
    workspace.write("q.tsv", "q1\twho\n");
    workspace.runs("encode -q --model tiny-bert --queries q.tsv --output store");
    let store = workspace.files_in("store");
    workspace.write("notes.jsonl", "{\"_id\":\"d\"}\n");
    for (log, says) in [
        ("notes.jsonl", "notes.jsonl is there already, and it is not a log of this command"),
        ("store/manifest.json", "--log store/manifest.json would overwrite the input store"),
        ("store/new.jsonl", "--log store/new.jsonl would overwrite the input store"),
    ] {
        let bench = format!("bench search --dense store --queries 1 --k 1 --seconds 0 --log {log}");
        workspace.toller(&bench).fails(2, &[says, "hint: "]);
    }
    assert!(workspace.files_in("store") == store);
    assert_eq!(workspace.lines("notes.jsonl").len(), 1);
    for lines in [1, 2] {
        workspace.runs("bench search --dense store --queries 1 --k 1 --seconds 0 --log new.jsonl");
        assert_eq!(workspace.lines("new.jsonl").len(), lines);
    }
}

#[test]
fn scans_are_measured_together() {
    let workspace = Workspace::new();
    let bench = "bench search --vectors 400 --dim 16 --queries 1,4 --k 3 --seconds 0 --json --plot scans.svg";
    for (flags, bytes) in
        [("--scan f32,f16,int8", [64.0; 3]), ("--scan f32,int8,auto --codes", [64.0, 24.0, 24.0])]
    {
        let mut result = workspace.runs(&format!("{bench} {flags}")).json();
        let figures = result["figures"].as_array().unwrap().clone();
        let scans: Vec<&str> = flags.split([' ', ',']).skip(1).take(3).collect();
        for (scan, bytes) in scans.into_iter().zip(bytes) {
            let of_scan: Vec<Value> =
                figures.iter().filter(|figure| figure["scan"] == scan).cloned().collect();
            result["figures"] = of_scan.into();
            check_search(&result, 16.0, bytes, &[(400, 1, 3), (400, 4, 3)]);
        }
        assert_eq!(result["vectors"]["codes"], flags.contains("--codes"));
    }
    let texts = svg_texts(&workspace, "scans.svg");
    assert!(texts.iter().any(|text| text == "int8, k 3"), "{texts:?}");
}

#[test]
fn search_tables_are_data_and_have_a_row_for_each_figure() {
    let workspace = Workspace::new();
    let sizes = "--vectors 100,1000 --dim 8 --queries 1,3 --k 5 --seconds 0";
    let done = workspace.runs(&format!("bench search -q {sizes}"));
    assert_eq!(done.stderr, "");
    let rows = |first: &str| {
        let row = |line: &&str| line.split('|').nth(1).is_some_and(|cell| cell.trim() == first);
        done.stdout.lines().filter(row).count()
    };
    // Two batches each, and a line of latencies.
    assert_eq!([rows("vectors"), rows("100"), rows("1,000")], [2, 3, 3], "{}", done.stdout);
    done.prints(["100, 1,000 x 8 f32, random unit vectors; "]);
}

#[test]
fn stores_are_searched_with_their_own_vectors_or_with_queries() {
    let workspace = Workspace::with_xquad();
    for (flag, store) in
        [("--corpus data/corpus.jsonl", "store"), ("--queries data/queries.jsonl", "queries")]
    {
        let flags = format!("encode -q --model tiny-bert {flag} --output {store} --store-dtype f16");
        workspace.runs(&flags);
    }
    let bench = "bench search --dense store --queries 1,1100 --k 10 --seconds 0 --json";
    let cases = [(1180, 1, 10), (1180, 1100, 10)];
    for (flags, queries) in [("", 1100), ("--query-vectors queries", 1190)] {
        let result = workspace.runs(&format!("{bench} {flags}")).json();
        check_search(&result, 32.0, 64.0, &cases);
        assert_eq!(result["vectors"]["queries"], queries);
    }
    // Of the store's codes, where it has some, an int8 scan reads a byte a number, a scale and a residual
    // norm.
    workspace.runs("store quantize -q store");
    for (scan, bytes) in [("f32", 64.0), ("int8", 40.0), ("auto", 40.0)] {
        let result = workspace.runs(&format!("{bench} --scan {scan}")).json();
        check_search(&result, 32.0, bytes, &cases);
        assert_eq!(result["vectors"]["codes"], true);
    }
    // More than there are.
    let too_many = "bench search --dense store --query-vectors queries --queries 1191 --seconds 0";
    workspace.toller(too_many).fails(1, &["a batch of 1191 queries", "but there are 1190", "hint:"]);
    // Queries of another model.
    workspace.add_fixture("tiny-bert-shards");
    let other = "encode -q --model tiny-bert --pooling cls --queries data/queries.jsonl --output other";
    workspace.runs(other);
    workspace.toller(&format!("{bench} --query-vectors other")).fails(1, &["encoded with another model"]);
}

#[test]
fn encode_figures_add_up() {
    let workspace = Workspace::new();
    let flags =
        "bench encode --model tiny-bert --lengths 8,24 --seconds 0 --threads 2 --json --plot rates.svg";
    let result = workspace.runs(flags).json();
    check_encode(&result, &[8.0, 24.0]);
    assert_eq!((&result["figures"][0]["texts"], &result["threads"]), (&"8 tokens".into(), &2.into()));
    let latency = &result["query_latency"];
    assert!(median(&latency["seconds"]) > 0.0 && number(&latency["seconds"], "rounds") >= 20.0);
    // ReQA's table 5: size, latency alone and in batches of 200, memory.
    let latencies = result["latencies"].as_array().unwrap();
    assert_eq!(latency, &latencies[0]);
    let batches: Vec<f64> = latencies.iter().map(|latency| number(latency, "batch")).collect();
    assert_eq!(batches, [1.0, 10.0, 50.0, 200.0]);
    for latency in latencies {
        close(number(latency, "seconds_per_query"), median(&latency["seconds"]) / number(latency, "batch"));
    }
    assert_eq!(result["parameters"], parameters(&workspace, "tiny-bert"));
    if cfg!(target_os = "linux") {
        assert!(number(&result, "process_bytes") > 4.0 * number(&result, "parameters"), "{result:#}");
    }
    assert_eq!((&result["device_bytes"], &result["figures"][0]["kernels"]), (&Value::Null, &json!([])));
    let texts = svg_texts(&workspace, "rates.svg");
    for words in ["tokens of a text", "tokens a second", "at the matrix rate", "attention", "tokenization"] {
        assert!(texts.iter().any(|text| text == words), "{words:?} is not in {texts:?}");
    }
    let table = workspace.runs("bench encode -q --model tiny-bert --seconds 0");
    table.prints(["where the threads' time goes", "latency of queries", " 16 tokens ", " layer norm "]);
    table.prints(["million parameters", "speed-up"]);
    assert_eq!(table.stderr, "");
    let few =
        workspace.runs("bench encode --model tiny-bert --lengths 8 --seconds 0 --batches 3,3 --json").json();
    let batches: Vec<f64> =
        few["latencies"].as_array().unwrap().iter().map(|latency| number(latency, "batch")).collect();
    assert_eq!(batches, [1.0, 3.0], "one query is always measured");
}

/// The numbers of a model's weights by its file's header. Fixtures have no tensor without a place.
fn parameters(workspace: &Workspace, model: &str) -> Value {
    let file = workspace.read(&format!("{model}/model.safetensors"));
    let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&file[8..8 + length]).unwrap();
    let tensors = header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__");
    let size = |tensor: &Value| -> u64 {
        tensor["shape"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap()).product()
    };
    tensors.map(|(_, tensor)| size(tensor)).sum::<u64>().into()
}

#[cfg(feature = "shim")]
#[test]
fn encode_figures_of_a_device_have_its_kernels() {
    let workspace = Workspace::new();
    let flags = "bench encode --model tiny-bert --lengths 8 --batches 2 --seconds 0 --device shim";
    let result = workspace.runs(&format!("{flags} --json")).json();
    let figure = &result["figures"][0];
    // As many products as on the CPU, by the same count.
    let cpu = workspace.runs(&format!("{flags} --json").replace("shim", "cpu")).json();
    let each = |figure: &Value| number(figure, "gflop_per_second") / number(figure, "tokens_per_second");
    close(each(figure), each(&cpu["figures"][0]));
    let kernels = figure["kernels"].as_array().unwrap();
    let named = |part: &str| kernels.iter().any(|time| time["kernel"].as_str().unwrap().contains(part));
    assert!(["embed", "product", "attention", "norm", "pool"].into_iter().all(named), "{kernels:#?}");
    let shares = figure["shares"].as_array().unwrap();
    let names: Vec<&str> = shares.iter().map(|share| share["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["linear", "attention", "layer norm", "pooling", "other"]);
    close(shares.iter().map(|share| number(share, "share_of_time")).sum(), 1.0);
    for share in &shares[..4] {
        assert!(number(share, "share_of_time") > 0.0, "{share:#}");
    }
    assert!(number(&result, "device_bytes") > 0.0 && number(figure, "from_ids_tokens_per_second") > 0.0);
    let table = workspace.runs(flags);
    table.prints(["where the device's time goes", "kernels of one pass", "toller_encoder_pool_f16"]);
}

#[cfg(feature = "shim")]
#[test]
fn other_kernels_are_measured_where_they_are_asked_for() {
    let workspace = Workspace::new();
    let flags = "bench search --vectors 400 --dim 32 --queries 70 --k 3 --seconds 0 --device shim --store-dtype f16 --scan f16 --kernel-times --json";
    for (capability, scan) in [("9.0", "toller_ip_topk_scan_f16_tma"), ("8.0", "toller_ip_topk_scan_f16_256")]
    {
        let result = workspace.runs(&format!("{flags} --capability {capability}")).json();
        let kernels = result["figures"][0]["kernels"].as_array().unwrap();
        let scans = kernels
            .iter()
            .map(|time| time["kernel"].as_str().unwrap())
            .filter(|name| name.contains("_scan_"));
        assert_eq!(scans.collect::<Vec<_>>(), [scan]);
    }
    // The layers of this model are too narrow for other kernels.
    workspace.runs(
        "bench encode --model tiny-bert --lengths 8 --batches 1 --seconds 0 --device shim --capability 8.0",
    );
}

#[cfg(feature = "shim")]
#[test]
fn vectors_that_do_not_fit_a_device_are_copied_for_every_search() {
    let workspace = Workspace::new();
    let flags =
        "bench search --vectors 900 --dim 64 --queries 2 --k 3 --seconds 0 --device shim --check-hits --json";
    let uploaded = |memory: &str| {
        let result = workspace.runs(&format!("{flags} {memory}")).json();
        number(&result["figures"][0], "uploaded_bytes")
    };
    let all = 900.0 * 64.0 * 4.0;
    assert_eq!(uploaded(""), 0.0);
    let some = uploaded("--memory 0.0002");
    assert!(some > all / 4.0 && some < all, "{some} of {all} bytes");
}

#[test]
fn a_collection_is_encoded_as_far_as_asked() {
    let workspace = Workspace::with_xquad();
    let flags = "bench encode --model tiny-bert --corpus data/corpus.jsonl --passages 70 --seconds 0 --json";
    let result = workspace.runs(flags).json();
    let figures = result["figures"].as_array().unwrap();
    assert_eq!((figures.len(), &figures[0]["passages"]), (1, &70.into()));
    check_encode(&result, &[number(&figures[0], "tokens") / 70.0]);
}

/// Checks the figures of `bench encode`, whose texts have these numbers of tokens on average.
#[track_caller]
fn check_encode(result: &Value, lengths: &[f64]) {
    let matrix_rate = number(&result["limits"], "matrix_gflop_per_second");
    let figures = result["figures"].as_array().unwrap();
    assert_eq!(figures.len(), lengths.len());
    for (figure, &length) in figures.iter().zip(lengths) {
        let seconds = median(&figure["seconds"]);
        close(number(figure, "tokens_per_passage"), length);
        close(number(figure, "tokens"), length * number(figure, "passages"));
        close(number(figure, "tokens_per_second"), number(figure, "tokens") / seconds);
        close(number(figure, "passages_per_second"), number(figure, "passages") / seconds);
        let gflop = number(figure, "gflop_per_second");
        assert!(gflop > 0.0 && number(figure, "tokenize_alone_tokens_per_second") > 0.0, "{figure:#}");
        close(number(figure, "share_of_matrix_rate"), gflop / matrix_rate);
        let shares = figure["shares"].as_array().unwrap();
        let names: Vec<&str> = shares.iter().map(|share| share["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["linear", "attention", "layer norm", "pooling", "tokenization", "other"]);
        close(shares.iter().map(|share| number(share, "share_of_time")).sum(), 1.0);
        for share in &shares[..5] {
            assert!(number(share, "share_of_time") > 0.0, "{share:#}");
        }
        for share in &shares[..2] {
            close(number(share, "share_of_matrix_rate"), number(share, "gflop_per_second") / matrix_rate);
        }
        assert_eq!(shares[2]["gflop_per_second"], Value::Null);
        assert_eq!(figure["tokenization_share"], shares[4]["share_of_time"]);
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let workspace = Workspace::new();
    for (arguments, says) in [
        ("bench", &["Usage"][..]),
        ("bench nothing", &["nothing"]),
        ("bench encode", &["--model"]),
        ("bench encode --model tiny-bert --lengths 0", &["--lengths"]),
        ("bench encode --model tiny-bert --lengths 5000", &["--lengths 5000", "hint: give shorter"]),
        ("bench encode --model tiny-bert --corpus c --lengths 5", &["--corpus", "--lengths"]),
        ("bench encode --model tiny-bert --passages 5", &["--corpus"]),
        ("bench search --vectors 0", &["--vectors"]),
        ("bench search --vectors 10,x", &["--vectors"]),
        ("bench search --dim 0", &["--dim"]),
        ("bench search --queries 0", &["--queries"]),
        ("bench search --k 10,", &["--k"]),
        ("bench search --k -1", &["-1"]),
        ("bench search --store-dtype int8", &["--store-dtype"]),
        ("bench search --seconds=-1", &["--seconds"]),
        ("bench search --seconds nan", &["--seconds", "between 0 and 3600"]),
        ("bench search --seconds 1e9", &["--seconds"]),
        ("bench search --scan f64", &["--scan", "f64"]),
        ("bench search --dense store --codes", &["--dense", "--codes"]),
        ("bench search --dense store --dim 4", &["--dense", "--dim"]),
        ("bench search --dense store --vectors 4", &["--dense", "--vectors"]),
        ("bench search --query-vectors store", &["--dense"]),
        ("bench search --vectors 9 --kernel-times", &["--kernel-times", "hint: add --device cuda"]),
        ("bench search --vectors 9 --capability 8.0", &["--capability", "hint: add --device cuda"]),
        ("bench search --capability 8", &["--capability", "as in 8.0"]),
        ("bench search --vectors 9 --memory 20", &["--memory", "hint: add --device cuda"]),
        ("bench search --memory 0", &["--memory", "a number above 0"]),
        ("bench encode --model tiny-bert --capability 8.0", &["--capability", "hint: add --device cuda"]),
        ("bench encode --model tiny-bert --cublas", &["--cublas", "hint: add --device cuda"]),
        ("bench search --vectors 9 --check-hits", &["--check-hits", "hint: add --device cuda"]),
        ("bench search --vectors 9 --plot -", &["--plot - : a figure is not written to a stream"]),
        ("bench search --vectors 9 --log -", &["--log - : figures are not written to a stream"]),
    ] {
        workspace.toller(arguments).fails(2, says);
    }
    for (arguments, says) in [
        ("bench search --vectors 4294967295 --dim 4294967295", &["do not fit in memory", "hint: lower"][..]),
        ("bench search --dense none", &["none"]),
        ("bench search --vectors 4294967295", &["do not fit in memory", "hint: lower"]),
        ("bench search --plot none/cost.svg", &["none/cost.svg"]),
        ("bench search --vectors 9 --log none/figures.jsonl", &["none/figures.jsonl"]),
        ("bench encode --model none/here", &["none/here"]),
        ("bench encode --model tiny-bert --corpus none.jsonl", &["none.jsonl"]),
    ] {
        workspace.toller(arguments).fails(1, says);
    }
}

#[test]
fn reranking_is_measured_by_depth() {
    let workspace = Workspace::new();
    workspace.add_fixture("cross-encoders/mpnet");
    let bench =
        "bench rerank --model cross-encoders/mpnet --depths 5,3 --queries 2 --passage-tokens 20 --seconds 0";
    let result = workspace.runs(&format!("{bench} --json --plot figure.svg")).json();
    let figures = result["figures"].as_array().unwrap();
    assert_eq!(
        figures.iter().map(|figure| figure["pairs"].as_u64()).collect::<Vec<_>>(),
        [Some(6), Some(10)]
    );
    for figure in figures {
        let seconds = median(&figure["seconds"]);
        close(number(figure, "pairs_per_second"), number(figure, "pairs") / seconds);
        close(number(figure, "tokens_per_second"), number(figure, "tokens") / seconds);
        assert!(number(figure, "share_of_matrix_rate") > 0.0, "{figure:#}");
    }
    median(&result["query_latency"]["seconds"]);
    let texts = svg_texts(&workspace, "figure.svg");
    assert!(texts.iter().any(|text| text == "Reranking"), "{texts:?}");
    let table = workspace.runs(bench).stdout;
    assert!(table.contains("of matrix") && table.contains("latency of one query to depth 100"), "{table}");
}

#[test]
fn sparse_search_is_measured_by_k() {
    let workspace = Workspace::with_xquad();
    workspace.runs("index -q --language en --corpus data/corpus.jsonl --output index");
    let bench = "bench sparse --sparse index --queries data/queries.jsonl --first 40 --k 9,3 --seconds 0";
    let result = workspace.runs(&format!("{bench} --json --plot figure.svg")).json();
    assert_eq!(result["documents"], 1180);
    let figures = result["figures"].as_array().unwrap();
    let run = workspace.runs("search -q --sparse index --queries data/queries.jsonl --k 9 --output run.txt");
    assert_eq!(run.stdout, "");
    let queries: Vec<String> = workspace.lines("data/queries.jsonl");
    let first: Vec<&str> = queries[..40].iter().map(|line| line.split('"').nth(3).unwrap()).collect();
    let run = workspace.lines("run.txt");
    let hits = run.iter().filter(|line| first.contains(&line.split(' ').next().unwrap())).count();
    assert_eq!((&figures[0]["k"], &figures[1]["k"]), (&3.into(), &9.into()));
    assert_eq!(figures[1]["hits"], hits);
    for figure in figures {
        close(number(figure, "queries_per_second"), 40.0 / median(&figure["seconds"]));
        assert!(median(&figure["query_latency"]) > 0.0 && number(&figure["query_latency"], "rounds") >= 20.0);
    }
    let texts = svg_texts(&workspace, "figure.svg");
    assert!(texts.iter().any(|text| text == "Sparse search: time of a query"), "{texts:?}");
    workspace.runs(bench).prints(["1180 documents for 40 queries", "queries/s", "latency of one query"]);
    workspace.toller("bench sparse --queries data/queries.jsonl").fails(2, &["--sparse"]);
    workspace.write("none.jsonl", "");
    workspace.toller("bench sparse --sparse index --queries none.jsonl").fails(1, &["hint: "]);
}

#[test]
fn retrieval_is_measured_by_stage() {
    let workspace = Workspace::with_xquad();
    workspace.add_fixture("cross-encoders/mpnet");
    workspace.head("data/corpus.jsonl", 100, "corpus.jsonl");
    workspace.runs("index -q --language en --corpus corpus.jsonl --output index");
    let bench = "bench retrieve --sparse index --queries data/queries.jsonl --first 6 --k 20 --depth 4 \
                 --rerank cross-encoders/mpnet --corpus corpus.jsonl --truncation longest_first --seconds 0";
    let result = workspace.runs(&format!("{bench} --json")).json();
    assert_eq!(
        (&result["documents"], &result["queries"], &result["depth"]),
        (&100.into(), &6.into(), &4.into())
    );
    let together = &result["together"];
    close(number(&result, "queries_per_second"), 6.0 / median(&together["seconds"]));
    close(
        number(&result, "pairs_per_second"),
        number(&result, "pairs") / median(&together["rerank_seconds"]),
    );
    assert!((1.0..=24.0).contains(&number(&result, "pairs")), "{result:#}");
    let alone = &result["alone"];
    let stages = median(&alone["search_seconds"]) + median(&alone["rerank_seconds"]);
    assert!(median(&alone["seconds"]) > 0.0 && stages > 0.0, "{alone:#}");
    assert!(number(&alone["seconds"], "max") >= number(&alone["rerank_seconds"], "max"), "{alone:#}");
    workspace.runs(bench).prints(["6 queries together", "a query alone", "pairs/s", "slowest ms"]);
    let cache = workspace.toller(&format!("{bench} --cache scores"));
    cache.fails(2, &["--cache", "hint: leave --cache out"]);
    assert!(!workspace.path("scores").exists());
}
