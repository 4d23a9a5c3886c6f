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
    /// the work of one person, who is called as the file, with its folder where two files have one name. The
    /// packages package-0001, package-0002, ... of a folder are the work of one person, called as the folder
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

/// What the annotators of sheets are called: as the file, with as many folders in front as set it apart. The
/// packages of one folder are the work of one person, who is called as the folder.
fn annotators<P: AsRef<Path>>(sheets: &[P]) -> Vec<String> {
    let parts = |sheet: &P| -> (Vec<String>, bool) {
        let path = sheet.as_ref().with_extension("");
        let mut parts: Vec<String> =
            path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        let is_package = parts.len() > 1 && parts.last().is_some_and(|name| is_package(name));
        if is_package {
            parts.pop();
        }
        (parts, is_package)
    };
    let all: Vec<(Vec<String>, bool)> = sheets.iter().map(parts).collect();
    let name = |(sheet, own): (&P, &(Vec<String>, bool))| {
        let (parts, is_package) = own;
        let count_of =
            |is_it: &dyn Fn(&[String]) -> bool| all.iter().filter(|(other, _)| is_it(other)).count();
        let of_person = if *is_package { count_of(&|other| other == parts) } else { 1 };
        let same = |count: usize| count_of(&|other| last(other, count) == last(parts, count));
        match (1..=parts.len()).find(|count| same(*count) == of_person) {
            Some(count) => last(parts, count).join("/"),
            // There is no folder more.
            None => sheet.as_ref().display().to_string(),
        }
    };
    sheets.iter().zip(&all).map(name).collect()
}

/// Whether a file is called as `annotate packages` calls them.
fn is_package(name: &str) -> bool {
    let number = name.strip_prefix("package-");
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
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
        let packages =
            ["a/ann/package-0001.csv", "a/ann/package-0002.csv", "a/bo/package-0001.csv", "package-0003.csv"];
        assert_eq!(annotators(&packages), ["ann", "ann", "bo", "package-0003"]);
    }
}
