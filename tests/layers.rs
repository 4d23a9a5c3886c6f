//! The rules of the house: crates in layers, no empty rooms, small files that say what they are for.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

const MAX_LINES: usize = 600;

/// Columns of a comment: rustfmt wraps code, but not comments.
const MAX_COLUMNS: usize = 110;

/// Fewer lines of code than this are a placeholder.
const MIN_CODE_LINES: usize = 20;

#[test]
fn crates_depend_on_lower_layers_alone() {
    let metadata = metadata();
    assert!(metadata["packages"].as_array().unwrap().len() > 5);
    assert_eq!(layer_violations(&metadata), [""; 0]);
}

#[test]
fn the_layer_check_notices_violations() {
    let package = |name: &str, layer: Option<u64>, dependencies: &[(&str, Option<&str>)]| {
        let dependencies: Vec<_> = dependencies
            .iter()
            .map(|(name, kind)| json!({"name": name, "kind": kind, "path": "x"}))
            .collect();
        json!({"name": name, "metadata": {"toller": {"layer": layer}}, "dependencies": dependencies})
    };
    let check = |packages: &[Value]| layer_violations(&json!({"packages": packages}));
    let (low, high) = (package("low", Some(1), &[]), package("high", Some(2), &[("low", None)]));
    assert_eq!(check(&[low.clone(), high]), [""; 0]);
    assert_eq!(check(&[low.clone(), package("dev", Some(0), &[("low", Some("dev"))])]), [""; 0]);
    assert_eq!(check(&[low.clone(), package("peer", Some(1), &[("low", None)])]).len(), 1);
    assert_eq!(check(&[low.clone(), package("builder", Some(0), &[("low", Some("build"))])]).len(), 1);
    assert_eq!(check(&[low, package("homeless", None, &[])]).len(), 1);
}

#[test]
fn every_dependency_is_used() {
    let mut unused = Vec::new();
    for package in metadata()["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        // The root's folder has those of all others in it.
        let parts: &[&str] = if folder == root() { &["benches", "crates/cli", "tests"] } else { &[""] };
        let files = parts.iter().flat_map(|part| rust_files(&folder.join(part)));
        let lines: Vec<String> = files.flat_map(|path| code_lines(&path)).collect();
        for dependency in package["dependencies"].as_array().unwrap() {
            let dependency = dependency["name"].as_str().unwrap();
            if !lines.iter().any(|line| names_library(line, &library(dependency))) {
                unused.push(format!("{name}: {dependency}"));
            }
        }
    }
    assert_eq!(unused, [""; 0]);
}

#[test]
fn the_dependency_check_knows_uses_from_words() {
    for line in ["use tower;", "pub use tower::Service;", "tower::run()", "f(|x| tower::of(x))"] {
        assert!(names_library(line, "tower"), "{line}");
    }
    for line in ["model.tower(role)", "let tower = 1;", "use my_tower::Service;", "use towers;"] {
        assert!(!names_library(line, "tower"), "{line}");
    }
}

/// Packages whose library has a name of its own.
const LIBRARIES: [(&str, &str); 2] = [("md-5", "md5"), ("toller", "toller_cli")];

/// What code calls a package.
fn library(package: &str) -> String {
    let renamed = LIBRARIES.iter().find(|(name, _)| *name == package);
    renamed.map_or_else(|| package.replace('-', "_"), |(_, library)| (*library).to_owned())
}

/// Whether a line of code has a path that begins with the library's name.
fn names_library(line: &str, library: &str) -> bool {
    let is_of_a_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(library).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + library.len()..]);
        let is_path =
            after.starts_with("::") || (before.ends_with("use ") && !after.starts_with(is_of_a_word));
        is_path && !before.ends_with(is_of_a_word)
    })
}

#[test]
fn only_gpu_speaks_to_cuda() {
    let mentions = |line: &String| ["cudarc", "cudaError", "cuInit"].iter().any(|word| line.contains(word));
    let speaking: BTreeSet<PathBuf> = rust_files(&root().join("crates"))
        .into_iter()
        .filter(|path| code_lines(path).iter().any(mentions))
        // candle has its own devices.
        .filter(|path| !path.ends_with("nn/src/candle/device.rs"))
        .map(|path| path.strip_prefix(root().join("crates")).unwrap().iter().next().unwrap().into())
        .collect();
    assert_eq!(speaking, BTreeSet::from(["gpu".into()]));
}

#[test]
fn no_crate_is_an_empty_room() {
    let mut checked = 0;
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let count: usize = rust_files(&folder.join("src")).iter().map(|path| code_lines(path).len()).sum();
        assert!(count >= MIN_CODE_LINES, "{} has {count} lines of code", folder.display());
        checked += 1;
    }
    assert!(checked > 5);
}

#[test]
fn files_are_small_and_say_what_they_are_for() {
    let files: Vec<_> = ["benches", "crates", "fuzz", "kernels", "tests"]
        .iter()
        .flat_map(|folder| rust_files(&root().join(folder)))
        .collect();
    assert!(files.len() > 30);
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let count = text.lines().count();
        assert!(count <= MAX_LINES, "{} has {count} lines; one concept a file", path.display());
        let says = text.lines().next().is_some_and(|line| line.starts_with("//! ") && line.len() > 8);
        assert!(says, "{} does not begin with a `//!` line", path.display());
    }
}

/// The folders of the project's Rust code.
const FOLDERS: [&str; 5] = ["benches", "crates", "fuzz", "kernels", "tests"];

#[test]
fn comments_are_wrapped() {
    for folder in FOLDERS {
        let files = rust_files(&root().join(folder));
        assert!(!files.is_empty(), "{folder} has no Rust files");
        for path in files {
            for (number, line) in (1..).zip(fs::read_to_string(&path).unwrap().lines()) {
                let is_comment = line.trim_start().starts_with("//");
                let fits = !is_comment || line.chars().count() <= MAX_COLUMNS;
                assert!(fits, "{}:{number} has more than {MAX_COLUMNS} columns", path.display());
            }
        }
    }
}

/// What reads as translated, and the usual English.
const TRANSLATED: [(&str, &str); 6] = [
    (" anew", "again"),
    ("as good as", "almost"),
    ("in vain", "without success"),
    (" lacks", "is missing"),
    ("once more", "again"),
    ("vouches", "guarantees"),
];

#[test]
fn comments_are_in_usual_english() {
    let mut found = Vec::new();
    for path in FOLDERS.iter().flat_map(|folder| rust_files(&root().join(folder))) {
        for (number, line) in (1..).zip(fs::read_to_string(&path).unwrap().lines()) {
            let usual = usual_instead(line);
            found.extend(usual.map(|usual| format!("{}:{number}: write {usual:?}", path.display())));
        }
    }
    assert_eq!(found, [""; 0]);
}

#[test]
fn the_check_of_english_notices_what_reads_as_translated() {
    for line in
        ["// Read anew.", "    /// The caller vouches for it.", "//! Marks are no letters, and so on."]
    {
        assert!(usual_instead(line).is_some(), "{line}");
    }
    for line in ["f(\"anew\");", "// There is no file.", "/// is no file", "// It is no longer than that."] {
        assert!(usual_instead(line).is_none(), "{line}");
    }
}

/// The usual English, if the line is a comment with something that reads as translated.
fn usual_instead(line: &str) -> Option<&'static str> {
    let comment = line.trim_start().strip_prefix("//")?;
    let listed = TRANSLATED.iter().find(|(phrase, _)| comment.contains(phrase));
    listed.map(|(_, usual)| *usual).or_else(|| negates_a_noun(comment).then_some("is not a"))
}

/// Whether "is no" or "are no" comes before a noun, and not after "there".
fn negates_a_noun(comment: &str) -> bool {
    let is_before_a_noun = |phrase: &str, at: usize| {
        let before = comment[..at].trim_start_matches(['/', '!', ' ']);
        let next = comment[at + phrase.len()..].split(' ').next().unwrap_or_default();
        // Longer, faster: usual after "no".
        let compares = next.trim_end_matches([',', '.', ':', ';']).ends_with("er");
        !before.is_empty() && !before.to_lowercase().ends_with("there") && !compares
    };
    [" is no ", " are no "]
        .iter()
        .any(|phrase| comment.match_indices(phrase).any(|(at, _)| is_before_a_noun(phrase, at)))
}

#[test]
fn the_environment_is_read_in_one_file() {
    let env_file = root().join("crates/hub/src/env.rs");
    let mut found = Vec::new();
    for path in program_files().into_iter().filter(|path| *path != env_file) {
        let lines = program_lines(&path).into_iter().filter(|line| line.contains("env::var"));
        found.extend(lines.map(|line| (path.clone(), line)));
    }
    assert_eq!(found, []);
}

/// A library does not know what a front calls its settings: its errors name them by `toller_ir::Setting`.
#[test]
fn only_the_command_line_names_flags() {
    let mut found = Vec::new();
    for path in program_files().into_iter().filter(|path| !path.starts_with(root().join("crates/cli"))) {
        let lines = program_lines(&path).into_iter().filter(|line| names_a_flag(line));
        found.extend(lines.map(|line| (path.clone(), line)));
    }
    assert_eq!(found, []);
    assert!(names_a_flag("\"with `--pooling`\"") && names_a_flag("--k 10") && !names_a_flag("models--org"));
}

/// Whether `--` and a letter come where a word may begin.
fn names_a_flag(line: &str) -> bool {
    line.match_indices("--").any(|(at, dashes)| {
        let (before, after) = (&line[..at], &line[at + dashes.len()..]);
        after.starts_with(|c: char| c.is_ascii_lowercase())
            && !before.ends_with(|c: char| c.is_alphanumeric() || c == '-')
    })
}

/// What is compiled in one clone may run in another: they can share a target directory.
#[test]
fn no_path_of_the_clone_is_compiled_in() {
    let mention = concat!("env!(\"CARGO", "_MANIFEST_DIR\")");
    for path in ["benches", "crates", "tests"].iter().flat_map(|folder| rust_files(&root().join(folder))) {
        let found = code_lines(&path).iter().any(|line| line.contains(mention));
        assert!(!found, "{}: use toller_testing::repository", path.display());
    }
}

/// What cargo says of the workspace's packages.
fn metadata() -> Value {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What is wrong with the layers of a `cargo metadata`, one sentence each.
fn layer_violations(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().unwrap();
    let layer_of = |package: &Value| package["metadata"]["toller"]["layer"].as_u64();
    let layers: BTreeMap<&str, u64> =
        packages.iter().filter_map(|package| Some((package["name"].as_str()?, layer_of(package)?))).collect();
    let mut violations = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let Some(layer) = layers.get(name) else {
            violations.push(format!("{name} has no package.metadata.toller.layer"));
            continue;
        };
        for dependency in package["dependencies"].as_array().unwrap() {
            let lower = dependency["name"].as_str().unwrap();
            let in_workspace = dependency["path"].is_string() && dependency["kind"] != "dev";
            if in_workspace && layers.get(lower).is_none_or(|lower| lower >= layer) {
                violations
                    .push(format!("{name} (layer {layer}) depends on {lower} ({:?})", layers.get(lower)));
            }
        }
    }
    violations
}

fn root() -> PathBuf {
    toller_testing::repository("")
}

/// Every Rust file of the program: neither tests nor build scripts.
fn program_files() -> Vec<PathBuf> {
    let is_no_program = |part: &OsStr| {
        ["tests", "tests.rs", "testing", "build", "build.rs"].iter().any(|other| part == *other)
    };
    let mut files = rust_files(&root().join("crates"));
    files.retain(|path| !path.components().any(|part| is_no_program(part.as_os_str())));
    files
}

/// The code lines of a file without those of its tests.
fn program_lines(path: &Path) -> Vec<String> {
    without_tests(code_lines(path))
}

/// Leaves out each item that is only for tests; from a module of tests on, everything: it is the last item.
fn without_tests(lines: Vec<String>) -> Vec<String> {
    let mut program = Vec::new();
    let mut lines = lines.into_iter();
    while let Some(line) = lines.next() {
        if line != "#[cfg(test)]" {
            program.push(line);
            continue;
        }
        let mut depth = 0;
        for line in lines.by_ref().skip_while(|line| line.starts_with("#[")) {
            if depth == 0 && line.contains("mod ") && line.ends_with('{') {
                return program;
            }
            depth += line.matches('{').count();
            depth -= line.matches('}').count().min(depth);
            if depth == 0 && line.ends_with([';', '}', ',']) {
                break;
            }
        }
    }
    program
}

#[test]
fn a_file_goes_on_behind_what_is_for_tests() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let program = |text: &str| without_tests(lines(text)).join(" ");
    assert_eq!(program("a();\n#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests;\nb();"), "a(); b();");
    assert_eq!(program("#[cfg(test)]\nfn helper() {\nif x {\ny();\n}\n}\nb();"), "b();");
    assert_eq!(program("#[cfg(test)]\nuse a::{b, c};\nd();"), "d();");
    assert_eq!(program("a();\n#[cfg(test)]\nmod tests {\nlet x = \"}\";\nb();\n}"), "a();");
}

/// Every Rust file below a folder, sorted; none if there is no such folder.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort_unstable();
    files
}

/// The lines of a file that are neither blank nor comments, trimmed.
fn code_lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.map(str::to_owned).collect()
}
