//! Finding the input files that arguments name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toller_ir::{AnyError, Explain, Remedy};

use crate::object::object_stores;
use crate::{FileError, Input};

/// The inputs that `arguments` name, in their order.
///
/// `-` is standard input. The URL of an object store means what
/// [`ObjectStores::list`](crate::ObjectStores::list) says. A directory means the data files in it and in
/// its subdirectories, in the byte order of their names (so parts need leading zeros). Files whose names
/// begin with `.` or `_`, end in `.tmp`, or are README, LICENSE or NOTICE with any extension are skipped,
/// also below a URL. A file that is named itself is always read.
///
/// # Errors
/// When an argument does not exist or cannot be listed, when a directory holds no data file, and when
/// standard input is named twice.
pub fn expand<P: AsRef<Path>>(arguments: impl IntoIterator<Item = P>) -> Result<Vec<Input>, FileError> {
    let mut inputs = Vec::new();
    for argument in arguments {
        let input = Input::parse(argument.as_ref());
        if let Input::Object(url) = &input {
            inputs.extend(objects(url).map_err(|error| input.error("list", error))?);
            continue;
        }
        let Some(path) = input.path() else {
            if inputs.contains(&input) {
                let twice = "standard input (-) can be read only once, and it is named twice";
                return Err(input.error("use", invalid(twice)));
            }
            inputs.push(input);
            continue;
        };
        if !fs::metadata(path).map_err(FileError::on("open", path))?.is_dir() {
            inputs.push(input);
            continue;
        }
        let before = inputs.len();
        walk(path, &mut Vec::new(), &mut inputs)?;
        if inputs.len() == before {
            return Err(FileError::new("use", path, io::Error::new(io::ErrorKind::NotFound, NO_DATA)));
        }
    }
    Ok(inputs)
}

/// Whether [`expand`] would take a file at `path`, which need not exist, for data of `directory`.
#[must_use]
pub fn is_data_below(directory: &Path, path: &Path) -> bool {
    let exists = |above: &Path| {
        let named = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        Some(fs::canonicalize(named).ok()?.join(path.strip_prefix(above).ok()?))
    };
    let (directory, path) = (fs::canonicalize(directory), path.ancestors().find_map(exists));
    let (Ok(directory), Some(path)) = (directory, path) else { return false };
    path.strip_prefix(directory)
        .is_ok_and(|below| below != Path::new("") && below.iter().all(|name| is_data(Path::new(name))))
}

/// What is said of a place without data.
const NO_DATA: &str =
    "it holds no data files (hidden files, _*, *.tmp, README, LICENSE and NOTICE do not count)";

/// A URL stands for no object with data.
#[derive(Debug, thiserror::Error)]
#[error("{}", NO_DATA)]
struct NoObject;

impl Explain for NoObject {
    fn remedy(&self) -> Option<Remedy> {
        let text = "check the bucket and the key; a folder ends in `/`, and `*` stands for a part of a name";
        Some(text.into())
    }
}

/// The objects that a URL stands for.
fn objects(url: &str) -> io::Result<Vec<Input>> {
    let found = object_stores().and_then(|client| client.list(url)).map_err(io::Error::other)?;
    let literal = url.split('*').next().unwrap_or_default();
    let folder = &literal[..literal.rfind('/').map_or(0, |slash| slash + 1)];
    let is_wanted = |object: &String| {
        let below = object.strip_prefix(folder).unwrap_or(object);
        object == url || below.split('/').all(|name| is_data(Path::new(name)))
    };
    let objects: Vec<Input> = found.into_iter().filter(is_wanted).map(Input::Object).collect();
    if objects.is_empty() { Err(io::Error::other(AnyError::from(NoObject))) } else { Ok(objects) }
}

/// Appends the data files under `directory`. `above` holds the directories that lead to it.
fn walk(directory: &Path, above: &mut Vec<PathBuf>, inputs: &mut Vec<Input>) -> Result<(), FileError> {
    let canonical = fs::canonicalize(directory).map_err(FileError::on("open", directory))?;
    if above.contains(&canonical) {
        return Err(FileError::new(
            "use",
            directory,
            invalid("a link that leads back to a directory above it"),
        ));
    }
    above.push(canonical);
    let entries = fs::read_dir(directory).map_err(FileError::on("list", directory))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()
        .map_err(FileError::on("list", directory))?;
    paths.sort_unstable_by(|a, b| a.as_os_str().as_encoded_bytes().cmp(b.as_os_str().as_encoded_bytes()));
    for path in paths.into_iter().filter(|path| is_data(path)) {
        if fs::metadata(&path).map_err(FileError::on("open", &path))?.is_dir() {
            walk(&path, above, inputs)?;
        } else {
            inputs.push(Input::File(path));
        }
    }
    above.pop();
    Ok(())
}

fn is_data(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let first = name.split('.').next().unwrap_or_default();
    let about =
        ["README", "LICENSE", "LICENCE", "NOTICE"].iter().any(|about| first.eq_ignore_ascii_case(about));
    !name.starts_with(['.', '_']) && !name.ends_with(".tmp") && !about
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::fs;

    use super::{expand, is_data_below};
    use crate::Input;

    #[test]
    fn a_directory_stands_for_its_data_files() -> Result<(), Box<dyn Error>> {
        let directory = tempfile::tempdir()?;
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("b"))?;
        for name in [
            "part-01.tsv", "part-00.tsv.gz", "b/x.tsv", "README.md", "license", ".hidden", "c.tmp",
            "_SUCCESS",
        ] {
            fs::write(at(name), "1\ttext\n")?;
        }
        let inputs = expand([directory.path(), std::path::Path::new("-")])?;
        let expected = ["b/x.tsv", "part-00.tsv.gz", "part-01.tsv"].map(|name| Input::File(at(name)));
        assert_eq!(inputs[..3], expected);
        assert_eq!(inputs[3..], [Input::Stdin]);
        assert_eq!(expand([at("README.md")])?, [Input::File(at("README.md"))], "named itself");
        Ok(())
    }

    #[test]
    fn what_would_be_data_of_a_directory() -> Result<(), Box<dyn Error>> {
        let directory = tempfile::tempdir()?;
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("texts/part"))?;
        for (path, is_data) in [
            ("texts/store", true),
            ("texts/part/new/store", true),
            ("texts/../texts/store", true),
            ("texts/.store/x", false),
            ("texts/_store", false),
            ("texts", false),
            ("texts-2/store", false),
            ("store", false),
        ] {
            assert_eq!(is_data_below(&at("texts"), &at(path)), is_data, "{path}");
        }
        assert!(!is_data_below(&at("texts"), "store".as_ref()));
        Ok(())
    }

    #[test]
    fn what_cannot_be_meant_is_an_error() -> Result<(), Box<dyn Error>> {
        let directory = tempfile::tempdir()?;
        fs::write(directory.path().join("README"), "nothing else")?;
        let message =
            |result: Result<Vec<Input>, crate::FileError>| result.err().map(|error| error.to_string());
        let empty = message(expand([directory.path()])).unwrap_or_default();
        assert!(empty.contains("no data files"), "{empty}");
        let twice = message(expand(["-", "-"])).unwrap_or_default();
        assert!(twice.contains("twice"), "{twice}");
        let missing = message(expand(["no/such/file"])).unwrap_or_default();
        assert!(missing.contains("no/such/file"), "{missing}");
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_directory_above_is_an_error() -> Result<(), Box<dyn Error>> {
        let directory = tempfile::tempdir()?;
        fs::create_dir(directory.path().join("a"))?;
        std::os::unix::fs::symlink(directory.path(), directory.path().join("a/loop"))?;
        let error = expand([directory.path()]).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("leads back"), "{error}");
        Ok(())
    }
}
