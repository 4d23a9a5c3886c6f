//! Filled sheets, and reading them.

use toller_annotation::{AnnotationError, Ratings};
use toller_files::InputReader;
use toller_ir::counted;

use crate::args::paths::{InputPath, Inputs};
use crate::ui::Ui;

/// Flags of the commands that read filled sheets.
#[derive(Debug, clap::Args)]
pub struct SheetsArgs {
    /// Filled sheets: CSV with the columns query_id, doc_id and grade. A sheet without a column annotator is
    /// the work of one person, who is called as the file
    #[arg(value_name = "SHEET", required = true)]
    pub sheets: Vec<InputPath>,
}

impl SheetsArgs {
    /// Reads the sheets.
    pub fn read(&self, ui: &Ui) -> crate::Result<Ratings> {
        Inputs::files(&self.sheets).check()?;
        let mut ratings = Ratings::default();
        for sheet in &self.sheets {
            let input = sheet.input();
            let annotator = sheet.file_stem().unwrap_or_default().to_string_lossy();
            ratings.read(&input.to_string(), &annotator, InputReader::open(&input)?)?;
        }
        if ratings.pairs.is_empty() {
            return Err(AnnotationError::NoRating.into());
        }
        if ratings.empty > 0 {
            ui.warning(format!("left out {} without a grade", counted(ratings.empty, "row")));
        }
        Ok(ratings)
    }
}
