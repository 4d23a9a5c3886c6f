//! Files with the expected output of a model.

use std::path::Path;

use serde::de::DeserializeOwned;
use toller_files::Input;
use toller_ir::{counted, in_words_of_json_line};

use crate::args::id_lines::lines;
use crate::error::Remedied;

/// The lines of a file, each a JSON object in the form that `form` describes. `check` says what is wrong with
/// one for this model.
pub(super) fn read<T: DeserializeOwned>(
    path: &Path,
    form: &str,
    check: impl Fn(&T) -> Result<(), String>,
) -> crate::Result<Vec<T>> {
    let (input, mut cases) = (Input::parse(path), Vec::new());
    lines(&input, |number, line| {
        let wrong = |problem: String, remedy: String| {
            Remedied::new(format!("{input}, line {number}: {problem}"), remedy).at_line(&input, number)
        };
        if line.trim().is_empty() {
            return Ok(());
        }
        let case = serde_json::from_str(line)
            .map_err(|error| wrong(in_words_of_json_line(error), format!("a line is {form}")))?;
        check(&case)
            .map_err(|problem| wrong(problem, "give the expected output of this model".to_owned()))?;
        cases.push(case);
        Ok(())
    })?;
    if cases.is_empty() {
        let message = format!("{input} has no expected output");
        return Err(Remedied::new(message, format!("a line is {form}")).at_file(&input).into());
    }
    Ok(cases)
}

/// What is wrong with the number of an output's numbers.
pub(super) fn check_count(what: &str, found: usize, wanted: usize) -> Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{} of the {what}, and the model computes {wanted}", counted(found, "number")))
}
