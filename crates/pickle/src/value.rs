//! How a reader looks at the values of a pickle.

use std::borrow::Cow;

use crate::node::{Node, Parts, Ref};
use crate::{Pickle, PickleError};

/// A value of a [`Pickle`].
#[derive(Clone, Copy)]
pub struct Value<'p, 'a> {
    pickle: &'p Pickle<'a>,
    reference: Ref,
}

impl<'p, 'a> Value<'p, 'a> {
    pub(crate) fn new(pickle: &'p Pickle<'a>, reference: Ref) -> Self {
        Self { pickle, reference }
    }

    fn node(self) -> &'p Node<'a> {
        self.pickle.node(self.reference)
    }

    fn sibling(self, reference: Ref) -> Self {
        Self::new(self.pickle, reference)
    }

    /// Whether the two are one object, not merely equal.
    #[must_use]
    pub fn is(self, other: Self) -> bool {
        std::ptr::eq(self.node(), other.node())
    }

    /// Whether it is `None`.
    #[must_use]
    pub fn is_none(self) -> bool {
        matches!(self.node(), Node::None)
    }

    /// A `bool`.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        match self.node() {
            Node::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// An `int` that fits in 128 bits. A larger one is an error when the pickle is read.
    #[must_use]
    pub fn as_int(self) -> Option<i128> {
        match self.node() {
            Node::Int(value) => Some(i128::from(*value)),
            Node::BigInt(value) => Some(**value),
            _ => None,
        }
    }

    /// An `int` that counts something.
    #[must_use]
    pub fn as_usize(self) -> Option<usize> {
        self.as_int().and_then(|value| usize::try_from(value).ok())
    }

    /// A `str`, or a string of Python 2 that is UTF-8.
    #[must_use]
    pub fn as_str(self) -> Option<&'p str> {
        match self.node() {
            Node::Str(value) => Some(value),
            Node::Bytes(value) => std::str::from_utf8(value).ok(),
            _ => None,
        }
    }

    /// `bytes`, a `bytearray`, or a string of Python 2. In protocols 0 to 2, Python 3 writes `bytes` as a
    /// call of `_codecs.encode`: the only case in which the bytes are copied.
    #[must_use]
    pub fn as_bytes(self) -> Option<Cow<'p, [u8]>> {
        match self.node() {
            Node::Bytes(value) => Some(Cow::Borrowed(value)),
            Node::Object(_) => self.encoded_bytes().map(Cow::Owned),
            _ => None,
        }
    }

    fn encoded_bytes(self) -> Option<Vec<u8>> {
        let object = self.as_object()?;
        match object.callable().as_global()? {
            ("_codecs", "encode") => {
                let (text, codec) = (object.args().get(0)?.as_str()?, object.args().get(1)?.as_str()?);
                let latin1 = matches!(codec, "latin1" | "latin-1" | "iso-8859-1");
                // Latin-1 is the first 256 code points.
                latin1.then(|| text.chars().map(|character| u8::try_from(character).ok()).collect())?
            }
            // `bytes()`: how the empty byte string is written.
            ("__builtin__" | "builtins", "bytes") if object.args().is_empty() => Some(Vec::new()),
            _ => None,
        }
    }

    /// A `list`.
    #[must_use]
    pub fn as_list(self) -> Option<Items<'p, 'a>> {
        match self.node() {
            Node::List(items) => Some(Items { pickle: self.pickle, items }),
            _ => None,
        }
    }

    /// A `tuple`.
    #[must_use]
    pub fn as_tuple(self) -> Option<Items<'p, 'a>> {
        match self.node() {
            Node::Tuple(items) => Some(Items { pickle: self.pickle, items }),
            _ => None,
        }
    }

    /// A `set` or `frozenset`, as written: duplicates are not removed.
    #[must_use]
    pub fn as_set(self) -> Option<Items<'p, 'a>> {
        match self.node() {
            Node::Set(items) => Some(Items { pickle: self.pickle, items }),
            _ => None,
        }
    }

    /// A `dict`, or a `collections.OrderedDict`.
    #[must_use]
    pub fn as_dict(self) -> Option<Pairs<'p, 'a>> {
        match self.node() {
            Node::Dict(pairs) => Some(Pairs { pickle: self.pickle, pairs }),
            Node::Object(_) => {
                let object = self.as_object()?;
                let ordered = object.callable().as_global() == Some(("collections", "OrderedDict"));
                (ordered && object.args().is_empty()).then(|| object.pairs())
            }
            _ => None,
        }
    }

    /// A name that Python would import: module and name.
    #[must_use]
    pub fn as_global(self) -> Option<(&'p str, &'p str)> {
        match self.node() {
            Node::Global { module, name } => {
                Some((self.sibling(*module).as_str()?, self.sibling(*name).as_str()?))
            }
            _ => None,
        }
    }

    /// A value that Python would make by a call.
    #[must_use]
    pub fn as_object(self) -> Option<Object<'p, 'a>> {
        match self.node() {
            Node::Object(parts) => Some(Object { pickle: self.pickle, parts }),
            _ => None,
        }
    }

    /// A reference to something outside the pickle, by the writer's name for it.
    #[must_use]
    pub fn as_persistent_id(self) -> Option<Self> {
        match self.node() {
            Node::PersistentId(id) => Some(self.sibling(*id)),
            _ => None,
        }
    }

    /// A short description for messages: "a list of 3", "an object of `torch.Size`".
    #[must_use]
    pub fn describe(self) -> String {
        match self.node() {
            Node::None => "None".to_owned(),
            Node::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
            Node::Int(_) | Node::BigInt(_) => format!("the int {}", self.as_int().unwrap_or_default()),
            Node::Float(value) => format!("the float {value}"),
            Node::Str(value) if value.chars().nth(40).is_none() => format!("the str {value:?}"),
            Node::Str(value) => format!("a str of {} bytes", value.len()),
            Node::Bytes(value) => format!("{} bytes", value.len()),
            Node::List(items) => format!("a list of {}", items.len()),
            Node::Tuple(items) => format!("a tuple of {}", items.len()),
            Node::Dict(pairs) => format!("a dict of {}", pairs.len()),
            Node::Set(items) => format!("a set of {}", items.len()),
            Node::Global { module, name } => {
                let [module, name] =
                    [module, name].map(|part| self.sibling(*part).as_str().unwrap_or_default());
                format!("the global `{module}.{name}`")
            }
            Node::Object(parts) => match self.sibling(parts.callable).as_global() {
                Some((module, name)) => format!("an object of `{module}.{name}`"),
                None => "an object of something computed".to_owned(),
            },
            Node::PersistentId(_) => "a persistent id".to_owned(),
        }
    }

    /// The error that another value was expected here.
    #[must_use]
    pub fn unexpected(self, expected: impl Into<String>) -> PickleError {
        PickleError::Unexpected { expected: expected.into(), found: self.describe() }
    }
}

/// The items of a list, tuple or set.
#[derive(Clone, Copy)]
pub struct Items<'p, 'a> {
    pickle: &'p Pickle<'a>,
    items: &'p [Ref],
}

impl<'p, 'a> Items<'p, 'a> {
    /// Their number.
    #[must_use]
    pub fn len(self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.items.is_empty()
    }

    /// The item at `index`, from 0.
    #[must_use]
    pub fn get(self, index: usize) -> Option<Value<'p, 'a>> {
        self.items.get(index).map(|&item| Value::new(self.pickle, item))
    }

    /// The items in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Value<'p, 'a>> + use<'p, 'a> {
        self.items.iter().map(move |&item| Value::new(self.pickle, item))
    }

    /// The items, if there are exactly `N`.
    #[must_use]
    pub fn array<const N: usize>(self) -> Option<[Value<'p, 'a>; N]> {
        let items: &[Ref; N] = self.items.try_into().ok()?;
        Some(items.map(|item| Value::new(self.pickle, item)))
    }
}

/// The keys and values of a dictionary, in the order of their insertion.
#[derive(Clone, Copy)]
pub struct Pairs<'p, 'a> {
    pickle: &'p Pickle<'a>,
    pairs: &'p [(Ref, Ref)],
}

impl<'p, 'a> Pairs<'p, 'a> {
    /// Their number. A key that was set twice counts twice.
    #[must_use]
    pub fn len(self) -> usize {
        self.pairs.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.pairs.is_empty()
    }

    /// The value of a `str` key. If the key was set twice, the last value, as in Python.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Value<'p, 'a>> {
        self.iter().rev().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
    }

    /// The keys and values in order.
    pub fn iter(
        self,
    ) -> impl ExactSizeIterator<Item = (Value<'p, 'a>, Value<'p, 'a>)> + DoubleEndedIterator + use<'p, 'a>
    {
        let value = move |reference| Value::new(self.pickle, reference);
        self.pairs.iter().map(move |&(key, content)| (value(key), value(content)))
    }
}

/// A value that Python would make by calling `callable(*args, **named_args)`, then setting its state,
/// appending or adding its items, and setting its pairs.
#[derive(Clone, Copy)]
pub struct Object<'p, 'a> {
    pickle: &'p Pickle<'a>,
    parts: &'p Parts,
}

impl<'p, 'a> Object<'p, 'a> {
    fn value(self, reference: Ref) -> Value<'p, 'a> {
        Value::new(self.pickle, reference)
    }

    /// What would be called.
    #[must_use]
    pub fn callable(self) -> Value<'p, 'a> {
        self.value(self.parts.callable)
    }

    /// The arguments.
    #[must_use]
    pub fn args(self) -> Items<'p, 'a> {
        let args = self.value(self.parts.args).as_tuple();
        args.unwrap_or(Items { pickle: self.pickle, items: &[] })
    }

    /// The named arguments.
    #[must_use]
    pub fn named_args(self) -> Option<Value<'p, 'a>> {
        self.parts.named_args.map(|named_args| self.value(named_args))
    }

    /// The state.
    #[must_use]
    pub fn state(self) -> Option<Value<'p, 'a>> {
        self.parts.state.map(|state| self.value(state))
    }

    /// The items.
    #[must_use]
    pub fn items(self) -> Items<'p, 'a> {
        Items { pickle: self.pickle, items: &self.parts.items }
    }

    /// The pairs.
    #[must_use]
    pub fn pairs(self) -> Pairs<'p, 'a> {
        Pairs { pickle: self.pickle, pairs: &self.parts.pairs }
    }
}
