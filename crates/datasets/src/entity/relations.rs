//! The 24 relations of EntityQuestions and their templates (Sciavolino et al. 2021, table 5).

/// A relation of Wikidata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Its identifier in Wikidata.
    pub id: &'static str,
    /// The question; `[E]` stands for the subject.
    pub template: &'static str,
    /// The same question in other words, of the three relations that the paper fine-tunes on.
    pub similar: Option<&'static str>,
}

const fn relation(id: &'static str, template: &'static str) -> Relation {
    Relation { id, template, similar: None }
}

const fn with_similar(id: &'static str, template: &'static str, similar: &'static str) -> Relation {
    Relation { id, template, similar: Some(similar) }
}

/// The relations, in the order of their numbers.
pub const RELATIONS: [Relation; 24] = [
    relation("P17", "Which country is [E] located in?"),
    with_similar("P19", "Where was [E] born?", "What is the birthplace of [E]?"),
    relation("P20", "Where did [E] die?"),
    relation("P26", "Who is [E] married to?"),
    relation("P36", "What is the capital of [E]?"),
    relation("P40", "Who is [E]'s child?"),
    relation("P50", "Who is the author of [E]?"),
    relation("P69", "Where was [E] educated?"),
    relation("P106", "What kind of work does [E] do?"),
    relation("P112", "Who founded [E]?"),
    relation("P127", "Who owns [E]?"),
    relation("P131", "Where is [E] located?"),
    relation("P136", "What type of music does [E] play?"),
    with_similar("P159", "Where is the headquarter of [E]?", "Where is [E] headquartered?"),
    with_similar("P170", "Who was [E] created by?", "Who is the creator of [E]?"),
    relation("P175", "Who performed [E]?"),
    relation("P176", "Which company is [E] produced by?"),
    relation("P264", "What music label is [E] represented by?"),
    relation("P276", "Where is [E] located?"),
    relation("P407", "Which language was [E] written in?"),
    relation("P413", "What position does [E] play?"),
    relation("P495", "Which country was [E] created in?"),
    relation("P740", "Where was [E] founded?"),
    relation("P800", "What is [E] famous for?"),
];

impl Relation {
    /// The relation of this identifier.
    #[must_use]
    pub fn of(id: &str) -> Option<Self> {
        RELATIONS.iter().find(|relation| relation.id == id).copied()
    }
}

/// The question about a subject.
#[must_use]
pub fn question(template: &str, subject: &str) -> String {
    template.replacen("[E]", subject, 1)
}

#[cfg(test)]
mod tests {
    use super::{RELATIONS, Relation, question};

    #[test]
    fn the_questions_of_the_paper() {
        let ask = |id: &str, subject: &str| question(Relation::of(id).unwrap().template, subject);
        assert_eq!(ask("P19", "Arve Furset"), "Where was Arve Furset born?");
        assert_eq!(ask("P740", "Mason Proper"), "Where was Mason Proper founded?");
        assert_eq!(ask("P170", "Veep"), "Who was Veep created by?");
        assert_eq!(question("Who is [E]'s child?", "[E]"), "Who is [E]'s child?");
        assert!(RELATIONS.iter().all(|relation| relation.template.matches("[E]").count() == 1));
        assert_eq!(RELATIONS.iter().filter(|relation| relation.similar.is_some()).count(), 3);
        assert_eq!(Relation::of("P30"), None);
    }
}
