//! Facts by the popularity of their subjects (EntityQuestions, section 4.1).

use std::collections::HashMap;

use crate::entity::triples::Fact;

/// Cuts facts into `count` buckets, the most frequent subjects first, so that the frequencies of each bucket
/// have about the same sum: a fact is in the bucket in which the middle of its own frequency lies. Subjects
/// of equal frequency are in the order of their bytes; a subject without a frequency has 0. Buckets may be
/// empty.
#[must_use]
pub fn buckets<'a>(
    facts: &[&'a Fact],
    frequencies: &HashMap<String, u64>,
    count: usize,
) -> Vec<Vec<&'a Fact>> {
    let frequency = |fact: &Fact| u128::from(frequencies.get(&fact.subject).copied().unwrap_or(0));
    let mut facts = facts.to_vec();
    facts.sort_by(|a, b| frequency(b).cmp(&frequency(a)).then_with(|| a.subject.cmp(&b.subject)));
    let total: u128 = facts.iter().map(|fact| frequency(fact)).sum();
    let mut buckets = vec![Vec::new(); count];
    let mut before = 0;
    for fact in facts {
        let own = frequency(fact);
        // The middle of its frequency as a share of the total, in buckets; what has none comes last.
        let bucket = ((2 * before + own) * count as u128).checked_div(2 * total).unwrap_or(0);
        let bucket = usize::try_from(bucket).unwrap_or(count).min(count.saturating_sub(1));
        if let Some(bucket) = buckets.get_mut(bucket) {
            bucket.push(fact);
        }
        before += own;
    }
    buckets
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::buckets;
    use crate::entity::triples::Fact;

    fn cut(frequencies: &[u64], count: usize) -> Vec<Vec<u64>> {
        let subject = |at: usize| format!("s{at:03}");
        let facts: Vec<Fact> =
            (0..frequencies.len()).map(|at| Fact { subject: subject(at), objects: vec![] }).collect();
        let by_name: HashMap<String, u64> =
            frequencies.iter().enumerate().map(|(at, frequency)| (subject(at), *frequency)).collect();
        let cut = buckets(&facts.iter().collect::<Vec<_>>(), &by_name, count);
        cut.iter().map(|bucket| bucket.iter().map(|fact| by_name[&fact.subject]).collect()).collect()
    }

    #[test]
    fn a_few_popular_subjects_weigh_as_much_as_many_rare_ones() {
        assert_eq!(cut(&[1, 1, 4, 1, 1, 0], 2), [vec![4], vec![1, 1, 1, 1, 0]]);
        assert_eq!(cut(&[0, 0], 2), [vec![0, 0], vec![]]);
        assert_eq!(cut(&[], 3), vec![Vec::<u64>::new(); 3]);
    }

    proptest! {
        /// Each bucket's sum is the total's share, except for at most one subject at each of its ends.
        #[test]
        fn sums_are_about_equal(frequencies in prop::collection::vec(0_u64..1000, 1..60), count in 1_usize..7) {
            let cut = cut(&frequencies, count);
            let mut sorted = frequencies.clone();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            prop_assert_eq!(cut.concat(), sorted.clone());
            let (total, largest) = (frequencies.iter().sum::<u64>() as f64, sorted[0] as f64);
            for bucket in &cut {
                let sum = bucket.iter().sum::<u64>() as f64;
                prop_assert!(total == 0.0 || (sum - total / count as f64).abs() <= largest, "{:?}", cut);
            }
        }
    }
}
