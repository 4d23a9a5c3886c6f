//! What a test collection looks like: lengths, judgments, grades, as figures and as histograms.

use std::collections::BTreeMap;

use toller_ir::{Passage, Qrels, Query};

use crate::statistics::{Part, Statistics, mean};
use crate::t2ranking::IntraListSimilarity;

/// How often each value occurs. Memory grows with the number of different values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    counts: BTreeMap<usize, usize>,
    values: usize,
}

/// The most bars of a histogram.
const BARS: usize = 10;

impl Distribution {
    /// Adds a value.
    pub fn add(&mut self, value: usize) {
        *self.counts.entry(value).or_default() += 1;
        self.values += 1;
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        mean(self.counts.iter().map(|(value, count)| *value as f64 * *count as f64).sum(), self.values)
    }

    /// The smallest value that at least this share of all values does not exceed.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<usize> {
        let wanted = (share * self.values as f64).ceil() as usize;
        let mut seen = 0;
        let reaches = |(value, count): (&usize, &usize)| {
            seen += count;
            (seen >= wanted).then_some(*value)
        };
        self.counts.iter().find_map(reaches)
    }

    /// The largest value.
    #[must_use]
    pub fn max(&self) -> Option<usize> {
        self.counts.keys().next_back().copied()
    }

    /// Bars with their names: one for each value, or, if these are many, for ranges of equal width. The last
    /// range holds all that is above the 99th percentile or near it.
    #[must_use]
    pub fn bars(&self) -> Vec<(String, usize)> {
        if self.counts.len() <= BARS {
            return self.counts.iter().map(|(value, count)| (value.to_string(), *count)).collect();
        }
        let low = self.counts.keys().next().copied().unwrap_or(0);
        let high = self.quantile(0.99).unwrap_or(low);
        let width = (high - low + 1).div_ceil(BARS - 1).max(1);
        let mut bars: Vec<(String, usize)> = (0..BARS)
            .map(|bar| (low + bar * width, bar + 1 == BARS))
            .map(|(from, last)| match (last, width) {
                (true, _) => format!("{from}+"),
                (false, 1) => from.to_string(),
                (false, _) => format!("{from}-{}", from + width - 1),
            })
            .map(|name| (name, 0))
            .collect();
        for (value, count) in &self.counts {
            if let Some((_, bar)) = bars.get_mut(((value - low) / width).min(BARS - 1)) {
                *bar += count;
            }
        }
        bars
    }

    fn part(&self, name: &str) -> Part {
        let count = |part: Part, name, value: Option<usize>| part.count(name, value.unwrap_or(0));
        let part = Part::new(name).count("count", self.values).real("mean", self.mean());
        let part = count(part, "median", self.quantile(0.5));
        count(count(part, "percentile_95", self.quantile(0.95)), "max", self.max())
    }
}

/// A histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// What is counted.
    pub title: &'static str,
    /// What the bars stand for.
    pub x_label: &'static str,
    /// What their heights are.
    pub y_label: &'static str,
    /// The bars.
    pub bars: Vec<(String, usize)>,
}

/// What is known of a test collection.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    passages: Distribution,
    queries: Distribution,
    judged: Distribution,
    relevant: Distribution,
    grades: BTreeMap<i32, usize>,
    similarity: IntraListSimilarity,
}

impl Profile {
    /// Adds a passage: the characters of its text.
    pub fn add_passage(&mut self, passage: &Passage) {
        self.passages.add(passage.text.chars().count());
    }

    /// Adds a query: its characters.
    pub fn add_query(&mut self, query: &Query) {
        self.queries.add(query.text.chars().count());
    }

    /// Adds the vector of a query, for the similarity of queries.
    pub fn add_vector(&mut self, vector: &[f32]) {
        self.similarity.add(vector);
    }

    /// Adds judgments; grades of at least `level` are relevant.
    pub fn add_judgments(&mut self, qrels: &Qrels, level: i32) {
        for (_, judged) in qrels.iter() {
            self.judged.add(judged.len());
            self.relevant.add(judged.values().filter(|grade| **grade >= level).count());
            for grade in judged.values() {
                *self.grades.entry(*grade).or_default() += 1;
            }
        }
    }

    /// The figures of what was added.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let distributions = [
            ("characters of a passage", &self.passages),
            ("characters of a query", &self.queries),
            ("judged for a query", &self.judged),
            ("relevant for a query", &self.relevant),
        ];
        let added = distributions.iter().filter(|(_, values)| values.values > 0);
        let mut parts: Vec<Part> = added.map(|(name, values)| values.part(name)).collect();
        let pairs: usize = self.grades.values().sum();
        parts.extend(self.grades.iter().map(|(grade, count)| {
            let percent = mean(100.0 * *count as f64, pairs);
            Part::new(format!("grade {grade}")).count("pairs", *count).real("percent", percent)
        }));
        if self.similarity.vectors() > 0 {
            let part = Part::new("queries").count("vectors", self.similarity.vectors());
            parts.push(part.real("intra_list_similarity", self.similarity.value()));
        }
        Statistics(parts)
    }

    /// Histograms of what was added.
    #[must_use]
    pub fn histograms(&self) -> Vec<Histogram> {
        let of = |title, x_label, y_label, values: &Distribution| Histogram {
            title,
            x_label,
            y_label,
            bars: values.bars(),
        };
        let grades = self.grades.iter().map(|(grade, count)| (grade.to_string(), *count)).collect();
        let all = [
            of("Length of passages", "characters", "passages", &self.passages),
            of("Length of queries", "characters", "queries", &self.queries),
            of("Judged", "documents of a query", "queries", &self.judged),
            of("Relevant", "documents of a query", "queries", &self.relevant),
            Histogram { title: "Grades", x_label: "grade", y_label: "pairs", bars: grades },
        ];
        all.into_iter().filter(|histogram| !histogram.bars.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toller_ir::{Passage, Qrels};

    use super::{Distribution, Profile};
    use crate::statistics::Figure;

    fn distribution(values: &[usize]) -> Distribution {
        let mut distribution = Distribution::default();
        values.iter().for_each(|value| distribution.add(*value));
        distribution
    }

    #[test]
    fn few_values_have_a_bar_each() {
        let bars = distribution(&[3, 1, 3]).bars();
        assert_eq!(bars, [("1".to_owned(), 1), ("3".to_owned(), 2)]);
        let many = distribution(&(0..100).collect::<Vec<_>>()).bars();
        assert_eq!(
            (many.len(), many[0].clone(), many[9].clone()),
            (10, ("0-10".into(), 11), ("99+".into(), 1))
        );
        assert!(distribution(&[]).bars().is_empty());
    }

    #[test]
    fn a_profile_has_what_was_added() {
        let mut profile = Profile::default();
        profile.add_passage(&Passage { text: "中文".into(), ..Passage::default() });
        let mut qrels = Qrels::new();
        for (document, grade) in [("a", 0), ("b", 1), ("c", 2), ("d", 3)] {
            qrels.insert("q", document, grade);
        }
        profile.add_judgments(&qrels, 2);
        let statistics = profile.statistics();
        let figure = |part: &str, name: &str| statistics.part(part).unwrap().figure(name);
        assert_eq!(figure("characters of a passage", "max"), Some(Figure::Count(2)));
        assert_eq!(figure("judged for a query", "mean"), Some(Figure::Real(Some(4.0))));
        assert_eq!(figure("relevant for a query", "median"), Some(Figure::Count(2)));
        assert_eq!(figure("grade 3", "percent"), Some(Figure::Real(Some(25.0))));
        assert!(statistics.part("characters of a query").is_none() && statistics.part("queries").is_none());
        let titles: Vec<&str> = profile.histograms().iter().map(|histogram| histogram.title).collect();
        assert_eq!(titles, ["Length of passages", "Judged", "Relevant", "Grades"]);
    }

    proptest! {
        #[test]
        fn against_sorted_values(values in prop::collection::vec(0_usize..400, 1..80), share in 0.01_f64..1.0) {
            let found = distribution(&values);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let place = (share * values.len() as f64).ceil() as usize;
            prop_assert_eq!(found.quantile(share), Some(sorted[place - 1]));
            prop_assert_eq!(found.max(), sorted.last().copied());
            let mean = values.iter().sum::<usize>() as f64 / values.len() as f64;
            prop_assert!((found.mean().unwrap() - mean).abs() < 1e-9);
            prop_assert_eq!(found.bars().iter().map(|(_, count)| count).sum::<usize>(), values.len());
        }
    }
}
