//! The parameters of a measure: which there are, how they are set and how they print.

use std::fmt;

/// A parameter that a measure may declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// How many documents from the top count, `@10`.
    Cutoff,
    /// The level of recall, `@0.1`.
    Recall,
    /// The lowest grade that is relevant.
    Rel,
    /// Documents without a judgment are removed from the ranking first.
    JudgedOnly,
    /// The weight of recall against precision.
    Beta,
    /// The gain of a grade: the grade itself, or two to its power less one.
    Dcg,
    /// The gain of each grade, where it is not the grade itself.
    Gains,
    /// A multiple of the number of relevant documents, `@0.2`.
    Multiple,
    /// The probability of a user's going on to the next document.
    Persistence,
    /// The gain that a user wants.
    Target,
    /// The grade that has the gain 0.
    MinRel,
    /// The grade that has the gain 1.
    MaxRel,
    /// Whether a value is divided by the best possible one.
    Normalize,
    /// Whether precision is divided by the highest possible one.
    Relative,
    /// Whether the sums over the queries are divided, in place of each query's values.
    Micro,
    /// What a judged query counts that the run has no results for.
    Missing,
    /// The rank of documents of the same score.
    Ties,
}

/// How a discounted cumulative gain turns grades into gains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dcg {
    /// The grade itself (Järvelin and Kekäläinen 2002), discounted by log2(rank + 1).
    #[default]
    Log2,
    /// Two to the power of the grade, less one (Burges et al. 2005), with the same discount.
    ExpLog2,
}

/// The values of a measure's parameters; those that were not given are `None` or the default.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parameters {
    /// At least 1.
    pub(crate) cutoff: Option<u32>,
    /// In [0, 1].
    pub(crate) recall: Option<f64>,
    /// The lowest relevant grade, if it differs from that of the evaluation.
    pub(crate) rel: Option<u32>,
    pub(crate) judged_only: bool,
    /// Positive and finite.
    pub(crate) beta: Option<f64>,
    pub(crate) dcg: Dcg,
    /// Gains by grade, in ascending order of the grade, each grade once.
    pub(crate) gains: Vec<(u32, f64)>,
    /// Above 0 and finite.
    pub(crate) multiple: Option<f64>,
    /// In (0, 1).
    pub(crate) persistence: Option<f64>,
    /// Above 0 and finite.
    pub(crate) target: Option<f64>,
    pub(crate) min_rel: Option<u32>,
    /// Above `min_rel`.
    pub(crate) max_rel: Option<u32>,
    pub(crate) normalize: Option<bool>,
    pub(crate) relative: bool,
    pub(crate) micro: bool,
    /// Queries without results are left out.
    pub(crate) skip_missing: bool,
    /// Documents of the same score share the mean of their ranks.
    pub(crate) average_ties: bool,
}

/// A value as the notation writes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Number(String),
    Bool(bool),
    Text(String),
    Map(Vec<(String, String)>),
}

impl Parameter {
    /// The parameter's name in the notation.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cutoff => "cutoff",
            Self::Recall => "recall",
            Self::Rel => "rel",
            Self::JudgedOnly => "judged_only",
            Self::Beta => "beta",
            Self::Dcg => "dcg",
            Self::Gains => "gains",
            Self::Multiple => "multiple",
            Self::Persistence => "p",
            Self::Target => "T",
            Self::MinRel => "min_rel",
            Self::MaxRel => "max_rel",
            Self::Normalize => "normalize",
            Self::Relative => "relative",
            Self::Micro => "micro",
            Self::Missing => "missing",
            Self::Ties => "ties",
        }
    }

    /// What a value of this parameter looks like.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Self::Cutoff => "a whole number from 1 to 4294967295",
            Self::Recall => "a number from 0 to 1",
            Self::Rel | Self::MinRel => "a whole number from 0 to 4294967295",
            Self::MaxRel => "a whole number above min_rel",
            Self::JudgedOnly | Self::Normalize | Self::Relative | Self::Micro => "True or False",
            Self::Missing => "'zero' or 'skip'",
            Self::Ties => "'id' or 'average'",
            Self::Beta | Self::Target | Self::Multiple => "a number above 0",
            Self::Persistence => "a number between 0 and 1",
            Self::Dcg => "'log2' or 'exp-log2'",
            Self::Gains => "a mapping of grades to gains, as {1:1,2:3}",
        }
    }
}

impl Parameters {
    /// Sets `parameter`, or returns `None` if `value` is not one of its values.
    pub(crate) fn set(&mut self, parameter: Parameter, value: &Value) -> Option<()> {
        match (parameter, value) {
            (Parameter::Cutoff, Value::Number(text)) => {
                self.cutoff = Some(text.parse().ok().filter(|cutoff| *cutoff > 0)?);
            }
            (Parameter::Recall, Value::Number(text)) => {
                self.recall = Some(text.parse().ok().filter(|recall| (0.0..=1.0).contains(recall))?);
            }
            (Parameter::Rel, Value::Number(text)) => self.rel = Some(text.parse().ok()?),
            (Parameter::JudgedOnly, Value::Bool(value)) => self.judged_only = *value,
            (Parameter::Beta, Value::Number(text)) => self.beta = Some(positive(text)?),
            (Parameter::Multiple, Value::Number(text)) => self.multiple = Some(positive(text)?),
            (Parameter::Target, Value::Number(text)) => self.target = Some(positive(text)?),
            (Parameter::Persistence, Value::Number(text)) => {
                self.persistence = Some(positive(text).filter(|p| *p < 1.0)?);
            }
            (Parameter::MinRel, Value::Number(text)) => self.min_rel = Some(text.parse().ok()?),
            (Parameter::MaxRel, Value::Number(text)) => self.max_rel = Some(text.parse().ok()?),
            (Parameter::Normalize, Value::Bool(value)) => self.normalize = Some(*value),
            (Parameter::Relative, Value::Bool(value)) => self.relative = *value,
            (Parameter::Micro, Value::Bool(value)) => self.micro = *value,
            (Parameter::Missing, Value::Text(text)) => self.skip_missing = second(text, ["zero", "skip"])?,
            (Parameter::Ties, Value::Text(text)) => self.average_ties = second(text, ["id", "average"])?,
            (Parameter::Dcg, Value::Text(text)) => {
                self.dcg = match text.as_str() {
                    "log2" => Dcg::Log2,
                    "exp-log2" => Dcg::ExpLog2,
                    _ => return None,
                };
            }
            (Parameter::Gains, Value::Map(pairs)) => self.gains = gains(pairs)?,
            _ => return None,
        }
        Some(())
    }

    /// Whether gains are other than the grades.
    pub(crate) fn has_own_gains(&self) -> bool {
        self.dcg != Dcg::Log2 || !self.gains.is_empty()
    }
}

/// Whether the text is the second of two, not the first.
fn second(text: &str, [first, second]: [&str; 2]) -> Option<bool> {
    if text == second { Some(true) } else { (text == first).then_some(false) }
}

/// A number above 0.
fn positive(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite())
}

/// Grades and gains from their texts; `None` if one is not a number or a grade occurs twice.
fn gains(pairs: &[(String, String)]) -> Option<Vec<(u32, f64)>> {
    let mut gains = Vec::with_capacity(pairs.len());
    for (grade, gain) in pairs {
        let gain: f64 = gain.parse().ok()?;
        gains.push((grade.parse::<u32>().ok()?, gain.is_finite().then_some(gain)?));
    }
    gains.sort_unstable_by_key(|(grade, _)| *grade);
    gains.windows(2).all(|pair| pair[0].0 < pair[1].0).then_some(gains)
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut named = Vec::new();
        if self.dcg == Dcg::ExpLog2 {
            named.push("dcg='exp-log2'".to_owned());
        }
        if !self.gains.is_empty() {
            let pairs: Vec<_> = self.gains.iter().map(|(grade, gain)| format!("{grade}:{gain}")).collect();
            named.push(format!("gains={{{}}}", pairs.join(",")));
        }
        if let Some(beta) = self.beta {
            named.push(format!("beta={beta:?}"));
        }
        if let Some(p) = self.persistence {
            named.push(format!("p={p:?}"));
        }
        if let Some(target) = self.target {
            named.push(format!("T={target:?}"));
        }
        let grades = [("min_rel", self.min_rel), ("max_rel", self.max_rel), ("rel", self.rel)];
        named.extend(grades.iter().filter_map(|(name, grade)| Some(format!("{name}={}", (*grade)?))));
        if let Some(normalize) = self.normalize {
            named.push(format!("normalize={}", if normalize { "True" } else { "False" }));
        }
        if self.relative {
            named.push("relative=True".to_owned());
        }
        let flags = [
            (self.judged_only, "judged_only=True"),
            (self.micro, "micro=True"),
            (self.skip_missing, "missing='skip'"),
            (self.average_ties, "ties='average'"),
        ];
        named.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, text)| (*text).to_owned()));
        if !named.is_empty() {
            write!(f, "({})", named.join(","))?;
        }
        if let Some(cutoff) = self.cutoff {
            write!(f, "@{cutoff}")?;
        }
        if let Some(at) = self.recall.or(self.multiple) {
            write!(f, "@{at:?}")?;
        }
        Ok(())
    }
}
