//! What trec_eval prints.

use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;

use indexmap::IndexMap;
use toller_ir::{Qrels, Run, RunEntry};

use super::TrecEvalError;
use super::arguments::Arguments;
use super::groups::JudgmentGroups;
use super::preferences::{self, Preferences, RankedPreferences};
use super::request::{Line, Request, What};
use super::table::Kind;
use super::z_scores::ZScores;
use crate::error::EvalError;
use crate::evaluate::{bad_ranking, check_gains};
use crate::graded::ranked_documents;
use crate::measures::interpolated::average_at;
use crate::ranking::{JudgedRanking, Judgment};

/// The judgments in one of the formats of `-R`.
#[derive(Clone, Copy, Debug)]
pub enum Judgments<'a> {
    /// One grade for each query and document.
    Qrels(&'a Qrels),
    /// Several groups of judges.
    Groups(&'a JudgmentGroups),
    /// Groups of judges that prefer documents to others.
    Preferences(&'a Preferences),
}

/// Prints to `out` what trec_eval prints.
///
/// # Errors
/// If the run has no results for a judged query and the arguments are without `-c`, if it lists a document
/// twice for a query, or if `out` fails.
pub fn write(
    arguments: &Arguments,
    request: &Request,
    judgments: Judgments<'_>,
    run: &Run,
    z_scores: Option<&ZScores>,
    out: &mut impl Write,
) -> Result<(), TrecEvalError> {
    let evaluator = Evaluator { arguments, request, run, z_scores };
    let queries = queries(judgments);
    if queries.is_empty() {
        return Err(EvalError::EmptyQrels.into());
    }
    let mut sums = vec![0.0; request.lines.len()];
    for (query_id, judgments) in &queries {
        let values = evaluator.query(query_id, judgments)?;
        for ((line, value), sum) in request.lines.iter().zip(&values).zip(&mut sums) {
            *sum += match line.kind {
                Kind::Geometric => value.number.max(0.000_01).ln(),
                _ => value.number,
            };
            if arguments.per_query {
                evaluator.print_query(line, query_id, value, out)?;
            }
        }
    }
    for (line, sum) in request.lines.iter().zip(sums).filter(|_| !arguments.no_summary) {
        evaluator.print_summary(line, sum, &queries, out)?;
    }
    Ok(())
}

/// The judgments of a query.
enum QueryJudgments<'a> {
    /// The grades of each group of judges; one group in plain qrels.
    Grades(Vec<&'a IndexMap<String, i32>>),
    Preferences(&'a preferences::Groups),
}

/// A query's ranking as its judgments see it.
enum Ranked {
    /// By each group of judges.
    Grades(Vec<JudgedRanking>),
    Preferences(RankedPreferences),
}

/// The judged queries in the order of their bytes.
fn queries(judgments: Judgments<'_>) -> BTreeMap<&str, QueryJudgments<'_>> {
    use QueryJudgments as Of;
    match judgments {
        Judgments::Qrels(qrels) => {
            qrels.iter().map(|(query, grades)| (query, Of::Grades(vec![grades]))).collect()
        }
        Judgments::Groups(groups) => {
            let queries = groups.queries.iter();
            queries.map(|(query, groups)| (query.as_str(), Of::Grades(groups.values().collect()))).collect()
        }
        Judgments::Preferences(preferences) => {
            let queries = preferences.queries.iter();
            queries.map(|(query, groups)| (query.as_str(), Of::Preferences(groups))).collect()
        }
    }
}

/// A line's value on a query.
struct Value {
    number: f64,
    /// Of `relstring`.
    text: String,
}

struct Evaluator<'a> {
    arguments: &'a Arguments,
    request: &'a Request,
    run: &'a Run,
    z_scores: Option<&'a ZScores>,
}

impl Evaluator<'_> {
    fn level(&self) -> u32 {
        self.arguments.level.unwrap_or(1)
    }

    fn query(&self, query_id: &str, judgments: &QueryJudgments<'_>) -> Result<Vec<Value>, TrecEvalError> {
        let entries = self.run.queries.get(query_id);
        if entries.is_none() && !self.arguments.complete {
            return Err(TrecEvalError::MissingQuery { query_id: query_id.to_owned() });
        }
        let entries = entries.map(Vec::as_slice);
        let ranked = match judgments {
            QueryJudgments::Grades(groups) => {
                let rankings = groups.iter().map(|grades| self.ranking(query_id, grades, entries));
                Ranked::Grades(rankings.collect::<Result<Vec<_>, _>>()?)
            }
            QueryJudgments::Preferences(groups) => {
                let depth = self.arguments.depth.map_or(usize::MAX, NonZeroUsize::get);
                let entries = entries.unwrap_or_default();
                // Refuses what no ranking may have.
                ranked_documents(query_id, entries)?;
                Ranked::Preferences(RankedPreferences::new(query_id, groups, entries, depth)?)
            }
        };
        let mut values = Vec::with_capacity(self.request.lines.len());
        for line in &self.request.lines {
            let mut value = self.value(line, &ranked);
            // trec_eval puts one unjudged document in the place of a missing ranking, and takes back what
            // that changes.
            if entries.is_none()
                && (["num_ret", "utility", "rbp_resid"].contains(&&*line.label)
                    || line.label.starts_with("unj"))
            {
                value = 0.0;
            }
            if let Some(z_scores) = self.z_scores {
                value = z_scores.convert(query_id, &line.label, value);
            }
            let text = match &line.what {
                // What is taken back goes by the name without parameters.
                What::RelString(_) if entries.is_none() && line.label == "relstring" => String::new(),
                What::RelString(length) => relevance_string(&ranked, *length),
                _ => String::new(),
            };
            values.push(Value { number: value, text });
        }
        Ok(values)
    }

    fn ranking(
        &self,
        query_id: &str,
        grades: &IndexMap<String, i32>,
        entries: Option<&[RunEntry]>,
    ) -> Result<JudgedRanking, TrecEvalError> {
        let ranking = match entries {
            Some(entries) => {
                let depth = self.arguments.depth.map(NonZeroUsize::get);
                JudgedRanking::new(grades, entries, depth).map_err(|bad| bad_ranking(query_id, bad))?
            }
            None => JudgedRanking::of_judgments(vec![Judgment::Absent], grades),
        };
        for line in &self.request.lines {
            if let What::Measure(measure) = &line.what {
                check_gains(query_id, &ranking, std::slice::from_ref(measure))?;
            }
        }
        Ok(if self.arguments.judged_only { ranking.judged_only() } else { ranking })
    }

    fn value(&self, line: &Line, ranked: &Ranked) -> f64 {
        let level = self.level();
        let rankings = match (ranked, &line.what) {
            (Ranked::Preferences(preferences), What::OfPreferences(measure)) => {
                return measure.compute(preferences);
            }
            (Ranked::Preferences(_), _) => return 0.0,
            (Ranked::Grades(rankings), _) => rankings,
        };
        let Some(ranking) = rankings.first() else { return 0.0 };
        // trec_eval divides by the number of documents retrieved before it looks whether there is one.
        let nothing = ranking.retrieved() == 0;
        match &line.what {
            What::RunId | What::RelString(_) | What::OfPreferences(_) => 0.0,
            What::Measure(_) if nothing && self.is_interpolated(line, ranking) => f64::NAN,
            What::Measure(measure) => measure.compute(ranking, level),
            What::OfGroups(measure) => {
                let values = rankings.iter().map(|ranking| measure.compute(ranking, level));
                values.fold(0.0, |sum, value| sum + value) / rankings.len() as f64
            }
            What::IPrecAverage(recalls) => average_at(ranking, recalls, level),
            What::Utility(worth) => {
                let [found, other, missed, elsewhere] = worth;
                let relevant = ranking.relevant(level) as f64;
                let (retrieved, both) =
                    (ranking.retrieved() as f64, ranking.relevant_in_top(None, level) as f64);
                let collection = self.arguments.collection as f64;
                found * both
                    + other * (retrieved - both)
                    + missed * (relevant - both)
                    + elsewhere * (collection + both - retrieved - relevant)
            }
        }
    }

    /// Whether the line interpolates precision at a number of relevant documents that nothing reaches.
    fn is_interpolated(&self, line: &Line, ranking: &JudgedRanking) -> bool {
        let What::Measure(measure) = &line.what else { return false };
        match (line.kind, measure.parameters.recall) {
            (Kind::Shares(_), Some(recall)) => {
                (recall * ranking.relevant(self.level()) as f64).round() == 0.0
            }
            _ => line.label == "11pt_avg",
        }
    }

    fn print_query(
        &self,
        line: &Line,
        query_id: &str,
        value: &Value,
        out: &mut impl Write,
    ) -> Result<(), TrecEvalError> {
        match line.kind {
            Kind::RunId | Kind::NumQ | Kind::Geometric => Ok(()),
            Kind::RelString => Ok(writeln!(out, "{:<22}\t{query_id}\t'{}'", line.label, value.text)?),
            _ => self.print(line, query_id, value.number, out),
        }
    }

    fn print_summary(
        &self,
        line: &Line,
        sum: f64,
        queries: &BTreeMap<&str, QueryJudgments<'_>>,
        out: &mut impl Write,
    ) -> Result<(), TrecEvalError> {
        let count = queries.len() as f64;
        let value = match line.kind {
            Kind::RelString => return Ok(()),
            Kind::RunId => return Ok(writeln!(out, "{:<22}\tall\t{}", "runid", self.run.tag)?),
            Kind::NumQ => count,
            // With -c, trec_eval counts what is relevant at grade 1, whatever -l says.
            Kind::Count if line.label == "num_rel" && self.arguments.complete => {
                let groups = queries.values().flat_map(|judgments| match judgments {
                    QueryJudgments::Grades(groups) => groups.as_slice(),
                    QueryJudgments::Preferences(_) => &[],
                });
                groups.flat_map(|grades| grades.values()).filter(|grade| **grade > 0).count() as f64
            }
            Kind::Count => sum,
            Kind::Geometric => (sum / count).exp(),
            _ => sum / count,
        };
        self.print(line, "all", value, out)
    }

    fn print(
        &self,
        line: &Line,
        query_id: &str,
        value: f64,
        out: &mut impl Write,
    ) -> Result<(), TrecEvalError> {
        let count = matches!(line.kind, Kind::NumQ | Kind::Count);
        let (prefix, label) = (if self.z_scores.is_some() { "Z" } else { "" }, &line.label);
        match (count, prefix) {
            // Counts are whole numbers far below 2^53.
            (true, "") => writeln!(out, "{label:<22}\t{query_id}\t{}", value as i64)?,
            _ if value.is_nan() => writeln!(out, "{prefix}{label:<22}\t{query_id}\t{:>6}", "-nan")?,
            _ => writeln!(out, "{prefix}{label:<22}\t{query_id}\t{value:6.4}")?,
        }
        Ok(())
    }
}

/// The grades of the first documents: a digit, `>` above 9, `.` for a negative one, `-` without a judgment.
fn relevance_string(ranked: &Ranked, length: usize) -> String {
    let Ranked::Grades(rankings) = ranked else { return String::new() };
    let judgments = rankings.first().map_or(&[][..], |ranking| &ranking.judgments);
    judgments
        .iter()
        .take(length)
        .map(|judgment| match judgment {
            Judgment::Grade(grade) => char::from_digit(*grade, 10).unwrap_or('>'),
            Judgment::Negative => '.',
            Judgment::Absent => '-',
        })
        .collect()
}
