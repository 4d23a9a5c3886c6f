//! EntityQuestions: questions from facts by templates.

mod buckets;
mod relations;
mod results;
mod triples;
mod write;

pub use buckets::buckets;
pub use relations::{RELATIONS, Relation, question};
pub use results::{Retrieved, write_dpr_results};
pub use triples::{Fact, Facts, read_facts, sample, without_overlap};
pub use write::{PopularityBuckets, QuestionSets, write_popularity_buckets, write_question_sets};
