//! Filled sheets, and reading them.

use std::path::Path;

use toller_annotation::{AnnotationError, Ratings};
use toller_files::InputReader;
use toller_ir::counted;

use crate::args::paths::{InputPath, Inputs};
use crate::ui::Ui;

/// Flags of the commands that read filled sheets.
#[derive(Debug, clap::Args)]
pub struct SheetsArgs {
    /// Filled sheets: CSV with the columns query_id, doc_id and grade. A sheet without a column annotator is
    /// the work of one person, who is called as the file, with its folder where two files have one name
    #[arg(value_name = "SHEET", required = true)]
    pub sheets: Vec<InputPath>,
}

impl SheetsArgs {
    /// Reads the sheets.
    pub fn read(&self, ui: &Ui) -> crate::Result<Ratings> {
        Inputs::files(&self.sheets).check()?;
        let mut ratings = Ratings::default();
        for (sheet, annotator) in self.sheets.iter().zip(annotators(&self.sheets)) {
            let input = sheet.input();
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

/// What the annotators of sheets are called: as the file, with as many folders in front as set it apart.
fn annotators<P: AsRef<Path>>(sheets: &[P]) -> Vec<String> {
    let parts = |sheet: &P| -> Vec<String> {
        let path = sheet.as_ref().with_extension("");
        path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let all: Vec<Vec<String>> = sheets.iter().map(parts).collect();
    let name = |(sheet, parts): (&P, &Vec<String>)| {
        let same = |count: usize| all.iter().filter(|other| last(other, count) == last(parts, count)).count();
        match (1..=parts.len()).find(|count| same(*count) == 1) {
            Some(count) => last(parts, count).join("/"),
            // There is no folder more.
            None => sheet.as_ref().display().to_string(),
        }
    };
    sheets.iter().zip(&all).map(name).collect()
}

/// The last `count` parts.
fn last(parts: &[String], count: usize) -> &[String] {
    parts.split_at(parts.len().saturating_sub(count)).1
}

#[cfg(test)]
mod tests {
    use super::annotators;

    #[test]
    fn annotators_have_names_of_their_own() {
        assert_eq!(annotators(&["x/ann.csv", "y/bo.csv", "-"]), ["ann", "bo", "-"]);
        assert_eq!(annotators(&["ann/p.csv", "bo/p.csv", "cy.csv"]), ["ann/p", "bo/p", "cy"]);
        assert_eq!(annotators(&["a/x/p.csv", "b/x/p.csv", "p.csv"]), ["a/x/p", "b/x/p", "p.csv"]);
        assert_eq!(annotators(&["p.csv", "p.tsv"]), ["p.csv", "p.tsv"]);
    }
}
