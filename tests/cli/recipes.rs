//! Recipes: carried out, carried out again, changed in one place, killed, and wrong.

use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;

use crate::support::{Finished, Workspace};

const RECIPE: &str = include_str!("../fixtures/recipes/xquad-r.toml");

const STEPS: [&str; 7] = ["index", "bm25", "encode", "dense", "tune", "fuse", "eval"];

/// XQuAD-R, small, and the recipe.
fn workspace() -> Workspace {
    let workspace = Workspace::with_xquad();
    workspace.head("data/corpus.jsonl", 200, "data/few.jsonl");
    fs::rename(workspace.path("data/few.jsonl"), workspace.path("data/corpus.jsonl")).unwrap();
    workspace.head("data/queries.jsonl", 100, "data/few.jsonl");
    fs::rename(workspace.path("data/few.jsonl"), workspace.path("data/queries.jsonl")).unwrap();
    workspace.write("recipe.toml", RECIPE);
    workspace
}

/// The steps in the order of the report, with their state.
pub(crate) fn states(finished: &Finished) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let report = finished.json();
    let steps = report["steps"].as_array().unwrap();
    steps.iter().map(|step| (text(&step["step"]), text(&step["state"]))).collect()
}

/// The steps that were carried out.
pub(crate) fn done(finished: &Finished) -> Vec<String> {
    states(finished).into_iter().filter(|(_, state)| state == "done").map(|(step, _)| step).collect()
}

/// What the steps wrote, without what is remembered of them.
fn written(workspace: &Workspace, folder: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = workspace.files_in(folder);
    files.retain(|(name, _)| name != "recipe-state.json");
    files
}

#[test]
fn a_recipe_does_what_its_commands_do() {
    let workspace = workspace();
    let first = workspace.runs("run recipe.toml --json");
    // Whatever the order of the file, what is read is written before.
    assert_eq!(done(&first), STEPS);
    let queries = "--queries data/queries.jsonl --k 50 -q";
    for command in [
        "index --corpus data/corpus.jsonl --language en --output index -q",
        "encode --model tiny-bert --corpus data/corpus.jsonl --rows-per-shard 64 --output store -q",
        &format!("search --sparse index {queries} --output bm25.run"),
        &format!("search --dense store --model tiny-bert {queries} --output dense.run"),
    ] {
        workspace.runs(command);
    }
    let tune = "tune alpha bm25.run dense.run --qrels data/qrels.txt --measure nDCG@10 --json -q";
    let alpha = workspace.runs(tune).json()["best"]["alpha"].as_f64().unwrap();
    let fuse = format!("fuse --method interpolate --alpha {alpha} bm25.run dense.run --output fused.run -q");
    workspace.runs(&fuse);
    for run in ["bm25.run", "dense.run", "fused.run"] {
        assert_eq!(workspace.read(run), workspace.read(&format!("recipe.work/{run}")), "{run}");
    }
    assert_eq!(workspace.files_in("store"), workspace.files_in("recipe.work/store"));

    // The measures that were found, as expectations: they hold, and the least change of one does not.
    let eval = "eval --qrels data/qrels.txt bm25.run fused.run -m nDCG@10 --json -q";
    let report = workspace.runs(eval).json();
    let value = |run: usize| report["runs"][run]["aggregates"]["nDCG@10"].as_f64().unwrap();
    let expect = |run: &str, value: f64| {
        format!(
            "[[expect]]\nreport = \"measures.json\"\nrun = \"{run}\"\nmeasures = {{ \"nDCG@10\" = {value} }}\n\
             tolerance = 0.0001\nsource = \"the same by hand\"\n"
        )
    };
    let both =
        |off: f64| format!("{RECIPE}{}{}", expect("bm25.run", value(0)), expect("fused.run", value(1) + off));
    workspace.write("recipe.toml", both(0.0));
    let second = workspace.runs("run recipe.toml --json");
    assert_eq!(done(&second), [""; 0]);
    second.says(["nothing to do: all 7 steps are up to date"]);
    let measures = second.json()["measures"].clone();
    assert_eq!(measures[0]["measured"], value(0));
    assert_eq!((&measures[0]["holds"], &measures[1]["holds"]), (&true.into(), &true.into()));

    workspace.write("recipe.toml", both(0.0002));
    let off = workspace.toller("run recipe.toml");
    assert_eq!(off.code, Some(1));
    off.says(["1 of 2 measures are outside their tolerance"]);
    assert!(off.stdout.contains("off by -0.00020") && off.stdout.contains("as expected"), "{}", off.stdout);
}

#[test]
fn only_what_depends_on_a_change_is_done_again() {
    let workspace = workspace();
    let run = |flags: &str| done(&workspace.runs(&format!("run recipe.toml --json {flags}")));
    assert_eq!(run(""), STEPS);

    // A file that is as it was, with another time; and one that lies elsewhere.
    let queries = workspace.read("data/queries.jsonl");
    workspace.write("data/queries.jsonl", &queries);
    assert_eq!(run(""), [""; 0]);
    fs::rename(workspace.path("data"), workspace.path("elsewhere")).unwrap();
    assert_eq!(run("--set data=elsewhere"), [""; 0]);
    fs::rename(workspace.path("elsewhere"), workspace.path("data")).unwrap();

    // One byte of the queries: another word of the first.
    let at = queries.windows(8).position(|bytes| bytes == b"\"text\": " || bytes == b"\"text\":\"").unwrap();
    let mut changed = queries.clone();
    let letter = (at + 8..).find(|at| changed[*at].is_ascii_lowercase()).unwrap();
    changed[letter] = if changed[letter] == b'x' { b'y' } else { b'x' };
    workspace.write("data/queries.jsonl", &changed);
    let again = run("");
    assert!(again.starts_with(&["bm25".to_owned(), "dense".to_owned()]), "{again:?}");
    assert!(!again.iter().any(|step| step == "index" || step == "encode"), "{again:?}");
    workspace.write("data/queries.jsonl", &queries);
    run("");

    // The judgments: what evaluates and tunes, and not what searches.
    let mut qrels = workspace.lines("data/qrels.txt");
    qrels.remove(0);
    workspace.write("data/qrels.txt", qrels.join("\n") + "\n");
    let again = run("");
    assert!(again.contains(&"eval".to_owned()) && again.contains(&"tune".to_owned()), "{again:?}");
    assert!(!again.iter().any(|step| ["index", "bm25", "encode", "dense"].contains(&&**step)), "{again:?}");

    // An option; the reason is reported before and after.
    let dry = workspace.runs("run recipe.toml --json --dry-run --set k=20");
    let because = dry.json()["steps"].clone();
    let of = |name: &str| {
        let step = because.as_array().unwrap().iter().find(|step| step["step"] == name).unwrap();
        (step["state"].as_str().unwrap().to_owned(), step["because"].as_str().unwrap().to_owned())
    };
    assert_eq!(of("bm25"), ("to do".to_owned(), "changed: k".to_owned()));
    assert_eq!(of("index").0, "up to date");
    assert_eq!(of("eval").1, "after bm25, dense, fuse");
    let again = run("--set k=20");
    assert!(again.starts_with(&["bm25".to_owned(), "dense".to_owned()]), "{again:?}");

    // An output that was changed behind our back, and one that is gone.
    workspace.write("recipe.work/bm25.run", "1 Q0 s1 1 1.0 forged\n");
    assert_eq!(run("--set k=20"), ["bm25"], "the same run again, so that nothing follows");
    fs::remove_dir_all(workspace.path("recipe.work/index")).unwrap();
    assert_eq!(run("--set k=20"), ["index"]);
    workspace.flip_byte("recipe.work/store/shard-00001.safetensors", 1000);
    assert_eq!(run("--set k=20"), ["encode"]);
    assert_eq!(run("--set k=20 --force"), STEPS);
}

#[test]
fn a_recipe_killed_at_any_moment_goes_on() {
    const RUN: &str = "run recipe.toml --work killed --threads 1 -q";
    let workspace = workspace();
    let started = Instant::now();
    workspace.runs(RUN);
    let duration = started.elapsed();
    let expected = written(&workspace, "killed");
    fs::remove_dir_all(workspace.path("killed")).unwrap();
    let mut cut_short = 0;
    for moment in 0..6 {
        let mut child = workspace.spawn(RUN);
        thread::sleep(duration.mul_f64((f64::from(moment) + 0.5) / 6.0));
        child.kill().unwrap();
        cut_short += u32::from(!child.wait().unwrap().success());
        // Killed again on the way, then left alone.
        let mut child = workspace.spawn(RUN);
        thread::sleep(Duration::from_millis(40));
        child.kill().unwrap();
        child.wait().unwrap();
        workspace.runs(RUN);
        let names =
            |files: &[(String, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let left = written(&workspace, "killed");
        assert_eq!(names(&left), names(&expected), "killed in part {moment} of {duration:?}");
        assert!(left == expected, "killed in part {moment} of {duration:?}");
        fs::remove_dir_all(workspace.path("killed")).unwrap();
    }
    assert!(cut_short >= 2, "only {cut_short} of 6 were killed before they ended");
}

#[test]
fn what_is_wrong_is_reported_with_its_line() {
    let workspace = workspace();
    let refused = |recipe: &str, says: &[&str]| {
        workspace.write("bad.toml", recipe);
        workspace.toller("run bad.toml --dry-run").fails(1, says);
    };
    let replaced = |from: &str, to: &str| {
        assert!(RECIPE.contains(from), "{from}");
        RECIPE.replacen(from, to, 1)
    };
    refused("title = ", &["bad.toml:1:"]);
    refused("title = \"none\"", &["bad.toml:1: a recipe without steps"]);
    refused("titel = 1\n", &["bad.toml:1: a recipe has no \"titel\"", "did you mean \"title\"?"]);
    refused(
        &replaced("command = \"index\"", "command = \"indx\""),
        &["bad.toml:16: step index has the unknown command \"indx\"", "did you mean \"index\"?"],
    );
    refused(
        &replaced("command = \"index\"", "command = \"serve\""),
        &["bad.toml:16: step index: \"serve\" cannot be a step of a recipe", "hint: run it by itself"],
    );
    refused(
        &replaced("language = \"en\"", "langage = \"en\""),
        &["bad.toml:19: `toller index` has no option \"langage\"", "did you mean \"language\"?"],
    );
    refused(
        &replaced("rows-per-shard = 64", "rows-per-shard = 0"),
        &["bad.toml:33: step encode:", "rows-per-shard"],
    );
    refused(
        &replaced("language = \"en\"", "language = \"xx\""),
        &["bad.toml:19: step index:", "there is no analyzer named \"xx\"", "hint: analyzers are: ar, bn"],
    );
    refused(
        &replaced("command = \"index\"", "command = \"index\"\nanalyzer = \"xx\"")
            .replacen("language = \"en\"\n", "", 1),
        &["bad.toml:18: step index:", "there is no analyzer named \"xx\""],
    );
    refused(&replaced("nDCG@10", "ndgc@10"), &["unknown measure 'ndgc'", "hint: did you mean nDCG?"]);
    refused(
        &replaced("sparse = \"index\"", "sparse = \"index\"\nranker = \"ql\"\nk1 = 0.9"),
        &["bad.toml:26: step bm25: --k1 has no meaning for --ranker ql", "hint: --k1 and --b are for bm25"],
    );
    refused(
        &replaced("sparse = \"index\"", "sparse = \"index\"\nk1 = -3.0"),
        &["bad.toml:25: step bm25:", "k1 is -3, which is not a number from 0 to 1e9"],
    );
    refused(
        &replaced("rows-per-shard = 64", "overwrite = \"yes\""),
        &["bad.toml:33: \"overwrite\" is a flag"],
    );
    refused(
        &replaced("output = \"bm25.run\"", "output = \"dense.run\""),
        &["bad.toml:42: dense.run is written by the steps bm25 and dense"],
    );
    refused(
        &replaced("output = \"bm25.run\"", "output = \"store/bm25.run\""),
        &["store of step encode and store/bm25.run of step bm25 lie in each other"],
    );
    for outside in ["../bm25.run", "/tmp/bm25.run", "-"] {
        refused(
            &replaced("output = \"bm25.run\"", &format!("output = \"{outside}\"")),
            &["bad.toml:27:", "does not lie in the folder of the outputs"],
        );
    }
    refused(
        &replaced("output = \"bm25.run\"", "output = \"recipe-state.json\""),
        &["bad.toml:27:", "recipe-state.json is Toller's own file"],
    );
    refused(
        &replaced("sparse = \"index\"", "sparse = \"index\"\nallow = \"fused.run\""),
        &["steps wait for each other: bm25 (line 22) needs fuse", "needs bm25 (line 22)"],
    );
    refused(
        &replaced("${data}/qrels", "${dat}/qrels"),
        &["bad.toml:10: there is no variable \"dat\"", "${data}"],
    );
    refused(&replaced("queries = \"${data}/queries.jsonl\"", "queries = \"-\""), &["would read stdin"]);
    let expect = |report: &str| {
        format!(
            "{RECIPE}[[expect]]\nreport = \"{report}\"\nrun = \"x\"\nmeasures = {{ AP = 1 }}\ntolerance = 0\n\
             source = \"\"\n"
        )
    };
    refused(
        &expect("measure.json"),
        &["no step writes the report measure.json", "did you mean \"measures.json\"?"],
    );
    refused(&format!("{RECIPE}[[expect]]\nrun = \"x\"\n"), &["[[expect]] has no \"report\""]);
    workspace.toller("run recipe.toml --set date=x").fails(1, &["no variable \"date\"", "it has data, k"]);
    workspace.toller("run none.toml").fails(1, &["none.toml"]);

    // A value that is not set yet is not wrong.
    let unset = replaced("language = \"en\"", "language = \"${lang}\"").replacen("nDCG@10", "${lang}", 1);
    workspace.write(
        "bad.toml",
        unset.replacen("[variables]", "[variables.lang]\nabout = \"a code\"\n[variables]", 1),
    );
    workspace.runs("run bad.toml --dry-run").says(["lang"]);

    // A dry run reports missing inputs; they stop a real one.
    let missing = replaced("sparse = \"index\"", "sparse = \"indx\"");
    workspace.write("bad.toml", missing);
    let says = ["bad.toml:24: indx is not there (sparse of bm25); did you mean the output index?"];
    let dry = workspace.runs("run bad.toml --dry-run --json");
    dry.says([says[0]]);
    assert_eq!(states(&dry)[0].1, "to do");
    workspace.toller("run bad.toml").fails(1, &says);
    assert!(!workspace.path("bad.work").exists());
}

#[test]
fn nothing_of_others_is_overwritten() {
    let workspace = workspace();
    fs::create_dir(workspace.path("recipe.work")).unwrap();
    workspace.write("recipe.work/bm25.run", "mine");
    workspace
        .toller("run recipe.toml")
        .fails(1, &["no step of this recipe made recipe.work/bm25.run"])
        .says(["--force"]);
    // It is found before the first step, and in advance.
    assert!(!workspace.path("recipe.work/index").exists());
    workspace.runs("run recipe.toml --dry-run").says(["no step of this recipe made recipe.work/bm25.run"]);
    assert_eq!(workspace.read("recipe.work/bm25.run"), b"mine");
    workspace.runs("run recipe.toml --force -q");

    workspace.flip_byte("recipe.work/recipe-state.json", 500);
    workspace.toller("run recipe.toml").fails(1, &["recipe-state.json is damaged", "--force"]);
    workspace.runs("run recipe.toml --force -q");
}

/// Commands may write into the work folder of a recipe while it runs.
#[test]
fn unfinished_files_of_others_stay() {
    let workspace = workspace();
    let others = ["thesis.tmp", ".run.txt.k3Xw0b.tmp", "runs/.dense.run.k3Xw0b.tmp"];
    fs::create_dir_all(workspace.path("work/runs")).unwrap();
    for other in others {
        workspace.write(&format!("work/{other}"), "mine");
    }
    fs::create_dir_all(workspace.path("work/.draft.k3Xw0b.tmp")).unwrap();
    workspace.write("work/.recipe-state.json.k3Xw0b.tmp", "half");
    workspace.runs("run recipe.toml --work work");
    assert!(others.iter().all(|other| workspace.read(&format!("work/{other}")) == b"mine"));
    assert!(!workspace.path("work/.recipe-state.json.k3Xw0b.tmp").exists());
}

/// A variable in the name of an output: each of its values has a file of its own.
#[test]
fn a_value_that_was_tried_before_is_up_to_date() {
    let workspace = workspace();
    workspace.write(
        "k1.toml",
        "[variables]\nk1 = \"0.9\"\nrun = \"bm25-${k1}.run\"\n\n\
         [steps.index]\ncommand = \"index\"\ncorpus = \"data/corpus.jsonl\"\nlanguage = \"en\"\noutput = \"index\"\n\n\
         [steps.bm25]\ncommand = \"search\"\nsparse = \"index\"\nqueries = \"data/queries.jsonl\"\nk1 = \"${k1}\"\n\
         output = \"${run}\"\n",
    );
    let run = |k1: &str| done(&workspace.runs(&format!("run k1.toml --json --set k1={k1}")));
    assert_eq!(run("0.9"), ["index", "bm25"]);
    assert_eq!(run("1.2"), ["bm25"]);
    for known in ["0.9", "1.2"] {
        assert_eq!(run(known), [""; 0], "{known}");
        assert!(workspace.path(&format!("k1.work/bm25-{known}.run")).exists());
    }
    // A recipe with the same step and another output, in the same folder.
    let other = workspace.read("k1.toml");
    workspace.write("other.toml", String::from_utf8(other).unwrap().replace("bm25-${k1}.run", "other.run"));
    assert_eq!(done(&workspace.runs("run other.toml --json --work k1.work")), ["bm25"]);
    assert_eq!(run("0.9"), [""; 0]);
    workspace.write("k1.toml", "[variables]\na = \"${b}\"\nb = \"1\"\n");
    workspace.toller("run k1.toml").fails(1, &["k1.toml:2", "no variable \"b\" before \"a\""]);
}

/// Of a step with an output of its own for each value and another that all values share, the last value made
/// the shared one.
#[test]
fn a_value_whose_output_another_value_has_overwritten_is_tried_again() {
    let workspace = workspace();
    workspace.write(
        "tune.toml",
        "[variables]\nk = \"1\"\n\n\
         [steps.index]\ncommand = \"index\"\ncorpus = \"data/corpus.jsonl\"\nlanguage = \"en\"\noutput = \"index\"\n\n\
         [steps.tune]\ncommand = \"tune bm25\"\nsparse = \"index\"\nqueries = \"data/queries.jsonl\"\n\
         qrels = \"data/qrels.txt\"\nmeasure = \"R@${k}\"\nk1 = \"0.9\"\nb = \"0.4,0.5\"\nformat = \"json\"\n\
         plot = \"plot-${k}.svg\"\nstdout = \"tuned.json\"\n",
    );
    let run = |k: &str| done(&workspace.runs(&format!("run tune.toml --json --set k={k}")));
    assert_eq!(run("1"), ["index", "tune"]);
    let first = workspace.read("tune.work/tuned.json");
    assert_eq!(run("5"), ["tune"]);
    assert!(workspace.read("tune.work/tuned.json") != first);
    assert_eq!(run("1"), ["tune"]);
    assert!(workspace.read("tune.work/tuned.json") == first);
    assert_eq!(run("1"), [""; 0]);
}

/// The tokens of a model are the terms of an index.
#[test]
fn the_model_of_an_analyzer_is_an_input() {
    let workspace = workspace();
    fs::create_dir(workspace.path("recipes")).unwrap();
    workspace.write(
        "recipes/pieces.toml",
        "[steps.index]\ncommand = \"index\"\ncorpus = \"../data/corpus.jsonl\"\nanalyzer = \"wordpiece:model\"\n\
         output = \"index\"\n",
    );
    workspace.add_fixture("tiny-bert");
    fs::rename(workspace.path("tiny-bert"), workspace.path("recipes/model")).unwrap();
    let run = || done(&workspace.runs("run recipes/pieces.toml --json --work work"));
    assert_eq!(run(), ["index"]);
    assert_eq!(run(), [""; 0]);
    let config = workspace.read("recipes/model/config.json");
    workspace.write("recipes/model/config.json", [&config[..], b"\n"].concat());
    assert_eq!(run(), ["index"]);
}

/// Identifiers are read without being named.
#[test]
fn what_is_read_next_to_an_input_is_an_input() {
    let workspace = workspace();
    fs::create_dir(workspace.path("recipes")).unwrap();
    let header = format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }");
    let header = [b"\x93NUMPY\x01\x00", &118_u16.to_le_bytes()[..], header.as_bytes()].concat();
    workspace.write("recipes/v.npy", [&header[..], &1_f32.to_le_bytes(), &2_f32.to_le_bytes()].concat());
    workspace.write("recipes/v.ids.txt", "a\nb\n");
    workspace.write(
        "recipes/vectors.toml",
        "[steps.import]\ncommand = \"store import\"\nfiles = \"v.npy\"\noutput = \"store\"\n",
    );
    let run = || done(&workspace.runs("run recipes/vectors.toml --json --work work"));
    assert_eq!(run(), ["import"]);
    assert_eq!(run(), [""; 0]);
    workspace.write("recipes/v.ids.txt", "a\nc\n");
    assert_eq!(run(), ["import"]);
    // Another file that is read first.
    fs::rename(workspace.path("recipes/v.ids.txt"), workspace.path("recipes/v.ids.json")).unwrap();
    workspace.write("recipes/v.ids.json", "[\"a\", \"c\"]");
    assert_eq!(run(), ["import"]);
    assert_eq!(run(), [""; 0]);
}

/// A run is in a report once for each file of judgments.
#[test]
fn what_is_expected_names_its_judgments() {
    let workspace = Workspace::new();
    workspace.write("best.run", "q1 Q0 d1 1 2 x\nq1 Q0 d2 2 1 x\n");
    workspace.write("a.qrels", "q1 0 d1 1\n");
    workspace.write("b.qrels", "q1 0 d2 1\n");
    let recipe = |qrels: &str| {
        format!(
            "[steps.eval]\ncommand = \"eval\"\nqrels = [\"a.qrels\", \"b.qrels\"]\nruns = [\"best.run\"]\n\
             measures = \"RR\"\nformat = \"json\"\nstdout = \"rr.json\"\n\n\
             [[expect]]\nreport = \"rr.json\"\nrun = \"best.run\"\nmeasures = {{ RR = 0.5 }}\ntolerance = 0\n\
             source = \"by hand\"\n{qrels}"
        )
    };
    workspace.write("recipe.toml", recipe(""));
    workspace
        .toller("run recipe.toml")
        .fails(1, &["by several judgments", "qrels = \"a.qrels\" or qrels = \"b.qrels\""]);
    workspace.write("recipe.toml", recipe("qrels = \"c.qrels\"\n"));
    workspace
        .toller("run recipe.toml")
        .fails(1, &["by qrels = \"c.qrels\"", "the report has a.qrels, b.qrels"]);
    workspace.write("recipe.toml", recipe("qrels = \"b.qrels\"\n"));
    workspace.runs("run recipe.toml");
}

/// An output that a variable names is one that can be measured.
#[test]
fn variables_are_filled_in_where_something_is_expected() {
    let workspace = Workspace::new();
    workspace.write("best-7.run", "q1 Q0 d1 1 2 x\n");
    workspace.write("qrels", "q1 0 d1 1\n");
    let recipe = "[variables]\nk = \"7\"\n\n[steps.eval]\ncommand = \"eval\"\nqrels = \"qrels\"\n\
                  runs = [\"best-${k}.run\"]\nmeasures = \"RR\"\nformat = \"json\"\nstdout = \"rr-${k}.json\"\n\n\
                  [[expect]]\nreport = \"rr-${k}.json\"\nrun = \"best-${k}.run\"\nmeasures = { RR = 1.0 }\n\
                  tolerance = 0\nsource = \"by hand\"\n";
    workspace.write("recipe.toml", recipe);
    workspace.runs("run recipe.toml");
    workspace.write("best-8.run", "q1 Q0 d2 1 2 x\n");
    let off = workspace.toller("run recipe.toml --set k=8");
    assert_eq!((off.code, off.stdout.contains("best-8.run")), (Some(1), true), "{}", off.stdout);
    workspace.write("recipe.toml", recipe.replace("run = \"best-${k}", "run = \"best-${depth}"));
    workspace.toller("run recipe.toml").fails(1, &["recipe.toml:15", "no variable \"depth\""]);
}

#[test]
fn a_store_or_index_of_the_same_making_is_adopted() {
    let workspace = workspace();
    workspace.runs("run recipe.toml -q");
    let made = workspace.files_in("recipe.work/index");
    // Another work folder has only the index, from the command that the log shows.
    fs::remove_file(workspace.path("recipe.work/recipe-state.json")).unwrap();
    fs::create_dir(workspace.path("second.work")).unwrap();
    fs::rename(workspace.path("recipe.work/index"), workspace.path("second.work/index")).unwrap();
    let log = workspace.runs("run recipe.toml --work second.work").stderr;
    let line = log.lines().find(|line| line.contains(" index: toller index ")).unwrap();
    assert!(line.contains("--output=second.work/index"), "{line}");
    assert!(log.contains("is complete; nothing to do"), "{log}");
    assert_eq!(workspace.files_in("second.work/index"), made);
    workspace.runs("run recipe.toml --work second.work").says(["nothing to do: all"]);
    // A folder that is neither is in the way.
    fs::create_dir_all(workspace.path("third.work/index")).unwrap();
    workspace.write("third.work/index/notes.txt", "mine");
    workspace
        .toller("run recipe.toml --work third.work")
        .fails(1, &["no step of this recipe made third.work/index"]);
}

#[test]
fn a_store_or_index_of_another_making_is_found_before_the_first_step() {
    let workspace = workspace();
    fs::create_dir(workspace.path("recipe.work")).unwrap();
    let corpus = "--corpus data/corpus.jsonl -q --output recipe.work";
    workspace.runs(&format!("index --language de {corpus}/index"));
    workspace.runs(&format!("encode --model tiny-bert --pooling cls --rows-per-shard 64 {corpus}/store"));
    let (index, store) = (written(&workspace, "recipe.work/index"), written(&workspace, "recipe.work/store"));
    let problems = [
        "step index: the index recipe.work/index is of something else: its analyzer is de, asked for is en",
        "step encode: the store recipe.work/store was begun differently: ",
        "encoding.pooling is \"cls\" in the store, \"mean\" asked for",
    ];
    workspace.runs("run recipe.toml --dry-run").says(problems);
    workspace.toller("run recipe.toml").fails(1, &problems).says([
        "this recipe would not make what is there: step index: ",
        "give --work another folder",
        "--force",
    ]);
    assert!(!workspace.path("recipe.work/bm25.run").exists());
    assert_eq!(written(&workspace, "recipe.work/index"), index);
    assert_eq!(written(&workspace, "recipe.work/store"), store);
    // The index in the place of the store, and a command that replaces both.
    fs::remove_dir_all(workspace.path("recipe.work/store")).unwrap();
    fs::rename(workspace.path("recipe.work/index"), workspace.path("recipe.work/store")).unwrap();
    workspace.toller("run recipe.toml").fails(1, &["step encode: "]);
    workspace.runs("run recipe.toml --force -q");
}

#[test]
fn a_step_that_fails_is_named_and_done_again() {
    let workspace = workspace();
    workspace.write("data/qrels.txt", "1 0 s1\n");
    workspace
        .toller("run recipe.toml")
        .fails(1, &["error: step tune: data/qrels.txt"])
        .says(["[5/7] tune: toller tune alpha"]);
    workspace.build_xquad("--quiet");
    let again = workspace.runs("run recipe.toml --json");
    assert!(
        again.stderr.contains("tune: toller tune alpha") && again.stderr.contains("(changed: "),
        "{}",
        again.stderr
    );
}
