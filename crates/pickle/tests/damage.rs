//! Damaged pickles: no access to their values panics.

use proptest::prelude::*;
use toller_pickle::numpy::{Array, Scalar};
use toller_pickle::{Pickle, Value};

/// Looks at everything in `value`, up to some depth and number.
fn look_at(value: Value<'_, '_>, depth: usize) {
    let _ = (value.describe(), Array::read(value).map(|array| array.shape), Scalar::read(value));
    let _ = (value.as_bytes(), value.as_str(), value.as_int(), value.as_global(), value.as_persistent_id());
    if depth == 0 {
        return;
    }
    let items = [value.as_list(), value.as_tuple(), value.as_set()].into_iter().flatten();
    items.flat_map(|items| items.iter().take(50)).for_each(|item| look_at(item, depth - 1));
    let pairs = value.as_dict().into_iter().flat_map(|pairs| pairs.iter().take(50));
    pairs.flat_map(|(key, value)| [key, value]).for_each(|item| look_at(item, depth - 1));
    if let Some(object) = value.as_object() {
        look_at(object.callable(), depth - 1);
        object.args().iter().take(50).for_each(|item| look_at(item, depth - 1));
        object.state().into_iter().for_each(|state| look_at(state, depth - 1));
    }
}

fn fixtures() -> Vec<Vec<u8>> {
    let folder = toller_testing::repository("crates/pickle/tests/fixtures");
    let names = ["plain-0.pkl", "plain-4.pkl", "arrays-0.pkl", "arrays-2.pkl", "arrays-5.pkl", "objects.pkl"];
    let read = |name| std::fs::read(folder.join(name));
    names.into_iter().map(|name| read(name).unwrap_or_else(|error| panic!("{name}: {error}"))).collect()
}

proptest! {
    #[test]
    fn arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(pickle) = Pickle::load(&bytes) {
            look_at(pickle.root(), 4);
        }
    }

    #[test]
    fn arbitrary_instructions(
        instructions in proptest::collection::vec(
            prop::sample::select(&b"(.012NNKJ]})aedubtlQRR\x81\x85\x86\x87\x88\x8f\x90\x91\x94q\x00h\x00\x93\x8c\x01x"[..]),
            0..60,
        ),
    ) {
        let mut bytes = instructions;
        bytes.push(b'.');
        if let Ok(pickle) = Pickle::load(&bytes) {
            look_at(pickle.root(), 6);
        }
    }

    #[test]
    fn damaged_files(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        for mut bytes in fixtures() {
            for (place, byte) in &changes {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            if let Ok(pickle) = Pickle::load(&bytes) {
                look_at(pickle.root(), 6);
            }
        }
    }
}
