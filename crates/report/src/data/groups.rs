//! The first measure by group of queries: a query type, a language, a popularity.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

/// Values by group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Groups {
    /// The groups, by name.
    pub groups: Vec<Group>,
    /// How many queries belong to no group.
    pub without: usize,
}

/// A group of queries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// What it is called.
    pub name: String,
    /// How many judged queries it has.
    pub queries: usize,
    /// The mean of each run.
    pub means: Vec<f64>,
}

impl Groups {
    /// Of the values of the queries, `[runs][queries]`. Groups without a judged query are left out.
    pub(super) fn new(
        groups: &BTreeMap<String, HashSet<String>>,
        queries: &[String],
        runs: &[&[f64]],
    ) -> Self {
        let places: HashMap<&str, usize> = queries.iter().map(String::as_str).zip(0..).collect();
        let mut is_grouped = vec![false; queries.len()];
        let group = |(name, of): (&String, &HashSet<String>)| {
            let mut members: Vec<usize> =
                of.iter().filter_map(|query| places.get(&**query).copied()).collect();
            // Sums do not depend on the order of the set.
            members.sort_unstable();
            members.iter().for_each(|at| is_grouped[*at] = true);
            let count = members.len();
            let mean =
                |values: &&[f64]| members.iter().filter_map(|at| values.get(*at)).sum::<f64>() / count as f64;
            let means = runs.iter().map(mean).collect();
            (count > 0).then(|| Group { name: name.clone(), queries: count, means })
        };
        let groups = groups.iter().filter_map(group).collect();
        let without = is_grouped.iter().filter(|is_grouped| !**is_grouped).count();
        Self { groups, without }
    }
}

impl Group {
    /// A run's mean relative to the first run's, if that is not zero.
    pub(crate) fn relative(&self, run: usize) -> Option<f64> {
        let (first, own) = (self.means.first()?, self.means.get(run)?);
        Some(own / first).filter(|ratio| ratio.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::Groups;

    #[test]
    fn means_are_those_of_the_members() {
        let of = |queries: &[&str]| queries.iter().map(|query| (*query).to_owned()).collect();
        let of = [("when", of(&["a", "c"])), ("who", of(&["b"])), ("why", of(&["x"]))]
            .map(|(name, queries)| (name.to_owned(), queries));
        let queries = ["a", "b", "c", "d"].map(String::from);
        let found = Groups::new(&of.into(), &queries, &[&[0.2, 0.0, 0.4, 1.0], &[0.6, 1.0, 0.6, 1.0]]);
        assert_eq!(found.groups.iter().map(|group| &*group.name).collect::<Vec<_>>(), ["when", "who"]);
        assert_eq!((found.groups[0].queries, found.without), (2, 1));
        assert!((found.groups[0].relative(1).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(found.groups[1].relative(1), None, "relative to zero");
    }
}
