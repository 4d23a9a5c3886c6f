//! `toller store pull`: a store from an object store.

use super::transfer::carry;
use crate::args::paths::OutputPath;
use crate::objects;
use crate::ui::Ui;

/// Fetch a store from S3, Google Cloud Storage or Azure.
///
/// The store may be unfinished. Every file is verified by the checksum in the manifest. Files that are there
/// already are not fetched again, and damaged ones are replaced.
#[derive(Debug, clap::Args)]
pub struct PullArgs {
    /// Folder: s3://BUCKET/PATH, gs://BUCKET/PATH or az://CONTAINER/PATH
    #[arg(value_name = "URL")]
    url: String,

    /// Directory to write the store to; if the same fetch was interrupted, it is resumed
    #[arg(value_name = "STORE")]
    store: OutputPath,
}

pub fn run(args: &PullArgs, ui: &Ui) -> crate::Result<()> {
    args.store.check_directory("a store")?;
    carry("fetched", &args.store, &args.url, false, ui, |transfer| {
        objects::client().pull(&args.url, &args.store, transfer)
    })
}
