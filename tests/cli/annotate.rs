//! `toller annotate`: from runs to packages, agreement and judgments.

use crate::support::Workspace;

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("a.run", "q1 Q0 d1 1 9 a\nq1 Q0 d2 2 8 a\nq1 Q0 d3 3 7 a\nq2 Q0 d4 1 9 a\n");
    workspace.write("b.run", "q1 Q0 d5 1 9 b\nq1 Q0 d1 2 8 b\nq2 Q0 d6 1 9 b\n");
    workspace.write("queries.tsv", "q1\tone\nq2\t=two\n");
    workspace.write("corpus.jsonl", "{\"_id\": \"d1\", \"title\": \"T\", \"text\": \"</script>\"}\n{\"_id\": \"d4\", \"text\": \"four\"}\n");
    workspace.write("judged.txt", "q2 0 d6 1\n");
    workspace
}

const PACKAGES: &str =
    "annotate packages a.run b.run --depth 2 --judged judged.txt --queries queries.tsv --corpus corpus.jsonl";

#[test]
fn packages_hold_the_pool() {
    let workspace = workspace();
    let done = workspace.toller(&format!("{PACKAGES} --format csv --size 3 --output sheets")).succeeds();
    assert!(done.stderr.contains("4 pairs in 2 packages"), "{}", done.stderr);
    let mut rows =
        [workspace.lines("sheets/package-0001.csv"), workspace.lines("sheets/package-0002.csv")].concat();
    assert_eq!(rows[0], "query_id,query,doc_id,title,text,grade,annotator");
    rows.retain(|row| !row.starts_with("query_id"));
    rows.sort();
    assert_eq!(rows, ["q1,one,d1,T,</script>,,", "q1,one,d2,,,,", "q1,one,d5,,,,", "q2,'=two,d4,,four,,"]);

    workspace.toller(&format!("{PACKAGES} --grades 0=no,1=partly,2=yes --output pages")).succeeds();
    let page = String::from_utf8(workspace.read("pages/package-0001.html")).unwrap();
    assert_eq!((page.matches("<article ").count(), page.matches("type=\"radio\"").count()), (4, 12));
    assert_eq!(page.matches("</script>").count(), 1);
    assert!(page.contains("partly") && page.contains("&lt;/script&gt;"));
}

#[test]
fn packages_of_another_pool_go_before_new_ones_come() {
    let workspace = workspace();
    let packages = format!("{PACKAGES} --format csv --output sheets");
    workspace.toller(&packages).succeeds();
    workspace.write("sheets/package-0001.csv", "filled in\n");
    // What cannot be removed is found out while the old ones are there.
    std::fs::create_dir(workspace.path("sheets/package-0009.csv")).unwrap();
    workspace
        .toller(&format!("{packages} --overwrite"))
        .fails(1, &["cannot remove sheets/package-0009.csv", "hint: "]);
    assert_eq!(workspace.lines("sheets/package-0001.csv"), ["filled in"]);
    std::fs::remove_dir(workspace.path("sheets/package-0009.csv")).unwrap();
    workspace.toller(&format!("{packages} --overwrite")).succeeds();
    assert_eq!(workspace.lines("sheets/package-0001.csv").len(), 5);
}

#[test]
fn from_filled_sheets_to_judgments() {
    let workspace = workspace();
    let sheet = |grades: [&str; 3]| {
        format!("query_id,doc_id,grade\nq1,d1,{}\nq1,d2,{}\nq2,d4,{}\n", grades[0], grades[1], grades[2])
    };
    workspace.write("ann.csv", sheet(["2", "0", "1"]));
    workspace.write("bo.csv", sheet(["2", "1", "0"]));
    workspace.write("cy.csv", sheet(["2", "0", "2"]));
    let found = workspace.toller("annotate agreement ann.csv bo.csv cy.csv --json").succeeds().json();
    assert_eq!((&found["pairs"], found["annotators"].as_array().unwrap().len()), (&3.into(), 3));
    let agreement = found["agreement"].as_f64().unwrap();
    assert!((agreement - (1.0 + 1.0 / 3.0 + 0.0) / 3.0).abs() < 1e-12, "{agreement}");
    let table = workspace.toller("annotate agreement ann.csv bo.csv").succeeds().stdout;
    assert!(table.contains("ann, bo") && table.contains("all (Fleiss)"), "{table}");

    let done = workspace
        .toller("annotate vote ann.csv bo.csv cy.csv --output qrels.txt --undecided more.tsv")
        .succeeds();
    assert!(done.stderr.contains("2 of 3 pairs have a grade; 1 are undecided"), "{}", done.stderr);
    assert_eq!(workspace.lines("qrels.txt"), ["q1 0 d1 2", "q1 0 d2 0"]);
    assert_eq!(workspace.lines("more.tsv"), ["q2\td4"]);
    workspace.toller("annotate vote ann.csv bo.csv --undecided bo.csv").fails(
        2,
        &["--undecided bo.csv would overwrite the input bo.csv", "hint: give --undecided another name"],
    );
    // The undecided pairs go to a fourth annotator.
    workspace.toller("annotate packages --pairs more.tsv --format csv --output again").succeeds();
    assert_eq!(workspace.lines("again/package-0001.csv")[1], "q2,,d4,,,,");
    workspace.write("di.csv", "query_id,doc_id,grade\nq2,d4,1\n");
    workspace.toller("annotate vote ann.csv bo.csv cy.csv di.csv --output qrels.txt").succeeds();
    assert_eq!(workspace.lines("qrels.txt"), ["q1 0 d1 2", "q1 0 d2 0", "q2 0 d4 1"]);
}

/// Packages have one name in the folders of all annotators.
#[test]
fn sheets_of_one_name_are_those_of_several_people() {
    let workspace = workspace();
    for folder in ["ann", "bo"] {
        std::fs::create_dir(workspace.path(folder)).unwrap();
        workspace.write(
            &format!("{folder}/package-0001.csv"),
            "query_id,doc_id,grade,annotator\nq1,d1,1,\nq1,d2,1,\n",
        );
    }
    let sheets = "ann/package-0001.csv bo/package-0001.csv";
    let done = workspace.runs(&format!("annotate vote {sheets} --output qrels.txt"));
    done.says(["2 of 2 pairs have a grade"]);
    let table = workspace.runs(&format!("annotate agreement {sheets}"));
    table.prints(["ann, bo"]);
}

#[test]
fn identifiers_may_have_spaces() {
    let workspace = Workspace::new();
    workspace.write("x.run", "q1\tQ0\tdoc a\t1\t2\tx\nq1\tQ0\tdoc b\t2\t1\tx\n");
    workspace.runs("annotate packages x.run --format csv --output packages");
    workspace.write("ann.csv", "query_id,doc_id,grade\nq1,b,0\nq1,doc a,1\n");
    for _ in 0..2 {
        workspace.runs("annotate vote ann.csv --votes 1 --output qrels.txt");
        assert_eq!(workspace.lines("qrels.txt"), ["q1\t0\tb\t0", "q1\t0\tdoc a\t1"]);
    }
    let pool = workspace.runs("data dureader pool x.run --output pool");
    pool.prints(["pool"]);
    let measured = workspace.runs("eval --qrels qrels.txt pool/pool.run -m RR --format csv");
    measured.prints(["pool.run,all,1"]);
    workspace.write("bad.csv", "query_id,doc_id,grade\nq1,doc  a,1\n");
    workspace
        .toller("annotate vote bad.csv --votes 1")
        .fails(1, &["judgments cannot hold the identifier \"doc  a\"", "hint: give the document"]);
}

#[test]
fn what_is_wrong_is_told() {
    let workspace = workspace();
    workspace.toller("annotate packages --output p").fails(2, &["RUN"]);
    workspace.write("few.tsv", "q1\tone\n");
    workspace.toller("annotate packages a.run --queries few.tsv --output p").fails(
        1,
        &[
            "1 of 2 queries are not in --queries, for example \"q2\"",
            "hint: give the queries",
            "leave --queries",
        ],
    );
    assert!(!workspace.path("p").exists());
    workspace.toller("annotate packages a.run --grades 0=a,0=b --output p").fails(2, &["listed twice"]);
    workspace.write("empty.csv", "query_id,doc_id,grade\nq1,d1,\n");
    workspace.toller("annotate vote empty.csv").fails(1, &["no grade is filled in"]);
    workspace.write("one.csv", "query_id,doc_id,grade\nq1,d1,1\n");
    workspace.write("old.txt", "q 0 d 1\n");
    workspace
        .toller("annotate vote one.csv --output old.txt")
        .fails(1, &["no pair has the 2 votes that decide it", "--votes"]);
    assert_eq!(workspace.lines("old.txt"), ["q 0 d 1"]);
    workspace.write("blank.csv", "query_id,doc_id,grade\nq1,,1\n");
    workspace
        .toller("annotate vote blank.csv --votes 1")
        .fails(1, &["blank.csv, line 2: a grade without a query_id or a doc_id"]);
    workspace.write("one.csv", "query_id,doc_id,grade\nq1,d1,1\n");
    workspace.toller("annotate agreement one.csv").fails(1, &["two annotators"]);
    workspace.write("bad.csv", "query_id,doc_id,grade\nq1,d1,yes\n");
    workspace
        .toller("annotate vote bad.csv")
        .fails(1, &["bad.csv, line 2: the grade \"yes\" is not a whole number"]);
}
