//! Opening a collection's texts, and reading them.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use tempfile::TempDir;
use toller_corpus::{CollectionFormat, ReadOptions, RecordLayout};
use toller_files::{
    FileError, Found, Input, ListedFile, ListedFileError, OpenOptions, SortedEntries, SpoolGuard, Verifier,
    open_regular, spool,
};
use toller_ir::Passage;

use crate::build::{TextsEvent, build};
use crate::frames::{Frames, LastFrame};
use crate::ids::{self, ENTRY_BYTES, MOST_FILES, Place};
use crate::manifest::{FORMAT, FRAMES, FileEntry, IDS, MANIFEST, Manifest, OFFSETS, Source};
use crate::read_at::read_exact_at;
use crate::{TextsError, place};

/// How a collection's texts are opened.
#[derive(Clone, Debug, Default)]
pub struct TextsOptions {
    /// How the collection is read.
    pub reading: ReadOptions<CollectionFormat>,
    /// Where the index is kept.
    pub directory: Option<PathBuf>,
    /// The folder for the indexes of collections for which no directory is given. Without it, or if nothing
    /// can be written there, an index is kept next to its collection; if that cannot be written either, in
    /// the temporary directory as long as it is open.
    pub cache: Option<PathBuf>,
}

/// The passages of a collection by identifier. Shared by any number of threads.
#[derive(Debug)]
pub struct Texts {
    sources: Vec<OpenSource>,
    ids: Mmap,
    frames: Frames,
    manifest: Manifest,
    directory: PathBuf,
    /// Copies of input that can be read only once, and an index that is not kept.
    _temporary: Option<(Vec<SpoolGuard>, TempDir)>,
}

/// A file of the collection.
#[derive(Debug)]
struct OpenSource {
    name: String,
    /// Only for files that are read in place.
    in_place: Option<(File, RecordLayout)>,
}

impl Texts {
    /// Opens the texts of a collection. Their index is built first if there is none, if it is damaged, or if
    /// the files have changed (by name, size and time of writing). If another process is writing one, it is
    /// waited for. The texts of input that can be read only once, and of copies of such input, are kept in
    /// the temporary directory.
    ///
    /// # Errors
    /// Files that cannot be read or written, bad records and duplicate identifiers (unless `options` skip
    /// them).
    pub fn open(
        inputs: &[Input],
        options: &TextsOptions,
        mut on_event: impl FnMut(TextsEvent<'_>),
    ) -> Result<Self, TextsError> {
        let on_event: &mut dyn FnMut(TextsEvent<'_>) = &mut on_event;
        if inputs.len() > MOST_FILES {
            return Err(TextsError::TooManyFiles { files: inputs.len(), most: MOST_FILES });
        }
        if inputs.iter().any(|input| input.reads_once() || matches!(input, Input::Spooled { .. })) {
            return Self::open_once(inputs, options, on_event);
        }
        if let Some(directory) = &options.directory {
            return Self::open_in(directory, inputs, options, on_event);
        }
        let cached = options.cache.as_ref().map(|cache| place::in_cache(cache, inputs));
        for directory in cached.into_iter().chain(place::next_to(inputs)) {
            match Self::open_in(&directory, inputs, options, on_event) {
                Err(TextsError::File(error)) if place::is_unwritable(&directory, &error) => {
                    on_event(TextsEvent::Elsewhere { directory: &directory });
                }
                opened => return opened,
            }
        }
        Self::open_once(inputs, options, on_event).map_err(|error| match error {
            TextsError::File(error) if place::is_unwritable(&std::env::temp_dir(), &error) => {
                TextsError::NoPlace(error)
            }
            error => error,
        })
    }

    /// Keeps an index, and copies of input that can be read only once, as long as the texts live.
    fn open_once(
        inputs: &[Input],
        options: &TextsOptions,
        on_event: &mut dyn FnMut(TextsEvent<'_>),
    ) -> Result<Self, TextsError> {
        let failed = |error| FileError::new("create a directory in", std::env::temp_dir(), error);
        let directory = tempfile::Builder::new().prefix("toller-texts-").tempdir().map_err(failed)?;
        let mut guards = Vec::new();
        let mut inputs = inputs.to_vec();
        for input in &mut inputs {
            let (readable, guard) = spool(input, directory.path())?;
            *input = readable;
            guards.push(guard);
        }
        // In a folder of its own, next to the copies.
        let index = directory.path().join("index");
        let opened = Self::open_in(&index, &inputs, options, on_event)?;
        Ok(Self { _temporary: Some((guards, directory)), ..opened })
    }

    fn open_in(
        directory: &Path,
        inputs: &[Input],
        options: &TextsOptions,
        on_event: &mut dyn FnMut(TextsEvent<'_>),
    ) -> Result<Self, TextsError> {
        let path = directory.join(MANIFEST);
        let mut lock = None;
        let (sources, instead_of) = loop {
            // As they are after the wait for another process.
            let sources: Vec<Source> = inputs.iter().map(Source::of).collect::<Result<_, _>>()?;
            let instead_of = match FORMAT.read::<Manifest>(&path)? {
                Found::Nothing => None,
                Found::Cut | Found::Foreign(_) => {
                    let entry = "a manifest.json of another kind".to_owned();
                    return Err(TextsError::DirectoryInUse { path: directory.to_owned(), entry });
                }
                // An index in a directory of the user's may be needed by the other version.
                Found::OtherVersion(found) if options.directory.is_some() => {
                    return Err(TextsError::FormatVersion { path: directory.to_owned(), found });
                }
                Found::OtherVersion(found) => Some(format!("it has format version {found}")),
                Found::Damaged(reason) => Some(format!("{} is damaged: {reason}", path.display())),
                Found::Manifest(manifest) => match manifest.difference(&sources, &options.reading) {
                    Some(difference) => Some(difference),
                    None => match Self::map(directory, manifest, inputs) {
                        Err(TextsError::Damaged { path, reason }) => {
                            Some(format!("{} is damaged: {reason}", path.display()))
                        }
                        opened => return opened,
                    },
                },
            };
            // Another process may have written one before this one had the lock.
            if lock.is_some() {
                break (sources, instead_of);
            }
            lock = Some(place::lock(directory, || on_event(TextsEvent::Waiting { directory }))?);
        };
        on_event(TextsEvent::Building { directory, instead_of: instead_of.as_deref() });
        let manifest = build(directory, inputs, sources, &options.reading, on_event)?;
        Self::map(directory, manifest, inputs)
    }

    /// Opens the index that `manifest` describes.
    fn map(directory: &Path, manifest: Manifest, inputs: &[Input]) -> Result<Self, TextsError> {
        let (ids, offsets) = (directory.join(IDS), directory.join(OFFSETS));
        let damaged = |path: &Path, reason: &str| TextsError::Damaged {
            path: path.to_owned(),
            reason: reason.to_owned(),
        };
        let map = map_listed(&ids, &manifest.ids)?;
        if manifest.ids.bytes != manifest.passages * ENTRY_BYTES as u64 {
            return Err(damaged(&ids, "it has not as many entries as there are passages"));
        }
        let words = map_listed(&offsets, &manifest.offsets)?;
        let words = words.as_chunks::<8>().0;
        let offsets = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let frames = directory.join(FRAMES);
        let file = open(&frames)?;
        if file.metadata().map_err(FileError::on("open", &frames))?.len() != manifest.frames_bytes {
            return Err(damaged(&frames, "its length is not that which was written"));
        }
        let open_source = |(input, source): (&Input, &Source)| {
            let open = |layout| {
                let path = input.path().unwrap_or(Path::new("-"));
                Ok::<_, TextsError>((File::open(path).map_err(|error| input.error("open", error))?, layout))
            };
            Ok(OpenSource { name: input.to_string(), in_place: source.layout.map(open).transpose()? })
        };
        Ok(Self {
            sources: inputs
                .iter()
                .zip(&manifest.sources)
                .map(open_source)
                .collect::<Result<_, TextsError>>()?,
            ids: map,
            frames: Frames { file, offsets },
            manifest,
            directory: directory.to_owned(),
            _temporary: None,
        })
    }

    /// The number of passages.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.manifest.passages
    }

    /// Whether there are no passages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bad records that were skipped when the index was made, later duplicates among them.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.manifest.skipped
    }

    /// Identifies the identifiers, titles and texts, and their order: [`toller_corpus::Fingerprint`].
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.manifest.fingerprint
    }

    /// The passage with an identifier, if the collection has one.
    ///
    /// # Errors
    /// A record that cannot be read, or that has changed.
    pub fn get(&self, id: &str) -> Result<Option<Passage>, TextsError> {
        self.find(id).map(|place| self.read(id, place, &mut LastFrame::default())).transpose()
    }

    /// Whether the collection has a passage with this identifier. Reads no text.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.find(id).is_some()
    }

    /// The passages with these identifiers, in their order. They are read in the order of their places, so
    /// that a disk reads forward and a frame is decompressed once.
    ///
    /// # Errors
    /// As [`Texts::get`].
    pub fn get_many(&self, ids: &[&str]) -> Result<Vec<Option<Passage>>, TextsError> {
        let mut places: Vec<(Place, usize)> =
            ids.iter().enumerate().filter_map(|(index, id)| Some((self.find(id)?, index))).collect();
        places.sort_unstable();
        let mut passages = vec![None; ids.len()];
        let mut last = LastFrame::default();
        for (place, index) in places {
            passages[index] = Some(self.read(ids[index], place, &mut last)?);
        }
        Ok(passages)
    }

    /// Sorts identifiers as [`Texts::get_many`] reads their passages, so that parts of them can be read by
    /// several threads: a frame is then decompressed by one, or by two where a part ends in it.
    pub fn sort_by_place(&self, ids: &mut [&str]) {
        ids.sort_by_cached_key(|id| self.find(id));
    }

    fn find(&self, id: &str) -> Option<Place> {
        ids::find(SortedEntries::new(&self.ids), id)
    }

    fn read(&self, id: &str, place: Place, last: &mut LastFrame) -> Result<Passage, TextsError> {
        let Some(source) = self.sources.get(place.file as usize) else {
            let reason = "an entry names a file that is not there".to_owned();
            return Err(TextsError::Damaged { path: self.directory.join(IDS), reason });
        };
        let changed = || TextsError::Changed { file: source.name.clone(), id: id.to_owned() };
        let passage = match &source.in_place {
            None => self.frames.passage(place.position, place.length, last).map_err(|error| {
                TextsError::Damaged { path: self.directory.join(FRAMES), reason: error.to_string() }
            })?,
            Some((file, layout)) => {
                let mut record = vec![0; place.length as usize];
                match read_exact_at(file, &mut record, place.position) {
                    Ok(()) => layout.passage(&record).ok_or_else(changed)?,
                    Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(changed()),
                    Err(error) => return Err(FileError::new("read", &source.name, error).into()),
                }
            }
        };
        if passage.id == id { Ok(passage) } else { Err(changed()) }
    }
}

fn open(path: &Path) -> Result<File, TextsError> {
    open_regular(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            TextsError::Damaged { path: path.to_owned(), reason: "it is missing".to_owned() }
        }
        _ => FileError::new("open", path, error).into(),
    })
}

/// Maps a file of the index and verifies its checksum.
fn map_listed(path: &Path, entry: &FileEntry) -> Result<Mmap, TextsError> {
    let options = OpenOptions::default();
    let file = ListedFile { path: path.to_owned(), bytes: entry.bytes, checksum: entry.checksum };
    file.map(&Verifier::new(&options, entry.bytes)).map_err(|error| match error {
        ListedFileError::File(error) => error.into(),
        ListedFileError::Damaged(reason) => TextsError::Damaged { path: path.to_owned(), reason },
    })
}
