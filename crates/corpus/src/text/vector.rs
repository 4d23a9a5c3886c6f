//! The vector of a JSON object: terms with the weights that a learned sparse model gives them.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use toller_ir::{MAX_IMPACT, is_term, push_impact};

use super::json::{Loose, Object};
use crate::error::{BadKind, Wrong, excerpt};

/// The vector in the field `name` of an object that is JSON, as a text with impacts
/// ([`toller_ir::impacts`]); `None` if there is no such field.
pub(crate) fn vector_text(object: &str, name: &str) -> Result<Option<String>, Wrong> {
    let field = Field(name).deserialize(&mut serde_json::Deserializer::from_str(object));
    let Some(vector) = field.map_err(|_| {
        let found = format!("the field {name} of {}", excerpt(object.as_bytes()));
        Wrong::new(BadKind::Malformed, found, "one object of terms and their weights")
    })?
    else {
        return Ok(None);
    };
    let mut seen = HashSet::new();
    let mut text = String::new();
    for (term, weight) in vector.entries() {
        let term = term.as_str().unwrap_or_default();
        let quoted = excerpt(term.as_bytes());
        if !is_term(term) || !seen.insert(term) {
            let found = format!("the term {quoted} in the field {name}");
            return Err(Wrong::new(BadKind::Malformed, found, "terms without white space, each once"));
        }
        let impact = match weight {
            Loose::Integer(weight) => u32::try_from(*weight).ok().filter(|impact| *impact > 0),
            _ => None,
        };
        let impact = impact.filter(|impact| *impact <= MAX_IMPACT).ok_or_else(|| {
            let found = format!("{} as the weight of {quoted}", weight.describe());
            Wrong::new(BadKind::Weight, found, format!("an integer from 1 to {MAX_IMPACT}"))
        })?;
        push_impact(&mut text, term, impact);
    }
    Ok(Some(text))
}

/// The object in a field of an object.
struct Field<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = Option<Object<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Field<'_> {
    type Value = Option<Object<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = entries.next_key::<Loose<'de>>()? {
            if key.as_str() != Some(self.0) {
                entries.next_value::<IgnoredAny>()?;
            } else if found.replace(entries.next_value()?).is_some() {
                return Err(A::Error::duplicate_field(""));
            }
        }
        Ok(found)
    }
}
