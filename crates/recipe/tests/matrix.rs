//! Recipes with a matrix: which steps and expectations its cells have.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use tempfile::TempDir;
use toller_ir::Explain;
use toller_recipe::{
    BadArguments, Catalogue, CommandSpec, Expected, Missing, OptionSpec, Plan, Recipe, RecipeError, Takes,
    Work,
};

const RECIPE: &str = r#"
figures = "figures.toml"

[variables]
data = "data"
[variables.model]
about = "a model"

[matrix]
system = ["sparse", "dense"]
[matrix.language]
ar = { analyzer = "arabic" }
sw = { analyzer = "whitespace" }

[steps.share]
command = "make"
from = "${data}/all"
to = "all"

[steps.sparse]
command = "make"
from = "all"
how = "${language.analyzer}"
to = "${language}/sparse.run"

[steps.dense]
command = "make"
from = "${data}/${language}"
how = "${model}"
to = "${language}/dense.run"

[steps.eval]
command = "make"
from = "${language}/${system}.run"
stdout = "${language}/${system}.json"

[[expect]]
report = "${language}/${system}.json"
run = "${system}.run"
published = "paper.1.${system}.${language}"
average = "paper.1.${system}.avg"
measures = ["RR"]
tolerance = 0.01
"#;

const FIGURES: &str = r#"
[[table]]
id = "paper.1.{row}.{column}.RR"
title = "The paper, table 1"
percent = true
columns = ["ar", "sw", "avg"]
[table.rows]
sparse = ["BM25", "10.5 20.0 15.3"]
dense = ["DPR", "- 40 -"]
"#;

/// A command that reads, writes, and takes a value.
struct Make;

impl Catalogue for Make {
    fn command(&self, name: &str) -> Option<CommandSpec> {
        let option = |name: &str, takes| OptionSpec { name: name.to_owned(), positional: false, takes };
        let options =
            vec![option("from", Takes::Input), option("to", Takes::Output), option("how", Takes::Value)];
        (name == "make").then_some(CommandSpec {
            options,
            resumes: false,
            adopts: false,
            makes_sheets: false,
            beside: &[],
        })
    }

    fn names(&self) -> Vec<String> {
        vec!["make".to_owned()]
    }

    fn check(&self, _: &[OsString]) -> Result<(), BadArguments> {
        Ok(())
    }
}

fn folder(recipe: &str, figures: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("recipe.toml"), recipe).unwrap();
    fs::write(folder.path().join("figures.toml"), figures).unwrap();
    folder
}

fn chosen(cells: &[(&str, &str)]) -> Vec<(String, String)> {
    cells.iter().map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned())).collect()
}

fn read(folder: &TempDir, cells: &[(&str, &str)]) -> Result<Recipe, RecipeError> {
    Recipe::read(&folder.path().join("recipe.toml"), &chosen(cells))
}

fn plan(cells: &[(&str, &str)]) -> Plan {
    let folder = folder(RECIPE, FIGURES);
    Plan::new(&read(&folder, cells).unwrap(), &Make, &[]).unwrap()
}

fn names(plan: &Plan) -> String {
    plan.steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>().join(" ")
}

fn described(expected: &Expected) -> (String, Option<f64>, Vec<&str>) {
    let places = expected.places.iter().map(|place| place.report.as_str()).collect();
    (expected.figure.clone().unwrap_or_default(), expected.value, places)
}

#[test]
fn a_step_has_a_copy_for_each_cell_that_it_names() {
    let plan = plan(&[]);
    assert_eq!(
        names(&plan),
        "share sparse.ar sparse.sw dense.ar dense.sw eval.sparse.ar eval.sparse.sw eval.dense.ar eval.dense.sw"
    );
    let sparse = plan.steps[1].described(Path::new("work"));
    assert_eq!(sparse, "make --from=work/all --how=arabic --to=work/ar/sparse.run");
    let expected: Vec<_> = plan.expected.iter().map(described).collect();
    let one = |id: &str, value, report| (id.to_owned(), value, vec![report]);
    assert_eq!(
        expected[..4],
        [
            one("paper.1.sparse.ar.RR", Some(0.105), "ar/sparse.json"),
            one("paper.1.sparse.sw.RR", Some(0.2), "sw/sparse.json"),
            one("paper.1.dense.ar.RR", None, "ar/dense.json"),
            one("paper.1.dense.sw.RR", Some(0.4), "sw/dense.json"),
        ]
    );
    let average = vec!["ar/sparse.json", "sw/sparse.json"];
    assert_eq!(expected[4], ("paper.1.sparse.avg.RR".to_owned(), Some(0.153), average));
    assert_eq!(expected.len(), 6);
    assert_eq!(plan.expected[0].source, "The paper, table 1");
}

#[test]
fn a_chosen_cell_has_the_steps_that_it_needs_and_no_others() {
    let swahili = plan(&[("language", "sw")]);
    assert_eq!(names(&swahili), "share sparse.sw dense.sw eval.sparse.sw eval.dense.sw");
    let cell = plan(&[("language", "sw"), ("system", "dense")]);
    assert_eq!(names(&cell), "dense.sw eval.dense.sw");
    let expected: Vec<_> = cell.expected.iter().map(described).collect();
    assert_eq!(expected, [("paper.1.dense.sw.RR".to_owned(), Some(0.4), vec!["sw/dense.json"])]);
    // What only other cells need is not missing.
    let needs_model =
        |plan: &Plan| plan.missing.iter().any(|missing| matches!(missing, Missing::Variable(_)));
    assert!(needs_model(&cell) && !needs_model(&plan(&[("system", "sparse"), ("language", "ar")])));
    // The means over languages of one system stay.
    let sparse = plan(&[("system", "sparse")]);
    assert_eq!(names(&sparse), "share sparse.ar sparse.sw eval.sparse.ar eval.sparse.sw");
    assert_eq!(described(&sparse.expected[2]).2.len(), 2);
}

#[test]
fn what_is_wrong_with_a_matrix_is_said() {
    let error = |recipe: &str, figures: &str, cells: &[(&str, &str)]| {
        let folder = folder(recipe, figures);
        let error = read(&folder, cells).expect_err("the recipe is wrong");
        format!("{error}; {}", error.remedy().map_or_else(String::new, |remedy| remedy.to_string()))
    };
    let has = |text: &str, parts: &[&str]| {
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
    };
    let many = format!("system = {:?}", (0..5001).map(|number| number.to_string()).collect::<Vec<_>>());
    let many = RECIPE.replace("system = [\"sparse\", \"dense\"]", &many);
    has(
        &error(&many, FIGURES, &[]),
        &["the matrix has 10002 cells; a recipe may have 10000", "several recipes"],
    );
    has(&error(RECIPE, FIGURES, &[("langage", "sw")]), &["no axis \"langage\"", "\"language\""]);
    has(&error(RECIPE, FIGURES, &[("language", "swa")]), &["language has no \"swa\"", "\"sw\""]);
    let unknown = RECIPE.replace("paper.1.${system}.${language}", "paper.2.${system}.${language}");
    has(&error(&unknown, FIGURES, &[]), &["recipe.toml:37", "paper.2.sparse.ar.RR", "paper.1.sparse.ar.RR"]);
    let short = FIGURES.replace("- 40 -", "- 40");
    has(&error(RECIPE, &short, &[]), &["figures.toml:9", "2 values in 3 columns"]);
    let twice = format!("{FIGURES}{}", FIGURES.replace("10.5", "10.6"));
    has(&error(RECIPE, &twice, &[]), &["paper.1.sparse.ar.RR has two values"]);
    let negative = RECIPE.replace("tolerance = 0.01", "tolerance = \"${system}\"");
    has(&error(&negative, FIGURES, &[]), &["recipe.toml:37", "the tolerance is sparse"]);
    let alone = RECIPE
        .replace("[matrix]", "[matrix]\nkind = [\"avg\"]")
        .replace("${system}.avg", "${system}.${kind}");
    has(
        &error(&alone, FIGURES, &[]),
        &["recipe.toml:38", "average", "names an axis that nothing else names"],
    );
}

#[test]
fn runs_of_other_cells_keep_their_variables() {
    let folder = folder(RECIPE, FIGURES);
    let recipe = read(&folder, &[]).unwrap();
    let directory = folder.path().join("work");
    let run = |set: &[(&str, &str)]| {
        let mut work = Work::open(&directory, false).unwrap();
        work.set_variables(&recipe, &chosen(set));
        work.remember().unwrap();
        Work::look(&directory, false).unwrap().variables()
    };
    assert_eq!(run(&[("data", "d"), ("model", "m")]), chosen(&[("data", "d"), ("model", "m")]));
    // A variable with a default has it again.
    assert_eq!(run(&[]), chosen(&[("model", "m")]));
    assert_eq!(run(&[("model", "n")]), chosen(&[("model", "n")]));
    // As is one of another recipe that shares the folder.
    run(&[("another", "a")]);
    assert_eq!(run(&[("data", "d")]), chosen(&[("another", "a"), ("data", "d"), ("model", "n")]));
}
