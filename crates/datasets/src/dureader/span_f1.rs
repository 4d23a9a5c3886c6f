//! Whether a span of a paragraph resembles an answer (DuReader-retrieval, algorithm 1).

use std::collections::HashMap;
use std::hash::Hash;

/// When a span and an answer are alike: by the F1 of their tokens, counted with repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpanF1 {
    /// The lowest F1, above 0 and at most 1.
    pub threshold: f64,
    /// Whether F1 must be higher than the threshold, as the paper's text says, and not only reach it, as its
    /// algorithm does.
    pub strict: bool,
}

impl Default for SpanF1 {
    fn default() -> Self {
        Self { threshold: 0.5, strict: false }
    }
}

impl SpanF1 {
    /// Whether any span of `paragraph` is like `answer`.
    ///
    /// Only spans are tried that begin and end with a token of the answer, since cutting any other token off
    /// raises F1; and that are not too long: a span has at most |a| tokens in common with the answer a, so a
    /// span of more than |a| (2 - t) / t tokens stays below the threshold t.
    #[must_use]
    pub fn is_in<T: Eq + Hash>(&self, paragraph: &[T], answer: &[T]) -> bool {
        // For each token of the paragraph, which of the answer's different tokens it is.
        let mut kinds: HashMap<&T, usize> = HashMap::new();
        let mut wanted: Vec<usize> = Vec::new();
        for token in answer {
            let kind = *kinds.entry(token).or_insert_with(|| {
                wanted.push(0);
                wanted.len() - 1
            });
            if let Some(count) = wanted.get_mut(kind) {
                *count += 1;
            }
        }
        let kinds: Vec<Option<usize>> = paragraph.iter().map(|token| kinds.get(token).copied()).collect();
        // One token more than the bound, so that rounding cannot lose a span.
        let longest = (answer.len() as f64 * (2.0 - self.threshold) / self.threshold) as usize + 1;
        (0..kinds.len()).filter(|start| kinds.get(*start).is_some_and(Option::is_some)).any(|start| {
            self.begins_at(kinds.get(start..).unwrap_or_default(), &wanted, answer.len(), longest)
        })
    }

    /// Whether a span at the beginning of `kinds` is like the answer.
    fn begins_at(&self, kinds: &[Option<usize>], wanted: &[usize], answer: usize, longest: usize) -> bool {
        let mut left = wanted.to_vec();
        let mut common = 0;
        kinds.iter().take(longest).zip(1..).any(|(kind, length)| {
            match kind.and_then(|kind| left.get_mut(kind)) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    common += 1;
                    self.reaches(common, length, answer)
                }
                _ => false,
            }
        })
    }

    fn reaches(&self, common: usize, span: usize, answer: usize) -> bool {
        let f1 = 2.0 * common as f64 / (span + answer) as f64;
        if self.strict { f1 > self.threshold } else { f1 >= self.threshold }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::SpanF1;

    /// Every span, by the definition of F1.
    fn slow(rule: SpanF1, paragraph: &[u8], answer: &[u8]) -> bool {
        let f1 = |span: &[u8]| {
            let mut left = answer.to_vec();
            let common = span
                .iter()
                .filter(|token| {
                    let place = left.iter().position(|other| other == *token);
                    place.map(|place| left.remove(place)).is_some()
                })
                .count() as f64;
            let (precision, recall) = (common / span.len() as f64, common / answer.len() as f64);
            if common == 0.0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) }
        };
        let mut spans = (0..paragraph.len())
            .flat_map(|start| (start + 1..=paragraph.len()).map(move |end| &paragraph[start..end]));
        // Both sides round; the threshold itself is hit only on whole numbers.
        let reaches = |f1: f64| match (f1 - rule.threshold).abs() < 1e-12 {
            true => !rule.strict,
            false => f1 > rule.threshold,
        };
        spans.any(|span| reaches(f1(span)))
    }

    #[test]
    fn the_threshold_itself() {
        let rule = SpanF1::default();
        // Two characters in common with an answer of six: F1 = 4 / 8.
        let is_in = |rule: SpanF1, paragraph: &str, answer: &str| {
            rule.is_in(&paragraph.chars().collect::<Vec<_>>(), &answer.chars().collect::<Vec<_>>())
        };
        assert!(is_in(rule, "今天天气很好今年", "今年"));
        assert!(
            is_in(rule, "今1234年", "今年") && !is_in(SpanF1 { strict: true, ..rule }, "x年", "今年年年年")
        );
        assert!(!is_in(rule, "明日", "今年") && !is_in(rule, "", "今年") && !is_in(rule, "今年", ""));
        let half = "一abcdef二";
        assert!(
            is_in(rule, "一二", "一二三四五六")
                && !is_in(SpanF1 { strict: true, ..rule }, "一二", "一二三四五六")
        );
        assert!(!is_in(rule, half, "二三四五六七"));
    }

    proptest! {
        #[test]
        fn as_if_all_spans_were_tried(
            paragraph in prop::collection::vec(0_u8..6, 0..14),
            answer in prop::collection::vec(0_u8..6, 1..8),
            threshold in prop::sample::select(vec![0.25, 0.5, 0.6, 0.75, 1.0]),
            strict in any::<bool>(),
        ) {
            let rule = SpanF1 { threshold, strict };
            prop_assert_eq!(rule.is_in(&paragraph, &answer), slow(rule, &paragraph, &answer));
        }
    }
}
