//! What identifies the content of a collection.

use std::fmt;

use toller_ir::Passage;
use xxhash_rust::xxh3::Xxh3;

/// A 128-bit hash (XXH3) of the identifiers, titles, texts and read contexts of a collection in their order.
/// Printed as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub u128);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Computes a [`Fingerprint`] passage by passage.
///
/// For each passage it hashes the lengths in bytes of identifier, title (zero if there is none) and text as
/// three little-endian u64, followed by the three strings. So different sequences of passages hash different
/// bytes. A context follows as a fourth string, after its length.
#[derive(Clone, Default)]
pub struct Fingerprinter {
    hash: Xxh3,
}

impl Fingerprinter {
    /// The fingerprinter of an empty collection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next passage.
    pub fn push(&mut self, passage: &Passage) {
        let title = passage.title.as_deref().unwrap_or_default();
        let parts = [passage.id.as_str(), title, passage.text.as_str()];
        for part in parts {
            self.hash.update(&(part.len() as u64).to_le_bytes());
        }
        for part in parts {
            self.hash.update(part.as_bytes());
        }
        if let Some(context) = &passage.context {
            self.hash.update(&(context.len() as u64).to_le_bytes());
            self.hash.update(context.as_bytes());
        }
    }

    /// The fingerprint of what was added.
    #[must_use]
    pub fn finish(&self) -> Fingerprint {
        Fingerprint(self.hash.digest128())
    }
}

#[cfg(test)]
mod tests {
    use toller_ir::Passage;

    use super::Fingerprinter;

    #[test]
    fn every_part_and_the_order_count() {
        let passage = |id: &str, title: Option<&str>, text: &str| Passage {
            id: id.to_owned(),
            title: title.map(str::to_owned),
            text: text.to_owned(),
            context: None,
        };
        let print = |passages: &[Passage]| {
            let mut fingerprinter = Fingerprinter::new();
            passages.iter().for_each(|passage| fingerprinter.push(passage));
            fingerprinter.finish().to_string()
        };
        let (a, b) = (passage("1", None, "ab"), passage("2", Some("a"), "b"));
        let prints = [
            print(&[]),
            print(std::slice::from_ref(&a)),
            print(&[a.clone(), b.clone()]),
            print(&[b, a]),
            print(&[passage("1", Some("a"), "b")]),
            print(&[passage("1a", None, "b")]),
            print(&[Passage { context: Some("ab".to_owned()), ..passage("1", None, "ab") }]),
        ];
        for (at, one) in prints.iter().enumerate() {
            assert_eq!(one.len(), 32);
            assert!(prints.iter().skip(at + 1).all(|other| other != one), "{prints:?}");
        }
    }
}
