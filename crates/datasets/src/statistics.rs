//! The figures of what was built: one shape for every builder, as a table and as JSON.

use serde_json::{Map, Value};
use toller_ir::Qrels;

/// The figures of a benchmark: one row for each part, in the order in which they are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics(pub Vec<Part>);

/// A part of a benchmark, such as its collection or a split, and its figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// The name of the part.
    pub name: String,
    /// Figures by their names.
    pub figures: Vec<(&'static str, Figure)>,
}

/// A number of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// How many.
    Count(u64),
    /// A mean, a share or another real number; not known if there is nothing to take it of.
    Real(Option<f64>),
}

impl Part {
    /// A part without figures.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), figures: Vec::new() }
    }

    /// With one count more.
    #[must_use]
    pub fn count(mut self, name: &'static str, count: impl TryInto<u64>) -> Self {
        self.figures.push((name, Figure::Count(count.try_into().unwrap_or(u64::MAX))));
        self
    }

    /// With one real number more.
    #[must_use]
    pub fn real(mut self, name: &'static str, value: Option<f64>) -> Self {
        self.figures.push((name, Figure::Real(value)));
        self
    }

    /// With the lengths of texts.
    #[must_use]
    pub fn lengths(self, lengths: &Lengths) -> Self {
        self.real("mean_characters", lengths.mean()).count("max_characters", lengths.longest)
    }

    /// With the judgments: judged queries, pairs, relevant pairs (grade 1 and higher), and the means of a
    /// judged query.
    #[must_use]
    pub fn judgments(self, qrels: &Qrels) -> Self {
        let pairs: usize = qrels.iter().map(|(_, judged)| judged.len()).sum();
        let relevant: usize =
            qrels.iter().map(|(_, judged)| judged.values().filter(|grade| **grade > 0).count()).sum();
        self.count("judged_queries", qrels.len())
            .count("judgments", pairs)
            .count("relevant", relevant)
            .real("judgments_per_query", mean(pairs as f64, qrels.len()))
            .real("relevant_per_query", mean(relevant as f64, qrels.len()))
    }

    /// The figure of this name.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<Figure> {
        self.figures.iter().find(|(found, _)| *found == name).map(|(_, figure)| *figure)
    }
}

impl Statistics {
    /// The part of this name.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.0.iter().find(|part| part.name == name)
    }

    /// An object of the parts, each an object of its figures.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let figures = |part: &Part| -> Map<String, Value> {
            part.figures.iter().map(|(name, figure)| ((*name).to_owned(), figure.to_json())).collect()
        };
        self.0.iter().map(|part| (part.name.clone(), Value::Object(figures(part)))).collect()
    }

    /// Tables of cells: parts that follow each other and have the same figures are rows of one table, whose
    /// first row has the names of the figures.
    #[must_use]
    pub fn tables(&self) -> Vec<Vec<Vec<String>>> {
        let names = |part: &Part| part.figures.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        let same = |a: &Part, b: &Part| names(a) == names(b);
        let table = |parts: &[Part]| {
            let header = parts.first().map(names).unwrap_or_default().into_iter();
            let header = header.map(|name| name.replace('_', " "));
            let rows = parts.iter().map(|part| {
                let cells = part.figures.iter().map(|(_, figure)| figure.to_text());
                std::iter::once(part.name.clone()).chain(cells).collect()
            });
            std::iter::once(std::iter::once(String::new()).chain(header).collect()).chain(rows).collect()
        };
        self.0.chunk_by(same).map(table).collect()
    }
}

impl Figure {
    fn to_json(self) -> Value {
        match self {
            Self::Count(count) => count.into(),
            Self::Real(value) => value.into(),
        }
    }

    fn to_text(self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Real(None) => "-".to_owned(),
            // A share or a similarity has its figures behind the point.
            Self::Real(Some(value)) if value.abs() < 1.0 => format!("{value:.4}"),
            Self::Real(Some(value)) => format!("{value:.2}"),
        }
    }
}

/// The mean of `count` values with this sum, if there are any.
pub(crate) fn mean(sum: f64, count: usize) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

/// The lengths of texts in characters (code points), added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    texts: usize,
    sum: usize,
    longest: usize,
}

impl Lengths {
    /// Adds a text.
    pub fn add(&mut self, text: &str) {
        let characters = text.chars().count();
        self.texts += 1;
        self.sum += characters;
        self.longest = self.longest.max(characters);
    }

    /// How many texts there are.
    #[must_use]
    pub fn texts(&self) -> usize {
        self.texts
    }

    /// The mean length.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        mean(self.sum as f64, self.texts)
    }
}

impl<'a> FromIterator<&'a str> for Lengths {
    fn from_iter<I: IntoIterator<Item = &'a str>>(texts: I) -> Self {
        let mut lengths = Self::default();
        texts.into_iter().for_each(|text| lengths.add(text));
        lengths
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toller_ir::Qrels;

    use super::{Lengths, Part, Statistics};

    #[test]
    fn parts_with_the_same_figures_are_one_table() {
        let split = |name: &str, queries: usize| Part::new(name).count("queries", queries);
        let collection = Part::new("collection").real("mean_characters", Some(1.25)).real("other", None);
        let alike = Part::new("queries").real("intra_list_similarity", Some(-0.012_955));
        let statistics = Statistics(vec![collection, split("dev", 2), split("test", 3), alike]);
        assert_eq!(
            statistics.tables(),
            [
                vec![vec!["", "mean characters", "other"], vec!["collection", "1.25", "-"]],
                vec![vec!["", "queries"], vec!["dev", "2"], vec!["test", "3"]],
                vec![vec!["", "intra list similarity"], vec!["queries", "-0.0130"]],
            ]
        );
        let expected = json!({
            "collection": {"mean_characters": 1.25, "other": null},
            "dev": {"queries": 2},
            "test": {"queries": 3},
            "queries": {"intra_list_similarity": -0.012_955}
        });
        assert_eq!(statistics.to_json(), expected);
    }

    #[test]
    fn judgments_and_lengths() {
        let mut qrels = Qrels::new();
        for (query, document, grade) in [("a", "1", 2), ("a", "2", 0), ("a", "3", -1), ("b", "1", 1)] {
            qrels.insert(query, document, grade);
        }
        let part = Part::new("test").judgments(&qrels).lengths(&["中文", "four"].into_iter().collect());
        let expected = json!({"test": {"judged_queries": 2, "judgments": 4, "relevant": 2,
            "judgments_per_query": 2.0, "relevant_per_query": 1.0,
            "mean_characters": 3.0, "max_characters": 4}});
        assert_eq!(Statistics(vec![part]).to_json(), expected);
        assert_eq!((Lengths::default().mean(), Lengths::default().texts()), (None, 0));
    }
}
