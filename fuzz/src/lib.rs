//! What fuzz targets share: a directory with one file that is changed at the places that the input chooses.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// A directory as it was written.
pub struct Whole {
    folder: TempDir,
    files: Vec<(String, Vec<u8>)>,
}

impl Whole {
    /// Lets `make` write the files of a new directory.
    pub fn new(make: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        make(folder.path());
        let entries = fs::read_dir(folder.path()).expect("the directory").flatten();
        let mut files: Vec<(String, Vec<u8>)> = entries
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, fs::read(entry.path()).ok()?)))
            .filter(|(_, content)| !content.is_empty())
            .collect();
        files.sort();
        Self { folder, files }
    }

    /// Calls `read` with the directory while one file is changed. The first byte of `input` chooses the file;
    /// each four bytes after it are a place (three bytes) and what is put there. A manifest is sealed again.
    pub fn changed(&self, input: &[u8], read: impl FnOnce(&Path)) {
        let Some((choice, patches)) = input.split_first() else { return };
        let (name, content) = &self.files[usize::from(*choice) % self.files.len()];
        let mut bytes = content.clone();
        for patch in patches.as_chunks::<4>().0 {
            let place = u32::from_le_bytes([patch[0], patch[1], patch[2], 0]) as usize % bytes.len();
            bytes[place] = patch[3];
        }
        let path = self.folder.path().join(name);
        match serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&bytes) {
            Ok(mut manifest) => {
                manifest.remove("checksum");
                toller_files::write_sealed(&path, &manifest).expect("a manifest");
            }
            Err(_) => fs::write(&path, bytes).expect("a file"),
        }
        read(self.folder.path());
        fs::write(&path, content).expect("a file");
    }
}
