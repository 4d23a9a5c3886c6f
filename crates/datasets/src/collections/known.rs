//! Known collections: what they hold, and where they are.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::collections::convert::Collection;
use crate::statistics::Figure;

/// A collection that others have published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Its name here.
    pub name: String,
    /// The builder that reads it, if that takes files in their published layout.
    pub layout: Option<String>,
    /// What it is.
    pub title: String,
    /// How many passages it has.
    pub passages: u64,
    /// The identifier of the first passage.
    pub first: Option<String>,
    /// The identifier of the last passage.
    pub last: Option<String>,
    /// For each split the number of queries, and of judgments where that is known.
    #[serde(default)]
    pub splits: BTreeMap<String, Vec<u64>>,
    /// Where to get it.
    pub source: String,
    /// The size of the download.
    pub bytes: Option<u64>,
    /// The MD5 checksum of the download, as its publishers state it.
    pub md5: Option<String>,
    /// The licence, as its publishers state it.
    pub licence: String,
}

#[derive(Deserialize)]
struct File {
    collection: Vec<Known>,
}

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    toml::from_str::<File>(include_str!("known.toml")).map_or(Vec::new(), |file| file.collection)
});

/// The known collections, in the order in which they are listed.
#[must_use]
pub fn known_collections() -> &'static [Known] {
    &KNOWN
}

/// The known collection of this name.
#[must_use]
pub fn known_collection(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

impl Known {
    /// The name of its file, if it is published as one.
    #[must_use]
    pub fn file_name(&self) -> Option<&str> {
        let (_, name) = self.source.rsplit_once('/')?;
        let is_file = [".zip", ".gz"].iter().any(|ending| name.ends_with(ending));
        is_file.then_some(name)
    }

    /// How a collection that was read differs from this one, one sentence each. Splits that are only on one
    /// side do not count.
    #[must_use]
    pub fn differences(&self, found: &Collection) -> Vec<String> {
        let mut differences = Vec::new();
        let mut compare = |what: String, known: Option<String>, found: String| {
            if let Some(known) = known.filter(|known| *known != found) {
                differences.push(format!("{what}: found {found}, expected {known}"));
            }
        };
        if let Some(corpus) = &found.corpus {
            compare("passages".to_owned(), Some(self.passages.to_string()), corpus.passages.to_string());
            compare("first passage".to_owned(), self.first.clone(), corpus.first.clone());
            compare("last passage".to_owned(), self.last.clone(), corpus.last.clone());
        }
        for (split, counts) in &self.splits {
            let Some(part) = found.statistics.part(split) else { continue };
            for (name, known) in ["queries", "judgments"].into_iter().zip(counts) {
                if let Some(Figure::Count(count)) = part.figure(name) {
                    compare(format!("{name} of {split}"), Some(known.to_string()), count.to_string());
                }
            }
        }
        differences
    }

    /// What of this collection was not read, so that it was not compared.
    #[must_use]
    pub fn uncompared(&self, found: &Collection) -> Vec<String> {
        let passages = found.corpus.is_none().then(|| "passages".to_owned());
        let splits = self.splits.keys().filter(|split| found.statistics.part(split).is_none());
        passages.into_iter().chain(splits.map(|split| format!("split {split}"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{known_collection, known_collections};
    use crate::collections::{Collection, Corpus, Layout};
    use crate::statistics::{Part, Statistics};

    #[test]
    fn the_list_can_be_read() {
        let names: BTreeSet<&str> = known_collections().iter().map(|known| known.name.as_str()).collect();
        assert_eq!((names.len(), known_collections().len()), (73, 73));
        for known in known_collections() {
            assert!(known.layout.as_ref().is_none_or(|name| name.parse::<Layout>().is_ok()), "{known:?}");
            assert!(known.passages > 0 && known.source.starts_with("https://"), "{known:?}");
            assert_eq!(known.first.is_some(), known.last.is_some(), "{known:?}");
            assert!(known.splits.values().all(|counts| matches!(counts.len(), 1 | 2)), "{known:?}");
            assert!(known.md5.as_ref().is_none_or(|md5| md5.len() == 32), "{known:?}");
        }
    }

    #[test]
    fn differences_are_named() {
        let known = known_collection("beir/scifact").unwrap();
        let mut found = Collection {
            corpus: Some(Corpus { passages: 5183, first: "4983".into(), last: "198309074".into() }),
            statistics: Statistics(vec![
                Part::new("test").count("queries", 300u32).count("judgments", 339u32),
            ]),
            ..Collection::default()
        };
        assert_eq!(known.differences(&found), [""; 0]);
        assert_eq!(known.uncompared(&found), ["split train"]);
        assert_eq!(known.uncompared(&Collection::default()), ["passages", "split test", "split train"]);
        found.corpus.as_mut().unwrap().passages = 5182;
        found.statistics.0[0].figures[1].1 = crate::statistics::Figure::Count(340);
        assert_eq!(
            known.differences(&found),
            ["passages: found 5182, expected 5183", "judgments of test: found 340, expected 339"]
        );
    }
}
