//! Models that read texts in chat templates, rerankers and encoders, against sentence-transformers in
//! float64.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use toller_encoder::{
    CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, PairText, Role, TextInput, TextPooling,
    TitleTypes,
};
use toller_nn::Precision;
use toller_tokenizer::{PairTruncation, Side, Tokens};

use crate::common::{Case, Copy, check as check_vectors, lines};
use crate::cross_encoder::check;

const ALL: [&str; 5] =
    ["llama-parts", "qwen2-one-answer", "qwen3-classifier", "qwen3-modules", "qwen3-plain"];

fn fixture(name: &str) -> PathBuf {
    toller_testing::repository("tests/fixtures/chat-models").join(name)
}

fn load(name: &str, options: &CrossEncoderOptions) -> CrossEncoder {
    CrossEncoder::load(&fixture(name), options).unwrap()
}

fn error(copy: &Copy) -> String {
    CrossEncoder::load(copy.path(), &CrossEncoderOptions::default()).err().unwrap().to_string()
}

/// A copy of a model with another chat template.
fn with_template(name: &str, template: &str) -> Copy {
    let copy = Copy::of(&fixture(name));
    fs::write(copy.path().join("chat_template.jinja"), template).unwrap();
    copy
}

fn text(model: &CrossEncoder, tokens: &Tokens) -> String {
    model.tokenizer().decode(&tokens.input_ids, false).unwrap()
}

#[test]
fn scores_are_those_of_sentence_transformers() {
    for name in ALL {
        check(&fixture(name), &CrossEncoderOptions::default());
        assert!(CrossEncoder::is_in(&fixture(name)).unwrap(), "{name}");
    }
    let label = |name: &str| load(name, &CrossEncoderOptions::default()).labels().join(" ");
    assert_eq!(ALL.map(label), ["yes", "no", "LABEL_0", "yes", "yes"]);
}

/// What pairs begin with in common is computed once, in every precision.
#[test]
fn pairs_of_a_query_share_their_beginning_without_a_trace() {
    for name in ALL {
        for dtype in Precision::ALL {
            let model =
                load(name, &CrossEncoderOptions { dtype: Some(dtype), ..CrossEncoderOptions::default() });
            let pairs: Vec<Tokens> = ["the first query", "another one"]
                .into_iter()
                .flat_map(|query| {
                    ["a", "the city of the first years", "", "b c"].map(|passage| (query, passage))
                })
                .map(|(query, passage)| model.tokenize_pair(query, passage).unwrap())
                .collect();
            let alone: Vec<f32> =
                pairs.iter().flat_map(|pair| model.logits(std::slice::from_ref(pair)).unwrap()).collect();
            assert_eq!(model.logits(&pairs).unwrap(), alone, "{name} in {dtype}");
        }
    }
}

#[test]
fn a_prompt_is_the_instruction_of_the_template() {
    let prompt = Some("Find what supports the claim".to_owned());
    let asked = load("qwen3-plain", &CrossEncoderOptions { prompt, ..CrossEncoderOptions::default() });
    let own = load("qwen3-modules", &CrossEncoderOptions::default());
    assert_eq!(asked.prompt(), own.prompt());
    let pair = |model: &CrossEncoder| model.tokenize_pair("a claim", "a fact").unwrap();
    assert_eq!(pair(&asked), pair(&own));
    let by_default = load("qwen3-plain", &CrossEncoderOptions::default());
    assert_ne!(pair(&by_default), pair(&own));
    assert_ne!(by_default.fingerprint(), asked.fingerprint());
}

#[test]
fn what_changes_an_input_changes_the_fingerprint() {
    let of = |copy: &Copy| {
        CrossEncoder::load(copy.path(), &CrossEncoderOptions::default()).unwrap().fingerprint().to_owned()
    };
    let plain = of(&Copy::of(&fixture("qwen2-one-answer")));
    let template = fs::read_to_string(fixture("qwen2-one-answer").join("chat_template.jinja")).unwrap();
    let copy = || Copy::of(&fixture("qwen2-one-answer"));
    let settings = json!({"chat_template": {"add_generation_prompt": false}});
    let changed = [
        with_template("qwen2-one-answer", &template.replace("answer", "reply")),
        copy().set("sentence_bert_config.json", "processing_kwargs", settings),
        copy().set("tokenizer_config.json", "bos_token", json!("")),
        copy().set("1_LogitScore/config.json", "false_token_id", json!(9)),
    ];
    let others = changed.map(|copy| of(&copy));
    assert!(others.iter().all(|other| *other != plain), "{others:?}");
    // A template that is not used is not a part of the model.
    let classifier = Copy::of(&toller_testing::repository("tests/fixtures/cross-encoders/qwen3"));
    let before = of(&classifier);
    for template in ["{% for m in messages %}{{ m.content }}{% endfor %}", "{% if %}"] {
        fs::write(classifier.path().join("chat_template.jinja"), template).unwrap();
        assert_eq!(of(&classifier), before);
    }
    let named = "{# query, document #}\
                 {% for m in messages %}{{ m.content }}.{% endfor %}";
    fs::write(classifier.path().join("chat_template.jinja"), named).unwrap();
    assert_ne!(of(&classifier), before);
}

#[test]
fn long_passages_are_cut_before_the_end_of_the_template() {
    let options = |truncation, max_length| CrossEncoderOptions {
        truncation,
        max_length: Some(max_length),
        ..CrossEncoderOptions::default()
    };
    let passage = "years ".repeat(200);
    let ending = "<|im_end|>\n<|im_start|>assistant\n";
    let model = load("qwen3-plain", &options(PairTruncation::OnlySecond, 100));
    let query = model.tokenize_query("the query").unwrap();
    let read = model.tokenize(&passage).unwrap();
    let (tokens, is_cut) = model.pair_cut(&query, &read).unwrap();
    let found = text(&model, &tokens);
    assert!(is_cut && tokens.len() == 100 && found.ends_with(ending), "{found}");
    assert!(found.contains("the query") && found.contains("years years"), "{found}");
    let short = model.shorten(&read, 3).unwrap();
    let (tokens, is_cut) = model.pair_cut(&query, &short).unwrap();
    assert!(!is_cut && tokens.len() < 100, "{}", text(&model, &tokens));

    // A query that leaves no room.
    let long = "president ".repeat(100);
    let long_query = model.tokenize_query(&long).unwrap();
    let error = model.pair(&long_query, &short).unwrap_err().to_string();
    assert!(error.contains("too long for 100 tokens"), "{error}");
    assert!(model.check_room(&query).is_ok() && model.check_room(&long_query).is_err());
    let cut = model.tokenize_query_cut(&long).unwrap();
    let found = text(&model, &model.pair(&cut, &read).unwrap());
    assert!(found.contains("president") && found.contains("years") && found.ends_with(ending), "{found}");
    assert_eq!(model.tokenize_query_cut("the query").unwrap(), query);

    let both = load("qwen3-plain", &options(PairTruncation::LongestFirst, 100));
    let (tokens, is_cut) = both.pair_cut(&long_query, &read).unwrap();
    let found = text(&both, &tokens);
    assert!(is_cut && tokens.len() <= 100, "{}", tokens.len());
    assert!(found.contains("president") && found.contains("years") && found.ends_with(ending), "{found}");
    assert!(both.check_room(&long_query).is_ok());
    // The shorter text is kept whole.
    let (tokens, _) = both.pair_cut(&long_query, &both.tokenize("a passage").unwrap()).unwrap();
    assert!(text(&both, &tokens).contains("a passage<|im_end|>"), "{}", text(&both, &tokens));

    let options = options(PairTruncation::OnlySecond, 20);
    let error = CrossEncoder::load(&fixture("qwen3-plain"), &options).err().unwrap().to_string();
    assert!(error.contains("20 tokens") && error.contains("chat template"), "{error}");
}

#[test]
fn windows_are_parts_of_the_text() {
    let model = load("qwen3-plain", &CrossEncoderOptions::default());
    let passage = "the 🐕 dog 維基 runs";
    let query = model.tokenize_query("q").unwrap();
    let of = |window: &PairText| text(&model, &model.pair(&query, window).unwrap());
    let all = model.tokenize_windows(passage, 1000, 1000).unwrap();
    assert_eq!(all, [model.tokenize(passage).unwrap()]);
    let windows = model.tokenize_windows(passage, 4, 2).unwrap();
    assert!(windows.len() > 3);
    assert!(of(&windows[0]).contains("<Document>: the"), "{}", of(&windows[0]));
    assert!(of(&windows[windows.len() - 1]).contains("s<|im_end|>"));
    assert_eq!(model.tokenize_windows("", 4, 2).unwrap(), [model.tokenize("").unwrap()]);
}

#[test]
fn texts_of_another_model_are_errors() {
    let model = load("qwen3-plain", &CrossEncoderOptions::default());
    let folder = toller_testing::repository("tests/fixtures/cross-encoders/qwen3");
    let joined = CrossEncoder::load(&folder, &CrossEncoderOptions::default()).unwrap();
    let [own, other] = [&model, &joined].map(|model| model.tokenize("a text").unwrap());
    assert!(model.pair(&own, &other).is_err() && joined.pair(&other, &own).is_err());
    assert!(joined.tokenize_alone("a text", None).is_ok());
    let error = model.tokenize_alone("a text", None).unwrap_err().to_string();
    assert!(error.contains("not one text"), "{error}");
}

#[test]
fn what_cannot_rerank_says_so() {
    let copy = |name: &str| Copy::of(&fixture(name));
    let plain = copy("qwen3-plain").remove("chat_template.jinja");
    let cases = [
        (plain, "without a chat template"),
        (with_template("qwen3-plain", "{{ messages[0].content }}"), "without a place for a query"),
        (
            with_template("qwen3-modules", "{% for m in messages | reverse %}{{ m.content }}\n{% endfor %}"),
            "writes the passage before the query",
        ),
        (with_template("qwen3-modules", "{{ raise_exception('only users') }}"), "only users"),
        (with_template("qwen3-classifier", "{% if %}"), "syntax error"),
        (with_template("qwen3-modules", &"x".repeat(70_000)), "70000 bytes"),
        (copy("qwen3-modules").set("1_LogitScore/config.json", "true_token_id", json!(999_999)), "999999"),
        (
            copy("qwen3-modules").edit("modules.json", |file| drop(file.as_array_mut().unwrap().pop())),
            "makes a score",
        ),
        (copy("qwen3-plain").set("config.json", "tie_word_embeddings", json!(false)), "lm_head.weight"),
        (
            copy("qwen3-modules").edit("sentence_bert_config.json", |file| {
                file["modality_config"]["message"]["format"] = json!("other");
            }),
            "\"other\"",
        ),
        (
            copy("qwen3-modules").edit("sentence_bert_config.json", |file| {
                file["processing_kwargs"] = json!({"chat_template": {"max_length": 9}});
            }),
            "max_length",
        ),
        (
            copy("qwen3-modules").edit("sentence_bert_config.json", |file| {
                file["processing_kwargs"] = json!({"chat_template": {"chat_template": "another"}});
            }),
            "chat_template",
        ),
        (copy("qwen3-plain").edit("tokenizer.json", without_answers), "the token \"yes\""),
    ];
    for (copy, said) in cases {
        let error = error(&copy);
        assert!(error.contains(said), "{said}: {error}");
    }
    let error = DualEncoder::load(&fixture("qwen3-modules"), &LoadOptions::default()).err().unwrap();
    assert!(error.to_string().contains("classifier"), "{error}");
    // A template that only passes messages on does not make a reranker of every language model.
    let passing = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";
    assert!(!CrossEncoder::is_in(with_template("qwen3-plain", passing).path()).unwrap());
    assert!(
        !CrossEncoder::is_in(Copy::of(&fixture("qwen3-plain")).remove("chat_template.jinja").path()).unwrap()
    );
}

/// Takes the tokens that are answers from a tokenizer.
fn without_answers(tokenizer: &mut Value) {
    let answers = ["yes", "no"];
    let tokens = tokenizer["added_tokens"].as_array_mut().unwrap();
    tokens.retain(|token| !answers.contains(&token["content"].as_str().unwrap()));
}

/// The layer of its own, where a file has it, and not the embeddings.
#[test]
fn a_tied_model_may_have_an_output_layer() {
    let folder = fixture("qwen3-plain");
    let config: Value = serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap();
    let shape =
        ["vocab_size", "hidden_size"].map(|key| usize::try_from(config[key].as_u64().unwrap()).unwrap());
    let layer = ("lm_head.weight", &shape[..], vec![0.0; shape[0] * shape[1]]);
    let copy = Copy::of(&folder).add_tensors("model.safetensors", &[layer]);
    let model = CrossEncoder::load(copy.path(), &CrossEncoderOptions::default()).unwrap();
    assert_eq!(model.score(&[model.tokenize_pair("q", "p").unwrap()]).unwrap(), [0.0]);
    assert!(model.unexpected_tensors().is_empty());
}

#[test]
fn encoders_read_texts_as_messages() {
    let folder = fixture("qwen3-encoder");
    let encoder = DualEncoder::load(&folder, &LoadOptions::default()).unwrap();
    let cases: Vec<Case> = lines(&folder.join("expected.jsonl"));
    for (role, name) in [(Role::Query, "query"), (Role::Passage, "passage")] {
        let of_role: Vec<&Case> = cases.iter().filter(|case| case.role.as_deref() == Some(name)).collect();
        assert!(of_role.len() > 5);
        check_vectors(encoder.tower(role), &of_role, 1e-5, |case| &case.embedding);
    }
    assert!(!CrossEncoder::is_in(&folder).unwrap());

    // A prompt is the message of the system, and what does not fit is the text's end, not the template's.
    let query = encoder.tower(Role::Query);
    let decoded = |ids: &[u32]| query.tokenizer().decode(ids, false).unwrap();
    let (tokens, is_cut) = query.tokenize_cut(&"years ".repeat(99), None).unwrap();
    let found = decoded(&tokens.input_ids);
    assert!(is_cut && tokens.len() == query.max_length() && found.ends_with("<|im_end|>\n"), "{found}");
    assert!(found.starts_with("<|im_start|>system\nFind what answers this<|im_end|>"), "{found}");
    assert!(!query.tokenize_cut("years", None).unwrap().1);
    assert!(query.tokenize_cut("years", Some(Side::Right)).is_ok());
    let error = query.tokenize_cut("years", Some(Side::Left)).unwrap_err().to_string();
    assert!(error.contains("own side"), "{error}");
    let (written, adds) = query.written("years").unwrap();
    assert!(written.contains("user\nyears<|im_end|>") && !adds, "{written}");
    let max_length = Some(5);
    let error =
        DualEncoder::load(&folder, &LoadOptions { max_length, ..LoadOptions::default() }).err().unwrap();
    assert!(error.to_string().contains("leave nothing"), "{error}");

    let titled = TextInput::Titled {
        title: "Years".to_owned(),
        text: "and years".to_owned(),
        types: TitleTypes::OneSegment,
    };
    let error = query.tokenize_input(&titled).unwrap_err().to_string();
    assert!(error.contains("no place for a title"), "{error}");
}

#[test]
fn an_encoder_reads_messages_only_where_its_files_say_so() {
    let load = |copy: &Copy| DualEncoder::load(copy.path(), &LoadOptions::default());
    let own = load(&Copy::of(&fixture("qwen3-encoder"))).unwrap();
    let without = |change: fn(&mut Value)| {
        Copy::of(&fixture("qwen3-encoder")).edit("sentence_bert_config.json", change)
    };
    let silent =
        load(&without(|file| drop(file.as_object_mut().unwrap().remove("modality_config")))).unwrap();
    let plain =
        load(&without(|file| drop(file["modality_config"].as_object_mut().unwrap().remove("message"))))
            .unwrap();
    let ids = |encoder: &DualEncoder| encoder.tower(Role::Passage).tokenize("years").unwrap().input_ids;
    assert_eq!(ids(&silent), ids(&plain));
    assert!(ids(&own).len() > ids(&plain).len());
    assert_eq!(silent.fingerprint(), plain.fingerprint());
    assert_ne!(silent.fingerprint(), own.fingerprint());
    // So do rerankers: their pairs are side by side then.
    for name in ["qwen3-modules", "qwen3-classifier"] {
        let silent = Copy::of(&fixture(name)).edit("sentence_bert_config.json", |file| {
            drop(file.as_object_mut().unwrap().remove("modality_config"));
        });
        let model = CrossEncoder::load(silent.path(), &CrossEncoderOptions::default()).unwrap();
        let pair = model.tokenize_pair("q", "p").unwrap();
        assert!(text(&model, &pair).ends_with("qp") && pair.len() < 30, "{}", text(&model, &pair));
    }
    for (template, said) in [
        ("{{ messages[0].role }}", "without a place for a text"),
        ("{{ messages[0].content }}{{ task }}", "depends on the task"),
        ("{{ messages[0].content }}{{ messages }}", "not text"),
        ("{{ messages[9].content.strip() }}", "undefined value"),
    ] {
        let error = load(&with_template("qwen3-encoder", template)).err().unwrap().to_string();
        assert!(error.contains(said), "{error}");
    }
    // A word of the text is not a variable, and a variable of the settings is the same for all texts.
    assert!(load(&with_template("qwen3-encoder", "The task: {{ messages[-1].content }}")).is_ok());
    let task = with_template("qwen3-encoder", "{{ task }}: {{ messages[-1].content }}");
    let task = task.edit("sentence_bert_config.json", |file| {
        file["processing_kwargs"] = json!({"chat_template": {"task": "query"}});
    });
    assert!(load(&task).unwrap().tower(Role::Passage).written("years").unwrap().0.starts_with("query: "));

    // A reranker's transformer as an encoder of plain texts.
    for name in ["qwen3-modules", "qwen3-classifier", "qwen3-plain"] {
        let options = LoadOptions { pooling: TextPooling::from_name("lasttoken"), ..LoadOptions::default() };
        let encoder = DualEncoder::load(&fixture(name), &options).unwrap();
        assert_eq!(ids(&encoder), ids(&plain), "{name}");
    }
}
