//! How hits are reranked.

use toller_ir::named;

/// How a reranker works.
#[derive(Clone, Debug)]
pub struct RerankOptions {
    /// Hits of each query that are scored again.
    pub depth: usize,
    /// Whether the hits below are left out.
    pub cut: bool,
    /// How the scores of several models become one.
    pub combine: Combine,
    /// The weight of the models, the first stage having the rest of 1, both scaled to [0, 1] over the
    /// reranked hits of the query.
    pub interpolate: Option<f64>,
    /// The text between the title of a passage and its text; `None` leaves titles out.
    pub title_separator: Option<String>,
    /// Passages in windows, each scored for itself.
    pub windows: Option<PassageWindows>,
    /// Whether a query that leaves no room for a passage is cut. Else it is an error.
    pub cut_queries: bool,
    /// What is done with hits whose text, or whose query's text, is not known.
    pub unavailable: Unavailable,
}

impl Default for RerankOptions {
    fn default() -> Self {
        Self {
            depth: 100,
            cut: false,
            combine: Combine::default(),
            interpolate: None,
            title_separator: Some(" ".to_owned()),
            windows: None,
            cut_queries: false,
            unavailable: Unavailable::default(),
        }
    }
}

/// Windows of a passage's tokens (Dai and Callan 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassageWindows {
    /// The tokens of a window; what does not fit next to the query is cut off.
    pub length: usize,
    /// From the start of one to the start of the next.
    pub stride: usize,
    /// What makes the passage's score of the windows'.
    pub aggregate: Aggregate,
}

named! {
    /// How the scores of a passage's windows become the score of the passage.
    #[derive(Default)]
    pub enum Aggregate: "a way to combine the scores of windows" {
        /// The largest: MaxP.
        #[default]
        Max = "max",
        /// That of the first window: FirstP.
        First = "first",
        /// Their mean. (Dai and Callan's SumP divided by the number of windows.)
        Mean = "mean",
    }
}

named! {
    /// How the scores that several models give a query's hits become one.
    #[derive(Default)]
    pub enum Combine: "a way to combine the scores of models" {
        /// The mean of the scores as they are: DuReader-retrieval's ensemble.
        #[default]
        Mean = "mean",
        /// Points by rank: the order of the mean rank.
        MeanRank = "mean-rank",
        /// Reciprocal rank fusion: the sum of 1 / (60 + rank).
        Rrf = "rrf",
        /// The mean of the softmax of each model's scores over the hits of the query.
        SoftmaxMean = "softmax-mean",
    }
}

/// What to do where a text is not known: a document that is not in the collection, a query without text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unavailable {
    /// It is an error, by identifier.
    #[default]
    Refuse,
    /// A document goes below those that are scored, in the first stage's order; the hits of a query without
    /// text stay as they are.
    KeepBelow,
}
