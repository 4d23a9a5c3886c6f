//! Public files at fixed addresses, such as the archives of collections.

use std::fs;
use std::path::Path;

use md5::Md5;
use toller_files::FileError;

use crate::client::Client;
use crate::lock::lock;
use crate::progress::report;
use crate::transfer::{append, incomplete};
use crate::{OnEvent, ResolveError, ResolveEvent, ResolveOptions, digest};

/// A public file, and what is known of it before it is downloaded.
#[derive(Clone, Copy, Debug)]
pub struct PublicFile<'a> {
    /// The address.
    pub url: &'a str,
    /// The size in bytes.
    pub bytes: Option<u64>,
    /// The MD5 in lowercase hexadecimal.
    pub md5: Option<&'a str>,
}

/// Downloads a file to `path`, and goes on with what an earlier attempt left in `path.incomplete`. A file
/// that is at `path` already is only checked. Returns whether it was downloaded.
///
/// # Errors
/// When the network is not allowed or fails, when the bytes are not the known ones, or when `path` cannot be
/// written.
pub fn download(
    file: &PublicFile<'_>,
    path: &Path,
    options: &ResolveOptions,
    on_event: &mut OnEvent<'_>,
) -> Result<bool, ResolveError> {
    let name = file.url.rsplit('/').next().unwrap_or(file.url);
    if path.exists() {
        return check(file, path).map(|()| false);
    }
    if options.offline {
        return Err(ResolveError::Offline);
    }
    let parts = incomplete(path);
    let locked = lock(&parts, || report(on_event, ResolveEvent::Waiting { file: name }))?;
    // Another process may have downloaded it meanwhile.
    if path.exists() {
        return check(file, path).map(|()| false);
    }
    let client = Client::new(options)?;
    report(on_event, ResolveEvent::Started { file: name, total_bytes: file.bytes })?;
    let advance = &mut |done_bytes| report(on_event, ResolveEvent::Advanced { file: name, done_bytes });
    if let Err(error) = client.persist(|| append(&client, file.url, file.bytes, &parts, advance)) {
        if parts.metadata().is_ok_and(|parts| parts.len() == 0) {
            fs::remove_file(&parts).map_err(FileError::on("remove", &parts))?;
        }
        return Err(error);
    }
    if let Err(error) = check(file, &parts) {
        // The next attempt begins again.
        fs::remove_file(&parts).map_err(FileError::on("remove", &parts))?;
        return Err(error);
    }
    fs::rename(&parts, path).map_err(FileError::on("rename to", path))?;
    drop(locked);
    report(on_event, ResolveEvent::Finished { file: name })?;
    Ok(true)
}

/// An error if the file at `path` is not the known one.
fn check(file: &PublicFile<'_>, path: &Path) -> Result<(), ResolveError> {
    let differs = |what| Err(ResolveError::NotPublished { path: path.to_owned(), what });
    let found = path.metadata().map_err(FileError::on("inspect", path))?.len();
    if let Some(bytes) = file.bytes.filter(|bytes| *bytes != found) {
        return differs(format!("{found} bytes, not {bytes}"));
    }
    if let Some(md5) = file.md5 {
        let found = digest::of_file::<Md5>(path)?;
        if found != md5 {
            return differs(format!("MD5 {found}, not {md5}"));
        }
    }
    Ok(())
}
