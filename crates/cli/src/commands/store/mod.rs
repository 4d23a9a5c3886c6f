//! `toller store`: all that is done with stores, except encoding and searching. One file per subcommand.

mod export;
mod import;
mod info;
mod plot;
mod pull;
mod push;
pub(crate) mod quantize;
mod status;
mod transfer;
mod verify;

use crate::ui::Ui;

#[derive(Debug, clap::Subcommand)]
pub enum StoreCommand {
    /// Make a store of vectors in FAISS, NumPy, Parquet or pickle files
    Import(import::ImportArgs),
    /// Write a store's vectors as FAISS's flat index, a NumPy array or Parquet; impacts as JSON lines
    Export(export::ExportArgs),
    /// Show what stores hold, finished or not
    Info(info::InfoArgs),
    Plot(plot::PlotArgs),
    Push(push::PushArgs),
    Pull(pull::PullArgs),
    /// Give finished stores int8 codes, which searches for few queries read instead of the vectors
    Quantize(quantize::QuantizeArgs),
    Status(status::StatusArgs),
    /// Verify every checksum of stores, and name what is damaged
    Verify(verify::VerifyArgs),
}

pub fn run(command: &StoreCommand, ui: &Ui) -> crate::Result<()> {
    match command {
        StoreCommand::Import(args) => import::run(args, ui),
        StoreCommand::Export(args) => export::run(args, ui),
        StoreCommand::Info(args) => info::run(args, ui),
        StoreCommand::Plot(args) => plot::run(args, ui),
        StoreCommand::Push(args) => push::run(args, ui),
        StoreCommand::Pull(args) => pull::run(args, ui),
        StoreCommand::Quantize(args) => quantize::run(args, ui),
        StoreCommand::Status(args) => status::run(args, ui),
        StoreCommand::Verify(args) => verify::run(args, ui),
    }
}
