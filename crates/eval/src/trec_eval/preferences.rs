//! Judgments that prefer documents to others, of several groups of judges for one query.

use std::collections::{BTreeMap, HashMap};

use toller_ir::RunEntry;

use super::TrecEvalError;

/// A judged document of a query: the subgroup of judges, the document and its level.
#[derive(Clone, Debug, PartialEq)]
struct Level {
    subgroup: String,
    doc_id: String,
    level: f64,
}

/// The levels that each group of judges gives the documents of each query, in the order of the identifiers'
/// bytes. Within a subgroup, a document of a higher level is preferred to one of a lower level; the
/// preferences of a group's subgroups add up, and what follows from them is preferred, too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preferences {
    pub(super) queries: BTreeMap<String, Groups>,
}

/// The judgments of one query by each group of judges.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Groups(BTreeMap<String, Vec<Level>>);

impl Preferences {
    /// Reads lines of a query, a group, a subgroup, a document and a level; lines that begin with `#` are
    /// comments.
    ///
    /// # Errors
    /// If a line has other columns.
    pub fn parse(text: &str) -> Result<Self, TrecEvalError> {
        let expected = "five columns: query, group, subgroup, document, level";
        Self::of_lines(text, expected, |columns| match columns {
            [query, group, subgroup, document, level] => Some([query, group, subgroup, document, level]),
            _ => None,
        })
    }

    /// Reads qrels, whose second column names the group; each group is its only subgroup.
    ///
    /// # Errors
    /// If a line has other columns.
    pub fn parse_qrels(text: &str) -> Result<Self, TrecEvalError> {
        Self::of_lines(text, "four columns: query, group, document, level", |columns| match columns {
            [query, group, document, level] => Some([query, group, &"0", document, level]),
            _ => None,
        })
    }

    fn of_lines<'t>(
        text: &'t str,
        expected: &'static str,
        fields: impl for<'c> Fn(&'c [&'t str]) -> Option<[&'c &'t str; 5]>,
    ) -> Result<Self, TrecEvalError> {
        let mut preferences = Self::default();
        for (line, number) in text.lines().zip(1..) {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let bad = || TrecEvalError::Line { line: number, expected };
            let columns: Vec<&str> = line.split_ascii_whitespace().collect();
            let [query, group, subgroup, document, level] = fields(&columns).ok_or_else(bad)?;
            let level = level.parse().ok().filter(|level: &f64| level.is_finite()).ok_or_else(bad)?;
            let groups = preferences.queries.entry((*query).to_owned()).or_default();
            let levels = groups.0.entry((*group).to_owned()).or_default();
            levels.push(Level { subgroup: (*subgroup).to_owned(), doc_id: (*document).to_owned(), level });
        }
        Ok(preferences)
    }
}

/// The preferences of one query, by the places of the documents in the ranking.
///
/// The judged documents are numbered: first those retrieved, by rank, then the others by identifier.
pub(super) struct RankedPreferences {
    /// How many documents are judged.
    pub(super) judged: usize,
    /// How many of them were retrieved.
    pub(super) retrieved: usize,
    pub(super) groups: Vec<RankedGroup>,
}

/// The preferences of one group.
pub(super) struct RankedGroup {
    /// The level of each document, if the group judges it.
    pub(super) levels: Vec<Option<f64>>,
    /// For each document, whether it is preferred to each other.
    pub(super) preferred: Vec<Vec<bool>>,
    /// Whether there is one subgroup, so that documents of the same level are equally good.
    pub(super) is_complete: bool,
}

impl RankedPreferences {
    /// The preferences of `groups` in a ranking. As in trec_eval, ties go here by identifier ascending.
    pub(super) fn new(
        query_id: &str,
        groups: &Groups,
        entries: &[RunEntry],
        depth: usize,
    ) -> Result<Self, TrecEvalError> {
        let mut ranking: Vec<&RunEntry> = entries.iter().collect();
        ranking.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.doc_id.cmp(&b.doc_id)));
        ranking.truncate(depth);
        let mut judged: Vec<&str> = groups.0.values().flatten().map(|level| level.doc_id.as_str()).collect();
        judged.sort_unstable();
        judged.dedup();
        let is_judged = |entry: &&&RunEntry| judged.binary_search(&entry.doc_id.as_str()).is_ok();
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(judged.len());
        for entry in ranking.iter().filter(is_judged) {
            let place = places.len();
            places.insert(&entry.doc_id, place);
        }
        let retrieved = places.len();
        for doc in &judged {
            let place = places.len();
            places.entry(doc).or_insert(place);
        }
        let ranked = |levels: &Vec<Level>| RankedGroup::new(query_id, levels, &places);
        let groups = groups.0.values().map(ranked).collect::<Result<_, _>>()?;
        Ok(Self { judged: judged.len(), retrieved, groups })
    }
}

impl RankedGroup {
    fn new(query_id: &str, levels: &[Level], places: &HashMap<&str, usize>) -> Result<Self, TrecEvalError> {
        let conflict = |doc_id: &str| TrecEvalError::Conflict {
            query_id: query_id.to_owned(),
            doc_id: doc_id.to_owned(),
        };
        let mut subgroups: BTreeMap<&str, Vec<(usize, &Level)>> = BTreeMap::new();
        let mut of_docs = vec![None; places.len()];
        for level in levels {
            let Some(&place) = places.get(level.doc_id.as_str()) else { continue };
            let known: Option<f64> = of_docs[place].replace(level.level);
            if known.is_some_and(|known| (known == 0.0) != (level.level == 0.0)) {
                return Err(conflict(&level.doc_id));
            }
            subgroups.entry(&level.subgroup).or_default().push((place, level));
        }
        let mut preferred = vec![vec![false; places.len()]; places.len()];
        for subgroup in subgroups.values() {
            for (place, level) in subgroup {
                for (other, lower) in subgroup {
                    preferred[*place][*other] |= level.level > lower.level;
                }
            }
        }
        let is_complete = subgroups.len() == 1;
        if !is_complete {
            add_what_follows(&mut preferred);
        }
        let is_circular =
            |doc: &&Level| places.get(doc.doc_id.as_str()).is_some_and(|&place| preferred[place][place]);
        match levels.iter().find(is_circular) {
            Some(level) => Err(conflict(&level.doc_id)),
            None => Ok(Self { levels: of_docs, preferred, is_complete }),
        }
    }

    /// The documents of the lowest level, by place.
    pub(super) fn lowest(&self) -> Vec<usize> {
        let lowest = self.levels.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        (0..self.levels.len()).filter(|place| self.levels[*place] == Some(lowest)).collect()
    }
}

/// Prefers a to c where a is preferred to b and b to c.
fn add_what_follows(preferred: &mut [Vec<bool>]) {
    for middle in 0..preferred.len() {
        let after = preferred[middle].clone();
        for row in preferred.iter_mut().filter(|row| row[middle]) {
            row.iter_mut().zip(&after).for_each(|(is_preferred, after)| *is_preferred |= after);
        }
    }
}
