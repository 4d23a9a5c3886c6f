//! Checkpoints since PyTorch 1.6: a zip archive with `NAME/data.pkl`, `NAME/byteorder` and a storage in each
//! `NAME/data/KEY`. Entries are stored as they are, so that tensors are used where they lie in the file.

use std::collections::HashMap;
use std::io::{self, Cursor};
use std::ops::Range;

use toller_pickle::Pickle;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::{TorchError, content, state_dictionary};
use crate::weights::Places;

/// Where the tensors lie in a file.
pub(crate) fn places(file: &[u8]) -> Result<Places, TorchError> {
    let mut archive = Archive { zip: ZipArchive::new(Cursor::new(file))?, unread: file.len() as u64 };
    let folder = archive.folder()?;
    let byte_order = format!("{folder}byteorder");
    if archive.zip.index_for_name_raw(byte_order.as_bytes()).is_some() {
        let byte_order = archive.entry(byte_order)?;
        if &file[byte_order] != b"little" {
            return Err(content("its numbers are not little-endian"));
        }
    }
    let pickle = Pickle::load(&file[archive.entry(format!("{folder}data.pkl"))?])?;
    let views = state_dictionary(pickle.root())?;
    let mut storages = HashMap::new();
    for key in views.values().map(|view| view.storage.key) {
        if !storages.contains_key(key) {
            storages.insert(key, archive.entry(format!("{folder}data/{key}"))?);
        }
    }
    super::places(views, &storages)
}

struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// How many bytes the other entries may have. Overlapping entries would make a small file slow to read.
    unread: u64,
}

impl Archive<'_> {
    /// `NAME/`.
    fn folder(&self) -> Result<String, TorchError> {
        let names = self.zip.file_names().filter_map(Result::ok);
        let folders = names.filter_map(|name| name.strip_suffix("data.pkl").map(str::to_owned));
        let mut folders = folders.filter(|folder| folder.is_empty() || folder.ends_with('/'));
        match (folders.next(), folders.next()) {
            (Some(folder), None) => Ok(folder),
            (None, _) => Err(content("it has no data.pkl")),
            (Some(_), Some(_)) => Err(content("it has several data.pkl")),
        }
    }

    /// Where an entry is in the file. The entry must be stored without compression and agree with its
    /// checksum.
    fn entry(&mut self, name: String) -> Result<Range<usize>, TorchError> {
        let mut place = || {
            let index = self.zip.index_for_name_raw(name.as_bytes()).ok_or(ZipError::FileNotFound)?;
            let mut entry = self.zip.by_index(index)?;
            if entry.compression() != CompressionMethod::Stored {
                return Err(ZipError::UnsupportedArchive("it is compressed"));
            }
            self.unread = self.unread.checked_sub(entry.compressed_size()).ok_or_else(overlap)?;
            // The reader compares the checksum at the end.
            let length = io::copy(&mut entry, &mut io::sink())?;
            let start = entry.data_start().ok_or(ZipError::FileNotFound)?;
            let place = usize::try_from(start).ok().zip(usize::try_from(length).ok());
            place.map(|(start, length)| start..start + length).ok_or_else(overlap)
        };
        place().map_err(|source| TorchError::Entry { name, source })
    }
}

fn overlap() -> ZipError {
    ZipError::UnsupportedArchive("entries overlap")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::{Cursor, Write};

    use toller_pickle::Pickle;
    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::places;
    use crate::torch::tests::{LEGACY, assert_two_views};

    fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        for (name, content) in entries {
            zip.start_file(format!("small/{name}"), stored).unwrap();
            zip.write_all(content).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    /// The pickled state dictionary of [`LEGACY`], the name of its storage, and the storage.
    fn parts() -> (&'static [u8], String, &'static [u8]) {
        let mut rest = LEGACY;
        let mut pickles = [&[][..]; 5];
        for pickle in &mut pickles {
            (*pickle, rest) = rest.split_at(Pickle::load(rest).unwrap().end());
        }
        let keys = Pickle::load(pickles[4]).unwrap();
        let key = keys.root().as_list().unwrap().get(0).unwrap().as_str().unwrap();
        (pickles[3], format!("data/{key}"), &rest[8..])
    }

    fn small() -> Vec<u8> {
        let (pickle, storage, numbers) = parts();
        archive(&[("data.pkl", pickle), ("byteorder", b"little"), (&storage, numbers)])
    }

    #[test]
    fn views_share_a_storage() {
        let file = small();
        assert_two_views(&file, &places(&file).unwrap());
    }

    #[test]
    fn damage_is_an_error_or_harmless() {
        let file = small();
        for length in 0..file.len() {
            assert!(places(&file[..length]).is_err(), "{length} bytes");
        }
        let (pickle, _, numbers) = parts();
        let find = |part: &[u8]| file.windows(part.len()).position(|window| window == part).unwrap();
        let checked = [pickle, numbers].map(|part| find(part)..find(part) + part.len());
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut damaged = file.clone();
                damaged[at] ^= 1 << bit;
                match places(&damaged) {
                    Ok(places) => {
                        assert!(!checked.iter().any(|part| part.contains(&at)), "byte {at}");
                        assert_two_views(&damaged, &places);
                    }
                    Err(error) if checked[1].contains(&at) => {
                        assert!(error.to_string().to_lowercase().contains("checksum"), "{error}");
                    }
                    Err(_) => {}
                }
            }
        }
    }

    /// The memo bomb doubles twice a level: unfolded, 100 levels would be 4^100 strings.
    #[test]
    fn a_small_pickle_costs_little_memory_and_depth_costs_no_stack() {
        let (pickle, storage, numbers) = parts();
        let state = &pickle[2..pickle.len() - 1];
        let mut memo_bomb = b"U\x04aaaaq\x80".to_vec();
        memo_bomb.extend((0x80..0x80 + 100).flat_map(|level| {
            let get = [b'h', level];
            [b"(", &get[..], &get, &get, &get, b"tq", &[level + 1]].concat()
        }));
        let deep = [&b"N"[..], &[0x85; 300_000]].concat();
        // A long name that many globals have, of which each would be a copy.
        let name = [&b"V\\u0061"[..], &[b'a'; 1 << 20], b"\nq\x80"].concat();
        let globals = [&b"]"[..], &name, b"0", &b"h\x80h\x80\x93a".repeat(20_000)].concat();
        for bomb in [memo_bomb, deep, globals] {
            let saved = [b"\x80\x02}(U\x0astate_dict", state, b"U\x05epoch", &bomb, b"u."].concat();
            let file = archive(&[("data.pkl", &saved), (&storage, numbers)]);
            assert_two_views(&file, &places(&file).unwrap());
            let alone = archive(&[("data.pkl", &[b"\x80\x02", &bomb[..], b"."].concat())]);
            assert!(places(&alone).is_err());
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let (pickle, storage, numbers) = parts();
        let data = ("data.pkl", pickle);
        let foreign = archive(&[data, ("byteorder", b"big"), (&storage, numbers)]);
        // The method of the first entry, in its local and in its central header.
        let mut compressed = small();
        let central = compressed.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
        (compressed[8], compressed[central + 10]) = (8, 8);
        for (file, expected) in [
            (foreign, "little-endian"),
            (archive(&[data]), "data/"),
            (archive(&[data, (&storage, &numbers[4..])]), "does not fit"),
            (archive(&[(&storage, numbers)]), "no data.pkl"),
            (archive(&[data, ("more/data.pkl", pickle), (&storage, numbers)]), "several"),
            (compressed, "ompress"),
        ] {
            let error = places(&file).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn overlapping_entries_are_refused() {
        let (pickle, storage, _) = parts();
        let other = format!("{}9", &storage[..storage.len() - 1]);
        let (key, other_key) = (storage.trim_start_matches("data/"), other.trim_start_matches("data/"));
        let mut two = pickle.to_vec();
        let second = two.windows(key.len()).rposition(|window| window == key.as_bytes()).unwrap();
        two[second..second + key.len()].copy_from_slice(other_key.as_bytes());
        let mut file = archive(&[("data.pkl", &two), (&storage, &[0; 5000]), (&other, &[0; 24])]);
        assert!(places(&file).is_ok());
        let headers = (0..file.len() - 4).filter(|&at| &file[at..at + 4] == b"PK\x01\x02");
        let [_, one, other] = headers.collect::<Vec<_>>()[..] else { panic!() };
        // The checksum and sizes, and the place.
        for field in [16..28, 42..46] {
            file.copy_within(one + field.start..one + field.end, other + field.start);
        }
        let error = places(&file).unwrap_err().to_string();
        assert!(error.contains("overlap"), "{error}");
    }
}
