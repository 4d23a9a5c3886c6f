//! The fields of a JSON object.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// The fields of a JSON object in the order of the file: columns of unknown names count by order.
pub(super) struct Fields(pub(super) Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl Fields {
    /// The field of the first of these names that is there.
    pub(super) fn get(&self, names: &[&str]) -> Option<&Value> {
        names.iter().find_map(|name| self.0.iter().find(|(field, _)| field == name).map(|(_, value)| value))
    }

    /// The same, if it is a text.
    pub(super) fn text(&self, names: &[&str]) -> Option<String> {
        self.get(names)?.as_str().map(str::to_owned)
    }

    /// The same, as a list. A field that is missing is an empty one.
    pub(super) fn list(&self, names: &[&str]) -> Result<Vec<Value>, String> {
        match self.get(names) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(values)) => Ok(values.clone()),
            Some(other) => Err(format!("{} is {other}, where a list is expected", names.join(" or "))),
        }
    }
}
