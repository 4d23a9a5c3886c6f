//! A checkpoint: tensors by the names that Paddle gives them.

use std::collections::BTreeMap;

use crate::elements::StoredTensor;

/// Something that a checkpoint holds and that the model does not need.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// Why it is not needed.
    pub reason: &'static str,
}

/// The tensors of a checkpoint, and what else was in it.
#[derive(Debug, Default)]
pub(super) struct Checkpoint<'a> {
    pub(super) tensors: BTreeMap<String, StoredTensor<'a>>,
    pub(super) left_out: Vec<LeftOut>,
}
