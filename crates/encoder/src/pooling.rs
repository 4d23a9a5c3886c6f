//! How token states become a vector.

use std::fmt;

use toller_nn::Pooling;

/// How the states of a text's tokens become its vector, as a user chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPooling {
    /// By a function of the states.
    States(Pooling),
    /// The pooler of BERT-like models: a dense layer with tanh over the first token's state (Devlin et al.
    /// 2019, section 3.1, for the next-sentence task), whose weights are in the checkpoint; what transformers
    /// calls `pooler_output`.
    Pooler,
}

impl TextPooling {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Pooling::ALL.into_iter().map(Self::States).chain([Self::Pooler])
    }

    /// The name: sentence-transformers', or `pooler`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::States(pooling) => pooling.name(),
            Self::Pooler => "pooler",
        }
    }

    /// The pooling of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|pooling| pooling.name() == name)
    }
}

impl From<Pooling> for TextPooling {
    fn from(pooling: Pooling) -> Self {
        Self::States(pooling)
    }
}

impl fmt::Display for TextPooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
