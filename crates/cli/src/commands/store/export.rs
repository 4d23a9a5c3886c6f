//! `toller store export`: a store in, other programs' files out.

use toller_exchange::{ExportFormat, ExportOptions, Exported, export, export_impacts};
use toller_files::CompressedWriter;
use toller_ir::counted;
use toller_store::{Content, content_of};

use super::import::{go_on, stopped};
use crate::args::choice::by_name;
use crate::args::paths::{InputPath, OutputPath};
use crate::engine;
use crate::error::UsageError;
use crate::interrupt;
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// Stores of vectors, written as one in this order; or a store of impacts
    #[arg(value_name = "STORE", required = true)]
    stores: Vec<InputPath>,

    /// File to write, or directory with --format pyserini. Identifiers go to X.ids.txt next to X.npy or
    /// X.faiss. JSON lines are compressed if the name ends in .gz, .zst or .xz
    #[arg(short, long, value_name = "FILE")]
    output: OutputPath,

    /// Format to write: jsonl for impacts (Pyserini's JsonVectorCollection), another for vectors [default: by
    /// the file's name: .npy, .parquet, .faiss, .index or .jsonl]
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

impl ExportArgs {
    fn options(&self) -> ExportOptions {
        ExportOptions { widen: self.widen, overwrite: self.overwrite }
    }
}

pub fn run(args: &ExportArgs, ui: &Ui) -> crate::Result<()> {
    args.output.check_file("--output", "vectors are")?;
    let format = args.format.or_else(|| ExportFormat::of_name(&args.output)).ok_or_else(|| {
        UsageError::new(
            format!("the name {} does not imply a format", args.output.display()),
            format!("add --format {}", ExportFormat::NAMES.join("|")),
        )
    })?;
    let Some(first) = args.stores.first() else { return Ok(()) };
    let content = content_of(first)?;
    format.check(content)?;
    match content {
        Content::Vectors(_) => vectors(args, format, ui),
        Content::Impacts => impacts(args, first, format, ui),
    }
}

/// Exports stores of vectors, as one.
fn vectors(args: &ExportArgs, format: ExportFormat, ui: &Ui) -> crate::Result<()> {
    let stop = interrupt::flag(ui, "stopping")?;
    let store = engine::open(ui)?.open_store(&args.stores, !args.no_verify)?;
    let bar = ui.progress("exporting", "vectors", store.count() as u64);
    let exported = export(&store, &args.output, format, &args.options(), &mut |rows| {
        bar.set(rows);
        go_on(&stop)
    });
    drop(bar);
    let exported = exported.map_err(stopped("nothing was written"))?;
    let what = format!("{} of {}", counted(store.count(), "vector"), store.dim());
    report(&exported, format, &what, (store.count(), store.dim()), ui)
}

/// Exports the store of impacts, which is the first.
fn impacts(args: &ExportArgs, store: &InputPath, format: ExportFormat, ui: &Ui) -> crate::Result<()> {
    if args.stores.len() > 1 {
        return Err(UsageError::new(
            "stores of impacts are exported one by one",
            "export each to a file of its own: `toller index --impact` takes several files",
        )
        .into());
    }
    if args.widen {
        let message = "--widen is for vectors, and the store holds impacts";
        return Err(UsageError::new(message, "leave it out").into());
    }
    // Before checksums are verified.
    CompressedWriter::check(&args.output).map_err(|error| UsageError::of(&error))?;
    let stop = interrupt::flag(ui, "stopping")?;
    let store = engine::open(ui)?.open_impacts(store, !args.no_verify)?;
    let bar = ui.progress("exporting", "texts", store.count() as u64);
    let exported = export_impacts(&store, &args.output, &args.options(), &mut |rows| {
        bar.set(rows);
        go_on(&stop)
    });
    drop(bar);
    let exported = exported.map_err(stopped("nothing was written"))?;
    let (texts, terms) = (counted(store.count(), "text"), counted(store.dim(), "term"));
    let what = format!("the impacts of {texts} over {terms}");
    report(&exported, format, &what, (store.count(), store.dim()), ui)
}

/// The result: a sentence on stderr, or JSON on stdout.
fn report(
    exported: &Exported,
    format: ExportFormat,
    what: &str,
    (rows, dim): (usize, usize),
    ui: &Ui,
) -> crate::Result<()> {
    let files: Vec<String> = exported.files.iter().map(|file| file.display().to_string()).collect();
    ui.status(format!("exported {what} to {}", files.join(" and ")));
    ui.json(|| {
        serde_json::json!({
            "format": format.name(),
            "files": files,
            "bytes": exported.bytes,
            "rows": rows,
            "dim": dim,
        })
    })
}
