//! The arena that holds the values of a pickle.

use std::borrow::Cow;

use crate::machine::Machine;
use crate::{PickleError, Value};

/// The number of a node in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ref(pub(crate) u32);

/// A value, whose parts are references into the arena.
pub(crate) enum Node<'a> {
    None,
    Bool(bool),
    Int(i64),
    /// An integer that does not fit in an `i64`.
    BigInt(Box<i128>),
    Float(f64),
    Str(Cow<'a, str>),
    /// `bytes`, `bytearray`, or a string of Python 2.
    Bytes(Cow<'a, [u8]>),
    List(Vec<Ref>),
    Tuple(Box<[Ref]>),
    Dict(Vec<(Ref, Ref)>),
    Set(Vec<Ref>),
    /// A name that Python would import: two strings, which other globals may share.
    Global {
        module: Ref,
        name: Ref,
    },
    Object(Box<Parts>),
    PersistentId(Ref),
}

/// What Python would make by a call.
pub(crate) struct Parts {
    /// What would be called.
    pub(crate) callable: Ref,
    /// The tuple of arguments.
    pub(crate) args: Ref,
    /// The dictionary of named arguments.
    pub(crate) named_args: Option<Ref>,
    /// What `__setstate__` would be given.
    pub(crate) state: Option<Ref>,
    /// What `append`, `extend` or `add` would be given.
    pub(crate) items: Vec<Ref>,
    /// What `__setitem__` would be given.
    pub(crate) pairs: Vec<(Ref, Ref)>,
}

/// A pickle that was read: its values, and where the pickle ended.
pub struct Pickle<'a> {
    nodes: Vec<Node<'a>>,
    root: Ref,
    end: usize,
}

impl<'a> Pickle<'a> {
    /// Reads the pickle at the beginning of `bytes`. More bytes may follow, such as further pickles: see
    /// [`Pickle::end`].
    ///
    /// # Errors
    /// When the bytes are not a pickle, are damaged, end too early, or refer to data outside the file.
    pub fn load(bytes: &'a [u8]) -> Result<Self, PickleError> {
        let (nodes, root, end) = Machine::new(bytes).run()?;
        Ok(Self { nodes, root, end })
    }

    /// The value of the whole pickle.
    #[must_use]
    pub fn root(&self) -> Value<'_, 'a> {
        Value::new(self, self.root)
    }

    /// The number of bytes of the pickle.
    #[must_use]
    pub fn end(&self) -> usize {
        self.end
    }

    /// The node that a reference of this arena refers to.
    pub(crate) fn node(&self, reference: Ref) -> &Node<'a> {
        // A reference is made together with its node, and no node is ever removed.
        &self.nodes[reference.0 as usize]
    }
}
