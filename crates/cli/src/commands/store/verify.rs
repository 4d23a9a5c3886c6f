//! `toller store verify`: whether stores are as they were written.

use std::io::Write;
use std::path::PathBuf;

use toller_store::{Damage, OpenOptions, Store, StorePart, find_damage, inspect};

use crate::error::Remedied;
use crate::ui::Ui;
use crate::verifying::verifying;

/// Arguments of `toller store verify`.
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// Stores
    #[arg(value_name = "STORE", required = true)]
    stores: Vec<PathBuf>,
}

/// Verifies the stores: every shard's length, layout and checksum, and that no identifier occurs twice in one store.
pub fn run(args: &VerifyArgs, ui: &Ui) -> anyhow::Result<()> {
    let mut parts = Vec::new();
    for path in &args.stores {
        parts.extend(inspect(path)?);
    }
    let damaged = verifying(true, ui, |options| find_damage(&parts, options))?;
    if damaged.is_empty() {
        check_ids(args, &parts)?;
    }
    let shards: usize = parts.iter().map(|part| part.manifest.shards.len()).sum();
    let rows: u64 = parts.iter().map(|part| part.manifest.count).sum();
    if ui.json {
        ui.json(|| {
            let damaged: Vec<_> = damaged.iter().map(|damage| json(&parts, damage)).collect();
            serde_json::json!({ "shards": shards, "rows": rows, "damaged": damaged })
        })?;
    } else {
        let mut out = ui.out();
        for damage in &damaged {
            writeln!(out, "{}: rows {} to {}", damage.error, damage.rows.start, damage.rows.end)?;
        }
        out.flush()?;
    }
    if damaged.is_empty() {
        ui.status(format!("{shards} shards with {rows} rows are as they were written"));
        return Ok(());
    }
    let lost: u64 = damaged.iter().map(|damage| damage.rows.end - damage.rows.start).sum();
    Err(Remedied::new(
        format!("{} of {shards} shards are damaged or missing, with {lost} of {rows} rows", damaged.len()),
        "restore these files from a copy, or run the command that wrote the store again: it writes these shards anew, and \
         keeps the others",
    )
    .into())
}

/// An unfinished store cannot be opened, and its identifiers were checked when its source was.
fn check_ids(args: &VerifyArgs, parts: &[StorePart]) -> anyhow::Result<()> {
    if parts.iter().any(|part| !part.manifest.complete) {
        return Ok(());
    }
    let verified = OpenOptions { verify: false, progress: None };
    for store in &args.stores {
        Store::open(std::slice::from_ref(store), &verified)?.check_unique_ids()?;
    }
    Ok(())
}

fn json(parts: &[StorePart], damage: &Damage) -> serde_json::Value {
    let part = parts.get(damage.part);
    let entry = part.and_then(|part| Some((part, part.manifest.shards.get(damage.shard)?)));
    serde_json::json!({
        "file": entry.map(|(part, entry)| part.directory.join(&entry.file).display().to_string()),
        "first_row": damage.rows.start,
        "rows": damage.rows.end - damage.rows.start,
        "error": damage.error.to_string(),
    })
}
