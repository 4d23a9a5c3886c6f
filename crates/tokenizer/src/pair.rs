//! How the two texts of a pair are cut to fit the model together.

use toller_ir::named;

named! {
    /// Which text of a pair is cut when both are too long together. The names are transformers' names.
    #[derive(Default)]
    pub enum PairTruncation: "a way to cut pairs" {
        /// Only the second (the passage). A first text (the query) that leaves no room for even one token of
        /// the second is an error, as in transformers: to cut the query too would change what was asked for.
        #[default]
        OnlySecond = "only_second",
        /// The longer one, and both to the same length if that is not enough.
        LongestFirst = "longest_first",
    }
}

impl PairTruncation {
    /// How many tokens are kept of texts of `first` and `second` tokens, so that both together have at most
    /// `room`. `None` if the first leaves no room for the second.
    #[must_use]
    pub fn lengths(self, first: usize, second: usize, room: usize) -> Option<(usize, usize)> {
        if first + second <= room {
            return Some((first, second));
        }
        match self {
            Self::OnlySecond => (first < room && second > 0).then(|| (first, room - first)),
            Self::LongestFirst => {
                let (short, long) = (first.min(second), first.max(second));
                let (short, long) = if 2 * short <= room {
                    (short, long.min(room - short))
                } else {
                    // The odd token goes to the longer text, and to the second if both have the same length.
                    (room / 2, room - room / 2)
                };
                Some(if first > second { (long, short) } else { (short, long) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokenizers::tokenizer::{Encoding, Token};
    use tokenizers::utils::truncation::truncate_encodings;
    use tokenizers::{TruncationDirection, TruncationParams, TruncationStrategy};

    use super::PairTruncation;

    proptest! {
        #[test]
        fn texts_are_cut_as_the_tokenizers_library_cuts_them(first in 0usize..30, second in 0usize..30, room in 1usize..40) {
            let text = |tokens: usize| {
                Encoding::from_tokens((0..tokens).map(|id| Token::new(id as u32, String::new(), (0, 0))).collect(), 0)
            };
            for (ours, strategy) in [
                (PairTruncation::OnlySecond, TruncationStrategy::OnlySecond),
                (PairTruncation::LongestFirst, TruncationStrategy::LongestFirst),
            ] {
                let params =
                    TruncationParams { max_length: room, strategy, direction: TruncationDirection::Right, stride: 0 };
                let theirs = truncate_encodings(text(first), Some(text(second)), &params)
                    .ok()
                    .map(|(first, second)| (first.len(), second.map_or(0, |second| second.len())));
                prop_assert_eq!(ours.lengths(first, second, room), theirs, "{} + {} in {}", first, second, room);
            }
        }
    }
}
