//! `toller data beir` and the other published layouts, and `toller data list`.

use serde_json::json;
use toller_datasets::{
    Collection, DatasetError, Known, Layout, convert, known_collection, known_collections,
};
use toller_engine::{EngineError, PublicFile};
use toller_files::FileError;
use toller_hub::ResolveError;
use toller_ir::counted;

use super::folder::{FolderArgs, text};
use crate::args::paths::{InputPath, OutputPath};
use crate::engine;
use crate::error::{Failure, Remedied, UsageError};
use crate::interrupt;
use crate::table::{Align, table};
use crate::ui::Ui;

/// Arguments of the builders that read a published layout.
#[derive(Clone, Debug, clap::Args)]
pub struct CollectionArgs {
    /// Folders or files, compressed or not; in folders, files of other layouts are ignored
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<InputPath>,

    #[command(flatten)]
    folder: FolderArgs,

    /// Build this split only
    #[arg(long, value_name = "NAME")]
    split: Option<String>,

    /// Fail unless the counts and the ends match this known collection (`toller data list`)
    #[arg(long, value_name = "NAME")]
    known: Option<String>,
}

/// List known collections, show one, or compare files with it.
///
/// Without arguments: every known collection, with its passages and the size of its download.
/// With a name: all that is known of it, its splits and its licence, too. With files, too: whether the
/// counts, and the first and the last identifier, are the same.
#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {
    /// The name of a collection
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Folders or files of the collection, compressed or not
    #[arg(value_name = "INPUT", requires = "name")]
    inputs: Vec<InputPath>,

    /// Download the collection's file into this folder, or go on with it, and check its size and MD5
    #[arg(long, value_name = "DIR", requires = "name", conflicts_with = "inputs")]
    download: Option<OutputPath>,
}

/// Builds.
pub fn run(layout: Layout, args: &CollectionArgs, ui: &Ui) -> crate::Result<()> {
    let _claim = args.folder.claim(&args.inputs, ui)?;
    let known = args.known.as_deref().map(named).transpose()?;
    let check = |found: &Collection| known.map_or(Ok(()), |known| check(known, found));
    let bar = ui.progress("reading", "passages", known.map_or(0, |known| known.passages));
    let paths = InputPath::all(&args.inputs);
    let output = Some(&*args.folder.output);
    let built = convert(layout, &paths, args.split.as_deref(), output, check, |done| bar.set(done))?;
    drop(bar);
    // With --split, only that one is read.
    let uncompared = known.filter(|_| args.split.is_none()).map(|known| known.uncompared(&built));
    let uncompared = uncompared.unwrap_or_default();
    if !uncompared.is_empty() {
        ui.warning(format!("not read, so not compared with what is known: {}", uncompared.join(", ")));
    }
    if built.corpus.is_none() {
        ui.warning("there is no collection among the files: only queries and judgments were written");
    }
    if !built.without_queries.is_empty() {
        let splits = built.without_queries.join(", ");
        ui.warning(format!("there are judgments, but no queries, of the splits: {splits}"));
    }
    if let Some(file) = &built.unused_queries {
        ui.warning(format!(
            "{file} was not used: there are no judgments, which say what queries a split has"
        ));
    }
    if let Some(example) = built.missing_documents.first() {
        let documents = counted(built.missing_documents.len(), "judged document");
        ui.warning(format!("the collection does not have {documents}, for example {example:?}"));
    }
    if built.own_passages > 0 {
        ui.warning(format!(
            "passages have the identifiers of {}; if they are the queries themselves, see --remove-query of \
             search and eval",
            counted(built.own_passages, "query")
        ));
    }
    if built.changed_queries > 0 {
        ui.warning(format!(
            "each tab and line break in {} is a space in the TSV file",
            counted(built.changed_queries, "query")
        ));
    }
    args.folder.report(&built.files, &built.statistics, ui)
}

fn check(known: &Known, found: &Collection) -> Result<(), DatasetError> {
    let differences = known.differences(found);
    if differences.is_empty() {
        return Ok(());
    }
    Err(DatasetError::NotAsKnown { name: known.name.clone(), differences: differences.join("; ") })
}

fn named(name: &str) -> Result<&'static Known, UsageError> {
    let unknown = || {
        let part = name.to_lowercase();
        let alike = known_collections().iter().map(|known| &known.name[..]);
        let alike: Vec<&str> = alike.filter(|known| known.contains(&part)).take(5).collect();
        let hint = match &alike[..] {
            [] => "see toller data list".to_owned(),
            alike => format!("did you mean {}?", alike.join(", ")),
        };
        UsageError::new(format!("no known collection is called {name}"), hint)
    };
    known_collection(name).ok_or_else(unknown)
}

/// Lists.
pub fn list(args: &ListArgs, ui: &Ui) -> crate::Result<()> {
    let Some(name) = &args.name else {
        let all = known_collections();
        return ui.show(
            || json!({"collections": all, "found": null}),
            |out| out.write_all(overview(all).as_bytes()),
        );
    };
    let known = named(name)?;
    if let Some(folder) = &args.download {
        fetch(known, folder, ui)?;
    }
    let found = if args.inputs.is_empty() { None } else { Some(read(known, args, ui)?) };
    if let Some(found) = &found {
        check(known, found)?;
        ui.status(match &*known.uncompared(found).join(", ") {
            "" => format!("the files are {name} as it is known"),
            missing => format!("the files are {name} as it is known, as far as they go; without: {missing}"),
        });
    }
    ui.show(
        || {
            let found = found.as_ref().map(|found| json!({"statistics": found.statistics.to_json()}));
            json!({"collections": [known], "found": found})
        },
        |out| {
            out.write_all(details(known).as_bytes())?;
            found.iter().try_for_each(|found| write!(out, "\n{}", text(&found.statistics)))
        },
    )
}

/// Downloads the file of a known collection.
fn fetch(known: &Known, folder: &OutputPath, ui: &Ui) -> crate::Result<()> {
    folder.check_directory("the folder of a download")?;
    let name = known.file_name().ok_or_else(|| {
        let message = format!("{} is not one file: {}", known.name, known.source);
        Remedied::new(message, "download its files from there; docs/datasets.md has their names")
    })?;
    std::fs::create_dir_all(&**folder).map_err(FileError::on("create", folder))?;
    // Ctrl-C keeps what has come.
    interrupt::flag(ui, "stopping")?;
    let file = PublicFile { url: &known.source, bytes: known.bytes, md5: known.md5.as_deref() };
    let path = folder.join(name);
    let is_new = engine::open(ui)?.download(&file, &path).map_err(|error| match error {
        // The hub has no part in it.
        EngineError::Resolve(ResolveError::Network { .. }) => {
            let remedy = "check the network and HTTPS_PROXY, or download the file with another program";
            Remedied::new(error.to_string(), remedy).into()
        }
        error => Failure::from(error),
    })?;
    let (done, path) = (if is_new { "downloaded" } else { "is there already:" }, path.display());
    ui.status(format!("{done} {path}; unpack it before it is read"));
    Ok(())
}

/// Reads the files of a known collection.
fn read(known: &Known, args: &ListArgs, ui: &Ui) -> crate::Result<Collection> {
    let unread = || {
        Remedied::new(
            format!("no builder reads {} in its published layout", known.name),
            "docs/datasets.md says how it is built",
        )
    };
    let layout: Layout = known.layout.as_deref().and_then(|name| name.parse().ok()).ok_or_else(unread)?;
    let split = known.name.strip_prefix("bright/");
    let bar = ui.progress("reading", "passages", known.passages);
    let paths = InputPath::all(&args.inputs);
    Ok(convert(layout, &paths, split, None, |_| Ok(()), |done| bar.set(done))?)
}

/// A line for each collection.
fn overview(all: &[Known]) -> String {
    let header = ["name", "passages", "download", "title"].map(str::to_owned);
    let row = |known: &Known| {
        let megabytes =
            known.bytes.map_or_else(String::new, |bytes| format!("{} MB", bytes.div_ceil(1_000_000)));
        vec![known.name.clone(), known.passages.to_string(), megabytes, known.title.clone()]
    };
    let rows: Vec<Vec<String>> = std::iter::once(header.to_vec()).chain(all.iter().map(row)).collect();
    table(&rows, &[Align::Left, Align::Right, Align::Right, Align::Left])
}

/// The command that reads a layout.
fn builder(layout: &str) -> String {
    let step = if layout == Layout::T2ranking.name() { " collection" } else { "" };
    format!("toller data {layout}{step}")
}

/// All that is known of a collection.
fn details(known: &Known) -> String {
    let splits = known.splits.iter().map(|(name, counts)| {
        let judgments =
            counts.get(1).map_or_else(String::new, |count| format!(", {}", counted(*count, "judgment")));
        (format!("split {name}"), counts.first().map(|queries| counted(*queries, "query") + &judgments))
    });
    let rows = [
        ("name".to_owned(), Some(known.name.clone())),
        ("title".to_owned(), Some(known.title.clone())),
        ("source".to_owned(), Some(known.source.clone())),
        ("bytes".to_owned(), known.bytes.map(|bytes| bytes.to_string())),
        ("MD5".to_owned(), known.md5.clone()),
        ("licence".to_owned(), Some(known.licence.clone())),
        ("builder".to_owned(), known.layout.as_deref().map(builder)),
        ("passages".to_owned(), Some(known.passages.to_string())),
        ("first passage".to_owned(), known.first.clone()),
        ("last passage".to_owned(), known.last.clone()),
    ];
    let rows = rows.into_iter().chain(splits);
    let rows: Vec<Vec<String>> = rows.filter_map(|(name, value)| Some(vec![name, value?])).collect();
    table(&rows, &[Align::Left, Align::Left])
}
