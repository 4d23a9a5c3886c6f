//! JSON objects with a few fields that matter.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use toller_ir::in_words_of_json_line;

use crate::error::{BadKind, Wrong, excerpt, listed};

/// A record seldom has more fields.
const USUAL_FIELDS: usize = 8;

/// A value of any type. Reading it fails only on a syntax error, so that a value of the wrong type is only
/// one bad record.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Loose<'de> {
    #[default]
    Null,
    Bool,
    Integer(i128),
    Float(f64),
    String(Cow<'de, str>),
    /// Up to the first item that is not a string.
    List(Vec<Loose<'de>>),
    Object,
}

impl Loose<'_> {
    /// The value as an identifier: a string, or an integer in decimal.
    pub(crate) fn to_id(&self) -> Option<String> {
        match self {
            Self::String(text) => Some(text.to_string()),
            Self::Integer(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// That a record has this value as its `what`, where something else is expected.
    pub(crate) fn wrong(&self, what: &str, expected: &str) -> Wrong {
        Wrong::new(BadKind::Malformed, format!("{} as the {what}", self.describe()), expected)
    }

    /// The value as an identifier, which is called `what` in errors.
    pub(crate) fn id(&self, what: &str) -> Result<String, Wrong> {
        self.to_id().ok_or_else(|| self.wrong(what, "a string or an integer"))
    }

    /// The value as a text, which is called `what` in errors.
    pub(crate) fn into_text(self, what: &str) -> Result<String, Wrong> {
        match self {
            Self::String(text) => Ok(text.into_owned()),
            other => Err(other.wrong(what, "a string")),
        }
    }

    /// The value without borrows. Owned parts are not copied.
    fn into_owned(self) -> Loose<'static> {
        match self {
            Self::Null => Loose::Null,
            Self::Bool => Loose::Bool,
            Self::Integer(number) => Loose::Integer(number),
            Self::Float(number) => Loose::Float(number),
            Self::String(text) => Loose::String(Cow::Owned(text.into_owned())),
            Self::List(items) => Loose::List(items.into_iter().map(Loose::into_owned).collect()),
            Self::Object => Loose::Object,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// A string or a list of strings, as a list.
    pub(crate) fn to_strings(&self) -> Option<Vec<String>> {
        match self {
            Self::Null => Some(Vec::new()),
            Self::String(text) => Some(vec![text.to_string()]),
            Self::List(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            _ => None,
        }
    }

    /// The value in words, for errors.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool => "a boolean".to_owned(),
            Self::Integer(number) => format!("the number {number}"),
            Self::Float(number) => format!("the number {number}"),
            Self::String(text) => excerpt(text.as_bytes()),
            Self::List(_) => "a list".to_owned(),
            Self::Object => "an object".to_owned(),
        }
    }
}

impl<'de> Deserialize<'de> for Loose<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Loose<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Loose::Null)
    }

    fn visit_bool<E>(self, _value: bool) -> Result<Self::Value, E> {
        Ok(Loose::Bool)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Loose::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Loose::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Loose::Float(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Loose::String(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Loose::String(Cow::Owned(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<Self::Value, E> {
        Ok(Loose::String(Cow::Owned(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            let is_string = matches!(item, Loose::String(_));
            list.push(item);
            if !is_string {
                // Only lists of strings are used. A vector would take 32 bytes a number.
                while items.next_element::<IgnoredAny>()?.is_some() {}
                break;
            }
        }
        Ok(Loose::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Loose::Object)
    }
}

/// A record of a JSON file.
pub(crate) fn parse_record<T: DeserializeOwned>(record: &str, expected: &str) -> Result<T, Wrong> {
    serde_json::from_str(record).map_err(|error| not_json(record, &error, expected))
}

fn not_json(record: &str, error: &serde_json::Error, expected: &str) -> Wrong {
    // The place of the record has its line.
    let said = in_words_of_json_line(error);
    let place = said.rsplit_once(" at ").map_or("an unknown place", |(_, place)| place);
    if let Some(name) = not_a_number(record, error) {
        return Wrong::new(BadKind::NotJson, format!("{name} at {place}"), "a number or null");
    }
    if ["unexpected end of hex escape", "lone leading surrogate"].iter().any(|start| said.starts_with(start))
    {
        let found = format!("half of a surrogate pair at {place}");
        return Wrong::new(BadKind::LoneSurrogate, found, r"both halves, as in \ud83d\ude00");
    }
    Wrong::new(BadKind::Malformed, format!("{} ({said})", excerpt(record.as_bytes())), expected)
}

/// What Python's json module writes for floats that JSON does not have, if that is the error.
fn not_a_number(record: &str, error: &serde_json::Error) -> Option<&'static str> {
    let line = record.lines().nth(error.line().checked_sub(1)?)?;
    let rest = line.get(error.column().checked_sub(1)?..)?;
    ["NaN", "Infinity"].into_iter().find(|name| rest.starts_with(name))
}

/// The fields of a JSON object.
#[derive(Debug)]
pub(crate) struct Object<'de>(Vec<(Loose<'de>, Loose<'de>)>);

impl<'de> Object<'de> {
    /// The object on a line.
    pub(crate) fn parse(line: &'de str, expected: &str) -> Result<Self, Wrong> {
        serde_json::from_str(line).map_err(|error| not_json(line, &error, expected))
    }

    /// Takes the fields with these names. If several of them are there and not null, the first name counts.
    /// If there is none, the first name in any other case does.
    pub(crate) fn take(&mut self, names: &[impl AsRef<str>]) -> Result<Option<Loose<'de>>, Wrong> {
        let mut first = None;
        for name in names.iter().map(AsRef::as_ref) {
            let fields = self.0.iter_mut().filter(|(key, _)| key.as_str() == Some(name));
            let mut values = fields.map(|(_, value)| std::mem::take(value));
            let value = values.next().filter(|value| *value != Loose::Null);
            if values.next().is_some() {
                let found = format!("the field {name} twice");
                return Err(Wrong::new(BadKind::Malformed, found, "each field once"));
            }
            first = first.or(value);
        }
        Ok(first.or_else(|| names.iter().find_map(|name| self.take_in_any_case(name.as_ref()))))
    }

    /// Takes the field with one of these names, which is called `what` in errors. `expected` says which
    /// fields there should be.
    pub(crate) fn need(&mut self, names: &[&str], what: &str, expected: &str) -> Result<Loose<'de>, Wrong> {
        self.take(names)?.ok_or_else(|| {
            let found = format!("no {what} among {}", listed(self.names()));
            Wrong::new(BadKind::MissingColumn, found, expected)
        })
    }

    /// The names and values of the fields.
    pub(crate) fn entries(&self) -> &[(Loose<'de>, Loose<'de>)] {
        &self.0
    }

    /// The names of the fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|(name, _)| name.as_str())
    }

    fn take_in_any_case(&mut self, name: &str) -> Option<Loose<'de>> {
        let is_name = |key: &Loose<'_>| key.as_str().is_some_and(|key| key.eq_ignore_ascii_case(name));
        let mut fields = self.0.iter_mut().filter(|(key, value)| *value != Loose::Null && is_name(key));
        fields.next().map(|(_, value)| std::mem::take(value))
    }
}

impl FromIterator<(String, Loose<'static>)> for Object<'static> {
    fn from_iter<I: IntoIterator<Item = (String, Loose<'static>)>>(fields: I) -> Self {
        Self(fields.into_iter().map(|(name, value)| (Loose::String(Cow::Owned(name)), value)).collect())
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::with_capacity(USUAL_FIELDS);
        while let Some(field) = entries.next_entry()? {
            fields.push(field);
        }
        Ok(Object(fields))
    }
}

/// The fields of a JSON object that is read from a stream, in their order, and repeated as they are there.
pub(crate) struct Fields(pub(crate) Vec<(String, Loose<'static>)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((name, Owned(value))) = entries.next_entry()? {
            fields.push((name, value));
        }
        Ok(Fields(fields))
    }
}

/// A value that borrows nothing, for reading from a stream.
#[derive(Debug, Default)]
pub(crate) struct Owned<T>(pub(crate) T);

impl<'de> Deserialize<'de> for Owned<Loose<'static>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Loose::deserialize(deserializer).map(|value| Self(value.into_owned()))
    }
}
