//! Fetching a store: first its files, each verified, then the manifest that lists them.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use toller_files::{
    AtomicFile, ChecksumHasher, DirectoryLock, FileError, ListedFile, ListedFileError, Object, OpenOptions,
    Verifier, names_in, read_regular, unfinished,
};
use toller_store::{Manifest, Part};

use crate::folder::{Folder, failure};
use crate::object::RemoteObject;
use crate::transfer::{Meter, continues, for_each};
use crate::{Client, RemoteError, Transfer, TransferError, Transferred};

/// The bytes that one request asks for.
const CHUNK_BYTES: u64 = 8 << 20;

/// A store, or a part of one, that is to be fetched into a directory.
struct Delivery {
    folder: Folder,
    directory: PathBuf,
    manifest: Manifest,
    /// The manifest as it was published.
    bytes: Bytes,
    files: Vec<ListedFile>,
}

impl Client {
    /// Fetches the store at `url`, finished or not, into `directory`; of a store in parts, the parts that are
    /// there. Files that are whole already are not fetched again, and others are fetched from where they end.
    ///
    /// # Errors
    /// Those of [`TransferError`]. What has arrived stays.
    pub fn pull(
        &self,
        url: &str,
        directory: &Path,
        transfer: &Transfer<'_>,
    ) -> Result<Transferred, TransferError> {
        let deliveries = deliveries(&self.folder(url)?, directory)?;
        let files = deliveries.iter().flat_map(|delivery| &delivery.files);
        let meter = Meter::new(transfer, files.clone().map(|file| file.bytes).sum());
        deliveries.iter().try_for_each(|delivery| delivery.fetch(&meter))?;
        Ok(meter.result(files.count()))
    }
}

/// The store in a folder, or its parts.
fn deliveries(root: &Folder, directory: &Path) -> Result<Vec<Delivery>, TransferError> {
    if let Some(whole) = Delivery::of(root.clone(), directory.to_owned())? {
        return Ok(vec![whole]);
    }
    let mut parts = root.names()?;
    parts.retain(|name| Part::parse_directory_name(name).is_some());
    parts.sort_unstable();
    let found = parts.iter().map(|name| Delivery::of(root.below(name), directory.join(name)));
    let deliveries: Vec<Delivery> = found.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    if deliveries.is_empty() {
        return Err(TransferError::NoStore(root.url().to_string()));
    }
    check_root(directory, &parts)?;
    Ok(deliveries)
}

/// Refuses a directory that holds anything but parts of the same division: a whole store in it would hide
/// the parts.
fn check_root(directory: &Path, parts: &[String]) -> Result<(), TransferError> {
    let of = parts.iter().find_map(|name| Part::parse_directory_name(name)).map(|(_, of)| of);
    let is_ours =
        |name: &str| name == DirectoryLock::FILE || Part::parse_directory_name(name).map(|(_, of)| of) == of;
    let in_use = |entry| Err(TransferError::InUse { place: directory.display().to_string(), entry });
    names_in(directory)?.into_iter().find(|name| !is_ours(name)).map_or(Ok(()), in_use)
}

impl Delivery {
    /// What is published in a folder; `None` if that is nothing.
    fn of(folder: Folder, directory: PathBuf) -> Result<Option<Self>, TransferError> {
        let Some(published) = folder.read(Manifest::FILE)? else { return Ok(None) };
        // Errors name the object.
        let manifest = Manifest::parse(&published.bytes, Path::new(&folder.url().to_string()))?;
        let files = manifest.files(&directory).collect();
        Ok(Some(Self { folder, directory, manifest, bytes: published.bytes, files }))
    }

    fn fetch(&self, meter: &Meter<'_>) -> Result<(), TransferError> {
        let directory = &self.directory;
        let lock = DirectoryLock::acquire(directory)?;
        let _lock = lock.ok_or_else(|| TransferError::Locked(directory.clone()))?;
        self.check_place()?;
        for_each(&self.files, |file| self.fetch_file(file, meter))?;
        let path = directory.join(Manifest::FILE);
        let mut manifest = AtomicFile::create(&path)?;
        manifest.write_all(&self.bytes).map_err(FileError::on("write", &path))?;
        Ok(manifest.commit()?)
    }

    /// Refuses a directory that holds anything but this store, or the beginning of it.
    fn check_place(&self) -> Result<(), TransferError> {
        let directory = &self.directory;
        let path = directory.join(Manifest::FILE);
        if path.exists() {
            let found = read_regular(&path).map_err(FileError::on("read", &path))?;
            let found = Manifest::parse(&found, directory);
            if !found.is_ok_and(|found| continues(&self.manifest, &found)) {
                return Err(TransferError::OtherStoreHere(directory.clone()));
            }
        }
        let is_ours = |name: &str| {
            let path = directory.join(name);
            [Manifest::FILE, DirectoryLock::FILE].contains(&name)
                || self.files.iter().any(|file| file.path == path)
        };
        let foreign =
            names_in(directory)?.into_iter().find(|name| !is_ours(unfinished(name).unwrap_or(name)));
        let place = || directory.display().to_string();
        foreign.map_or(Ok(()), |entry| Err(TransferError::InUse { place: place(), entry }))
    }

    fn fetch_file(&self, file: &ListedFile, meter: &Meter<'_>) -> Result<(), TransferError> {
        let options = OpenOptions::default();
        match file.map(&Verifier::new(&options, file.bytes)) {
            Ok(_) => return meter.advance(file.bytes),
            Err(ListedFileError::File(error)) => return Err(error.into()),
            Err(ListedFileError::Damaged(_)) => {}
        }
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        let url = self.folder.url().below(&name);
        let mismatch = || TransferError::Mismatch(url.to_string());
        let object = self.folder.object(&name)?.ok_or_else(mismatch)?;
        if object.stamp().bytes != file.bytes {
            return Err(mismatch());
        }
        let download =
            Download { file, object: &object, meter, failed: &|error| failure("read", &url, error).into() };
        // The beginning may come from another version.
        let is_whole = download.finish(false)? || download.finish(true)?;
        meter.count_moved();
        if is_whole { Ok(()) } else { Err(mismatch()) }
    }
}

/// A file on its way.
struct Download<'a> {
    file: &'a ListedFile,
    object: &'a RemoteObject,
    meter: &'a Meter<'a>,
    failed: &'a dyn Fn(RemoteError) -> TransferError,
}

impl Download<'_> {
    /// Fetches what is missing, and gives the file its name. False if its bytes are not those that were
    /// listed.
    fn finish(&self, from_start: bool) -> Result<bool, TransferError> {
        let path = self.temporary();
        let mut file = File::options();
        let file =
            file.read(true).append(true).create(true).open(&path).map_err(FileError::on("create", &path))?;
        let there = file.metadata().map_err(FileError::on("examine", &path))?.len();
        if from_start || there > self.file.bytes {
            file.set_len(0).map_err(FileError::on("truncate", &path))?;
        }
        let mut hasher = ChecksumHasher::default();
        let mut done = self.hash(&file, &mut hasher)?;
        self.meter.advance(done)?;
        while done < self.file.bytes {
            let chunk =
                self.object.get(done..self.file.bytes.min(done + CHUNK_BYTES)).map_err(self.failed)?;
            (&file).write_all(&chunk).map_err(FileError::on("write", &path))?;
            hasher.update(&chunk);
            done += chunk.len() as u64;
            self.meter.advance_moved(chunk.len() as u64)?;
        }
        if hasher.finish() != self.file.checksum {
            self.meter.retract(done);
            fs::remove_file(&path).map_err(FileError::on("remove", &path))?;
            return Ok(false);
        }
        file.sync_all().map_err(FileError::on("sync", &path))?;
        fs::rename(&path, &self.file.path).map_err(FileError::on("rename", &path))?;
        Ok(true)
    }

    /// Hashes what an earlier attempt left; returns its length.
    fn hash(&self, mut file: &File, hasher: &mut ChecksumHasher) -> Result<u64, TransferError> {
        let path = self.temporary();
        let mut buffer = vec![0; 1 << 20];
        let mut length = 0;
        loop {
            let read = std::io::Read::read(&mut file, &mut buffer).map_err(FileError::on("read", &path))?;
            if read == 0 {
                return Ok(length);
            }
            hasher.update(&buffer[..read]);
            length += read as u64;
        }
    }

    /// The name until the file is whole: that of a temporary file, which a writer of the store removes.
    fn temporary(&self) -> PathBuf {
        let name = self.file.path.file_name().unwrap_or_default().to_string_lossy();
        self.file.path.with_file_name(format!(".{name}.pulled.tmp"))
    }
}
