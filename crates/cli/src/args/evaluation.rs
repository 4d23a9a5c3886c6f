//! The flags of evaluation, and evaluating runs.

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroUsize;

use toller_corpus::RunFormat;
use toller_eval::{EvalOptions, Evaluation, Measure, MissingQueries, RunReport, evaluate, parse_measures};
use toller_ir::{Qrels, Run, counted, is_relevant};

use super::filter::RemoveQueryArgs;
use super::id_lines::pairs;
use super::measures::{MeasureList, of_all};
use super::paths::{InputPath, Inputs};
use super::qrels::QrelsSetsArgs;
use super::result::ResultArgs;
use super::runs::{RunInputArgs, run_names, warn_of_none_judged};
use crate::error::{Context, Remedied, UsageError};
use crate::ui::Ui;

/// Flags of the commands that evaluate runs.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluationArgs {
    #[command(flatten)]
    qrels: QrelsSetsArgs,

    /// Runs (TREC, MS MARCO, Tevatron, DPR, DuReader, JSON or Parquet); `-` is stdin
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<InputPath>,

    /// Measures, separated by blanks or commas
    #[arg(long, short, alias = "measure", value_name = "LIST", default_value = "nDCG@10 RR@10 AP R@100")]
    measures: Vec<MeasureList>,

    /// Leave out judged queries without results (default: they count as zero)
    #[arg(long)]
    skip_missing: bool,

    /// The lowest grade that is relevant, for measures that do not name their own
    #[arg(long, short = 'l', value_name = "GRADE", default_value_t = 1)]
    relevance_level: u32,

    /// Evaluate only the first N documents of each query
    #[arg(long, short = 'M', value_name = "N")]
    depth: Option<NonZeroUsize>,

    /// Measure groups of queries too: each line has a query's identifier and the name of its group
    #[arg(long, value_name = "FILE")]
    groups: Option<InputPath>,

    #[command(flatten)]
    input: RunInputArgs,

    #[command(flatten)]
    own: RemoveQueryArgs,

    #[command(flatten)]
    pub result: ResultArgs,
}

impl EvaluationArgs {
    /// Reads the runs and judgments and evaluates every run by every set of judgments.
    pub fn evaluate(&self, ui: &Ui) -> crate::Result<Vec<RunReport>> {
        Inputs::files(self.runs.iter().chain(&self.qrels.qrels).chain(&self.groups)).check()?;
        check_runs(&self.runs)?;
        let measures = of_all(&self.measures);
        let all_qrels = self.qrels.read(self.input.skip_bad_lines(), ui)?;
        for (qrels, path) in all_qrels.iter().zip(&self.qrels.qrels) {
            self.check_grades(qrels, path, &measures, ui);
        }
        let groups = self.groups.as_ref().map(read_groups).transpose()?;
        let mut reports = Vec::with_capacity(self.runs.len() * all_qrels.len());
        let named = self.runs.iter().zip(run_names(&self.runs));
        for ((path, name), read) in named.zip(self.input.read_ahead(&self.runs, ui)) {
            let (mut run, format) = read?;
            if self.own.remove_query {
                run.remove_queries();
            }
            if format == RunFormat::DuReader {
                check_texts_are_judged(path, &run, &all_qrels)?;
            }
            for (qrels, qrels_name) in all_qrels.iter().zip(run_names(&self.qrels.qrels)) {
                let by = if all_qrels.len() > 1 { format!(" by {qrels_name}") } else { String::new() };
                let evaluation = evaluate(qrels, &run, &measures, &self.eval_options())
                    .context(format!("cannot evaluate {}{by}", path.input()))?;
                self.report_queries(path, qrels, &evaluation, ui);
                warn_of_none_judged(&path.input().to_string(), &run, qrels, ui);
                let mut report = RunReport::new(name.clone(), evaluation);
                report.qrels = (all_qrels.len() > 1).then_some(qrels_name);
                if let Some(groups) = &groups {
                    report.groups = grouped(&report.evaluation, groups);
                }
                reports.push(report);
            }
        }
        if let (Some(groups), Some(first)) = (&groups, reports.first()) {
            check_grouped(&evaluated(&first.evaluation), groups, ui)?;
        }
        Ok(reports)
    }

    /// Refuses several sets of judgments, by which runs are not compared.
    pub fn check_one_qrels(&self) -> Result<(), UsageError> {
        if self.qrels.qrels.len() > 1 {
            let message = "--significance compares runs by one set of judgments, but there are several";
            return Err(UsageError::new(message, "name one --qrels"));
        }
        Ok(())
    }

    /// Refuses groups, which have no place in a sheet of comparisons.
    pub fn check_no_groups(&self) -> Result<(), UsageError> {
        if self.groups.is_some() {
            let message = "--groups has no effect on the CSV of comparisons";
            return Err(UsageError::new(message, "leave it out, or use --format table, or `toller eval`"));
        }
        Ok(())
    }

    fn eval_options(&self) -> EvalOptions {
        let missing = if self.skip_missing { MissingQueries::Skip } else { MissingQueries::CountAsZero };
        EvalOptions { missing, relevance_level: self.relevance_level, depth: self.depth }
    }

    /// Warns of measures to which nothing is relevant.
    fn check_grades(&self, qrels: &Qrels, path: &InputPath, measures: &[Measure], ui: &Ui) {
        let highest = qrels.iter().flat_map(|(_, judged)| judged.values().copied()).max().unwrap_or(0);
        let levels = measures.iter().filter_map(|measure| measure.relevance_level(self.relevance_level));
        if let Some(level) = levels.filter(|level| !is_relevant(highest, *level)).min() {
            ui.warning(format!(
                "{}: the highest grade is {highest}, so nothing is relevant from grade {level} on",
                path.input()
            ));
        }
    }

    /// Reports missing and unjudged queries.
    fn report_queries(&self, path: &InputPath, qrels: &Qrels, evaluation: &Evaluation, ui: &Ui) {
        let input = path.input();
        if evaluation.missing > 0 {
            let counted = if self.skip_missing { "are left out" } else { "count as zero" };
            let (missing, judged) = (evaluation.missing, qrels.len());
            ui.warning(format!(
                "{input}: {missing} of {judged} judged queries have no results and {counted}"
            ));
        }
        if evaluation.unjudged > 0 {
            ui.status(format!(
                "{input}: ignored {} without judgments",
                counted(evaluation.unjudged, "query")
            ));
        }
    }
}

/// Refuses a run in DuReader's own format, whose queries are texts, if the judgments have identifiers.
fn check_texts_are_judged(path: &InputPath, run: &Run, all_qrels: &[Qrels]) -> Result<(), Remedied> {
    if all_qrels.iter().any(|qrels| run.queries.keys().any(|query| qrels.query(query).is_some())) {
        return Ok(());
    }
    let path = path.display();
    let remedy = format!(
        "evaluate the prediction.json of: toller data dureader predict {path} --queries QUESTIONS --ids MAP"
    );
    Err(Remedied::new(format!("{path}: its queries are texts, and those of the judgments are not"), remedy))
}

/// Refuses a measure that was taken for a run, since an option takes one value.
pub fn check_runs(paths: &[InputPath]) -> Result<(), UsageError> {
    let is_measure =
        |path: &&InputPath| !path.exists() && path.to_str().is_some_and(|name| parse_measures(name).is_ok());
    match paths.iter().find(is_measure) {
        None => Ok(()),
        Some(path) => Err(UsageError::new(
            format!("there is no run {}, which is the name of a measure", path.display()),
            "put several measures in one pair of quotes, as in -m \"AP nDCG@10\"",
        )),
    }
}

/// The groups by name, each with its queries, in the order of the names.
pub type Groups = BTreeMap<String, HashSet<String>>;

/// Reads the groups of queries.
pub fn read_groups(file: &InputPath) -> crate::Result<Groups> {
    let mut groups = Groups::new();
    for (query, group) in pairs(file, "a query's identifier and the name of its group")? {
        groups.entry(group).or_default().insert(query);
    }
    if groups.is_empty() {
        let message = format!("{} holds no group", file.display());
        return Err(Remedied::new(message, "write a query's identifier and its group on each line").into());
    }
    check_group_names(&groups).context(file.display())?;
    Ok(groups)
}

/// Refuses groups that are called as the rows of the means are.
pub fn check_group_names(groups: &Groups) -> Result<(), Remedied> {
    match ["all", "macro"].into_iter().find(|name| groups.contains_key(*name)) {
        None => Ok(()),
        Some(name) => Err(Remedied::new(
            format!("a group is called '{name}', as a mean over the queries or groups is"),
            "give the group another name",
        )),
    }
}

/// The groups that have evaluated queries.
pub fn grouped(evaluation: &Evaluation, groups: &Groups) -> Vec<(String, Evaluation)> {
    let of_group = |(name, queries): (&String, &HashSet<String>)| {
        Some((name.clone(), evaluation.restricted_to(queries.iter().map(String::as_str))?))
    };
    groups.iter().filter_map(of_group).collect()
}

/// The identifiers of the evaluated queries.
pub fn evaluated(evaluation: &Evaluation) -> Vec<&str> {
    evaluation.per_query.iter().map(|query| query.query_id.as_str()).collect()
}

/// Refuses groups without any evaluated query. Reports evaluated queries that are in no group, and groups
/// without an evaluated query.
pub fn check_grouped(evaluated: &[&str], groups: &Groups, ui: &Ui) -> Result<(), Remedied> {
    let grouped: HashSet<&str> = groups.values().flatten().map(String::as_str).collect();
    let (all, without) =
        (evaluated.len(), evaluated.iter().filter(|query| !grouped.contains(**query)).count());
    if without == all {
        let example = evaluated.first().copied().unwrap_or_default();
        let message = format!("no query of --groups is evaluated; one that is evaluated is {example:?}");
        return Err(Remedied::new(message, "write the identifiers as the judgments do"));
    }
    if without > 0 {
        ui.warning(format!(
            "{without} of {all} evaluated queries are in no group and count only under 'all'"
        ));
    }
    let evaluated: HashSet<&str> = evaluated.iter().copied().collect();
    let is_empty =
        |queries: &HashSet<String>| !queries.iter().any(|query| evaluated.contains(query.as_str()));
    let mut empty = groups.iter().filter(|(_, queries)| is_empty(queries)).map(|(name, _)| name);
    if let Some(first) = empty.next() {
        let (count, all) = (1 + empty.count(), groups.len());
        ui.warning(format!(
            "{count} of {all} groups have no evaluated query and do not count in 'macro', for example {first:?}"
        ));
    }
    Ok(())
}
