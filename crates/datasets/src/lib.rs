//! Builders of retrieval benchmarks from the files that their authors publish.
//!
//! ReQA (Ahmad et al. 2019, "ReQA: An Evaluation for End-to-End Answer Retrieval Models") turns a reading
//! comprehension set into retrieval: [`read_squad`], [`build_reqa`], [`Reqa::write`].
//! [`write_squad_paragraphs`] lets questions retrieve paragraphs. [`AnswerMatcher`] finds out whether a
//! passage contains an answer, and [`AnswerSearch`] at which rank a run has one, as DPR and EntityQuestions
//! measure it. [`convert`] brings published collections into one form, and [`known_collections`] knows what
//! they hold.

mod accuracy;
mod answers;
mod collections;
mod dureader;
mod entity;
mod error;
mod folder;
mod lines;
mod natural_questions;
mod paq;
mod passages;
mod profile;
mod records;
mod reqa;
mod squad;
mod squad_paragraphs;
mod squad_rows;
mod statistics;
mod t2ranking;
mod tydi;

pub use accuracy::{AnswerSearch, first_rank};
pub use answers::{AnswerMatcher, MatchMode, PreparedText, is_unspaced, refused_patterns};
pub use collections::{Collection, Corpus, Known, Layout, convert, known_collection, known_collections};
pub use dureader::{
    DomainFiles, JoinedPassage, Labelling, OtherDomain, PREDICTION_DEPTH, PassageIds, SimilarQueries, SpanF1,
    SpanUnit, join_paragraphs, label_dureader, read_official, similar_queries, with_query_ids,
    write_official, write_other_domain, write_pool, write_prediction,
};
pub use entity::{
    Fact, Facts, PopularityBuckets, QuestionSets, RELATIONS, Relation, Retrieved, buckets, question,
    read_facts, sample, without_overlap, write_dpr_results, write_popularity_buckets, write_question_sets,
};
pub use error::{DatasetError, ParagraphProblem};
pub use natural_questions::{NaturalQuestions, read_natural_questions};
pub use paq::{PaqOptions, write_paq};
pub use passages::{PassageFolder, WindowUnit, Windows};
pub use profile::{Distribution, Histogram, Profile};
pub use reqa::{
    Misplaced, Paragraph, Question, QuestionKey, Reqa, ReqaOptions, Sentence, SentenceRules, Skipped,
    build_reqa, mark_sentences, split_sentences,
};
pub use squad::{Squad, SquadAnswer, SquadArticle, SquadParagraph, SquadQuestion, read_squad};
pub use squad_paragraphs::{SquadParagraphs, write_squad_paragraphs};
pub use statistics::{Figure, Lengths, Part, Statistics};
pub use t2ranking::{
    Deduplicated, IntraListSimilarity, ScoredWords, Segmentation, Uncertain, Uncertainty, deduplicate,
    uncertain_pairs, ward_clusters,
};
pub use tydi::{TydiOptions, write_tydi};
