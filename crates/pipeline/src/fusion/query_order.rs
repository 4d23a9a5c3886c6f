//! The order of the queries of several runs.

use indexmap::IndexSet;

/// The queries of several runs, in an order that agrees with the order of each run as far as the runs agree
/// with each other. Runs of one query set come out in the order of that set, even if each is missing some
/// queries.
///
/// A query that is missing from earlier runs follows the query before it in its own run. If it is the first
/// of its run, it comes before the first query that the runs have in common, or at the end if they have none.
#[must_use]
pub fn merged_order<'a>(runs: &[Vec<&'a str>]) -> Vec<&'a str> {
    let mut merged: IndexSet<&str> = IndexSet::new();
    for run in runs {
        merged = merge(&merged, run);
    }
    merged.into_iter().collect()
}

fn merge<'a>(merged: &IndexSet<&'a str>, run: &[&'a str]) -> IndexSet<&'a str> {
    // The new queries that follow each of the old, and those that precede the first one.
    let mut after: Vec<Vec<&str>> = vec![Vec::new(); merged.len()];
    let mut leading = Vec::new();
    let (mut first_common, mut last_seen) = (merged.len(), None);
    for query in run {
        match (merged.get_index_of(query), last_seen) {
            (Some(at), None) => (first_common, last_seen) = (at, Some(at)),
            (Some(at), Some(_)) => last_seen = Some(at),
            (None, None) => leading.push(*query),
            (None, Some(at)) => after[at].push(*query),
        }
    }
    let mut order = IndexSet::with_capacity(merged.len() + run.len());
    for (at, query) in merged.iter().enumerate() {
        if at == first_common {
            order.extend(leading.drain(..));
        }
        order.insert(*query);
        order.extend(after[at].drain(..));
    }
    order.extend(leading);
    order
}

#[cfg(test)]
mod tests {
    use super::merged_order;

    fn merged(runs: &[&str]) -> String {
        let runs: Vec<Vec<&str>> =
            runs.iter().map(|run| run.split_terminator("").skip(1).collect()).collect();
        merged_order(&runs).concat()
    }

    #[test]
    fn a_complete_run_decides() {
        for partial in ["", "a", "e", "bd", "ace", "abcde"] {
            assert_eq!(merged(&[partial, "abcde"]), "abcde");
            assert_eq!(merged(&["abcde", partial]), "abcde");
        }
    }

    #[test]
    fn runs_that_complete_each_other_are_interleaved() {
        assert_eq!(merged(&["ad", "abd", "bcd"]), "abcd");
        assert_eq!(merged(&["bc", "ab"]), "abc");
        assert_eq!(merged(&["xb", "ab"]), "xab");
        assert_eq!(merged(&["ab", "cd"]), "abcd");
        // Where they contradict each other, the first is right.
        assert_eq!(merged(&["ab", "bcad"]), "adbc");
        assert_eq!(merged(&[]), "");
    }
}
