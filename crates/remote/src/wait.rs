//! From futures to threads.

use std::io;

use crate::RemoteError;

/// Runs a future to its end on this thread. `object_store` waits between attempts by tokio's clock; its bytes
/// come from a blocking connection, so there is nothing else to drive.
pub(crate) fn wait<T>(future: impl Future<Output = object_store::Result<T>>) -> Result<T, RemoteError> {
    let clock = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let clock = clock.map_err(|error: io::Error| RemoteError::Other(error.to_string()))?;
    clock.block_on(future).map_err(|error| RemoteError::of(&error))
}
