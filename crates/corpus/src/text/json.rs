//! JSON objects with a few known fields, read without building a tree.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::error::excerpt;

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
            list.push(item);
        }
        Ok(Loose::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Loose::Object)
    }
}

/// The names of the fields of a record; the others are ignored.
pub(crate) trait FieldNames<const N: usize> {
    const NAMES: [&'static str; N];
}

/// The `N` known fields of a JSON object, in the order of `K::NAMES`.
pub(crate) struct Fields<'de, K, const N: usize> {
    pub(crate) values: [Option<Loose<'de>>; N],
    /// A field that the object holds twice.
    pub(crate) twice: Option<&'static str>,
    names: PhantomData<K>,
}

impl<'de, K: FieldNames<N>, const N: usize> Fields<'de, K, N> {
    /// The first field of `range` that is there and not null.
    pub(crate) fn first_of(&self, range: std::ops::Range<usize>) -> Option<&Loose<'de>> {
        self.values.get(range)?.iter().flatten().find(|value| **value != Loose::Null)
    }

    /// The same, taken out.
    pub(crate) fn take_first_of(&mut self, range: std::ops::Range<usize>) -> Option<Loose<'de>> {
        self.values
            .get_mut(range)?
            .iter_mut()
            .find(|slot| slot.as_ref().is_some_and(|value| *value != Loose::Null))?
            .take()
    }
}

impl<'de, K: FieldNames<N>, const N: usize> Deserialize<'de> for Fields<'de, K, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor(PhantomData))
    }
}

struct FieldsVisitor<K, const N: usize>(PhantomData<K>);

impl<'de, K: FieldNames<N>, const N: usize> Visitor<'de> for FieldsVisitor<K, N> {
    type Value = Fields<'de, K, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut fields = Fields { values: [const { None }; N], twice: None, names: PhantomData };
        while let Some(key) = entries.next_key::<KeyIndex<K, N>>()? {
            match fields.values.get_mut(key.index) {
                Some(slot) => {
                    if slot.is_some() {
                        fields.twice = K::NAMES.get(key.index).copied();
                    }
                    *slot = Some(entries.next_value()?);
                }
                None => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(fields)
    }
}

/// A key as its index in the names, or `N` if it is not one of them; no string is allocated.
struct KeyIndex<K, const N: usize> {
    index: usize,
    names: PhantomData<K>,
}

impl<'de, K: FieldNames<N>, const N: usize> Deserialize<'de> for KeyIndex<K, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KeyVisitor(PhantomData))
    }
}

struct KeyVisitor<K, const N: usize>(PhantomData<K>);

impl<K: FieldNames<N>, const N: usize> Visitor<'_> for KeyVisitor<K, N> {
    type Value = KeyIndex<K, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let index = K::NAMES.iter().position(|name| *name == key).unwrap_or(N);
        Ok(KeyIndex { index, names: PhantomData })
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

impl<'de, K: FieldNames<N>, const N: usize> Deserialize<'de> for Owned<Fields<'static, K, N>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Fields { values, twice, names } = Fields::<'de, K, N>::deserialize(deserializer)?;
        Ok(Self(Fields { values: values.map(|value| value.map(Loose::into_owned)), twice, names }))
    }
}
