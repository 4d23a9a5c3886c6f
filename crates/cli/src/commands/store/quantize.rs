//! `toller store quantize`: codes for the int8 scan.

use std::path::Path;
use std::sync::OnceLock;

use toller_store::{Codes, QuantizeProgress, quantize};

use crate::args::choice::{Choice, one_of};
use crate::args::paths::InputPath;
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct QuantizeArgs {
    /// Stores
    #[arg(value_name = "STORE", required = true)]
    stores: Vec<InputPath>,

    /// The codes that the stores get in addition to their vectors
    #[arg(long, value_name = "int8|none", default_value = "int8", value_parser = one_of(CODES))]
    codes: Codes,

    /// Make codes again if there are any
    #[arg(long)]
    overwrite: bool,
}

/// The codes of a store.
pub const CODES: &[Choice<Codes>] = &[
    ("int8", "One byte per number: an int8 scan reads a quarter of the bytes of f32", Codes::Int8),
    ("none", "Only the vectors", Codes::None),
];

/// Quantizes the stores, one after the other.
pub fn run(args: &QuantizeArgs, ui: &Ui) -> crate::Result<()> {
    let mut done = Vec::new();
    for store in &args.stores {
        let bytes = quantize_store(store, args.codes, args.overwrite, ui)?;
        done.push(serde_json::json!({ "store": store.display().to_string(), "codes_bytes": bytes }));
    }
    ui.json(|| serde_json::json!({ "stores": done }))
}

/// Quantizes a store under a progress bar; returns the bytes of its codes.
pub fn quantize_store(store: &Path, codes: Codes, again: bool, ui: &Ui) -> crate::Result<u64> {
    let bar = OnceLock::new();
    let progress = |progress: QuantizeProgress| {
        bar.get_or_init(|| ui.progress("quantizing", "vectors", progress.rows_total)).set(progress.rows_done);
    };
    let bytes = quantize(store, codes, again, Some(&progress));
    drop(bar);
    let bytes = bytes?;
    ui.status(match codes {
        Codes::Int8 => format!("{} has int8 codes of {:.1} MB", store.display(), bytes as f64 / 1e6),
        Codes::None => format!("{} has no codes", store.display()),
    });
    Ok(bytes)
}
