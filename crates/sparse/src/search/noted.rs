//! The documents of a window that have postings, where these are few.

use super::WINDOW;

/// A set of documents of a window, a bit each: what is put into it comes out in order and once.
#[derive(Clone, Copy)]
pub(super) struct Noted([u64; WINDOW / 64]);

impl Noted {
    pub(super) fn new() -> Self {
        Self([0; WINDOW / 64])
    }

    /// Puts a document in, by its place in the window.
    #[inline]
    pub(super) fn insert(&mut self, local: usize) {
        self.0[local / 64 % (WINDOW / 64)] |= 1 << (local % 64);
    }

    /// The places of the documents, ascending.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = u16> {
        self.0.into_iter().zip(0_u16..).filter(|(word, _)| *word != 0).flat_map(|(word, at)| {
            let after = |word: &u64| Some(word & (word - 1)).filter(|word| *word != 0);
            std::iter::successors(Some(word), after).map(move |word| at * 64 + word.trailing_zeros() as u16)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Noted;

    #[test]
    fn documents_come_in_order_and_once() {
        let mut noted = Noted::new();
        for local in [4095, 64, 0, 63, 64, 2000, 65] {
            noted.insert(local);
        }
        assert_eq!(noted.iter().collect::<Vec<_>>(), [0, 63, 64, 65, 2000, 4095]);
    }
}
