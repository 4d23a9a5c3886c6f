//! The flag of a figure, and drawing it.

use std::io::Write;

use clap::builder::TypedValueParser;
use toller_files::{AtomicFile, CompressedWriter, FileError};
use toller_plot::{DRAWN, Figure};

use super::paths::OutputPath;
use super::replacing::has_in_head;

/// Flags of the commands that draw what they measured.
#[derive(Debug, clap::Args)]
pub struct PlotArgs {
    /// Draw the result in this file, as SVG
    #[arg(long, value_name = "FILE.svg", value_parser = svg())]
    plot: Option<OutputPath>,
}

/// For clap: the name of a figure.
pub fn svg() -> impl TypedValueParser<Value = OutputPath> {
    OutputPath::ending_in("svg", "a figure in SVG")
}

/// The file of a figure that is not drawn yet.
pub struct Plot(Option<(OutputPath, CompressedWriter<AtomicFile>)>);

impl PlotArgs {
    /// Creates the file, if one was asked for. Do so before the work: a file that cannot be written then
    /// costs none.
    pub fn open(&self) -> crate::Result<Plot> {
        self.plot.as_ref().map_or_else(|| Ok(Plot(None)), |path| Plot::create("--plot", path))
    }
}

impl Plot {
    /// Creates the file that a flag names.
    pub fn create(flag: &str, path: &OutputPath) -> crate::Result<Self> {
        path.check_file(flag, "a figure is")?;
        path.check_replaces("a figure that toller drew", |file| has_in_head(file, DRAWN))?;
        Ok(Self(Some((path.clone(), CompressedWriter::create(path)?))))
    }

    /// Draws the figure, if that was asked for.
    pub fn draw(self, figure: impl FnOnce() -> Figure) -> crate::Result<()> {
        if let Some((path, mut file)) = self.0 {
            let written = file.write_all(figure().to_svg()?.as_bytes()).and_then(|()| file.finish());
            written.map_err(FileError::on("write", &path))?.commit()?;
        }
        Ok(())
    }
}
