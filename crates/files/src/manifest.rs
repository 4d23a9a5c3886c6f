//! Manifests: sealed JSON files that say which format a directory has, and in which version.

use std::io::ErrorKind;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::FileError;
use crate::regular::read_regular;
use crate::seal::{is_sealed, write_sealed};

/// The format of a kind of directory, as the first two fields of its manifest have it.
#[derive(Clone, Copy, Debug)]
pub struct ManifestFormat {
    /// The field `format`.
    pub name: &'static str,
    /// The field `format_version`: the one version that is read and written.
    pub version: u64,
}

/// What was found where a manifest should be.
#[derive(Debug)]
pub enum Found<M> {
    /// Nothing.
    Nothing,
    /// A file that is empty, or ends before it has named its format: nobody can tell whose it was.
    Cut,
    /// A file of another format, with its name if it has one.
    Foreign(Option<String>),
    /// A manifest of another version of the format.
    OtherVersion(u64),
    /// A manifest that is not as it was written; the text says what is wrong.
    Damaged(String),
    /// The other fields of a whole manifest.
    Manifest(M),
}

/// The fields that the manifests of every version have.
#[derive(Serialize, Deserialize)]
struct Head<F> {
    format: F,
    format_version: u64,
}

#[derive(Serialize)]
struct Whole<'a, M> {
    #[serde(flatten)]
    head: Head<&'a str>,
    #[serde(flatten)]
    manifest: &'a M,
}

impl ManifestFormat {
    /// Reads the manifest at `path`. `M` has the fields that come after the first two.
    ///
    /// # Errors
    /// When there is a file that cannot be read.
    pub fn read<M: DeserializeOwned>(&self, path: &Path) -> Result<Found<M>, FileError> {
        let bytes = match read_regular(path) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Found::Nothing);
            }
            Err(error) => return Err(FileError::new("read", path, error)),
        };
        Ok(self.parse(&bytes))
    }

    /// Reads a manifest from its bytes.
    #[must_use]
    pub fn parse<M: DeserializeOwned>(&self, bytes: &[u8]) -> Found<M> {
        let name = self.name.as_bytes();
        match serde_json::from_slice::<Head<String>>(bytes) {
            Ok(head) if head.format != self.name => return Found::Foreign(Some(head.format)),
            // The seal belongs to this version; another version may seal in another way.
            Ok(head) if head.format_version != self.version => {
                return Found::OtherVersion(head.format_version);
            }
            Ok(_) => {}
            // A manifest that is too damaged to be parsed still contains the name.
            Err(_) if bytes.windows(name.len()).any(|window| window == name) => {}
            Err(_) if format!("{{\n  \"format\": \"{}", self.name).as_bytes().starts_with(bytes) => {
                return Found::Cut;
            }
            Err(_) => return Found::Foreign(None),
        }
        if !is_sealed(bytes) {
            Found::Damaged("its checksum does not match its content".to_owned())
        } else {
            match serde_json::from_slice(bytes) {
                Ok(manifest) => Found::Manifest(manifest),
                Err(error) => Found::Damaged(error.to_string()),
            }
        }
    }

    /// Writes the fields of the format and then those of `manifest` to `path`, sealed and atomically.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write<M: Serialize>(&self, path: &Path, manifest: &M) -> Result<(), FileError> {
        let head = Head { format: self.name, format_version: self.version };
        write_sealed(path, &Whole { head, manifest })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::{Found, ManifestFormat};

    const FORMAT: ManifestFormat = ManifestFormat { name: "toller-test", version: 2 };

    #[test]
    fn a_manifest_is_known_by_its_format_and_version() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("manifest.json");
        let read = || FORMAT.read::<BTreeMap<String, serde_json::Value>>(&path);
        assert!(matches!(read()?, Found::Nothing));
        assert!(matches!(FORMAT.read::<()>(&path.join("below"))?, Found::Nothing));
        FORMAT.write(&path, &BTreeMap::from([("count", 3)]))?;
        let text = fs::read_to_string(&path)?;
        let head = "{\n  \"format\": \"toller-test\",\n  \"format_version\": 2,\n  \"count\": 3,\n  \"checksum\": \"";
        assert!(text.starts_with(head), "{text}");
        let Found::Manifest(fields) = read()? else { return Err("it is whole".into()) };
        assert_eq!(fields["count"], 3);

        for (from, to) in [("\"count\": 3", "\"count\": 4"), ("{", ""), ("\"format\"", "\"form\"")] {
            fs::write(&path, text.replacen(from, to, 1))?;
            assert!(matches!(read()?, Found::Damaged(_)), "{from}");
        }
        fs::write(&path, text.replace("\"format_version\": 2", "\"format_version\": 3"))?;
        assert!(matches!(read()?, Found::OtherVersion(3)));
        for foreign in [&*text.replace("toller-test", "other"), "{\"name\": \"a page\"}", "{\"name\": \"a pa"]
        {
            fs::write(&path, foreign)?;
            assert!(matches!(read()?, Found::Foreign(_)), "{foreign}");
        }
        for length in 0..head.find("\",").unwrap_or_default() {
            fs::write(&path, &head[..length])?;
            assert!(matches!(read()?, Found::Cut), "{length} bytes");
        }
        Ok(())
    }
}
