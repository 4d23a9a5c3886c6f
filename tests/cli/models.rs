//! Models: converting checkpoints, listing names, verifying vectors.

use serde_json::{Value, json};

use crate::support::Workspace;

#[test]
fn a_converted_dual_encoder_encodes_and_searches() {
    let workspace = Workspace::new();
    workspace.add_fixture("paddle");
    let converted = workspace.runs("convert paddle/rocketqa --output rocketqa --json").json();
    assert_eq!(converted["models"][0]["directory"], "rocketqa/question_encoder");
    assert_eq!(converted["models"][1]["architecture"], "ErnieModel");
    assert_eq!(converted["left_out"][0]["reason"], "of the optimizer");
    workspace.write("corpus.tsv", "p0\t北京是中国的首都\np1\tthe capital\n");
    workspace.write("queries.tsv", "q0\t中国的首都是哪\n");
    let encode = "encode --model rocketqa --corpus corpus.tsv --corpus-format tsv --output store --quiet";
    workspace.runs(encode);
    workspace
        .runs("search --dense store --model rocketqa --queries queries.tsv --k 2 --output run.txt --quiet");
    assert_eq!(workspace.lines("run.txt").len(), 2);
    workspace.toller("convert paddle/rocketqa --output rocketqa").fails(1, &["not empty", "hint: "]);
    workspace.toller("convert paddle/expected --output other").fails(1, &["hint: "]);
    workspace.toller("convert paddle/rocketqa --output -").fails(2, &["a model is a directory"]);
    // What fails leaves nothing, and what was killed can be done again.
    assert!(!workspace.path("other").exists());
    workspace.add_fixture("tiny-bert-pickle");
    let convert = "convert tiny-bert-pickle --output other";
    workspace
        .toller(&format!("{convert} --prefix nope"))
        .fails(1, &["holds PyTorch's weights", "hint: leave --prefix out"]);
    let mut limited = workspace.command_with_file_limit(convert, 8);
    assert_eq!(limited.output().unwrap().status.code(), Some(1));
    assert!(!workspace.path("other").exists());
    std::fs::create_dir_all(workspace.path("other/.staged.a1B2c3.tmp")).unwrap();
    workspace.runs(convert);
    let names: Vec<String> = workspace.files_in("other").into_iter().map(|(name, _)| name).collect();
    assert!(names.iter().any(|name| name == "model.safetensors"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with('.')), "{names:?}");
}

/// Without scaling, a search by inner product is not the cosine that the model says.
#[test]
fn a_model_that_compares_by_cosine_is_scaled_if_that_is_asked_for() {
    let workspace = Workspace::new();
    let mut modules: Value = serde_json::from_slice(&workspace.read("tiny-bert/modules.json")).unwrap();
    modules.as_array_mut().unwrap().pop();
    workspace.write("tiny-bert/modules.json", modules.to_string());
    let similarity = |name: &str| {
        let settings = json!({"similarity_fn_name": name}).to_string();
        workspace.write("tiny-bert/config_sentence_transformers.json", settings);
    };
    workspace.write("corpus.tsv", "a\tone\nb\tanother of the texts\n");
    workspace.write("queries.tsv", "q\tone\n");
    let encode = |store: &str| {
        format!("encode --model tiny-bert --corpus corpus.tsv --corpus-format tsv --output {store}")
    };
    let search = |store: &str| {
        format!("search --model tiny-bert --dense {store} --queries queries.tsv --output {store}.txt --quiet")
    };
    similarity("cosine");
    let warning = "compares vectors by cosine";
    workspace.runs(&encode("plain")).says([warning, "--normalize-embeddings scales them"]);
    workspace.runs(&search("plain")).says([warning]);
    let scaled = format!("{} --normalize-embeddings", encode("scaled"));
    assert!(!workspace.runs(&scaled).stderr.contains(warning));
    workspace.toller(&search("scaled")).fails(1, &["hint: ", "--normalize-embeddings"]);
    let found = workspace.runs(&format!("{} --normalize-embeddings", search("scaled")));
    assert!(!found.stderr.contains(warning), "{}", found.stderr);
    let hits = workspace.hits::<f64>("scaled.txt");
    assert_eq!(hits["q"][0].0, "a");
    assert!((hits["q"][0].1 - 1.0).abs() < 1e-6, "{hits:?}");
    // The scaling is a part of what a store is resumed with.
    workspace
        .toller(&format!("{} --normalize-embeddings", encode("plain")))
        .fails(1, &["encoding.normalized"]);
    similarity("manhattan");
    workspace.runs(&search("plain")).says(["by manhattan distance, which is not supported"]);
    similarity("dot");
    assert!(!workspace.runs(&search("plain")).stderr.contains("warning"));
}

#[test]
fn verify_compares_with_the_reference_and_with_what_is_expected() {
    let workspace = Workspace::new();
    let found = workspace.runs("verify --model tiny-bert --json").json();
    assert_eq!(found["verdict"], "good");
    let texts = found["texts"].as_array().unwrap();
    for against in ["reference", "expected"] {
        assert!(texts.iter().filter(|text| text["against"] == against).count() > 10, "{against}");
    }
    // Another embedding, and other token ids.
    let mut case: Value = serde_json::from_str(&workspace.lines("tiny-bert/expected.jsonl")[3]).unwrap();
    let embedding = case["embedding"].as_array_mut().unwrap();
    embedding[0] = json!(embedding[0].as_f64().unwrap() + 1e-3);
    workspace.write("wrong.jsonl", case.to_string());
    case["input_ids"] = json!([1]);
    workspace.write("other.jsonl", case.to_string());
    for name in ["wrong.jsonl", "other.jsonl"] {
        let mut command = workspace.command(&format!("verify --model tiny-bert --expected {name}"));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stdout).contains("bad: "));
    }
    case["role"] = json!("document");
    let role = case.to_string();
    case["role"] = json!("query");
    case["embedding"] = json!([0.5]);
    for (content, says) in [
        ("\n{}".to_owned(), "broken.jsonl, line 2: missing field"),
        (String::new(), "broken.jsonl has no expected output"),
        (role, "broken.jsonl, line 1: unknown value `document`"),
        (case.to_string(), "line 1: 1 number of the embedding, and the model computes 32"),
    ] {
        workspace.write("broken.jsonl", content);
        let verify = "verify --model tiny-bert --expected broken.jsonl";
        workspace.toller(verify).fails(1, &[says, "hint: "]);
        workspace.toller(&format!("{verify} --json")).fails(1, &[r#""file":"broken.jsonl""#]);
    }
}

#[test]
fn known_names_are_listed_and_near_ones_suggested() {
    let workspace = Workspace::new();
    let models = workspace.runs("models --json").json();
    let e5 = models["models"].as_array().unwrap().iter().find(|model| model["name"] == "e5-base-v2").unwrap();
    assert_eq!(e5["prompts"]["passage"], "passage: ");
    workspace.toller("verify --model e5-bsae-v2").fails(1, &["similar names: e5-base-v2"]);
}

#[test]
fn verify_knows_every_architecture_and_every_step_after_it() {
    let workspace = Workspace::new();
    workspace.add_fixture("models");
    for flags in [
        "models/bert-pooler --pooling pooler",
        "models/distilbert --pooling max",
        "models/dpr-projection",
        "models/ernie --pooling lasttoken",
        "models/modernbert",
        "models/modernbert-biases --pooling cls",
        "models/mpnet --pooling mean_sqrt_len_tokens",
        "models/nomic-bert",
        "models/nomic-bert-original",
        "models/qwen3 --pooling lasttoken",
        "models/qwen3-local",
        "models/qwen2-both-ways",
        "models/mistral --pooling lasttoken",
        "models/llama",
        "models/roberta --pooling weightedmean --prompt the --dim 5",
    ] {
        let found = workspace.runs(&format!("verify --model {flags} --json --quiet")).json();
        assert_eq!(found["verdict"], "good", "{flags}");
    }
}

#[test]
fn verify_knows_cross_encoders() {
    let workspace = Workspace::new();
    workspace.add_fixture("cross-encoders");
    for name in [
        "bert", "camembert", "distilbert", "modernbert-cls", "modernbert-mean", "mpnet", "qwen3", "roberta",
        "xlm-roberta",
    ] {
        let found = workspace.toller(&format!("verify --model cross-encoders/{name} --json --quiet"));
        let found = found.succeeds().json();
        assert_eq!(found["verdict"], "good", "{name}");
        let rows = found["texts"].as_array().unwrap();
        for against in ["reference", "expected"] {
            let rows = rows.iter().filter(|row| row["against"] == against && row["query"].is_string());
            assert!(rows.count() > 10, "{name}, {against}");
        }
    }
    let mut case: Value =
        serde_json::from_str(&workspace.lines("cross-encoders/roberta/expected.jsonl")[0]).unwrap();
    let logit = case["logits"][0].as_f64().unwrap();
    case["logits"][0] = json!(logit * (1.0 + 1e-3));
    workspace.write("wrong.jsonl", case.to_string());
    let verify = "verify --model cross-encoders/roberta --expected wrong.jsonl";
    let output = workspace.command(verify).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 of 20 texts"));
    // What only dual encoders have.
    let asked = "verify --model cross-encoders/roberta --dim 3";
    workspace.toller(asked).fails(2, &["--dim is for dual encoders", "hint: "]);
    // A pooling makes a dual encoder of it.
    let pooled = workspace.toller("verify --model cross-encoders/roberta --pooling mean --json --quiet");
    assert_eq!(pooled.succeeds().json()["texts"][0]["role"], "passage");
}

#[test]
fn verify_holds_every_dtype_to_its_promise_and_measures_int8() {
    let workspace = Workspace::new();
    workspace.add_fixture("cross-encoders");
    for model in ["tiny-bert", "cross-encoders/roberta"] {
        let mut errors = Vec::new();
        for dtype in ["f32", "f16", "bf16", "int8"] {
            let verify = format!("verify --model {model} --dtype {dtype} --json --quiet");
            let found = workspace.runs(&verify).json();
            assert_eq!(found["verdict"], "good", "{model} in {dtype}");
            assert_eq!(found["tolerance"].is_null(), dtype == "int8");
            errors.push(found["largest_error"].as_f64().unwrap());
        }
        assert!(errors.is_sorted(), "{model}: {errors:?}");
        assert!(errors[3] > 1e-3 && errors[3] < 0.5, "{model}: {errors:?}");
    }
    let printed = workspace.command("verify --model tiny-bert --dtype int8").output().unwrap();
    assert!(String::from_utf8_lossy(&printed.stdout).contains("no error is promised"));
}

#[test]
fn a_known_model_is_shown() {
    let workspace = Workspace::new();
    let shown = workspace.runs("models all-MiniLM-L6-v2");
    shown.prints(["pooling", "mean", "sentence-transformers/all-MiniLM-L6-v2"]);
    assert_eq!(shown.stdout, workspace.runs("models sentence-transformers/all-MiniLM-L6-v2").stdout);
    // Blanks at the end of a prompt are seen.
    workspace.runs("models multilingual-e5-base").prints(["\"query: \"", "\"passage: \""]);
    assert_eq!(workspace.runs("models multilingual-e5-base --json").json()["name"], "multilingual-e5-base");
    workspace.toller("models minilm").fails(
        2,
        &["no known model is called minilm", "hint: there is all-MiniLM-L6-v2", "see `toller models`"],
    );
    workspace.toller("models e5").fails(2, &["no known model is called e5", "see `toller models`"]);
}
