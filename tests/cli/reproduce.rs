//! Cells of a recipe's matrix, and `toller reproduce`: what was published next to what was measured.

use serde_json::Value;

use crate::support::Workspace;

const RECIPE: &str = r#"
title = "Two rankers"
figures = "figures.toml"

[variables.data]
about = "the folder of the test"
source = "https://example.org"

[matrix]
ranker = ["bm25", "ql"]

[steps.index]
command = "index"
corpus = "${data}/corpus.jsonl"
language = "en"
output = "index"

[steps.search]
command = "search"
sparse = "index"
ranker = "${ranker}"
queries = "${data}/queries.jsonl"
k = 20
output = "${ranker}.run"

[steps.eval]
command = "eval"
qrels = "${data}/qrels.txt"
runs = ["${ranker}.run"]
measures = "RR"
format = "json"
stdout = "${ranker}.json"

[[expect]]
report = "${ranker}.json"
run = "${ranker}.run"
published = "paper.1.${ranker}.test"
average = "paper.1.mean.test"
measures = ["RR"]
tolerance = 0.3
"#;

const FIGURES: &str = r#"
[[table]]
id = "paper.1.{row}.test.{column}"
title = "A paper, table 1"
columns = ["RR"]
[table.rows]
bm25 = ["BM25", "0.80"]
ql = ["QL", "0.10"]
mean = ["Mean", "-"]
other = ["Other", "0.99"]
[names]
paper = "A <paper>"
bm25 = "BM25"
[absent]
"paper.other" = "nobody has it"
"#;

fn workspace() -> Workspace {
    let workspace = Workspace::with_xquad();
    std::fs::create_dir(workspace.path("configs")).unwrap();
    workspace.write("configs/two.toml", RECIPE);
    workspace.write("configs/figures.toml", FIGURES);
    workspace
}

/// System, measured value, outcome.
fn values(workspace: &Workspace) -> Vec<(String, Option<f64>, String)> {
    let result = workspace.runs("reproduce --json").json();
    let values = result["papers"][0]["tables"][0]["values"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    values
        .iter()
        .map(|value| (text(&value["system"]), value["measured"].as_f64(), text(&value["outcome"])))
        .collect()
}

fn outcomes(workspace: &Workspace) -> String {
    values(workspace).into_iter().map(|(_, _, outcome)| format!("[{outcome}]")).collect()
}

#[test]
fn a_cell_is_run_by_the_command_that_is_shown() {
    let workspace = workspace();
    let before = workspace.runs("reproduce --json").json();
    let experiment = &before["experiments"][0];
    assert_eq!(experiment["command"], "toller run configs/two.toml --cell ranker=bm25 --set data=DATA");
    assert_eq!(before["experiments"][2]["command"], "toller run configs/two.toml --set data=DATA");
    let missing = experiment["missing"][0].as_str().unwrap();
    assert!(
        missing.contains("the folder of the test") && missing.contains("https://example.org"),
        "{missing}"
    );
    assert_eq!(outcomes(&workspace), "[][][][]");

    let command = experiment["command"].as_str().unwrap().replace("toller ", "").replace("DATA", "data");
    let run = workspace.runs(&format!("{command} --json")).json();
    let steps: Vec<_> = run["steps"].as_array().unwrap().iter().map(|step| step["step"].clone()).collect();
    assert_eq!(steps, ["index", "search.bm25", "eval.bm25"]);
    let measure = &run["measures"][0];
    assert_eq!(measure["cell"]["ranker"], "bm25");
    assert_eq!((&measure["figure"], &measure["holds"]), (&"paper.1.bm25.test.RR".into(), &true.into()));
    assert_eq!(run["measures"].as_array().unwrap().len(), 1, "no average of one cell");
    let after = values(&workspace);
    assert_eq!(after[0], ("BM25".to_owned(), measure["measured"].as_f64(), "as published".to_owned()));
    assert_eq!(outcomes(&workspace), "[as published][][][]");

    // The whole matrix: query likelihood is far from what is published, and nobody published the mean.
    let whole = workspace.toller("run configs/two.toml --set data=data");
    assert_eq!(whole.code, Some(1));
    whole.says(["1 of 3 measures are outside their tolerance"]);
    assert_eq!(outcomes(&workspace), "[as published][off][not published][]");
    let measured: Vec<f64> = values(&workspace).iter().filter_map(|(_, measured, _)| *measured).collect();
    assert!((measured[2] - (measured[0] + measured[1]) / 2.0).abs() < 1e-12, "{measured:?}");
    let wrong = ["the matrix has no axis \"rankers\"", "did you mean \"ranker\"?"];
    workspace.toller("run configs/two.toml --cell rankers=bm25").fails(1, &wrong);
}

#[test]
fn a_variable_that_a_cell_does_not_need_is_not_asked_for() {
    let workspace = workspace();
    let axis = r#"
[variables.claims]
about = "the folder of other queries"
[matrix.ranker]
bm25 = { folder = "${data}" }
ql = { folder = "${claims}" }
"#;
    let recipe = RECIPE.replace("[matrix]\nranker = [\"bm25\", \"ql\"]\n", axis);
    workspace.write("configs/two.toml", recipe.replace("${data}/queries", "${ranker.folder}/queries"));
    let experiments = workspace.runs("reproduce --json").json()["experiments"].clone();
    let bm25 = "toller run configs/two.toml --cell ranker=bm25 --set data=DATA";
    assert_eq!(experiments[0]["command"], bm25);
    assert_eq!(experiments[1]["command"], bm25.replace("bm25", "ql") + " --set claims=CLAIMS");
}

#[test]
fn only_what_a_step_wrote_counts_as_measured() {
    let workspace = workspace();
    assert_eq!(workspace.toller("run configs/two.toml --set data=data").code, Some(1));
    let report = String::from_utf8(workspace.read("two.work/ql.json")).unwrap();
    workspace.write("two.work/ql.json", format!("{report} "));
    assert_eq!(outcomes(&workspace), "[as published][][][]");
    workspace.write("two.work/ql.json", report);
    assert_eq!(outcomes(&workspace), "[as published][off][not published][]");

    // A change of the recipe, and inputs that are gone.
    workspace.write("configs/two.toml", RECIPE.replace("k = 20", "k = 30"));
    assert_eq!(outcomes(&workspace), "[older][older][older][]");
    workspace.write("configs/two.toml", RECIPE);
    std::fs::rename(workspace.path("data"), workspace.path("elsewhere")).unwrap();
    assert_eq!(outcomes(&workspace), "[older][older][older][]");
}

#[test]
fn the_page_and_the_markdown_have_what_was_measured() {
    let workspace = workspace();
    workspace.toller("run configs/two.toml --set data=data");
    let summary = workspace.runs("reproduce --output page.html --markdown results.md");
    assert!(summary.stdout.contains("A <paper>  "), "{}", summary.stdout);
    let page = String::from_utf8(workspace.read("page.html")).unwrap();
    for there in [
        "A &lt;paper&gt;",
        "other has no recipe: nobody has it",
        "toller run configs/two.toml --cell ranker=ql --set data=data",
        "Two rankers: BM25",
        " ✓",
        " ✗",
    ] {
        assert!(page.contains(there), "{there}");
    }
    let markdown = String::from_utf8(workspace.read("results.md")).unwrap();
    let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with("| A paper, table 1 |")).collect();
    assert_eq!(rows.len(), 3, "{markdown}");
    assert!(
        rows[0].contains("| BM25 | test | RR | 0.80 |") && rows[0].contains("| as published |"),
        "{}",
        rows[0]
    );
    for same in ["-", "./results.md"] {
        let both = format!("reproduce --output {same} --markdown {}", same.trim_start_matches("./"));
        workspace.toller(&both).fails(2, &["would both write to", "another name"]);
    }
    workspace.runs("reproduce --output page.html");
    workspace
        .toller("reproduce --output results.md")
        .fails(2, &["results.md is there already, and it is not a page"]);
    workspace.runs("reproduce --markdown results.md");
    workspace
        .toller("reproduce --markdown results.md --work elsewhere")
        .fails(1, &["nothing is measured in elsewhere", "hint: "]);
    assert!(!workspace.read("results.md").is_empty());
    workspace.write("results.md", "# My notes\n");
    workspace
        .toller("reproduce --markdown results.md")
        .fails(2, &["results.md is there already, and it is not what `toller reproduce` writes"]);
    for flag in ["--output", "--markdown"] {
        workspace
            .toller(&format!("reproduce --json {flag} -"))
            .fails(2, &[&format!("{flag} - and --json would both write to stdout")]);
    }
    workspace.toller("reproduce --configs none").fails(1, &["cannot read the recipes of none", "--configs"]);
}
