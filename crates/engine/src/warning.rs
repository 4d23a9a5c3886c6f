//! What users are warned of, in the words that all fronts share.

use toller_ir::{Explain, Remedy, Setting, counted, remedy};
use toller_train::BadRecords;

use crate::event::Event;

impl Event<'_> {
    /// The warnings in this event. A front spells the settings that they name, as it does in remedies.
    ///
    /// What was skipped ([`Event::Skipped`]) and what another setting of one front avoids
    /// ([`Event::TermsFiltered`]) are for the front to put into words.
    #[must_use]
    pub fn warnings(&self) -> Vec<Remedy> {
        let warning = match *self {
            Self::ModelUnconfirmed { reason } => {
                format!("the downloaded model is used as it is: {reason}").into()
            }
            Self::PoolingAssumed { model } => remedy!(
                "{} does not define its pooling: the mean is used, as in sentence-transformers; {} chooses another",
                model.to_owned(),
                Setting::Pooling
            ),
            Self::SimilarityNotUsed { model, similarity: "cosine" } => remedy!(
                "{} compares vectors by cosine, but makes vectors that are not of unit length, and the search \
                 ranks by inner product: {} scales them, for passages and queries",
                model.to_owned(),
                Setting::NormalizeEmbeddings
            ),
            Self::SimilarityNotUsed { model, similarity } => format!(
                "{model} compares vectors by {similarity} distance, which is not supported: the search ranks \
                 by inner product"
            )
            .into(),
            Self::BatchesSplit(count) => remedy!(
                "the GPU had too little memory for {} batches, which were computed in halves; {} makes batches \
                 smaller",
                count.to_string(),
                Setting::BatchTokens
            ),
            Self::UnexpectedTensors { model, count, first } => format!(
                "{model}: the architecture in config.json has no place for {}, for example {first:?}: without \
                 effect",
                counted(count, "tensor")
            )
            .into(),
            Self::ModelUnchecked => {
                "the model of imported vectors is unknown: that one model made passages and queries is not checked"
                    .into()
            }
            Self::CpuChosen(Some(error)) => {
                let warning = Remedy::from(format!("computing on the CPU: {error}"));
                match error.remedy() {
                    Some(remedy) => warning.and("; ").then(remedy),
                    None => warning,
                }
            }
            Self::TextsOpened(texts) if texts.skipped() > 0 => {
                format!("skipped {} of the collection", counted(texts.skipped(), "bad line")).into()
            }
            Self::LeftOut(left_out) => return left_out.problems().map(Remedy::from).collect(),
            Self::ExamplesSkipped(BadRecords { count, first }) => {
                format!("skipped {}, the first: {first}", counted(*count, "bad record")).into()
            }
            Self::ExamplesInspected(found) => return found.problems().collect(),
            Self::DevQueriesMissing { missing, judged } => format!(
                "the dev set counts {missing} of {judged} judged queries as zero, which have no results"
            )
            .into(),
            Self::DevDocumentsMissing { missing, relevant } => format!(
                "the collection of the dev set does not have {missing} of the {relevant} relevant documents: they \
                 count as not found"
            )
            .into(),
            Self::CheckpointDamaged(error) => {
                format!("{error}; going on from the checkpoint before it").into()
            }
            Self::ShardDamaged(damage) => {
                let rows = damage.rows.end - damage.rows.start;
                format!("{}; encoding {} again", damage.error, counted(rows, "row")).into()
            }
            _ => return Vec::new(),
        };
        vec![warning]
    }
}
