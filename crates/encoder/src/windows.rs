//! Windows over the tokens of a text that is too long for a model.

use std::ops::Range;

/// Windows of `length` tokens over `tokens` tokens. Each begins `stride` tokens after the one before, and the
/// last one ends with the tokens.
pub(crate) fn windows(tokens: usize, length: usize, stride: usize) -> impl Iterator<Item = Range<usize>> {
    let (length, stride) = (length.max(1), stride.max(1));
    let after_first = tokens.saturating_sub(length).div_ceil(stride);
    (0..=after_first).map(move |window| window * stride..(window * stride + length).min(tokens))
}

#[cfg(test)]
mod tests {
    use super::windows;

    #[test]
    fn windows_cover_every_token() {
        let of = |tokens, length, stride| {
            windows(tokens, length, stride).map(|window| (window.start, window.end)).collect::<Vec<_>>()
        };
        assert_eq!(of(0, 4, 2), [(0, 0)]);
        assert_eq!(of(4, 4, 2), [(0, 4)]);
        assert_eq!(of(5, 4, 2), [(0, 4), (2, 5)]);
        assert_eq!(of(8, 4, 2), [(0, 4), (2, 6), (4, 8)]);
        assert_eq!(of(9, 4, 4), [(0, 4), (4, 8), (8, 9)]);
        for (tokens, length, stride) in [(100, 7, 3), (1, 1, 1), (50, 10, 10), (49, 10, 9)] {
            let windows = of(tokens, length, stride);
            assert_eq!(windows.last().map(|last| last.1), Some(tokens));
            assert!(windows.windows(2).all(|two| two[1].0 <= two[0].1 && two[0].1 < two[1].1));
        }
    }
}
