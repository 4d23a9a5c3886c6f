//! Progress of long work, and how it is stopped.

use std::ops::ControlFlow;

use crate::ExchangeError;

/// Rows between two reports.
const STEP_ROWS: u64 = 1024;

/// Gets the number of rows done, now and then, and says whether to continue.
pub type Progress<'p> = dyn FnMut(u64) -> ControlFlow<()> + 'p;

/// Reports `rows`.
pub(crate) fn report(progress: &mut Progress<'_>, rows: u64) -> Result<(), ExchangeError> {
    match progress(rows) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(ExchangeError::Stopped),
    }
}

/// Reports `rows` if it is time to.
pub(crate) fn report_sometimes(progress: &mut Progress<'_>, rows: u64) -> Result<(), ExchangeError> {
    if rows.is_multiple_of(STEP_ROWS) { report(progress, rows) } else { Ok(()) }
}
