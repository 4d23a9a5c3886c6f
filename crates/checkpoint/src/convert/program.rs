//! The variables of a saved program: Paddle's `ProgramDesc` (protobuf), or the JSON of Paddle 3.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::protobuf::{self, Value};

/// `VarType.Type` of a tensor; others are feeds, fetches, readers and scopes, which hold nothing.
const TENSOR: u64 = 7;

/// The names and shapes of the variables that a program keeps.
pub(super) fn variables(bytes: &[u8]) -> Result<BTreeMap<String, Vec<i64>>, String> {
    let variables = if bytes.first() == Some(&b'{') { of_json(bytes)? } else { of_description(bytes)? };
    if variables.is_empty() {
        return Err("is a program without variables".to_owned());
    }
    Ok(variables)
}

/// `ProgramDesc { blocks = 1 }`, `BlockDesc { vars = 3 }`, `VarDesc { name = 1, type = 2, persistable = 3 }`,
/// `VarType { type = 1, lod_tensor = 3 }`, `LoDTensorDesc { tensor = 1 }`, `TensorDesc { dims = 2 }`.
fn of_description(bytes: &[u8]) -> Result<BTreeMap<String, Vec<i64>>, String> {
    let mut variables = BTreeMap::new();
    for block in messages(&protobuf::fields(bytes)?, 1) {
        for variable in messages(&protobuf::fields(block)?, 3) {
            let variable = protobuf::fields(variable)?;
            let kind = protobuf::fields(protobuf::bytes(&variable, 2).unwrap_or_default())?;
            let persistable = protobuf::numbers(&variable, 3)?.last() == Some(&1);
            if !persistable || protobuf::numbers(&kind, 1)?.last() != Some(&TENSOR) {
                continue;
            }
            let name = protobuf::bytes(&variable, 1).unwrap_or_default();
            let name = std::str::from_utf8(name).map_err(|_| "names a variable in no UTF-8")?;
            let tensor = protobuf::fields(protobuf::bytes(&kind, 3).unwrap_or_default())?;
            let tensor = protobuf::fields(protobuf::bytes(&tensor, 1).unwrap_or_default())?;
            // Dimensions are signed, in two's complement.
            let dimensions = protobuf::numbers(&tensor, 2)?;
            variables.insert(name.to_owned(), dimensions.into_iter().map(u64::cast_signed).collect());
        }
    }
    Ok(variables)
}

fn messages<'a>(fields: &[(u64, Value<'a>)], number: u64) -> Vec<&'a [u8]> {
    let message = |(found, value): &(u64, Value<'a>)| match value {
        Value::Bytes(bytes) if *found == number => Some(*bytes),
        _ => None,
    };
    fields.iter().filter_map(message).collect()
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
