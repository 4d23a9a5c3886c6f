//! Sending a store: first its files, then the manifest that lists them.
//!
//! A writer announces what it will publish before it writes anything: it creates an object, the claim, with
//! the bytes of its manifest. Only writers of the same bytes go on, so none overwrites the files of
//! another's store. The manifest is written on the condition that nobody else has written one since, and
//! the claim is removed. A killed writer leaves its claim and files. The same command finds both and goes
//! on.

use std::path::Path;

use bytes::Bytes;
use object_store::PutMode;
use toller_files::{FileError, ListedFile, ListedFileError, OpenOptions, Verifier, read_regular};
use toller_store::{Manifest, Part, StorePart, status};

use crate::folder::Folder;
use crate::transfer::{Meter, for_each};
use crate::{Client, Transfer, TransferError, Transferred};

/// The object that says what is being sent to its folder.
const CLAIM: &str = "manifest.json.sending";

/// A store, or a part of one, that is to be sent to a folder.
struct Shipment {
    folder: Folder,
    manifest: Manifest,
    /// The manifest as it is on disk.
    bytes: Bytes,
    files: Vec<ListedFile>,
}

impl Client {
    /// Sends the store in `directory`, finished or not, to the folder at `url`; of a store in parts, the
    /// parts that are there. Files that arrived earlier are not sent again.
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
        check_division(&root, &parts)?;
        let shipments = parts.iter().map(|part| Shipment::of(part, &root)).collect::<Result<Vec<_>, _>>()?;
        let files = shipments.iter().flat_map(|shipment| &shipment.files);
        let meter = Meter::new(transfer, files.clone().map(|file| file.bytes).sum());
        shipments.iter().try_for_each(|shipment| shipment.send(transfer.overwrite, &meter))?;
        Ok(meter.result(files.count()))
    }
}

/// Refuses a folder that holds the same kind of store in another division.
fn check_division(root: &Folder, parts: &[StorePart]) -> Result<(), TransferError> {
    let of = parts.first().and_then(|part| part.manifest.spec.part).map(|part| part.of);
    let is_other = |name: &String| match Part::parse_directory_name(name) {
        Some((_, found)) => of != Some(found),
        None => of.is_some() && name == Manifest::FILE,
    };
    let in_use = |entry| Err(TransferError::InUse { place: root.url().to_string(), entry });
    root.names()?.into_iter().find(is_other).map_or(Ok(()), in_use)
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
        Ok(Self { folder, manifest, bytes: bytes.into(), files })
    }

    fn send(&self, overwrite: bool, meter: &Meter<'_>) -> Result<(), TransferError> {
        let place = || self.folder.url().to_string();
        self.claim(overwrite)?;
        // Read under the claim: from here on only a writer of the same bytes publishes anything.
        let published = self.folder.read(Manifest::FILE)?;
        let is_published = published.as_ref().is_some_and(|found| found.bytes == self.bytes);
        let grows = published.as_ref().is_none_or(|found| self.goes_on(&found.bytes));
        if !grows && !overwrite {
            self.folder.remove(CLAIM)?;
            return Err(TransferError::OtherStore(place()));
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
        for_each(&self.files, |file| self.send_file(file, meter))?;
        if !is_published && !self.folder.put(Manifest::FILE, &self.bytes, &mode)? {
            return Err(TransferError::Lost(place()));
        }
        Ok(self.folder.remove(CLAIM)?)
    }

    /// Whether this store is that of `manifest`, or the same one with more shards.
    fn goes_on(&self, manifest: &[u8]) -> bool {
        let found = Manifest::parse(manifest, Path::new(""));
        found.is_ok_and(|found| {
            found.spec == self.manifest.spec && self.manifest.shards.starts_with(&found.shards)
        })
    }

    /// Announces what will be published.
    fn claim(&self, overwrite: bool) -> Result<(), TransferError> {
        if self.folder.put(CLAIM, &self.bytes, &PutMode::Create)? {
            return Ok(());
        }
        let place = || self.folder.url().to_string();
        let found = self.folder.read(CLAIM)?.ok_or_else(|| TransferError::Lost(place()))?;
        if !overwrite && !self.goes_on(&found.bytes) {
            return Err(TransferError::Claimed(place()));
        }
        match self.folder.put(CLAIM, &self.bytes, &PutMode::Update(found.version))? {
            true => Ok(()),
            false => Err(TransferError::Lost(place())),
        }
    }

    fn send_file(&self, file: &ListedFile, meter: &Meter<'_>) -> Result<(), TransferError> {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        if self.folder.has(&name, file.bytes, file.checksum)? {
            return meter.advance(file.bytes);
        }
        let options = OpenOptions::default();
        let map = file.map(&Verifier::new(&options, file.bytes)).map_err(|error| match error {
            ListedFileError::File(error) => TransferError::File(error),
            ListedFileError::Damaged(reason) => TransferError::Damaged { path: file.path.clone(), reason },
        })?;
        self.folder.send(&name, Bytes::from_owner(map), file.checksum, &|bytes| meter.advance(bytes))?;
        meter.count_moved();
        Ok(())
    }
}
