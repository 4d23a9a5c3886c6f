//! `toller store push`: a store to an object store.

use super::transfer::carry;
use crate::args::paths::InputPath;
use crate::objects;
use crate::ui::Ui;

/// Send a store to S3, Google Cloud Storage or Azure.
///
/// The store may be unfinished. Its files are sent first, with checksums, then the manifest that lists them.
/// Files that arrived earlier are not sent again.
///
/// Of two writers with different stores one gets an error. A store in parts may be sent by the machines that
/// have the parts.
#[derive(Debug, clap::Args)]
pub struct PushArgs {
    /// Store
    #[arg(value_name = "STORE")]
    store: InputPath,

    /// Folder: s3://BUCKET/PATH, gs://BUCKET/PATH or az://CONTAINER/PATH
    #[arg(value_name = "URL")]
    url: String,

    /// Replace another store that is there; of the same store, send all files again
    #[arg(long)]
    overwrite: bool,
}

pub fn run(args: &PushArgs, ui: &Ui) -> crate::Result<()> {
    carry("sent", &args.store, &args.url, args.overwrite, ui, |transfer| {
        objects::client().push(&args.store, &args.url, transfer)
    })
}
