//! XXH3-128 checksums: they detect damage, not a forger.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3;

const PREFIX: &str = "xxh3-128:";

/// The XXH3-128 hash (seed 0) of a file's bytes, written as `xxh3-128:` and 32 lower-case hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Checksum(u128);

impl Checksum {
    /// The checksum of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = ChecksumHasher::default();
        hasher.update(bytes);
        hasher.finish()
    }

    /// The checksum as it is written to binary files.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }
}

/// Computes a [`Checksum`] piece by piece.
#[derive(Default)]
pub struct ChecksumHasher(Xxh3);

impl ChecksumHasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of all that was added.
    #[must_use]
    pub fn finish(&self) -> Checksum {
        Checksum(self.0.digest128())
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{:032x}", self.0)
    }
}

/// The error for text that is not a checksum of this format.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a checksum: expected `xxh3-128:` and 32 lower-case hex digits")]
pub struct ParseChecksumError(String);

impl FromStr for Checksum {
    type Err = ParseChecksumError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix(PREFIX)
            .and_then(|hex| u128::from_str_radix(hex, 16).ok())
            .map(Self)
            // One spelling only: no sign, no upper case, all digits.
            .filter(|checksum| checksum.to_string() == text)
            .ok_or_else(|| ParseChecksumError(text.to_owned()))
    }
}

impl Serialize for Checksum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Checksum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::{Checksum, ChecksumHasher};

    #[test]
    fn matches_the_published_value_of_the_empty_input() {
        // XXH3_128bits of nothing, from the xxHash specification's test vectors.
        assert_eq!(Checksum::of(b"").to_string(), "xxh3-128:99aa06d3014798d86001c324468d497f");
    }

    #[test]
    fn in_pieces_is_the_same_as_at_once() {
        let bytes: Vec<u8> = (0..1000_u32).map(|i| (i * 7) as u8).collect();
        let mut hasher = ChecksumHasher::default();
        bytes.chunks(17).for_each(|piece| hasher.update(piece));
        assert_eq!(hasher.finish(), Checksum::of(&bytes));
    }

    #[test]
    fn has_one_spelling() -> Result<(), Box<dyn std::error::Error>> {
        let checksum = Checksum::of(b"toller");
        assert_eq!(checksum.to_string().parse::<Checksum>()?, checksum);
        for wrong in
            ["", "xxh3-128:", "xxh3-128:+0aa06d3014798d86001c324468d497f", "99aa06d3014798d86001c324468d497f"]
        {
            assert!(wrong.parse::<Checksum>().is_err(), "{wrong}");
        }
        let upper = "xxh3-128:99AA06D3014798D86001C324468D497F";
        assert!(upper.parse::<Checksum>().is_err());
        Ok(())
    }
}
