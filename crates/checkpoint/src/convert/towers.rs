//! The encoders of a checkpoint, distinguished by the prefixes of their variables' names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::checkpoint::{Checkpoint, LeftOut};
use super::names::{Naming, Role};
use super::{ConvertError, ConvertOptions};
use crate::elements::{StoredTensor, is_float};

/// The prefixes of RocketQA's dual encoders; with shared parameters both roles have the passages'.
const QUERY: &str = "query_";
const PASSAGE: &str = "titlepara_";

/// The variables of one encoder and its head, by transformers' names without a prefix.
pub(super) struct Tower<'a> {
    pub(super) naming: Naming,
    /// The beginning of the names in the checkpoint.
    pub(super) prefix: String,
    /// The name in the checkpoint, and the tensor as transformers has it.
    pub(super) tensors: BTreeMap<String, (String, StoredTensor<'a>)>,
}

impl Tower<'_> {
    /// Whether it is one of RocketQA's dual encoders, whose vector is the first token's state.
    pub(super) fn pools_first_token(&self) -> bool {
        self.naming == Naming::Static && [QUERY, PASSAGE].contains(&self.prefix.as_str())
    }
}

/// The encoders to convert.
pub(super) enum Parts<'a> {
    One(Tower<'a>),
    Two { query: Tower<'a>, passage: Tower<'a> },
}

impl<'a> Parts<'a> {
    /// Finds the encoders; what belongs to none is listed with its reason.
    pub(super) fn split(
        checkpoint: Checkpoint<'a>,
        path: &Path,
        options: &ConvertOptions,
    ) -> Result<(Self, Vec<LeftOut>), ConvertError> {
        let (naming, prefixes) = prefixes(&checkpoint, path)?;
        let chosen = choose(&prefixes, path, options.prefix.as_deref())?;
        let mut towers: Vec<Tower<'a>> = chosen
            .iter()
            .map(|prefix| Tower { naming, prefix: prefix.clone(), tensors: BTreeMap::new() })
            .collect();
        let alone = towers.len() == 1;
        let mut left_out = checkpoint.left_out;
        let mut unexpected = Vec::new();
        for (name, mut stored) in checkpoint.tensors {
            let inner = prefixes.iter().find_map(|prefix| {
                let role = naming.inner(name.strip_prefix(prefix.as_str())?);
                matches!(role, Role::Tensor { .. }).then_some((prefix, role))
            });
            let (role, tower) = match inner {
                Some((prefix, role)) => (role, towers.iter_mut().find(|tower| tower.prefix == *prefix)),
                // Poolers and classifiers have no prefix.
                None => (naming.outer(&name), towers.first_mut().filter(|_| alone)),
            };
            match (role, tower) {
                (Role::Tensor { name: target, transposed }, Some(tower)) => {
                    if transposed {
                        stored.layout = stored.layout.transposed();
                    }
                    if let Some((other, _)) = tower.tensors.insert(target, (name.clone(), stored)) {
                        let problem = format!("is the same tensor as {other:?}");
                        return Err(ConvertError::Variable { path: path.to_owned(), name, problem });
                    }
                }
                (Role::Tensor { .. }, None) => left_out.push(LeftOut { name, reason: "of another model" }),
                (Role::LeftOut(reason), _) => left_out.push(LeftOut { name, reason }),
                (Role::Unknown, _) if !is_float(stored.layout.dtype) => {
                    left_out.push(LeftOut { name, reason: "integers, which are not weights" });
                }
                (Role::Unknown, _) if options.allow_unexpected => {
                    left_out.push(LeftOut { name, reason: "unexpected" });
                }
                (Role::Unknown, _) => unexpected.push(name),
            }
        }
        if !unexpected.is_empty() {
            return Err(ConvertError::Unexpected { path: path.to_owned(), names: unexpected });
        }
        let parts = match (towers.pop(), towers.pop()) {
            (Some(passage), Some(query)) => Self::Two { query, passage },
            (Some(tower), None) => Self::One(tower),
            (None, _) => return Err(ConvertError::NoCheckpoint(path.to_owned())),
        };
        Ok((parts, left_out))
    }
}

/// The naming of a checkpoint, and the prefix of each encoder in it.
fn prefixes(checkpoint: &Checkpoint<'_>, path: &Path) -> Result<(Naming, BTreeSet<String>), ConvertError> {
    for naming in [Naming::Layers, Naming::Static] {
        let before = |name: &String| name.strip_suffix(naming.anchor()).map(str::to_owned);
        let prefixes: BTreeSet<String> = checkpoint.tensors.keys().filter_map(before).collect();
        if !prefixes.is_empty() {
            return Ok((naming, prefixes));
        }
    }
    let names = checkpoint.tensors.keys().take(4).cloned().collect();
    Err(ConvertError::Naming { path: path.to_owned(), names })
}

/// The encoders that are meant: the one that was asked for, the only one, or the two of a dual encoder.
fn choose(
    prefixes: &BTreeSet<String>,
    path: &Path,
    asked: Option<&str>,
) -> Result<Vec<String>, ConvertError> {
    let all: Vec<String> = prefixes.iter().cloned().collect();
    let dual = [QUERY, PASSAGE].map(str::to_owned);
    match asked {
        Some(asked) if prefixes.contains(asked) => Ok(vec![asked.to_owned()]),
        None if all.len() == 1 => Ok(all),
        None if all.len() == 2 && dual.iter().all(|prefix| prefixes.contains(prefix)) => Ok(dual.to_vec()),
        _ => Err(ConvertError::SeveralEncoders { path: path.to_owned(), prefixes: all }),
    }
}
