//! The identifiers of the documents, by ordinal: a list of strings without payloads, see `coding::strings`.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::Mmap;

use crate::coding::{BLOCK_STRINGS, Strings, next_string};

/// The table is made when this share of the documents has been looked up: then its time is mostly saved.
const LOOKUPS_PER_TABLE: usize = 4;

/// What a damaged file gives where an index was opened without verification.
const UNREADABLE: &str = "\u{fffd}";

/// The identifiers of an opened index. A few are decoded one by one. Many are decoded at once into a table:
/// a run of 1,000 hits a query asks for the same documents again and again.
#[derive(Debug)]
pub(super) struct Ids {
    file: Mmap,
    count: usize,
    lookups: AtomicUsize,
    /// `None` inside if the identifiers cannot be a table.
    table: OnceLock<Option<Table>>,
}

/// All identifiers, one behind the other.
#[derive(Debug)]
struct Table {
    text: String,
    /// Where each begins, and where the last one ends.
    offsets: Vec<u32>,
}

impl Ids {
    /// The identifiers of `count` documents; `None` if the file is too short for them.
    pub(super) fn new(file: Mmap, count: usize) -> Option<Self> {
        Strings::new(&file, count)?;
        Some(Self { file, count, lookups: AtomicUsize::new(0), table: OnceLock::new() })
    }

    /// The identifier `index`; U+FFFD if the file is damaged.
    pub(super) fn get(&self, index: usize) -> Cow<'_, str> {
        if let Some(Some(table)) = self.table.get() {
            return Cow::Borrowed(table.get(index).unwrap_or(UNREADABLE));
        }
        if self.lookups.fetch_add(1, Ordering::Relaxed) == self.count / LOOKUPS_PER_TABLE {
            self.table.get_or_init(|| self.table());
        }
        self.decode(index).map_or(Cow::Borrowed(UNREADABLE), Cow::Owned)
    }

    fn decode(&self, index: usize) -> Option<String> {
        let mut block = Strings::new(&self.file, self.count)?.block(index / BLOCK_STRINGS)?;
        let mut id = Vec::new();
        for _ in 0..=index % BLOCK_STRINGS {
            next_string(&mut block, &mut id)?;
        }
        String::from_utf8(id).ok()
    }

    /// `None` if an identifier cannot be read, or they are 4 GiB or more.
    fn table(&self) -> Option<Table> {
        let strings = Strings::new(&self.file, self.count)?;
        let (mut text, mut offsets) = (String::new(), Vec::with_capacity(self.count + 1));
        offsets.push(0);
        for number in 0..strings.blocks() {
            let (mut block, mut id) = (strings.block(number)?, Vec::new());
            for _ in 0..BLOCK_STRINGS.min(self.count - number * BLOCK_STRINGS) {
                next_string(&mut block, &mut id)?;
                text.push_str(str::from_utf8(&id).ok()?);
                offsets.push(u32::try_from(text.len()).ok()?);
            }
        }
        Some(Table { text, offsets })
    }
}

impl Table {
    fn get(&self, index: usize) -> Option<&str> {
        let (begin, end) = (*self.offsets.get(index)?, *self.offsets.get(index + 1)?);
        self.text.get(begin as usize..end as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use memmap2::Mmap;

    use super::{Ids, LOOKUPS_PER_TABLE};
    use crate::coding::StringsEncoder;

    fn ids(names: &[&[u8]]) -> Ids {
        let (mut encoder, mut file) = (StringsEncoder::default(), tempfile::tempfile().unwrap());
        for name in names {
            file.write_all(encoder.push(name, &[])).unwrap();
        }
        file.write_all(&encoder.finish()).unwrap();
        // SAFETY: nobody else has the file.
        Ids::new(unsafe { Mmap::map(&file) }.unwrap(), names.len()).unwrap()
    }

    #[test]
    fn the_table_has_what_single_lookups_find() {
        let names: Vec<String> = (0..1000).map(|at| format!("d\u{e9}{}", at * 7919 % 1000)).collect();
        let ids = ids(&names.iter().map(|name| name.as_bytes()).collect::<Vec<_>>());
        for round in 0..2 {
            for (index, name) in names.iter().enumerate() {
                assert_eq!(ids.get(index), name.as_str(), "round {round}");
                assert_eq!(ids.table.get().is_some(), round == 1 || index >= names.len() / LOOKUPS_PER_TABLE);
            }
        }
        assert!(matches!(ids.table.get(), Some(Some(_))));
    }

    #[test]
    fn an_identifier_that_is_no_text_harms_no_other() {
        let ids = ids(&[b"a", b"b\xff", b"c"]);
        for _ in 0..3 {
            assert_eq!([ids.get(0), ids.get(1), ids.get(2)], ["a", "\u{fffd}", "c"]);
        }
        assert!(matches!(ids.table.get(), Some(None)));
    }
}
