//! Packages: parts of the pool that one person can judge.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::pool::{Pair, Pool};

/// A part of the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its number, from 1.
    pub number: usize,
    /// What is to be judged. The documents of a query come together.
    pub pairs: Vec<Pair>,
}

/// Cuts a pool into packages of at most `size` pairs, or of one query if that has more. Queries, and the
/// documents of a query, come in an order that says nothing about ranks: it depends only on `seed` and the
/// identifiers.
#[must_use]
pub fn packages(pool: &Pool, size: usize, seed: u64) -> Vec<Package> {
    let mut queries: HashMap<&str, Vec<&Pair>> = HashMap::new();
    for pair in &pool.pairs {
        queries.entry(&pair.query_id).or_default().push(pair);
    }
    let place = |text: &str| xxh3_64_with_seed(text.as_bytes(), seed);
    let mut queries: Vec<(&str, Vec<&Pair>)> = queries.into_iter().collect();
    queries.sort_unstable_by_key(|(query, _)| (place(query), *query));
    let mut packages: Vec<Package> = Vec::new();
    for (query, mut pairs) in queries {
        pairs.sort_unstable_by_key(|pair| (place(&format!("{query}\t{}", pair.doc_id)), *pair));
        let pairs = pairs.into_iter().cloned();
        match packages.last_mut().filter(|package| package.pairs.len() + pairs.len() <= size) {
            Some(package) => package.pairs.extend(pairs),
            None => packages.push(Package { number: packages.len() + 1, pairs: pairs.collect() }),
        }
    }
    packages
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::packages;
    use crate::pool::{Pair, Pool};

    fn pool(counts: &[usize]) -> Pool {
        let mut pool = Pool::default();
        for (query, count) in counts.iter().enumerate() {
            for document in 0..*count {
                pool.add(Pair { query_id: format!("q{query}"), doc_id: format!("d{document}") });
            }
        }
        pool
    }

    #[test]
    fn queries_stay_whole() {
        let pool = pool(&[3, 4, 2, 9, 1]);
        let cut = packages(&pool, 5, 1);
        assert_eq!(cut.iter().map(|package| package.pairs.len()).sum::<usize>(), 19);
        for package in &cut {
            let queries: HashSet<&str> = package.pairs.iter().map(|pair| pair.query_id.as_str()).collect();
            assert!(package.pairs.len() <= 5 || queries.len() == 1);
            let changes =
                package.pairs.windows(2).filter(|pair| pair[0].query_id != pair[1].query_id).count();
            assert_eq!(changes + 1, queries.len(), "the documents of a query come together");
        }
        assert_eq!(
            cut.iter().map(|package| package.number).collect::<Vec<_>>(),
            (1..=cut.len()).collect::<Vec<_>>()
        );
    }

    #[test]
    fn the_order_depends_on_the_seed_alone() {
        let pool = pool(&[5, 5, 5, 5]);
        let mut reversed = Pool::default();
        pool.pairs.iter().rev().for_each(|pair| reversed.add(pair.clone()));
        assert_eq!(packages(&pool, 10, 7), packages(&reversed, 10, 7));
        assert_ne!(packages(&pool, 10, 7), packages(&pool, 10, 8));
    }
}
