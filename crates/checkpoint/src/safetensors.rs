//! The safetensors format: a header in JSON, then the elements of all tensors.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value, json};
use toller_files::{AtomicFile, FileError};

use crate::elements::Strided;
use crate::weights::Places;

/// Where the tensors lie in a file.
pub(crate) fn places(file: &[u8]) -> Result<Places, String> {
    let (header, metadata) = SafeTensors::read_metadata(file).map_err(|error| error.to_string())?;
    let start = size_of::<u64>() + header;
    let mut places = BTreeMap::new();
    for (name, tensor) in metadata.tensors() {
        let layout = Strided::row_major(tensor.dtype, tensor.shape.clone())?;
        let (first, end) = tensor.data_offsets;
        places.insert(name, (layout, start + first..start + end));
    }
    Ok(places)
}

/// A tensor to write.
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    pub(crate) dtype: Dtype,
    pub(crate) shape: &'a [usize],
}

/// Writes tensors one after the other; `elements` gives those of the tensor of a name.
pub(crate) fn write<B: AsRef<[u8]>, E: From<FileError>>(
    path: &Path,
    entries: &[Entry<'_>],
    elements: impl Fn(&str) -> Result<B, E>,
) -> Result<(), E> {
    let mut header = Map::new();
    // Without it, transformers refuses the file.
    header.insert("__metadata__".to_owned(), json!({"format": "pt"}));
    let mut end = 0usize;
    for entry in entries {
        let start = end;
        end += entry.shape.iter().product::<usize>() * entry.dtype.bitsize() / 8;
        let value =
            json!({"dtype": entry.dtype.to_string(), "shape": entry.shape, "data_offsets": [start, end]});
        header.insert(entry.name.to_owned(), value);
    }
    let mut header = Value::Object(header).to_string();
    // Data begin at a multiple of 8 bytes.
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    let mut file = AtomicFile::create(path)?;
    let length = (header.len() as u64).to_le_bytes();
    file.write_all(&length).map_err(FileError::on("write", path))?;
    file.write_all(header.as_bytes()).map_err(FileError::on("write", path))?;
    for entry in entries {
        file.write_all(elements(entry.name)?.as_ref()).map_err(FileError::on("write", path))?;
    }
    Ok(file.commit()?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use safetensors::Dtype;
    use toller_files::FileError;

    use super::{Entry, places, write};

    fn small() -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small.safetensors");
        let entry = |name, dtype, shape| Entry { name, dtype, shape };
        let entries = [entry("ids", Dtype::I64, &[1][..]), entry("rows", Dtype::F16, &[2, 3])];
        let elements = |name: &str| Ok::<_, FileError>(if name == "ids" { vec![7; 8] } else { vec![1; 12] });
        write(&path, &entries, elements).unwrap();
        std::fs::read(path).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let file = small();
        let places = places(&file).unwrap();
        let [(_, (ids, first)), (_, (rows, second))] = &places.iter().collect::<Vec<_>>()[..] else {
            panic!()
        };
        assert_eq!((ids.dtype, &ids.shape[..], &file[first.clone()]), (Dtype::I64, &[1][..], &[7; 8][..]));
        assert_eq!(
            (rows.dtype, &rows.shape[..], &file[second.clone()]),
            (Dtype::F16, &[2, 3][..], &[1; 12][..])
        );
        assert_eq!(first.start % 8, 0);
    }

    #[test]
    fn no_damage_panics() {
        let file = small();
        for length in 0..file.len() {
            assert!(places(&file[..length]).is_err(), "{length} bytes");
        }
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut damaged = file.clone();
                damaged[at] ^= 1 << bit;
                for (layout, place) in places(&damaged).into_iter().flatten().map(|(_, place)| place) {
                    layout.gather(&damaged[place]).unwrap();
                }
            }
        }
    }
}
