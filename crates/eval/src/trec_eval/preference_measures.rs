//! trec_eval's measures of preferences.

use super::preferences::{RankedGroup, RankedPreferences};

/// Which pairs of documents count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pairs {
    /// All. A pair without a retrieved document is not fulfilled.
    All,
    /// Those with at least one retrieved document.
    Implied,
    /// Those with two retrieved documents.
    Retrieved,
}

/// A measure of preferences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreferenceMeasure {
    /// How many preferences there are.
    Possible,
    /// How many the ranking fulfils.
    Fulfilled(Pairs),
    /// Fulfilled over possible.
    Simple(Pairs),
    /// Fulfilled over possible for each pair, averaged over the pairs.
    Pair(Pairs),
    /// Fulfilled over possible for each group of judges, averaged over the groups.
    Group(Pairs),
    /// The same, with as many non-relevant documents (of level 0) as relevant ones.
    GroupBalanced(Pairs),
}

impl PreferenceMeasure {
    /// The measure that trec_eval calls so.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "prefs_num_prefs_poss" => Self::Possible,
            "prefs_num_prefs_ful" => Self::Fulfilled(Pairs::Implied),
            "prefs_num_prefs_ful_ret" => Self::Fulfilled(Pairs::Retrieved),
            "prefs_simp" => Self::Simple(Pairs::All),
            "prefs_pair" => Self::Pair(Pairs::All),
            "prefs_avgjg" => Self::Group(Pairs::All),
            "prefs_avgjg_Rnonrel" => Self::GroupBalanced(Pairs::All),
            "prefs_simp_ret" => Self::Simple(Pairs::Retrieved),
            "prefs_pair_ret" => Self::Pair(Pairs::Retrieved),
            "prefs_avgjg_ret" => Self::Group(Pairs::Retrieved),
            "prefs_avgjg_Rnonrel_ret" => Self::GroupBalanced(Pairs::Retrieved),
            "prefs_simp_imp" => Self::Simple(Pairs::Implied),
            "prefs_pair_imp" => Self::Pair(Pairs::Implied),
            "prefs_avgjg_imp" => Self::Group(Pairs::Implied),
            _ => return None,
        })
    }

    /// The value on a query.
    pub(super) fn compute(self, preferences: &RankedPreferences) -> f64 {
        let of_groups = |pairs| {
            let count = move |group| count(preferences, group, pairs, |_| true);
            preferences.groups.iter().map(count)
        };
        let total = |pairs| of_groups(pairs).fold((0, 0), |sum, group| (sum.0 + group.0, sum.1 + group.1));
        match self {
            Self::Possible => total(Pairs::All).1 as f64,
            Self::Fulfilled(pairs) => total(pairs).0 as f64,
            Self::Simple(pairs) => share(total(pairs)),
            Self::Pair(pairs) => of_pairs(preferences, pairs),
            Self::Group(pairs) => mean(of_groups(pairs).map(share)),
            Self::GroupBalanced(pairs) => {
                let ratio = |group| {
                    let (fulfilled, possible) = balanced(preferences, group, pairs);
                    // As in trec_eval, a group without a preference leaves nothing of the mean.
                    fulfilled as f64 / possible as f64
                };
                let value = mean(preferences.groups.iter().map(ratio));
                if value > 0.0 { value } else { 0.0 }
            }
        }
    }
}

/// Fulfilled and possible preferences.
type Counts = (usize, usize);

fn share((fulfilled, possible): Counts) -> f64 {
    if possible == 0 { 0.0 } else { fulfilled as f64 / possible as f64 }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let groups = values.len();
    let sum = values.fold(0.0, |sum, value| sum + value);
    if groups == 0 { 0.0 } else { sum / groups as f64 }
}

/// Whether a pair counts, and whether preferring the first is fulfilled: it was retrieved, before the second.
fn pair(preferences: &RankedPreferences, first: usize, second: usize, pairs: Pairs) -> (bool, bool) {
    let retrieved = [first, second].map(|place| place < preferences.retrieved);
    let counts = match pairs {
        Pairs::All => true,
        Pairs::Implied => retrieved != [false; 2],
        Pairs::Retrieved => retrieved == [true; 2],
    };
    (counts, counts && first < second && retrieved[0])
}

/// Counts a group's preferences among the documents that `is_kept`.
fn count(
    preferences: &RankedPreferences,
    group: &RankedGroup,
    pairs: Pairs,
    is_kept: impl Fn(usize) -> bool,
) -> Counts {
    let (mut fulfilled, mut possible) = (0, 0);
    for (first, row) in group.preferred.iter().enumerate().filter(|(first, _)| is_kept(*first)) {
        let preferred = row.iter().enumerate().filter(|(second, is)| **is && is_kept(*second));
        for (second, _) in preferred {
            let (counts, is_fulfilled) = pair(preferences, first, second, pairs);
            possible += usize::from(counts);
            fulfilled += usize::from(is_fulfilled);
        }
    }
    (fulfilled, possible)
}

/// The mean over the pairs of the share of groups whose preference the ranking fulfils.
fn of_pairs(preferences: &RankedPreferences, pairs: Pairs) -> f64 {
    let groups_that = |first: usize, second: usize| {
        preferences.groups.iter().filter(|group| group.preferred[first][second]).count()
    };
    let (mut sum, mut found) = (0.0, 0);
    // trec_eval adds up pairs of two retrieved documents first, then those of one.
    for both in [true, false] {
        for first in 0..preferences.judged {
            for second in first + 1..preferences.judged {
                if (second < preferences.retrieved) != both {
                    continue;
                }
                let (counts, is_fulfilled) = pair(preferences, first, second, pairs);
                let (kept, lost) = (groups_that(first, second), groups_that(second, first));
                if counts && kept + lost > 0 {
                    found += 1;
                    sum += if is_fulfilled { kept as f64 / (kept + lost) as f64 } else { 0.0 };
                }
            }
        }
    }
    if found == 0 { 0.0 } else { sum / f64::from(found) }
}

/// Counts a group's preferences with as many non-relevant documents as relevant ones. If there are fewer, the
/// missing ones are added, below every relevant document that was retrieved.
fn balanced(preferences: &RankedPreferences, group: &RankedGroup, pairs: Pairs) -> Counts {
    let of_level = |is_relevant: bool, retrieved_only: bool| {
        let end = if retrieved_only { preferences.retrieved } else { preferences.judged };
        group.levels[..end].iter().flatten().filter(|level| (**level > 0.0) == is_relevant).count()
    };
    let retrieved_only = pairs == Pairs::Retrieved;
    let relevant = of_level(true, retrieved_only);
    let nonrelevant = of_level(false, retrieved_only);
    if let Some(missing) = relevant.checked_sub(nonrelevant) {
        let (fulfilled, possible) = count(preferences, group, pairs, |_| true);
        return (fulfilled + of_level(true, true) * missing, possible + of_level(true, false) * missing);
    }
    if !group.is_complete {
        // The first non-relevant documents are kept: as many as are relevant, retrieved or not.
        let is_nonrelevant = |place: &usize| group.levels[*place] == Some(0.0);
        let end = if retrieved_only { preferences.retrieved } else { preferences.judged };
        let first_dropped = (0..end).filter(is_nonrelevant).nth(of_level(true, false)).unwrap_or(end);
        return count(preferences, group, pairs, |place| place < first_dropped || !is_nonrelevant(&place));
    }
    let lowest = group.lowest();
    let is_lowest = |place: usize| lowest.binary_search(&place).is_ok();
    let (mut fulfilled, mut possible) = count(preferences, group, pairs, |place| !is_lowest(place));
    // trec_eval compares every document with the non-relevant ones that are kept, and so these with
    // themselves.
    let judged = (0..preferences.judged).filter(|place| group.levels[*place].is_some());
    for first in judged {
        for second in lowest.iter().take(relevant) {
            let (counts, is_fulfilled) = pair(preferences, first, *second, pairs);
            possible += usize::from(counts);
            fulfilled += usize::from(is_fulfilled);
        }
    }
    (fulfilled, possible)
}
