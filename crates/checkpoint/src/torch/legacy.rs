//! Checkpoints before PyTorch 1.6: five pickles in a row, then the storages.
//!
//! The pickles are a magic number, the protocol, facts about the system, the object that was saved, and the
//! list of the storages' keys. A storage is its number of elements, in 64 bits, and the elements.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use toller_pickle::{Pickle, PickleError, Value};

use super::{Storage, TorchError, View, content, state_dictionary};
use crate::weights::Places;

const MAGIC: i128 = 0x1950_a86a_20f9_469c_fc6c;
const PROTOCOL: i128 = 1001;

/// Whether a file begins as one of PyTorch before 1.6.
pub(crate) fn is_legacy(start: &[u8]) -> bool {
    Pickle::load(start).is_ok_and(|pickle| pickle.root().as_int() == Some(MAGIC))
}

/// Where the tensors lie in a file.
pub(crate) fn places(file: &[u8]) -> Result<Places, TorchError> {
    let mut at = 0;
    let mut next = || {
        let pickle = Pickle::load(&file[at..])?;
        at += pickle.end();
        Ok::<_, PickleError>(pickle)
    };
    for expected in [MAGIC, PROTOCOL] {
        if next()?.root().as_int() != Some(expected) {
            return Err(content("it does not begin as PyTorch's files do"));
        }
    }
    next()?;
    let saved = next()?;
    let listed = next()?;
    let views = state_dictionary(saved.root())?;
    let storages = storages(&views, listed.root(), file, at)?;
    super::places(views, &storages)
}

/// Where the storages lie in the file: from `at` on, in the order of the list of keys. A storage that belongs
/// to no tensor of the state dictionary (an optimizer's) has an unknown size, so none may follow it.
fn storages<'p>(
    views: &BTreeMap<&str, View<'p>>,
    keys: Value<'p, '_>,
    file: &[u8],
    mut at: usize,
) -> Result<HashMap<&'p str, Range<usize>>, TorchError> {
    let known: HashMap<&str, &Storage<'p>> =
        views.values().map(|view| (view.storage.key, &view.storage)).collect();
    let mut places = HashMap::new();
    for key in keys.as_list().ok_or_else(|| keys.unexpected("the list of the storages"))?.iter() {
        let key = key.as_str().ok_or_else(|| key.unexpected("the key of a storage"))?;
        let storage =
            known.get(key).ok_or_else(|| content("it has storages of other objects than its weights"))?;
        let start = at.saturating_add(8);
        let elements = file.get(at..start).and_then(|length| length.try_into().ok()).map(u64::from_le_bytes);
        if elements.is_some_and(|elements| elements != storage.elements as u64) {
            return Err(content("a storage has another length than its tensors say"));
        }
        let bytes = storage.elements.checked_mul(storage.dtype.bitsize() / 8);
        let end = bytes.and_then(|bytes| start.checked_add(bytes)).filter(|&end| end <= file.len());
        let end = end.ok_or(PickleError::Truncated { offset: file.len() })?;
        places.insert(storage.key, start..end);
        at = end;
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::{is_legacy, places};
    use crate::torch::tests::{LEGACY, assert_two_views};

    #[test]
    fn views_share_a_storage() {
        assert!(is_legacy(&LEGACY[..64]));
        assert_two_views(LEGACY, &places(LEGACY).unwrap());
    }

    #[test]
    fn a_file_that_ends_early_is_an_error() {
        for length in 0..LEGACY.len() {
            assert!(places(&LEGACY[..length]).is_err(), "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn no_change_panics(at: prop::sample::Index, byte: u8) {
            let mut bytes = LEGACY.to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            for (layout, place) in places(&bytes).into_iter().flatten().map(|(_, place)| place) {
                layout.gather(&bytes[place]).unwrap();
            }
        }
    }
}
