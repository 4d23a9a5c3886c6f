//! Measures on the command line.

use std::str::FromStr;

use toller_eval::{Measure, check_first_rank_measures, parse_measures};

use crate::error::UsageError;

/// Measures of one flag, separated by blanks or commas.
#[derive(Clone, Debug)]
pub struct MeasureList(Vec<Measure>);

impl FromStr for MeasureList {
    type Err = UsageError;

    fn from_str(text: &str) -> Result<Self, UsageError> {
        parse_measures(text).map(Self).map_err(|error| UsageError::of(&error))
    }
}

/// For clap: measures that only depend on the rank of the first relevant document.
pub fn of_first_rank(text: &str) -> Result<MeasureList, UsageError> {
    let list: MeasureList = text.parse()?;
    check_first_rank_measures(&list.0).map_err(|error| UsageError::of(&error))?;
    Ok(list)
}

/// For clap: one measure.
pub fn measure(text: &str) -> Result<Measure, UsageError> {
    text.parse().map_err(|error: toller_eval::MeasureError| UsageError::of(&error))
}

/// The measures of all lists, each once.
pub fn of_all<'a>(lists: impl IntoIterator<Item = &'a MeasureList>) -> Vec<Measure> {
    let mut measures: Vec<Measure> = Vec::new();
    for measure in lists.into_iter().flat_map(|list| &list.0) {
        if !measures.contains(measure) {
            measures.push(measure.clone());
        }
    }
    measures
}
