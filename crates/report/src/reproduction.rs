//! Published figures next to what was measured, as numbers and names.

/// What was published and what was measured, paper by paper.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reproduction {
    /// The papers, and other sources of figures.
    pub papers: Vec<ReproducedPaper>,
    /// The experiments; cells of tables name them by their place here.
    pub experiments: Vec<Experiment>,
}

/// A paper.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReproducedPaper {
    /// Its name in ids.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its tables.
    pub tables: Vec<ReproducedTable>,
}

/// A table: each value belongs to a system, a collection and a measure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReproducedTable {
    /// What it is called.
    pub title: String,
    /// What a reader has to know.
    pub notes: Vec<String>,
    /// The systems.
    pub systems: Vec<String>,
    /// The collections.
    pub collections: Vec<String>,
    /// The measures.
    pub measures: Vec<String>,
    /// The values in any order.
    pub values: Vec<ReproducedValue>,
    /// Systems that no recipe has, each with the reason.
    pub absent: Vec<(String, String)>,
}

/// A published value, and what was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReproducedValue {
    /// The place of its system.
    pub system: usize,
    /// The place of its collection.
    pub collection: usize,
    /// The place of its measure.
    pub measure: usize,
    /// The published value with the digits that were printed; `None` for an empty cell.
    pub published: Option<String>,
    /// The experiment that measures it.
    pub experiment: Option<usize>,
    /// What was measured.
    pub measured: Option<MeasuredValue>,
}

/// A measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredValue {
    /// The value.
    pub value: f64,
    /// By how much it may be off the published one.
    pub tolerance: f64,
    /// How it compares.
    pub outcome: Outcome,
    /// When it was measured: a date.
    pub date: String,
}

/// How a measured value compares with the published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Within the tolerance.
    AsPublished,
    /// Outside of it.
    Off,
    /// Nothing was published.
    Unpublished,
    /// The recipe or its inputs changed since, or the inputs are not there to check.
    Older,
}

/// A command that measures values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Experiment {
    /// What is done.
    pub title: String,
    /// The command line.
    pub command: String,
    /// What is missing, and where to get it.
    pub missing: Vec<String>,
}

impl ReproducedPaper {
    /// All values.
    pub fn values(&self) -> impl Iterator<Item = &ReproducedValue> + Clone {
        self.tables.iter().flat_map(|table| &table.values)
    }
}

impl Outcome {
    /// The outcome in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::AsPublished => "as published",
            Self::Off => "off",
            Self::Unpublished => "not published",
            Self::Older => "older",
        }
    }
}
