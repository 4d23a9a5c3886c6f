//! Why bytes are not a pickle that can be read.

use toller_ir::{Explain, Remedy};

use crate::opcode;

/// Why bytes are not a pickle that can be read. Offsets count bytes from the beginning of the input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PickleError {
    /// The bytes end within the pickle.
    #[error("the pickle ends at byte {offset}, before its end marker")]
    Truncated {
        /// The length of the input.
        offset: usize,
    },
    /// A later protocol than this reader knows.
    #[error("the pickle has protocol {found}; protocols up to {} are read", opcode::HIGHEST_PROTOCOL)]
    NewerProtocol {
        /// The protocol.
        found: u8,
    },
    /// A byte that is not an instruction.
    #[error("the pickle is damaged at byte {offset}: {opcode:#04x} is not a pickle instruction")]
    UnknownOpcode {
        /// Where the byte is.
        offset: usize,
        /// The byte.
        opcode: u8,
    },
    /// An instruction that refers to data outside the file.
    #[error("the pickle refers to {what} at byte {offset}, which is not in the file")]
    Elsewhere {
        /// Where the instruction is.
        offset: usize,
        /// The data.
        what: &'static str,
    },
    /// An instruction that does not fit what came before, or whose argument makes no sense.
    #[error("the pickle is damaged at byte {offset}: {reason}")]
    Invalid {
        /// Where the instruction is.
        offset: usize,
        /// What is wrong.
        reason: String,
    },
    /// A value is something else than the reader expects.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
}

impl Explain for PickleError {
    fn remedy(&self) -> Option<Remedy> {
        let text = match self {
            Self::Truncated { .. } => "copy or download the file again; it is incomplete",
            Self::UnknownOpcode { .. } | Self::Invalid { .. } => {
                "check that the file is a pickle, and copy or download it again"
            }
            Self::NewerProtocol { .. } => "write it with `pickle.dump(..., protocol=5)` or lower",
            Self::Elsewhere { .. } => "write it with plain `pickle.dump`, without `buffer_callback`",
            Self::Unexpected { .. } => return None,
        };
        Some(text.into())
    }
}
