//! `toller store export`: a store in, other programs' files out.

use toller_exchange::{ExportFormat, ExportOptions, export};
use toller_ir::counted;

use super::import::{go_on, stopped};
use crate::args::choice::by_name;
use crate::args::paths::{InputPath, OutputPath};
use crate::engine;
use crate::error::UsageError;
use crate::interrupt;
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// Stores, written as one in this order
    #[arg(value_name = "STORE", required = true)]
    stores: Vec<InputPath>,

    /// File to write, or directory with --format pyserini. Identifiers go to X.ids.txt next to X.npy or
    /// X.faiss
    #[arg(short, long, value_name = "FILE")]
    output: OutputPath,

    /// Format to write [default: by the file's name: .npy, .parquet, .faiss or .index]
    #[arg(long, value_name = "NAME", value_parser = by_name::<ExportFormat>(ExportFormat::NAMES))]
    format: Option<ExportFormat>,

    /// Write float32 even if the store and the format have float16
    #[arg(long)]
    widen: bool,

    /// Replace files that are there
    #[arg(long)]
    overwrite: bool,

    /// Do not verify checksums, nor that identifiers are unique across several stores
    #[arg(long)]
    no_verify: bool,
}

pub fn run(args: &ExportArgs, ui: &Ui) -> crate::Result<()> {
    args.output.check_file("--output", "vectors are")?;
    let format = args.format.or_else(|| ExportFormat::of_name(&args.output)).ok_or_else(|| {
        UsageError::new(
            format!("the name {} does not imply a format", args.output.display()),
            format!("add --format {}", ExportFormat::NAMES.join("|")),
        )
    })?;
    let stop = interrupt::flag(ui, "stopping")?;
    let store = engine::open(ui)?.open_store(&args.stores, !args.no_verify)?;
    let bar = ui.progress("exporting", "vectors", store.count() as u64);
    let options = ExportOptions { widen: args.widen, overwrite: args.overwrite };
    let exported = export(&store, &args.output, format, &options, &mut |rows| {
        bar.set(rows);
        go_on(&stop)
    });
    drop(bar);
    let exported = exported.map_err(stopped("nothing was written"))?;

    let files: Vec<String> = exported.files.iter().map(|file| file.display().to_string()).collect();
    ui.status(format!(
        "exported {} of {} to {}",
        counted(store.count(), "vector"),
        store.dim(),
        files.join(" and ")
    ));
    ui.json(|| {
        serde_json::json!({
            "format": format.name(),
            "files": files,
            "bytes": exported.bytes,
            "rows": store.count(),
            "dim": store.dim(),
        })
    })
}
