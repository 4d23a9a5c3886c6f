//! Python pickles as plain data.
//!
//! Unpickling in Python runs whatever code a file names. Here nothing is imported and nothing is called: a
//! global is its name, and a call that Python would make is an [`Object`] with the callable and its
//! arguments. The reader of a pickle decides which names are known, and refuses the rest by name.
//!
//! [`Pickle::load`] reads a slice, such as a memory map: strings and byte strings are borrowed from the
//! slice, so that a large array costs no memory. All protocols (0 to 5) are read, except for out-of-band
//! buffers and the extension registry, which refer to data outside the file. Values live in one arena: shared
//! ones are stored once, cycles are harmless, and depth costs no stack. Its size is bounded by that of the
//! input.
//!
//! ```
//! use toller_pickle::Pickle;
//!
//! // pickle.dumps((['a', 'b'], 7))
//! let bytes = b"\x80\x04\x95\x14\0\0\0\0\0\0\0]\x94(\x8c\x01a\x94\x8c\x01b\x94eK\x07\x86\x94.";
//! let pickle = Pickle::load(bytes)?;
//! let pair = pickle.root().as_tuple().ok_or("not a tuple")?;
//! let letters = pair.get(0).and_then(|first| first.as_list()).ok_or("not a list")?;
//! assert_eq!(letters.iter().filter_map(|letter| letter.as_str()).collect::<Vec<_>>(), ["a", "b"]);
//! assert_eq!(pair.get(1).and_then(|second| second.as_int()), Some(7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cursor;
mod error;
mod machine;
mod memo;
mod node;
pub mod numpy;
mod opcode;
mod text;
mod value;

pub use error::PickleError;
pub use node::Pickle;
pub use value::{Items, Object, Pairs, Value};
