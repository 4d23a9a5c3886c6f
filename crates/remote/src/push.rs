//! Sending a store: first its files, then the manifest that lists them.
//!
//! A writer announces what it will publish before it writes anything: it creates an object, the claim, with
//! the bytes of its manifest. Only writers of the same bytes go on, so none overwrites the files of
//! another's store. The manifest is written on the condition that nobody else has written one since, and
//! the claim is removed. A killed writer leaves its claim and files. The same command finds both and goes
//! on.
//!
//! With `overwrite`, a writer takes over the claim of another. Each writer looks at the claim again before
//! every write, and gives up if the claim is lost. One request of the loser may still be under way then. The
//! winner examines every file again before it publishes. Only a request that arrives even later damages the
//! store, which `pull` notices by the checksums.

use std::borrow::Cow;
use std::path::Path;

use bytes::Bytes;
use object_store::PutMode;
use toller_files::{Checksum, FileError, ListedFile, ListedFileError, OpenOptions, Verifier, read_regular};
use toller_store::{Manifest, Part, StorePart, StoreSpec, status};

use crate::folder::Folder;
use crate::transfer::{Meter, continues, for_each};
use crate::{Client, Transfer, TransferError, Transferred};

/// The object that says what is being sent to its folder.
const CLAIM: &str = "manifest.json.sending";

/// A store, or a part of one, that is to be sent to a folder.
struct Shipment {
    folder: Folder,
    manifest: Manifest,
    /// The manifest as it is on disk.
    bytes: Bytes,
    /// That of the manifest.
    checksum: Checksum,
    files: Vec<ListedFile>,
}

impl Client {
    /// Sends the store in `directory`, finished or not, to the folder at `url`; of a store in parts, the
    /// parts that are there. Files that arrived earlier are not sent again, unless the same store is to be
    /// overwritten.
    ///
    /// # Errors
    /// Those of [`TransferError`]. What has arrived stays.
    pub fn push(
        &self,
        directory: &Path,
        url: &str,
        transfer: &Transfer<'_>,
    ) -> Result<Transferred, TransferError> {
        let parts = status(directory)?.parts;
        let root = self.folder(url)?;
        check_root(&root, &parts, transfer.overwrite)?;
        let shipments = parts.iter().map(|part| Shipment::of(part, &root)).collect::<Result<Vec<_>, _>>()?;
        let files = shipments.iter().flat_map(|shipment| &shipment.files);
        let meter = Meter::new(transfer, files.clone().map(|file| file.bytes).sum());
        shipments.iter().try_for_each(|shipment| shipment.send(transfer.overwrite, &meter))?;
        Ok(meter.result(files.count()))
    }
}

/// Refuses a folder that holds a store in another division; and one that holds parts of another store,
/// unless they are to be replaced.
fn check_root(root: &Folder, parts: &[StorePart], overwrite: bool) -> Result<(), TransferError> {
    let spec = parts.first().map(|part| &part.manifest.spec);
    let of = spec.and_then(|spec| spec.part).map(|part| part.of);
    let is_other = |name: &&String| match Part::parse_directory_name(name) {
        Some((_, found)) => of != Some(found),
        None => of.is_some() && [Manifest::FILE, CLAIM].contains(&name.as_str()),
    };
    let names = root.names()?;
    if let Some(entry) = names.iter().find(is_other) {
        return Err(TransferError::InUse { place: root.url().to_string(), entry: entry.clone() });
    }
    match spec.filter(|_| !overwrite) {
        Some(spec) => check_other_parts(root, &names, parts, spec),
        None => Ok(()),
    }
}

/// Refuses a folder whose other parts belong to another store. They agree with each other, so that one of
/// them is enough.
fn check_other_parts(
    root: &Folder,
    names: &[String],
    parts: &[StorePart],
    spec: &StoreSpec,
) -> Result<(), TransferError> {
    let ours: Vec<String> =
        parts.iter().filter_map(|part| part.manifest.spec.part).map(|part| part.directory_name()).collect();
    let others =
        names.iter().filter(|name| Part::parse_directory_name(name).is_some() && !ours.contains(name));
    for folder in others.map(|name| root.below(name)) {
        if let Some(found) = folder.read(Manifest::FILE)? {
            let manifest = Manifest::parse(&found.bytes, Path::new(&folder.url().to_string()))?;
            return match spec.is_part_of_same(&manifest.spec) {
                true => Ok(()),
                false => Err(TransferError::OtherStore(root.url().to_string())),
            };
        }
    }
    Ok(())
}

impl Shipment {
    fn of(part: &StorePart, root: &Folder) -> Result<Self, TransferError> {
        let path = part.directory.join(Manifest::FILE);
        let bytes = read_regular(&path).map_err(FileError::on("read", &path))?;
        let manifest = Manifest::parse(&bytes, &part.directory)?;
        let folder = match manifest.spec.part {
            Some(part) => root.below(&part.directory_name()),
            None => root.clone(),
        };
        let files = manifest.files(&part.directory).collect();
        let checksum = Checksum::of(&bytes);
        Ok(Self { folder, manifest, bytes: bytes.into(), checksum, files })
    }

    fn send(&self, overwrite: bool, meter: &Meter<'_>) -> Result<(), TransferError> {
        self.claim(overwrite)?;
        // Read under the claim: from here on only a writer of the same bytes publishes anything.
        let published = self.folder.read(Manifest::FILE)?;
        let is_published = published.as_ref().is_some_and(|found| found.bytes == self.bytes);
        let grows = published.as_ref().is_none_or(|found| self.goes_on(&found.bytes));
        if !grows && !overwrite {
            self.release()?;
            return Err(TransferError::OtherStore(self.folder.url().to_string()));
        }
        let mode = match published {
            Some(found) if grows => PutMode::Update(found.version),
            Some(_) => {
                // Its files are about to be replaced, so it must not be found any more.
                self.folder.remove(Manifest::FILE)?;
                PutMode::Create
            }
            None => PutMode::Create,
        };
        // What is there already is this store: it is replaced because somebody doubts its files.
        let again = overwrite && is_published;
        for_each(&self.files, |file| self.send_file(file, again, meter))?;
        // A writer that lost its claim may have replaced a file since.
        for_each(&self.files, |file| if self.has(file)? { Ok(()) } else { Err(self.lost()) })?;
        self.check_claim()?;
        if !is_published && !self.folder.put(Manifest::FILE, &self.bytes, &mode)? {
            return Err(self.lost());
        }
        self.release()
    }

    /// Whether this store is the one of `manifest`, or the same one with more of it.
    fn goes_on(&self, manifest: &[u8]) -> bool {
        Manifest::parse(manifest, Path::new("")).is_ok_and(|found| continues(&self.manifest, &found))
    }

    fn lost(&self) -> TransferError {
        TransferError::Lost(self.folder.url().to_string())
    }

    /// Whether the folder has an object with the bytes of this manifest.
    fn is_ours(&self, name: &str) -> Result<bool, FileError> {
        self.folder.has(name, self.bytes.len() as u64, self.checksum)
    }

    /// Refuses to go on after another writer has taken over the claim.
    fn check_claim(&self) -> Result<(), TransferError> {
        // A writer of the same bytes may have published them and removed the claim.
        if self.is_ours(CLAIM)? || self.is_ours(Manifest::FILE)? { Ok(()) } else { Err(self.lost()) }
    }

    /// Removes the claim, unless another writer has taken it over.
    fn release(&self) -> Result<(), TransferError> {
        if self.is_ours(CLAIM)? {
            self.folder.remove(CLAIM)?;
        }
        Ok(())
    }

    /// Announces what will be published.
    fn claim(&self, overwrite: bool) -> Result<(), TransferError> {
        if self.folder.put(CLAIM, &self.bytes, &PutMode::Create)? {
            return Ok(());
        }
        let found = self.folder.read(CLAIM)?.ok_or_else(|| self.lost())?;
        if !overwrite && !self.goes_on(&found.bytes) {
            return Err(TransferError::Claimed(self.folder.url().to_string()));
        }
        match self.folder.put(CLAIM, &self.bytes, &PutMode::Update(found.version))? {
            true => Ok(()),
            false => Err(self.lost()),
        }
    }

    fn has(&self, file: &ListedFile) -> Result<bool, FileError> {
        self.folder.has(&name_of(file), file.bytes, file.checksum)
    }

    /// Sends a file; if it seems to be there, only `again`.
    fn send_file(&self, file: &ListedFile, again: bool, meter: &Meter<'_>) -> Result<(), TransferError> {
        if !again && self.has(file)? {
            return meter.advance(file.bytes);
        }
        let options = OpenOptions::default();
        let map = file.map(&Verifier::new(&options, file.bytes)).map_err(|error| match error {
            ListedFileError::File(error) => TransferError::File(error),
            ListedFileError::Damaged(reason) => TransferError::Damaged { path: file.path.clone(), reason },
        })?;
        self.check_claim()?;
        self.folder.send(&name_of(file), Bytes::from_owner(map), file.checksum, &|bytes| {
            meter.advance_moved(bytes)?;
            // A file in several parts appears after the last one.
            self.check_claim()
        })?;
        meter.count_moved();
        Ok(())
    }
}

/// The name of a file in its folder.
fn name_of(file: &ListedFile) -> Cow<'_, str> {
    file.path.file_name().unwrap_or_default().to_string_lossy()
}
