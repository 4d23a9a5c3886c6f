//! What one scheduler says about the place of a process, in its variables.

use std::ffi::OsString;

use toller_hub::env::Variable;

use crate::AssignmentError;

/// What a scheduler sets.
pub(crate) struct Scheduler {
    /// The number of this task.
    pub(crate) index: Variable,
    /// The number of tasks.
    pub(crate) count: Variable,
    /// The number of the first task, and of the last; without them, tasks count from zero.
    pub(crate) ends: Option<(Variable, Variable)>,
}

/// The place of a process among those of a scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its number, from zero.
    pub(crate) at: u64,
    /// The number of places, unless only the caller knows it.
    pub(crate) of: Option<u64>,
    /// The variables that say so.
    pub(crate) source: String,
}

impl Scheduler {
    /// The place that this scheduler gives, if it is there. If the number of shares is given, the number of
    /// the task is enough.
    pub(crate) fn place(
        &self,
        of_is_given: bool,
        value: &impl Fn(&Variable) -> Option<OsString>,
    ) -> Result<Option<Place>, AssignmentError> {
        let Some(index) = number(&self.index, value)? else { return Ok(None) };
        let needed = |variable: &Variable| {
            let missing = AssignmentError::Half { set: self.index.name, missing: variable.name };
            number(variable, value)?.ok_or(missing)
        };
        if of_is_given {
            let first = u64::from(self.ends.is_some());
            let at = index.checked_sub(first).ok_or_else(|| {
                wrong(&self.index, index, "is not a number from 1 on, as shares are counted".to_owned())
            })?;
            return Ok(Some(Place { at, of: None, source: format!("{}={index}", self.index.name) }));
        }
        let count = needed(&self.count)?;
        let (first, step) = match &self.ends {
            None => (0, 1),
            Some((first, last)) => {
                let (first, last) = (needed(first)?, needed(last)?);
                let step =
                    last.saturating_sub(first).checked_div(count.saturating_sub(1)).unwrap_or(1).max(1);
                // In a list such as 1,2,5, no task knows its place.
                if first + (count.max(1) - 1) * step != last {
                    let why = format!("does not divide the tasks {first} to {last} evenly");
                    return Err(wrong(&self.count, count, why));
                }
                if count == 1 && first > 1 {
                    let why = "is the only task of its array, as when one of several is repeated".to_owned();
                    return Err(wrong(&self.index, index, why));
                }
                (first, step)
            }
        };
        let place =
            index.checked_sub(first).filter(|distance| distance % step == 0).map(|distance| distance / step);
        let Some(at) = place.filter(|place| *place < count) else {
            return Err(wrong(&self.index, index, format!("is not one of {count} tasks from {first} on")));
        };
        let source = format!("{}={index} and {}={count}", self.index.name, self.count.name);
        Ok(Some(Place { at, of: Some(count), source }))
    }
}

fn wrong(variable: &Variable, value: u64, why: String) -> AssignmentError {
    AssignmentError::Value { variable: variable.name, value: value.to_string(), why }
}

/// The value of a variable, if it is set.
pub(crate) fn number(
    variable: &Variable,
    value: &impl Fn(&Variable) -> Option<OsString>,
) -> Result<Option<u64>, AssignmentError> {
    let Some(text) = value(variable) else { return Ok(None) };
    let text = text.to_string_lossy().into_owned();
    // Far below an overflow of what is computed with it.
    match text.parse::<u32>() {
        Ok(number) => Ok(Some(number.into())),
        Err(_) => {
            let why = "is not a number from 0 on".to_owned();
            Err(AssignmentError::Value { variable: variable.name, value: text, why })
        }
    }
}
