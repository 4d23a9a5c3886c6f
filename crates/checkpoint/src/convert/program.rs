//! The variables of a saved program: Paddle's `ProgramDesc` (protobuf), or the JSON of Paddle 3.

use std::collections::BTreeMap;

use prost::Message;
use serde_json::Value as Json;

#[derive(Message)]
struct ProgramDesc {
    #[prost(message, repeated, tag = "1")]
    blocks: Vec<BlockDesc>,
}

#[derive(Message)]
struct BlockDesc {
    #[prost(message, repeated, tag = "3")]
    vars: Vec<VarDesc>,
}

#[derive(Message)]
struct VarDesc {
    #[prost(string, required, tag = "1")]
    name: String,
    #[prost(message, required, tag = "2")]
    kind: VarType,
    #[prost(bool, required, tag = "3")]
    persistable: bool,
}

#[derive(Message)]
struct VarType {
    #[prost(int32, required, tag = "1")]
    kind: i32,
    #[prost(message, required, tag = "3")]
    lod_tensor: LodTensorDesc,
}

#[derive(Message)]
struct LodTensorDesc {
    #[prost(message, required, tag = "1")]
    tensor: TensorDesc,
}

/// The number format and the shape of a tensor.
#[derive(Message)]
pub(super) struct TensorDesc {
    #[prost(int32, optional, tag = "1")]
    pub(super) data_type: Option<i32>,
    #[prost(int64, repeated, tag = "2")]
    pub(super) dims: Vec<i64>,
}

/// `VarType.Type` of a tensor; others are feeds, fetches, readers and scopes, which hold nothing.
const TENSOR: i32 = 7;

/// The names and shapes of the variables that a program keeps.
pub(super) fn variables(bytes: &[u8]) -> Result<BTreeMap<String, Vec<i64>>, String> {
    let variables = if bytes.first() == Some(&b'{') { of_json(bytes)? } else { of_description(bytes)? };
    if variables.is_empty() {
        return Err("is a program without variables".to_owned());
    }
    Ok(variables)
}

fn of_description(bytes: &[u8]) -> Result<BTreeMap<String, Vec<i64>>, String> {
    let program = ProgramDesc::decode(bytes).map_err(|error| error.to_string())?;
    let variables = program.blocks.into_iter().flat_map(|block| block.vars);
    let tensors = variables.filter(|variable| variable.persistable && variable.kind.kind == TENSOR);
    Ok(tensors.map(|variable| (variable.name, variable.kind.lod_tensor.tensor.dims)).collect())
}

/// A parameter is an operation `{"#": "p", "A": [..., name], "O": {"TT": {"D": [type, shape, ...]}}}`.
fn of_json(bytes: &[u8]) -> Result<BTreeMap<String, Vec<i64>>, String> {
    let root: Json = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let list = |value: &Json| value.as_array().cloned().unwrap_or_default();
    let mut variables = BTreeMap::new();
    for region in list(&root["program"]["regions"]) {
        for block in list(&region["blocks"]) {
            for operation in list(&block["ops"]).iter().filter(|operation| operation["#"] == "p") {
                let name = operation["A"].as_array().and_then(|attributes| attributes.last()?.as_str());
                let shape = operation["O"]["TT"]["D"][1].as_array();
                let shape = shape.map(|shape| shape.iter().filter_map(Json::as_i64).collect());
                let (Some(name), Some(shape)) = (name, shape) else {
                    return Err("has a parameter in an unknown form".to_owned());
                };
                variables.insert(name.to_owned(), shape);
            }
        }
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::variables;

    const OLD: &[u8] = include_bytes!("../../../../tests/fixtures/paddle/cross-encoder/__model__");
    const NEW: &[u8] = include_bytes!("../../../../tests/fixtures/paddle/cross-encoder/inference.json");

    #[test]
    fn both_forms_name_the_same_variables() {
        let old = variables(OLD).unwrap();
        assert_eq!(old["word_embedding"], [32, 8]);
        assert_eq!(old["qtp_cls_out_b"], [2]);
        assert_eq!(variables(NEW).unwrap(), old);
    }

    #[test]
    fn what_is_no_program_is_an_error() {
        assert!(variables(b"").is_err());
        assert!(variables(b"{}").is_err());
        assert!(variables(b"{\"program\": 3").is_err());
        assert!(variables(&OLD[..OLD.len() - 3]).is_err());
    }

    proptest! {
        #[test]
        fn no_change_panics(at: prop::sample::Index, byte: u8) {
            for program in [OLD, NEW] {
                let mut bytes = program.to_vec();
                let at = at.index(bytes.len());
                bytes[at] = byte;
                let _ = variables(&bytes);
            }
        }
    }
}
