//! Facts: a subject, a relation and the objects.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde::Deserialize;
use toller_files::Input;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::answers::word_tokens;
use crate::entity::relations::Relation;
use crate::error::DatasetError;
use crate::records::for_each_record;

/// A fact about a subject, with all objects that make it true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What is asked about.
    pub subject: String,
    /// The objects, with their other names: each is an answer.
    pub objects: Vec<String>,
}

/// The facts of each relation, in the order of the file; relations in the order of their first facts.
pub type Facts = IndexMap<&'static str, Vec<Fact>>;

#[derive(Deserialize)]
struct Triple {
    subject: String,
    relation: String,
    object: Objects,
}

/// A name, or all names of an object.
#[derive(Deserialize)]
#[serde(untagged)]
enum Objects {
    One(String),
    All(Vec<String>),
}

/// Reads triples, one JSON object a line: `subject`, `relation` and `object`, which is a name or the list of
/// an object's names. Triples with equal subject and relation are one fact. Returns the facts, and how many
/// triples have a relation that is not one of the 24.
///
/// # Errors
/// If the file cannot be read, or a record is not of this form or has an empty name.
pub fn read_facts(input: &Input) -> Result<(Facts, usize), DatasetError> {
    const EXPECTED: &str =
        "objects with subject, relation (such as P19) and object (a name or a list of names)";
    let mut relations: IndexMap<&'static str, IndexMap<String, Fact>> = IndexMap::new();
    let mut others = 0;
    for_each_record(input, EXPECTED, |Triple { subject, relation, object }: Triple| {
        let Some(relation) = Relation::of(&relation) else {
            others += 1;
            return Ok(());
        };
        let objects = match object {
            Objects::One(name) => vec![name],
            Objects::All(names) => names,
        };
        if subject.trim().is_empty()
            || objects.is_empty()
            || objects.iter().any(|name| name.trim().is_empty())
        {
            return Err("the subject or an object has no name".into());
        }
        let facts = relations.entry(relation.id).or_default();
        let fact = facts.entry(subject.clone()).or_insert(Fact { subject, objects: Vec::new() });
        for object in objects {
            if !fact.objects.contains(&object) {
                fact.objects.push(object);
            }
        }
        Ok(())
    })?;
    let facts = relations.into_iter().map(|(id, facts)| (id, facts.into_values().collect())).collect();
    Ok((facts, others))
}

/// A sample of at most `count` facts, in their order. It depends only on the seed and the subjects, not on
/// their order.
#[must_use]
pub fn sample<'a>(facts: &[&'a Fact], count: usize, seed: u64) -> Vec<&'a Fact> {
    let place = |fact: &Fact| (xxh3_64_with_seed(fact.subject.as_bytes(), seed), fact.subject.clone());
    let mut order: Vec<usize> = (0..facts.len()).collect();
    order.sort_by_cached_key(|at| facts.get(*at).map(|fact| place(fact)));
    order.truncate(count);
    order.sort_unstable();
    order.into_iter().filter_map(|at| facts.get(at).copied()).collect()
}

/// The facts that share no token with any of `others`, in subject or object. Tokens are those in which
/// answers are looked for: words and single other characters, in lower case.
#[must_use]
pub fn without_overlap<'a>(facts: &[&'a Fact], others: &[&Fact]) -> Vec<&'a Fact> {
    let taken: HashSet<String> = others.iter().flat_map(|fact| tokens(fact)).collect();
    facts.iter().copied().filter(|fact| tokens(fact).iter().all(|token| !taken.contains(token))).collect()
}

fn tokens(fact: &Fact) -> Vec<String> {
    std::iter::once(&fact.subject).chain(&fact.objects).flat_map(|text| word_tokens(text)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use toller_files::Input;

    use super::{Fact, read_facts, sample, without_overlap};

    fn fact(subject: &str, object: &str) -> Fact {
        Fact { subject: subject.to_owned(), objects: vec![object.to_owned()] }
    }

    #[test]
    fn triples_of_a_subject_are_one_fact() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            r#"{"subject": "Ann", "relation": "P26", "object": "Bob"}
               {"subject": "Ann", "relation": "P26", "object": ["Robert", "Bob"]}
               {"subject": "Ann", "relation": "P21", "object": "female"}
               {"subject": "Ann", "relation": "P19", "object": "Oslo"}"#,
        )
        .unwrap();
        let (facts, others) = read_facts(&Input::parse(file.path())).unwrap();
        assert_eq!(others, 1);
        assert_eq!(
            facts["P26"],
            [Fact { subject: "Ann".into(), objects: vec!["Bob".into(), "Robert".into()] }]
        );
        assert_eq!(facts["P19"], [fact("Ann", "Oslo")]);
        std::fs::write(file.path(), r#"{"subject": " ", "relation": "P26", "object": "Bob"}"#).unwrap();
        assert!(
            read_facts(&Input::parse(file.path())).unwrap_err().to_string().contains("line 1: the subject")
        );
    }

    #[test]
    fn a_sample_depends_on_the_seed_alone() {
        let facts: Vec<Fact> = (0..50).map(|at| fact(&format!("s{at}"), "o")).collect();
        let forward: Vec<&Fact> = facts.iter().collect();
        let backward: Vec<&Fact> = facts.iter().rev().collect();
        let mut again = sample(&backward, 10, 7);
        again.reverse();
        assert_eq!(sample(&forward, 10, 7), again);
        assert_ne!(sample(&forward, 10, 7), sample(&forward, 10, 8));
        assert_eq!(sample(&forward, 99, 7), forward);
    }

    proptest! {
        /// Against the definition: no word of a kept fact is a word of another set's fact.
        #[test]
        fn no_token_overlaps(
            facts in prop::collection::vec(("[a-d]{1,2}( [a-d]{1,2})?", "[A-D]{1,2}"), 0..20),
            others in prop::collection::vec(("[a-d]{1,2}", "[a-d]{1,2}"), 0..4),
        ) {
            let build = |(subject, object): &(String, String)| fact(subject, object);
            let (facts, others): (Vec<Fact>, Vec<Fact>) =
                (facts.iter().map(build).collect(), others.iter().map(build).collect());
            let words = |fact: &Fact| -> HashSet<String> {
                let text = format!("{} {}", fact.subject, fact.objects[0]).to_lowercase();
                text.split(' ').map(str::to_owned).collect()
            };
            let kept = without_overlap(&facts.iter().collect::<Vec<_>>(), &others.iter().collect::<Vec<_>>());
            let expected: Vec<&Fact> =
                facts.iter().filter(|fact| others.iter().all(|other| words(fact).is_disjoint(&words(other)))).collect();
            prop_assert_eq!(kept, expected);
        }
    }
}
