//! Files that are there already: what people filled in stays, and so does what a command does not write.

use std::fs;

use crate::support::Workspace;

const RUN: &str = "q1 Q0 d1 1 9 a\nq1 Q0 d2 2 8 a\nq2 Q0 d4 1 9 a\n";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("a.run", RUN);
    workspace.write("b.run", "q1 Q0 d5 1 9 b\nq1 Q0 d1 2 8 b\nq2 Q0 d4 1 9 b\n");
    workspace.write("qrels.txt", "q1 0 d1 1\nq2 0 d4 1\n");
    workspace.write("q.tsv", "q1\tone\nq2\ttwo\n");
    let line = |id: &str| format!("{{\"_id\":\"{id}\",\"text\":\"{id}\"}}\n");
    workspace.write("c.jsonl", ["d1", "d2", "d4", "d5"].map(line).concat());
    workspace
}

const PACKAGES: &str = "annotate packages a.run b.run --output packages --format";

/// Fills in a grade, or a category.
fn fill(workspace: &Workspace, sheet: &str) -> Vec<u8> {
    let mut lines = workspace.lines(sheet);
    lines[1] = lines[1].replace(",,", ",1,");
    workspace.write(sheet, lines.join("\n"));
    workspace.read(sheet)
}

#[test]
fn packages_that_are_filled_in_or_of_another_pool_stay() {
    let workspace = workspace();
    workspace.runs(&format!("{PACKAGES} csv --size 2"));
    // Nothing is lost if the same is written.
    workspace.runs(&format!("{PACKAGES} csv --size 2"));
    let before = workspace.files_in("packages");
    assert_eq!(before.len(), 2);
    for flags in ["csv --size 9", "csv --size 2 --depth 1", "html --size 2"] {
        workspace.toller(&format!("{PACKAGES} {flags}")).fails(
            2,
            &[
                "packages/package-0",
                "is there already",
                "hint: give --output another directory, or add --overwrite",
            ],
        );
        assert_eq!(workspace.files_in("packages"), before, "{flags}");
    }
    let filled = fill(&workspace, "packages/package-0002.csv");
    workspace
        .toller(&format!("{PACKAGES} csv --size 2"))
        .fails(2, &["packages/package-0002.csv is there already", "people may have filled it in"]);
    assert_eq!(workspace.read("packages/package-0002.csv"), filled);
    workspace.write("packages/notes.txt", "mine");
    workspace.runs(&format!("{PACKAGES} csv --size 9 --overwrite"));
    let names: Vec<String> = workspace.files_in("packages").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["notes.txt", "package-0001.csv"]);
}

#[test]
fn a_sheet_of_errors_that_is_filled_in_stays() {
    let workspace = workspace();
    workspace.write("qrels.txt", "q1 0 d9 1\nq2 0 d9 1\n");
    let diff = "diff a.run --qrels qrels.txt --failed-at 1 --format csv --output sheet.csv";
    workspace.runs(diff);
    workspace.runs(&format!("{diff} --sample 1"));
    let filled = fill(&workspace, "sheet.csv");
    workspace.toller(diff).fails(
        2,
        &[
            "sheet.csv is there already",
            "in which nothing is filled in",
            "hint: give it another name, or add --overwrite",
        ],
    );
    assert_eq!(workspace.read("sheet.csv"), filled);
    workspace.runs(&format!("{diff} --overwrite"));
    workspace.write("sheet.csv", "a,b\n");
    workspace.toller(diff).fails(2, &["sheet.csv is there already"]);
}

/// Neither can be told from other files.
#[test]
fn a_comparison_in_text_or_json_replaces_nothing_unasked() {
    let workspace = workspace();
    workspace.write("qrels.txt", "q1 0 d9 1\nq2 0 d9 1\n");
    workspace.write("notes", "mine");
    for format in ["text", "json"] {
        let diff = format!("diff a.run --qrels qrels.txt --failed-at 1 --format {format} --output");
        workspace
            .toller(&format!("{diff} notes"))
            .fails(2, &["notes is there already", "or add --overwrite"]);
        assert_eq!(workspace.read("notes"), b"mine");
        workspace.runs(&format!("{diff} {format}.out"));
        workspace.runs(&format!("{diff} {format}.out --overwrite"));
    }
}

#[test]
fn a_recipe_leaves_sheets_to_people() {
    let workspace = workspace();
    let recipe = |depth: u32| {
        format!(
            "title = \"t\"\n\
             [steps.packages]\ncommand = \"annotate packages\"\nruns = [\"a.run\"]\ndepth = \"{depth}\"\n\
             format = \"csv\"\noutput = \"packages\"\n\
             [steps.vote]\ncommand = \"annotate vote\"\nsheets = [\"packages/package-0001.csv\"]\n\
             votes = \"1\"\noutput = \"voted.txt\"\n"
        )
    };
    workspace.write("r.toml", recipe(2));
    // Nobody has filled in a grade.
    workspace.toller("run r.toml").fails(1, &["step vote", "no grade is filled in"]);
    let sheet = "r.work/packages/package-0001.csv";
    let filled = fill(&workspace, sheet);
    workspace.runs("run r.toml").says(["packages: up to date"]);
    assert_eq!(workspace.read(sheet), filled);
    assert_eq!(workspace.lines("r.work/voted.txt").len(), 1);
    workspace.write("r.toml", recipe(1));
    for flags in ["", "--force"] {
        workspace.toller(&format!("run r.toml {flags}")).fails(
            1,
            &[
                "step packages: r.work/packages was changed since step packages wrote it",
                "hint: move it away",
            ],
        );
        assert_eq!(workspace.read(sheet), filled, "{flags}");
    }
    // As it was, and then elsewhere.
    workspace.write("r.toml", recipe(2));
    workspace.runs("run r.toml").says(["nothing to do"]);
    workspace.write("r.toml", recipe(1));
    fs::rename(workspace.path("r.work/packages"), workspace.path("filled")).unwrap();
    workspace.toller("run r.toml").says(["step vote", "no grade is filled in"]);
    // What nobody has filled in is written again.
    workspace.write("r.toml", recipe(2));
    workspace.toller("run r.toml").says(["step vote", "no grade is filled in"]);
    assert!(workspace.read(sheet) != filled);
}

#[test]
fn two_outputs_have_two_names() {
    let workspace = workspace();
    workspace.write("ann.csv", "query_id,doc_id,grade\nq1,d1,1\n");
    fs::create_dir(workspace.path("to")).unwrap();
    let vote = "annotate vote ann.csv --votes 1";
    for (flags, name) in [
        ("--output new.txt --undecided new.txt", "new.txt"),
        ("--output new.txt --undecided to/../new.txt", "to/../new.txt"),
        ("--undecided -", "stdout"),
    ] {
        let said = format!("--output and --undecided would both write to {name}");
        workspace
            .toller(&format!("{vote} {flags}"))
            .fails(2, &[&said, "hint: give --undecided another name"]);
        assert!(!workspace.has_trace_of("new.txt"));
    }
    // A device keeps nothing.
    workspace.runs(&format!("{vote} --output /dev/null --undecided /dev/null"));
    let report = "report a.run b.run --qrels qrels.txt --data to --output to/queries.csv";
    workspace.toller(report).fails(2, &["--output and --data would both write to to/queries.csv"]);
}

#[test]
fn a_command_replaces_what_such_a_command_wrote() {
    let workspace = workspace();
    workspace.write("qa.jsonl", "{\"_id\":\"q1\",\"text\":\"one\",\"answers\":[\"d1\"]}\n");
    workspace.write("ann.csv", "query_id,doc_id,grade\nq1,d1,1\nq1,d2,0\n");
    let mine = "mine --run a.run --qrels qrels.txt --queries q.tsv --corpus c.jsonl --output out";
    let commands = [
        mine.to_owned(),
        format!("{mine} --format tevatron"),
        format!("{mine} --format triplets"),
        format!("{mine} --format t2ranking"),
        format!("{mine} --format rocketqa"),
        "qrels answers a.run --queries qa.jsonl --corpus c.jsonl --output out".to_owned(),
        "annotate vote ann.csv --votes 1 --output out".to_owned(),
    ];
    for command in &commands {
        let _ = fs::remove_file(workspace.path("out"));
        workspace.runs(command);
        let own = workspace.read("out");
        workspace.runs(command);
        assert_eq!(workspace.read("out"), own, "{command}");
        for other in [RUN, "q1\td1\n", "q1\t0\td1\t1\n", "my notes\n"] {
            workspace.write("out", other);
            workspace
                .toller(command)
                .fails(2, &["out is there already", "hint: give it another name, or add --overwrite"]);
            assert_eq!(workspace.read("out"), other.as_bytes(), "{command}");
        }
        workspace.runs(&format!("{command} --overwrite"));
        assert_eq!(workspace.read("out"), own, "{command}");
    }
    // Pairs of identifiers may be judgments.
    for pairs in
        [&format!("{mine} --format pairs"), "annotate vote ann.csv --output voted.txt --undecided out"]
    {
        workspace.write("out", "q1\td1\n");
        workspace.toller(pairs).fails(2, &["out is there already", "or add --overwrite"]);
        workspace.runs(&format!("{pairs} --overwrite"));
    }
}

#[test]
fn data_and_stages_replace_their_own_files() {
    let workspace = workspace();
    let report = "report a.run b.run --qrels qrels.txt --data numbers --output page.html";
    workspace.runs(report);
    workspace.runs(&format!("{report} --measures RR"));
    for name in ["queries.csv", "report.json", "pairs.csv"] {
        let own = workspace.read(&format!("numbers/{name}"));
        workspace.write(&format!("numbers/{name}"), "query_id,query\n");
        fs::remove_file(workspace.path("page.html")).unwrap();
        let said = format!("numbers/{name} is there already, and it is not the data of a report");
        workspace.toller(report).fails(2, &[&said, "hint: "]);
        assert!(!workspace.has_trace_of("page.html"));
        workspace.write(&format!("numbers/{name}"), own);
        workspace.runs(report);
    }

    workspace.add_fixture("cross-encoders/mpnet");
    fs::create_dir(workspace.path("stages")).unwrap();
    workspace.runs("index -q --language en --corpus c.jsonl --output index");
    workspace.write("q.tsv", "q1\td1\nq2\td4\n");
    let retrieve = "retrieve --sparse index --queries q.tsv --rerank cross-encoders/mpnet --corpus c.jsonl \
                    --keep-stages stages --output two.run";
    workspace.write("stages/first-stage.run", "my notes\n");
    workspace
        .toller(retrieve)
        .fails(2, &["stages/first-stage.run is there already, and it is not a TREC run", "hint: "]);
    assert_eq!(workspace.read("stages/first-stage.run"), b"my notes\n");
    fs::remove_file(workspace.path("stages/first-stage.run")).unwrap();
    workspace.runs(retrieve);
    workspace.runs(retrieve);

    let rerank = "rerank --run a.run --queries q.tsv --model cross-encoders/mpnet --corpus c.jsonl \
                  --keep-model-scores scores --output three.run";
    workspace.runs(rerank);
    workspace.write("scores/1-mpnet.run", "my notes\n");
    workspace.toller(rerank).fails(2, &["scores/1-mpnet.run is there already, and it is not a TREC run"]);
}
