//! The bytes of one file, appended to those of an earlier attempt.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use toller_files::FileError;

use crate::ResolveError;
use crate::client::{Client, text_of};

/// The largest file that is taken from a server that announces no size: ample for configuration and
/// vocabularies.
const UNANNOUNCED_LIMIT_BYTES: u64 = 64 << 20;

/// Appends the rest of the file at `url` to `path`, and syncs it. No more is written than was announced.
pub(crate) fn append(
    client: &Client,
    url: &str,
    mut total_bytes: Option<u64>,
    path: &Path,
    advance: &mut dyn FnMut(u64) -> Result<(), ResolveError>,
) -> Result<(), ResolveError> {
    let mut file =
        File::options().append(true).create(true).open(path).map_err(FileError::on("create", path))?;
    let mut done_bytes = file.metadata().map_err(FileError::on("inspect", path))?.len();
    let restart = |file: &File| file.set_len(0).map_err(FileError::on("truncate", path));
    if total_bytes.is_some_and(|total| done_bytes > total) {
        restart(&file)?;
        done_bytes = 0;
    }
    if total_bytes != Some(done_bytes) || done_bytes == 0 {
        let response = client.get(url, (done_bytes > 0).then_some(done_bytes));
        if matches!(response, Err(ResolveError::Status { status: 416, .. })) {
            restart(&file)?;
        }
        let response = response?;
        let range =
            text_of(response.headers(), "content-range").and_then(|range| range.strip_prefix("bytes "));
        let continues = response.status() == 206
            && range.is_some_and(|range| range.starts_with(&format!("{done_bytes}-")));
        if done_bytes > 0 && !continues {
            // The server sends the whole file, whatever part is requested.
            restart(&file)?;
            done_bytes = 0;
        }
        let rest_bytes = text_of(response.headers(), "content-length").and_then(|length| length.parse().ok());
        total_bytes = total_bytes.or_else(|| rest_bytes.map(|rest: u64| done_bytes.saturating_add(rest)));
        let limit_bytes = total_bytes.unwrap_or(UNANNOUNCED_LIMIT_BYTES);
        let mut body = response.into_body().into_reader();
        let mut buffer = vec![0; 1 << 17];
        loop {
            let count = body.read(&mut buffer).map_err(|error| ResolveError::Network {
                url: url.to_owned(),
                source: Box::new(ureq::Error::Io(error)),
            })?;
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
            done_bytes += count as u64;
            if done_bytes > limit_bytes {
                restart(&file)?;
                return Err(ResolveError::Oversized { url: url.to_owned(), limit_bytes });
            }
            file.write_all(bytes).map_err(FileError::on("write", path))?;
            advance(done_bytes)?;
        }
    }
    if let Some(total_bytes) = total_bytes.filter(|total| *total != done_bytes) {
        return Err(ResolveError::Truncated { url: url.to_owned(), done_bytes, total_bytes });
    }
    Ok(file.sync_all().map_err(FileError::on("sync", path))?)
}

/// Where the bytes of a file are until they are complete.
pub(crate) fn incomplete(path: &Path) -> PathBuf {
    let mut path = path.to_owned().into_os_string();
    path.push(".incomplete");
    PathBuf::from(path)
}
