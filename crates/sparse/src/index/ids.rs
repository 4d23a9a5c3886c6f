//! The identifiers of the documents, by ordinal: a list of strings without payloads, see `coding::strings`.

use crate::coding::{BLOCK_STRINGS, Strings, next_string};

/// Whether `file` can be that of `count` identifiers.
pub(super) fn is_sound(file: &[u8], count: usize) -> bool {
    Strings::new(file, count).is_some()
}

/// The identifier `index` of `count`; `None` when the file is damaged.
pub(super) fn id(file: &[u8], count: usize, index: usize) -> Option<String> {
    let mut block = Strings::new(file, count)?.block(index / BLOCK_STRINGS)?;
    let mut id = Vec::new();
    for _ in 0..=index % BLOCK_STRINGS {
        next_string(&mut block, &mut id)?;
    }
    String::from_utf8(id).ok()
}
