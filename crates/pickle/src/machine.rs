//! The pickle machine: a stack of values, marks in it, and the memo.

use std::borrow::Cow;

use crate::PickleError;
use crate::cursor::Cursor;
use crate::memo::Memo;
use crate::node::{Node, Parts, Ref};
use crate::{opcode as op, text};

/// Values that are the same everywhere, at the beginning of every arena.
const NONE: Ref = Ref(0);
const FALSE: Ref = Ref(1);
const TRUE: Ref = Ref(2);
const EMPTY_TUPLE: Ref = Ref(3);

/// Reads one pickle.
pub(crate) struct Machine<'a> {
    input: Cursor<'a>,
    /// Where the current instruction begins, for errors.
    instruction: usize,
    nodes: Vec<Node<'a>>,
    stack: Vec<Ref>,
    /// Lengths of the stack at each open mark.
    marks: Vec<usize>,
    memo: Memo,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let nodes = vec![Node::None, Node::Bool(false), Node::Bool(true), Node::Tuple(Box::default())];
        let (stack, marks, memo) = (Vec::new(), Vec::new(), Memo::default());
        Self { input: Cursor::new(bytes), instruction: 0, nodes, stack, marks, memo }
    }

    /// Executes the instructions up to the end of the pickle. Returns the arena, its root, and where the
    /// pickle ends.
    pub(crate) fn run(mut self) -> Result<(Vec<Node<'a>>, Ref, usize), PickleError> {
        loop {
            self.instruction = self.input.offset();
            match self.input.u8()? {
                op::STOP => {
                    let root = self.pop()?;
                    return Ok((self.nodes, root, self.input.offset()));
                }
                opcode => self.execute(opcode)?,
            }
        }
    }

    fn execute(&mut self, opcode: u8) -> Result<(), PickleError> {
        match opcode {
            op::PROTO => match self.input.u8()? {
                found if found > op::HIGHEST_PROTOCOL => Err(PickleError::NewerProtocol { found }),
                _ => Ok(()),
            },
            // Frames only let Python read ahead. Their content is read as if there were no frames.
            op::FRAME => self.input.number(8).map(drop),

            op::NONE => self.push_ref(NONE),
            op::NEWTRUE => self.push_ref(TRUE),
            op::NEWFALSE => self.push_ref(FALSE),
            op::INT => match self.input.line()? {
                b"00" => self.push_ref(FALSE),
                b"01" => self.push_ref(TRUE),
                line => self.integer_line(line),
            },
            op::LONG => self.input.line().and_then(|line| self.integer_line(line)),
            op::BININT => {
                let value = i32::from_le_bytes(self.input.array()?);
                self.push(Node::Int(i64::from(value)))
            }
            op::BININT1 => self.input.number(1).and_then(|value| self.integer(value.into())),
            op::BININT2 => self.input.number(2).and_then(|value| self.integer(value.into())),
            op::LONG1 => self.integer_bytes(1),
            op::LONG4 => self.integer_bytes(4),
            op::FLOAT => {
                let value = text::float(self.input.line()?).ok_or_else(|| self.invalid("not a float"))?;
                self.push(Node::Float(value))
            }
            op::BINFLOAT => {
                let value = f64::from_be_bytes(self.input.array()?);
                self.push(Node::Float(value))
            }

            op::STRING => {
                let line = self.input.line()?;
                let value = text::quoted(line).ok_or_else(|| self.invalid("not a quoted string"))?;
                self.push(Node::Bytes(value))
            }
            op::UNICODE => {
                let line = self.input.line()?;
                let value = text::raw_unicode(line).ok_or_else(|| self.invalid("not an escaped string"))?;
                self.push(Node::Str(value))
            }
            op::SHORT_BINUNICODE => self.string(1),
            op::BINUNICODE => self.string(4),
            op::BINUNICODE8 => self.string(8),
            op::SHORT_BINBYTES | op::SHORT_BINSTRING => self.byte_string(1),
            op::BINBYTES | op::BINSTRING => self.byte_string(4),
            op::BINBYTES8 | op::BYTEARRAY8 => self.byte_string(8),

            op::EMPTY_LIST => self.push(Node::List(Vec::new())),
            op::EMPTY_DICT => self.push(Node::Dict(Vec::new())),
            op::EMPTY_SET => self.push(Node::Set(Vec::new())),
            op::EMPTY_TUPLE => self.push_ref(EMPTY_TUPLE),
            op::LIST => self.pop_to_mark().and_then(|items| self.push(Node::List(items))),
            op::FROZENSET => self.pop_to_mark().and_then(|items| self.push(Node::Set(items))),
            op::DICT => self.pop_pairs().and_then(|pairs| self.push(Node::Dict(pairs))),
            op::TUPLE => self.pop_to_mark().and_then(|items| self.push(Node::Tuple(items.into()))),
            op::TUPLE1 => self.tuple(1),
            op::TUPLE2 => self.tuple(2),
            op::TUPLE3 => self.tuple(3),
            op::APPEND => self.pop().and_then(|item| self.extend(&[item])),
            op::APPENDS | op::ADDITEMS => self.pop_to_mark().and_then(|items| self.extend(&items)),
            op::SETITEM => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.insert(&[(key, value)])
            }
            op::SETITEMS => self.pop_pairs().and_then(|pairs| self.insert(&pairs)),

            op::GLOBAL => {
                let (module, name) = (self.name()?, self.name()?);
                self.push(Node::Global { module, name })
            }
            op::STACK_GLOBAL => {
                let (name, module) = (self.pop_string()?, self.pop_string()?);
                self.push(Node::Global { module, name })
            }
            op::REDUCE | op::NEWOBJ => {
                let (args, callable) = (self.pop()?, self.pop()?);
                self.object(callable, args, None)
            }
            op::NEWOBJ_EX => {
                let (named_args, args, callable) = (self.pop()?, self.pop()?, self.pop()?);
                self.object(callable, args, Some(named_args))
            }
            op::INST => {
                let (module, name) = (self.name()?, self.name()?);
                let args = self.pop_to_mark()?;
                let callable = self.add(Node::Global { module, name })?;
                let args = self.add(Node::Tuple(args.into_boxed_slice()))?;
                self.object(callable, args, None)
            }
            op::OBJ => {
                let mut items = self.pop_to_mark()?.into_iter();
                let callable = items.next().ok_or_else(|| self.invalid("an object without a class"))?;
                let args = self.add(Node::Tuple(items.collect()))?;
                self.object(callable, args, None)
            }
            op::BUILD => self.build(),
            op::PERSID => {
                let line = self.input.line()?;
                let id = std::str::from_utf8(line).map_err(|_| self.invalid("not UTF-8"))?;
                let id = self.add(Node::Str(Cow::Borrowed(id)))?;
                self.push(Node::PersistentId(id))
            }
            op::BINPERSID => self.pop().and_then(|id| self.push(Node::PersistentId(id))),

            op::MARK => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            op::POP => match self.pop() {
                Ok(_) => Ok(()),
                // Python pops the mark if there is nothing above it.
                Err(error) => self.marks.pop().map(drop).ok_or(error),
            },
            op::POP_MARK => self.pop_to_mark().map(drop),
            op::DUP => self.top().and_then(|top| self.push_ref(top)),
            op::PUT => self.number_line().and_then(|number| self.put(number)),
            op::BINPUT => self.input.number(1).and_then(|number| self.put(number)),
            op::LONG_BINPUT => self.input.number(4).and_then(|number| self.put(number)),
            op::MEMOIZE => {
                let top = self.top()?;
                self.memo.put_next(top);
                Ok(())
            }
            op::GET => self.number_line().and_then(|number| self.get(number)),
            op::BINGET => self.input.number(1).and_then(|number| self.get(number)),
            op::LONG_BINGET => self.input.number(4).and_then(|number| self.get(number)),

            op::NEXT_BUFFER | op::READONLY_BUFFER => Err(self.elsewhere("an out-of-band buffer")),
            op::EXT1 | op::EXT2 | op::EXT4 => Err(self.elsewhere("Python's extension registry")),
            opcode => Err(PickleError::UnknownOpcode { offset: self.instruction, opcode }),
        }
    }

    fn integer_line(&mut self, line: &[u8]) -> Result<(), PickleError> {
        let value = text::integer(line).ok_or_else(|| self.invalid("not an integer of up to 128 bits"))?;
        self.integer(value)
    }

    /// Two's complement, little-endian; no bytes are 0. Their number takes `width` bytes, also below.
    fn integer_bytes(&mut self, width: usize) -> Result<(), PickleError> {
        let bytes = self.input.counted(width)?;
        let negative = bytes.last().is_some_and(|&last| last >= 0x80);
        let mut padded = [if negative { 0xff } else { 0 }; 16];
        let place = padded.get_mut(..bytes.len());
        place.ok_or_else(|| self.invalid("an integer of more than 128 bits"))?.copy_from_slice(bytes);
        self.integer(i128::from_le_bytes(padded))
    }

    fn integer(&mut self, value: i128) -> Result<(), PickleError> {
        self.push(i64::try_from(value).map_or_else(|_| Node::BigInt(Box::new(value)), Node::Int))
    }

    fn string(&mut self, width: usize) -> Result<(), PickleError> {
        let bytes = self.input.counted(width)?;
        let value = std::str::from_utf8(bytes).map_err(|_| self.invalid("a string is not UTF-8"))?;
        self.push(Node::Str(Cow::Borrowed(value)))
    }

    fn byte_string(&mut self, width: usize) -> Result<(), PickleError> {
        let bytes = self.input.counted(width)?;
        self.push(Node::Bytes(Cow::Borrowed(bytes)))
    }

    /// A tuple of the `length` topmost values.
    fn tuple(&mut self, length: usize) -> Result<(), PickleError> {
        let from = self.stack.len().checked_sub(length).filter(|&from| from >= self.floor());
        let from = from.ok_or_else(|| self.underflow())?;
        let items = self.stack.drain(from..).collect();
        self.push(Node::Tuple(items))
    }

    /// Adds items to the list, set or object on top.
    fn extend(&mut self, items: &[Ref]) -> Result<(), PickleError> {
        match self.top_node()? {
            Node::List(all) | Node::Set(all) => all.extend_from_slice(items),
            Node::Object(parts) => parts.items.extend_from_slice(items),
            _ => return Err(self.invalid("items for what is not a list, set or object")),
        }
        Ok(())
    }

    /// Adds pairs to the dictionary or object on top.
    fn insert(&mut self, pairs: &[(Ref, Ref)]) -> Result<(), PickleError> {
        match self.top_node()? {
            Node::Dict(all) => all.extend_from_slice(pairs),
            Node::Object(parts) => parts.pairs.extend_from_slice(pairs),
            _ => return Err(self.invalid("keys for what is not a dictionary or object")),
        }
        Ok(())
    }

    fn build(&mut self) -> Result<(), PickleError> {
        let state = self.pop()?;
        match self.top_node()? {
            Node::Object(parts) => parts.state = Some(state),
            _ => return Err(self.invalid("a state for what is not an object")),
        }
        Ok(())
    }

    fn object(&mut self, callable: Ref, args: Ref, named_args: Option<Ref>) -> Result<(), PickleError> {
        if !matches!(self.node(args), Node::Tuple(_)) {
            return Err(self.invalid("arguments that are not a tuple"));
        }
        let parts = Parts { callable, args, named_args, state: None, items: Vec::new(), pairs: Vec::new() };
        self.push(Node::Object(Box::new(parts)))
    }

    fn name(&mut self) -> Result<Ref, PickleError> {
        let line = self.input.line()?;
        let name = std::str::from_utf8(line).map_err(|_| self.invalid("a name that is not UTF-8"))?;
        self.add(Node::Str(Cow::Borrowed(name)))
    }

    fn pop_string(&mut self) -> Result<Ref, PickleError> {
        let value = self.pop()?;
        match self.node(value) {
            Node::Str(_) => Ok(value),
            _ => Err(self.invalid("a name that is not a string")),
        }
    }

    fn number_line(&mut self) -> Result<u64, PickleError> {
        let number = text::integer(self.input.line()?).and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| self.invalid("not a memo number"))
    }

    fn put(&mut self, number: u64) -> Result<(), PickleError> {
        let top = self.top()?;
        self.memo.put(number, top);
        Ok(())
    }

    fn get(&mut self, number: u64) -> Result<(), PickleError> {
        let value = self.memo.get(number);
        let value = value.ok_or_else(|| self.invalid(format!("there is no value {number} to refer to")))?;
        self.push_ref(value)
    }

    /// Adds a node to the arena.
    fn add(&mut self, node: Node<'a>) -> Result<Ref, PickleError> {
        let number = u32::try_from(self.nodes.len());
        let number = number.map_err(|_| self.invalid("more values than can be numbered with 32 bits"))?;
        self.nodes.push(node);
        Ok(Ref(number))
    }

    fn push(&mut self, node: Node<'a>) -> Result<(), PickleError> {
        let value = self.add(node)?;
        self.push_ref(value)
    }

    fn push_ref(&mut self, value: Ref) -> Result<(), PickleError> {
        self.stack.push(value);
        Ok(())
    }

    /// Where the values after the last mark begin. Earlier values cannot be reached.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Result<Ref, PickleError> {
        let value = if self.stack.len() > self.floor() { self.stack.pop() } else { None };
        value.ok_or_else(|| self.underflow())
    }

    fn top(&self) -> Result<Ref, PickleError> {
        let top = if self.stack.len() > self.floor() { self.stack.last() } else { None };
        top.copied().ok_or_else(|| self.underflow())
    }

    fn top_node(&mut self) -> Result<&mut Node<'a>, PickleError> {
        let top = self.top()?;
        // A reference is made together with its node, and no node is ever removed.
        Ok(&mut self.nodes[top.0 as usize])
    }

    fn node(&self, value: Ref) -> &Node<'a> {
        &self.nodes[value.0 as usize]
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Ref>, PickleError> {
        let mark = self.marks.pop().ok_or_else(|| self.invalid("no mark"))?;
        Ok(self.stack.split_off(mark))
    }

    fn pop_pairs(&mut self) -> Result<Vec<(Ref, Ref)>, PickleError> {
        let values = self.pop_to_mark()?;
        let (pairs, rest) = values.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(self.invalid("a key without a value"));
        }
        Ok(pairs.iter().map(|&[key, value]| (key, value)).collect())
    }

    fn underflow(&self) -> PickleError {
        self.invalid("a value is missing")
    }

    fn invalid(&self, reason: impl Into<String>) -> PickleError {
        PickleError::Invalid { offset: self.instruction, reason: reason.into() }
    }

    fn elsewhere(&self, what: &'static str) -> PickleError {
        PickleError::Elsewhere { offset: self.instruction, what }
    }
}
