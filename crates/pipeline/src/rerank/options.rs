//! How hits are reranked.

use std::fmt;
use std::str::FromStr;

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

/// What makes the score of a passage of the scores of its windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aggregate {
    /// The largest: MaxP.
    #[default]
    Max,
    /// That of the first window: FirstP.
    First,
    /// Their mean. (Dai and Callan's SumP divided by the number of windows.)
    Mean,
}

/// How the scores that several models give a query's hits become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Combine {
    /// The mean of the scores as they are: DuReader-retrieval's ensemble.
    #[default]
    Mean,
    /// Points by rank: the order of the mean rank.
    MeanRank,
    /// Reciprocal rank fusion: the sum of 1 / (60 + rank).
    Rrf,
    /// The mean of the softmax of each model's scores over the hits of the query.
    SoftmaxMean,
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

macro_rules! names {
    ($type:ident: $($variant:ident = $name:literal),+) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$variant => $name),+ })
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, String> {
                match name {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(concat!("one of:" $(, " ", $name)+).to_owned()),
                }
            }
        }
    };
}

names!(Aggregate: Max = "max", First = "first", Mean = "mean");
names!(Combine: Mean = "mean", MeanRank = "mean-rank", Rrf = "rrf", SoftmaxMean = "softmax-mean");
