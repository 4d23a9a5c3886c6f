//! What a store holds of each text: a vector or impacts.

use std::fmt;

use serde::{Deserialize, Serialize};
use toller_ir::UnknownName;

use crate::DType;

/// The name of impacts, where vectors have the name of their number format.
const IMPACTS: &str = "impacts";

/// All names.
const NAMES: &[&str] = &[DType::F32.name(), DType::F16.name(), DType::BF16.name(), IMPACTS];

/// What a store holds of each text. A manifest has its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Content {
    /// A vector of numbers in this format.
    Vectors(DType),
    /// The weights that a sparse model gives to terms, as a text with impacts: see [`toller_ir::impacts`].
    Impacts,
}

impl Content {
    /// The number format of vectors; `None` for impacts.
    #[must_use]
    pub fn dtype(self) -> Option<DType> {
        match self {
            Self::Vectors(dtype) => Some(dtype),
            Self::Impacts => None,
        }
    }

    /// The name in a manifest: that of the vectors' number format, or `impacts`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.dtype().map_or(IMPACTS, DType::name)
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl From<DType> for Content {
    fn from(dtype: DType) -> Self {
        Self::Vectors(dtype)
    }
}

impl From<Content> for &'static str {
    fn from(content: Content) -> Self {
        content.name()
    }
}

impl TryFrom<String> for Content {
    type Error = UnknownName;

    fn try_from(name: String) -> Result<Self, UnknownName> {
        if name == IMPACTS {
            return Ok(Self::Impacts);
        }
        let dtype: Result<DType, UnknownName> = name.parse();
        dtype.map(Self::Vectors).map_err(|_| UnknownName::new("what a store holds", &name, NAMES))
    }
}

#[cfg(test)]
mod tests {
    use toller_ir::UnknownName;

    use super::{Content, NAMES};

    #[test]
    fn every_name_is_read() -> Result<(), UnknownName> {
        for name in NAMES {
            let content = Content::try_from((*name).to_owned())?;
            assert_eq!((content.name(), content.to_string().as_str()), (*name, *name));
        }
        for name in ["", "f64", "F32", "Impacts"] {
            assert!(Content::try_from(name.to_owned()).is_err(), "{name:?}");
        }
        Ok(())
    }
}
