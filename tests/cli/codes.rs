//! Int8 codes next to the vectors: made, reported, verified, removed; and searches that find the same with
//! and without.

use std::fs;

use crate::support::Workspace;

const ENCODE: &str = "encode -q --model tiny-bert --corpus data/corpus.jsonl --rows-per-shard 200";
const SEARCH: &str = "search -q --model tiny-bert --queries data/queries.jsonl --k 20 --output";

#[test]
fn every_scan_writes_the_same_run_with_codes_and_without() {
    let workspace = Workspace::with_xquad();
    for part in [1, 2, 3] {
        let codes = if part == 2 { "--codes none" } else { "--codes int8" };
        workspace.runs(&format!("{ENCODE} --output parts --shard {part}/3 {codes}"));
    }
    workspace.runs(&format!("{ENCODE} --output whole"));
    workspace.runs(&format!("{SEARCH} run.txt --dense whole"));
    let run = workspace.read("run.txt");
    assert_eq!(workspace.lines("run.txt").len(), 20 * 1190);
    let info = workspace.runs("store info parts").stdout;
    assert!(info.contains("codes        int8 in 2 of 3 parts, "), "{info}");

    for store in ["parts", "parts", "whole"] {
        for scan in ["auto", "f32", "f16", "int8"] {
            let flags = format!("{SEARCH} other.txt --dense {store} --scan {scan} --json");
            let printed = workspace.runs(&flags).json();
            assert!(workspace.read("other.txt") == run, "{store}, {scan}");
            assert_eq!(printed["scan"], scan);
            let [mean, most] =
                ["nominated_mean", "nominated_max"].map(|name| printed[name].as_f64().unwrap());
            assert!(20.0 <= mean && mean <= most && most <= 1180.0, "{printed:#}");
        }
        // The second time, all parts have codes.
        workspace.runs("store quantize -q parts");
    }
    let info = workspace.runs("store info parts --json").json();
    assert_eq!(
        (&info["stores"][0]["parts_with_codes"], &info["stores"][0]["codes_bytes"].is_u64()),
        (&3.into(), &true)
    );
}

#[test]
fn codes_are_made_by_either_command_and_removed_without_a_trace() {
    let workspace = Workspace::with_xquad();
    workspace.runs(&format!("{ENCODE} --output plain"));
    workspace.runs(&format!("{ENCODE} --output store --codes int8"));
    let plain = workspace.files_in("plain");
    let coded = workspace.files_in("store");
    let codes: Vec<&(String, Vec<u8>)> =
        coded.iter().filter(|(name, _)| name.starts_with("codes-")).collect();
    assert_eq!((codes.len(), coded.len()), (6, plain.len() + 6));
    let bytes: usize = codes.iter().map(|(_, file)| file.len()).sum();

    let printed = workspace.runs("store quantize plain --json");
    printed.says(["plain has int8 codes of 0.0 MB"]);
    assert_eq!(printed.json()["stores"], serde_json::json!([{ "store": "plain", "codes_bytes": bytes }]));
    assert!(workspace.files_in("plain") == coded);
    let info = workspace.runs("store info plain").stdout;
    assert!(info.contains(&format!("codes        int8, {bytes} bytes")), "{info}");
    workspace.runs("store verify plain").says(["with 1180 rows and their codes"]);

    // Damaged codes are made again, by the same command.
    workspace.flip_byte("plain/codes-00003.safetensors", 9);
    assert_eq!(workspace.toller("store verify plain").code, Some(1));
    workspace.runs("store quantize plain");
    assert!(workspace.files_in("plain") == coded);

    workspace.runs("store quantize --codes none plain store").says(["plain has no codes"]);
    for store in ["plain", "store"] {
        assert!(workspace.files_in(store) == plain, "{store}");
    }
    let info = workspace.runs("store info plain").stdout;
    assert!(info.contains("codes        no\n"), "{info}");

    // A finished store is given codes by the command that encoded it, without being encoded again.
    let again = workspace.runs(&format!("{ENCODE} --output store --codes int8 --json"));
    assert_eq!(again.json()["encoded_rows"], 0);
    assert!(workspace.files_in("store") == coded);
    // Without the flag it keeps them.
    workspace.runs(&format!("{ENCODE} --output store"));
    assert!(workspace.files_in("store") == coded);
}

#[test]
fn damaged_codes_are_named_with_the_remedy() {
    let workspace = Workspace::with_xquad();
    workspace.runs(&format!("{ENCODE} --output store --codes int8"));
    let whole = workspace.files_in("store");
    let damage = || {
        workspace.flip_byte("store/codes-00003.safetensors", 1000);
        fs::remove_file(workspace.path("store/codes-00005.safetensors")).unwrap();
    };
    damage();
    let remedy = "`toller store quantize --overwrite`";
    workspace
        .toller(&format!("{SEARCH} run.txt --dense store"))
        .fails(1, &["codes-0000", "cannot be used", "hint:", remedy, "`toller store quantize --codes none`"]);
    let status = workspace.toller("store status store");
    status.prints([
        "rows         1180 of 1180",
        "damaged      the codes store/codes-00005.safetensors cannot be used",
    ]);
    status.says(["codes-00005.safetensors cannot be used: it is missing", "hint:", remedy]);
    assert_eq!(status.code, Some(1));
    let json = workspace.toller("store status store --json").json();
    assert_eq!((&json["complete"], &json["damaged_codes"]), (&false.into(), &1.into()));
    let verified = workspace.toller("store verify store");
    assert_eq!((verified.code, verified.stdout.lines().count()), (Some(1), 2), "{}", verified.stdout);
    verified.prints([
        "store/codes-00003.safetensors cannot be used: its checksum is xxh3-128:",
        ": rows 601 to 800",
        "store/codes-00005.safetensors cannot be used: it is missing: rows 1001 to 1180",
    ]);
    verified.says(["2 of 6 files of codes are damaged or missing; all 1180 rows are as", "hint:", remedy]);
    let json = workspace.toller("store verify store --json").json();
    assert_eq!((&json["damaged"], &json["codes"]), (&serde_json::json!([]), &6.into()));
    assert_eq!(json["damaged_codes"][0]["file"], "store/codes-00003.safetensors");
    assert_eq!(json["damaged_codes"][1]["rows"], 180);

    workspace.runs("store quantize -q store --overwrite");
    assert!(workspace.files_in("store") == whole);
    damage();
    workspace.runs("store quantize -q store --codes none");
    workspace.runs("store verify store");
    workspace.runs(&format!("{SEARCH} run.txt --dense store --scan int8"));
}

#[test]
fn what_cannot_be_quantized_says_why() {
    let workspace = Workspace::new();
    workspace.toller("store quantize nothing").fails(1, &["cannot open nothing"]);
    workspace.toller("store quantize tiny-bert").fails(1, &["tiny-bert is not a store", "hint:"]);
    for flags in ["store quantize", "store quantize x --codes int4", "search --dense x --scan int4"] {
        workspace.toller(flags).fails(2, &["error:"]);
    }
    workspace
        .toller("encode --model tiny-bert --corpus c --output s --codes f16")
        .fails(2, &["'f16'", "--codes <int8|none>"]);
}
