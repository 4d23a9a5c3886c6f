//! Pickles: no bytes may panic, loop or allocate more than they are.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toller_pickle::numpy::{Array, Scalar};
use toller_pickle::{Pickle, Value};

fn look_at(value: Value<'_, '_>, depth: usize) {
    let _ = (value.describe(), value.as_bytes(), value.as_str(), value.as_global());
    let _ = (Array::read(value).map(|array| array.shape), Scalar::read(value));
    if depth == 0 {
        return;
    }
    let items = [value.as_list(), value.as_tuple(), value.as_set()].into_iter().flatten();
    items.flat_map(|items| items.iter().take(20)).for_each(|item| look_at(item, depth - 1));
    let pairs = value.as_dict().into_iter().flat_map(|pairs| pairs.iter().take(20));
    pairs.for_each(|(_, value)| look_at(value, depth - 1));
    if let Some(object) = value.as_object() {
        object.args().iter().take(20).for_each(|item| look_at(item, depth - 1));
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(pickle) = Pickle::load(bytes) {
        look_at(pickle.root(), 4);
    }
});
