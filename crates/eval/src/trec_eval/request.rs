//! From trec_eval's arguments to the lines of its output.

use super::TrecEvalError;
use super::arguments::{Arguments, JudgmentFormat};
use super::preference_measures::PreferenceMeasure;
use super::table::{Entry, Kind, Of, TABLE, nickname};
use crate::error::MeasureError;
use crate::measure::Measure;

/// What a line prints.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// The name of the run.
    RunId,
    /// The grades of this many documents.
    RelString(usize),
    /// A measure.
    Measure(Measure),
    /// A measure, averaged over the groups of judges.
    OfGroups(Measure),
    /// A measure of preferences.
    OfPreferences(PreferenceMeasure),
    /// Interpolated precision, averaged over these levels of recall.
    IPrecAverage(Vec<f64>),
    /// The worth of relevant and other documents that were retrieved and that were not.
    Utility([f64; 4]),
}

/// A line of the output, for each query and over all.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) label: String,
    pub(super) kind: Kind,
    pub(super) what: What,
}

/// The lines that trec_eval's arguments ask for.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) lines: Vec<Line>,
}

impl Request {
    /// The lines, in trec_eval's order. Without a measure it is `official`.
    ///
    /// # Errors
    /// If trec_eval has no such measure, or not with these judgments or parameters.
    pub fn new(arguments: &Arguments) -> Result<Self, TrecEvalError> {
        let official = [("official".to_owned(), None)];
        let asked = if arguments.measures.is_empty() { &official[..] } else { &arguments.measures };
        let mut marked: Vec<&str> = Vec::new();
        for (name, _) in asked {
            match nickname(name) {
                Some(names) => marked.extend(names),
                None if TABLE.iter().any(|entry| entry.name == name) => marked.push(name),
                None => {
                    let reason =
                        "it is a measure of trec_eval, or official, set, all_trec, qrels_jg, prefs or \
                                  all_prefs"
                            .to_owned();
                    return Err(TrecEvalError::Measure { name: name.clone(), reason });
                }
            }
        }
        let mut lines = Vec::new();
        for entry in TABLE.iter().filter(|entry| marked.contains(&entry.name)) {
            check_judgments(entry, arguments.format)?;
            // Of several parameters of one measure, the first count.
            let given = asked.iter().find(|(name, parameters)| name == entry.name && parameters.is_some());
            let parameters = given.and_then(|(_, parameters)| parameters.as_deref());
            let found = lines_of(entry, parameters)
                .map_err(|source| TrecEvalError::Parameter { name: entry.name.to_owned(), source })?;
            lines.extend(found);
        }
        Ok(Self { lines })
    }
}

fn check_judgments(entry: &Entry, format: JudgmentFormat) -> Result<(), TrecEvalError> {
    let any = matches!(entry.kind, Kind::RunId | Kind::NumQ);
    let given = match format {
        JudgmentFormat::Qrels => Of::Grades,
        JudgmentFormat::QrelsGroups => Of::Groups,
        JudgmentFormat::Preferences | JudgmentFormat::QrelsPreferences => Of::Preferences,
    };
    if any || entry.of == given {
        return Ok(());
    }
    let reason = match entry.of {
        Of::Grades => "leave out -R",
        Of::Groups => "give -R qrels_jg",
        Of::Preferences => "give -R prefs or -R qrels_prefs",
    };
    Err(TrecEvalError::Measure { name: entry.name.to_owned(), reason: reason.to_owned() })
}

fn lines_of(entry: &Entry, parameters: Option<&str>) -> Result<Vec<Line>, MeasureError> {
    let line = |label: String, what| Line { label, kind: entry.kind, what };
    let labelled = || match parameters {
        Some(parameters) => format!("{}_{parameters}", entry.name),
        None => entry.name.to_owned(),
    };
    let measure = |text: &str| -> Result<What, MeasureError> {
        let measure = text.parse()?;
        Ok(if entry.of == Of::Groups { What::OfGroups(measure) } else { What::Measure(measure) })
    };
    let of_texts = |at: Vec<(String, String)>| -> Result<Vec<Line>, MeasureError> {
        let one = |(suffix, at): (String, String)| {
            Ok(line(format!("{}_{suffix}", entry.name), measure(&format!("{}{at}", entry.notation))?))
        };
        at.into_iter().map(one).collect()
    };
    if let Some(measure) = PreferenceMeasure::named(entry.name) {
        return Ok(vec![line(entry.name.to_owned(), What::OfPreferences(measure))]);
    }
    match entry.kind {
        Kind::RunId => Ok(vec![line("runid".to_owned(), What::RunId)]),
        Kind::RelString => {
            let length = match parameters {
                Some(text) => whole_numbers(entry, text)?.first().map_or(0, |length| *length as usize),
                None => 10,
            };
            Ok(vec![line(labelled(), What::RelString(length))])
        }
        Kind::Cutoffs(default) => {
            let mut cutoffs = match parameters {
                Some(text) => whole_numbers(entry, text)?,
                None => default.to_vec(),
            };
            cutoffs.sort_unstable();
            check_distinct(entry, parameters, cutoffs.windows(2).any(|pair| pair[0] == pair[1]))?;
            of_texts(cutoffs.iter().map(|cutoff| (cutoff.to_string(), cutoff.to_string())).collect())
        }
        Kind::Shares(default) => {
            let mut shares = match parameters {
                Some(text) => numbers(entry, text)?,
                None => default.to_vec(),
            };
            shares.sort_unstable_by(f64::total_cmp);
            check_distinct(entry, parameters, shares.windows(2).any(|pair| pair[0] == pair[1]))?;
            of_texts(shares.iter().map(|share| (format!("{share:.2}"), format!("{share:?}"))).collect())
        }
        Kind::Numbers => {
            let values = parameters.map(|text| numbers(entry, text)).transpose()?;
            let what = match (entry.name, values) {
                ("utility", values) => {
                    let values = values.unwrap_or_else(|| vec![1.0, -1.0, 0.0, 0.0]);
                    let text = parameters.unwrap_or_default();
                    What::Utility(values.try_into().map_err(|_| bad_value(entry, text, "four numbers"))?)
                }
                ("set_F", Some(values)) => {
                    measure(&format!("SetF(beta={:?})", values.first().copied().unwrap_or(1.0)))?
                }
                ("11pt_avg", Some(values)) => What::IPrecAverage(values),
                _ => measure(entry.notation)?,
            };
            Ok(vec![line(labelled(), what)])
        }
        Kind::Pairs => {
            let text = match parameters {
                None => entry.notation.to_owned(),
                Some(text) => with_pairs(entry, text)?,
            };
            Ok(vec![line(labelled(), measure(&text)?)])
        }
        Kind::NumQ | Kind::Count | Kind::Plain | Kind::Geometric => {
            Ok(vec![line(entry.name.to_owned(), measure(entry.notation)?)])
        }
    }
}

/// The notation of a measure with `1=3,2=9` or `p=0.8`.
fn with_pairs(entry: &Entry, text: &str) -> Result<String, MeasureError> {
    let pairs = text.split(',').map(|pair| pair.split_once('='));
    let pairs: Vec<(&str, &str)> =
        pairs.collect::<Option<_>>().ok_or_else(|| bad_value(entry, text, "pairs such as 1=3,2=9"))?;
    if entry.name.starts_with("rbp") {
        let name = entry.notation.split('(').next().unwrap_or_default();
        let p = pairs.iter().find(|(key, _)| *key == "p").map_or("0.9", |(_, value)| value);
        return Ok(format!("{name}(p={p})"));
    }
    let gains: Vec<String> = pairs.iter().map(|(grade, gain)| format!("{grade}:{gain}")).collect();
    Ok(format!("{}(gains={{{}}})", entry.notation, gains.join(",")))
}

/// Whole numbers between commas. As with C's `atol`, only the digits at the start of a number count: `23.4`
/// is the cutoff 23, and `1e1` is 1.
fn whole_numbers(entry: &Entry, text: &str) -> Result<Vec<u32>, MeasureError> {
    numbers(entry, text)?;
    let whole = |text: &str| {
        let digits = text.strip_prefix('+').unwrap_or(text);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok()
    };
    let numbers: Option<Vec<u32>> = text.split(',').map(whole).collect();
    numbers.ok_or_else(|| bad_value(entry, text, "whole numbers from 0 to 4294967295"))
}

/// Numbers between commas.
fn numbers(entry: &Entry, text: &str) -> Result<Vec<f64>, MeasureError> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let numbers: Option<Vec<f64>> = text.split(',').map(number).collect();
    numbers.ok_or_else(|| bad_value(entry, text, "numbers between commas"))
}

fn check_distinct(entry: &Entry, parameters: Option<&str>, repeated: bool) -> Result<(), MeasureError> {
    match repeated {
        true => Err(bad_value(entry, parameters.unwrap_or_default(), "numbers that differ")),
        false => Ok(()),
    }
}

fn bad_value(entry: &Entry, value: &str, expected: &'static str) -> MeasureError {
    let text = format!("{}.{value}", entry.name);
    MeasureError::BadValue { text, parameter: "parameter", value: value.to_owned(), expected }
}
