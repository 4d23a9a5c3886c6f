//! `toller store verify`: checks that stores are as they were written.

use std::io::Write;

use toller_ir::counted;
use toller_store::{
    Content, Damage, ImpactStore, OpenOptions, Store, StorePart, content_of, find_damage, find_damaged_codes,
    inspect,
};

use crate::args::paths::InputPath;
use crate::engine;
use crate::error::Remedied;
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// Stores
    #[arg(value_name = "STORE", required = true)]
    stores: Vec<InputPath>,
}

/// Verifies the stores: length, layout and checksum of every shard and of its codes, and that no identifier
/// occurs twice in one store.
pub fn run(args: &VerifyArgs, ui: &Ui) -> crate::Result<()> {
    let mut parts = Vec::new();
    for path in &args.stores {
        parts.extend(inspect(path)?);
    }
    let engine = engine::open(ui)?;
    let damaged = engine.opening(true, |options| find_damage(&parts, options))?;
    let damaged_codes = engine.opening(true, |options| find_damaged_codes(&parts, options))?;
    // A store with damage cannot be opened.
    if damaged.is_empty() && damaged_codes.is_empty() {
        check_ids(args, &parts)?;
    }
    let shards: usize = parts.iter().map(|part| part.manifest.shards.len()).sum();
    let rows: u64 = parts.iter().map(|part| part.manifest.count).sum();
    let codes: usize = parts.iter().map(|part| part.manifest.codes.len()).sum();
    if ui.json {
        ui.json(|| {
            let shard = |part: &StorePart, place: usize| Some(part.manifest.shards.get(place)?.file.clone());
            let file = |part: &StorePart, place: usize| Some(part.manifest.codes.get(place)?.file.clone());
            serde_json::json!({
                "shards": shards,
                "rows": rows,
                "codes": codes,
                "damaged": json(&parts, &damaged, shard),
                "damaged_codes": json(&parts, &damaged_codes, file),
            })
        })?;
    } else {
        let mut out = ui.out();
        for damage in damaged.iter().chain(&damaged_codes) {
            // Rows are counted from 1 in texts.
            writeln!(out, "{}: rows {} to {}", damage.error, damage.rows.start + 1, damage.rows.end)?;
        }
        out.flush()?;
    }
    if damaged.is_empty() && damaged_codes.is_empty() {
        let codes = if codes > 0 { " and their codes" } else { "" };
        ui.status(format!("verified {} with {}{codes}", counted(shards, "shard"), counted(rows, "row")));
        return Ok(());
    }
    if damaged.is_empty() {
        return Err(Remedied::new(
            format!(
                "{} of {codes} files of codes are damaged or missing; all {rows} rows are as they were written",
                damaged_codes.len()
            ),
            "make the codes again with `toller store quantize --overwrite`, or remove them with `toller store quantize --codes \
             none`",
        )
        .into());
    }
    let lost: u64 = damaged.iter().map(|damage| damage.rows.end - damage.rows.start).sum();
    Err(Remedied::new(
        format!("{} of {shards} shards are damaged or missing, with {lost} of {rows} rows", damaged.len()),
        "restore these files from a copy, or run the command that wrote the store again: it writes these shards again, and \
         keeps the others",
    )
    .into())
}

/// An unfinished store cannot be opened, and its identifiers were checked when its source was.
fn check_ids(args: &VerifyArgs, parts: &[StorePart]) -> crate::Result<()> {
    if parts.iter().any(|part| !part.manifest.complete) {
        return Ok(());
    }
    let verified = OpenOptions { verify: false, progress: None };
    for store in &args.stores {
        match content_of(store)? {
            Content::Vectors(_) => Store::open(&[store], &verified)?.check_unique_ids()?,
            Content::Impacts => ImpactStore::open(store, &verified)?.check_unique_ids()?,
        }
    }
    Ok(())
}

/// What is damaged, as JSON; `file` gives a file's name by its place in a part's manifest.
fn json(
    parts: &[StorePart],
    damaged: &[Damage],
    file: impl Fn(&StorePart, usize) -> Option<String>,
) -> Vec<serde_json::Value> {
    let one = |damage: &Damage| {
        let part = parts.get(damage.part);
        let path = part.and_then(|part| Some(part.directory.join(file(part, damage.shard)?)));
        serde_json::json!({
            "file": path.map(|path| path.display().to_string()),
            "first_row": damage.rows.start,
            "rows": damage.rows.end - damage.rows.start,
            "error": damage.error.to_string(),
        })
    };
    damaged.iter().map(one).collect()
}
