//! Makes a report from runs that come one after the other: only the baseline and one more run are in memory.

use rayon::prelude::*;
use toller_eval::Evaluation;
use toller_ir::{Qrels, Run};

use super::run::{DEPTHS, Measured, Plan};
use super::{
    DepthCurves, Difficulty, Estimate, Groups, MeasureName, Pairs, RankHistogram, Report, RunSummary, names,
};
use crate::contrast::{Choice, Contrast, ContrastOptions};
use crate::error::ReportError;
use crate::options::ReportOptions;

/// Takes the runs of a report.
#[derive(Debug)]
pub struct Analyst<'a> {
    qrels: &'a Qrels,
    options: ReportOptions,
    plan: Plan,
    baseline: Run,
    runs: Vec<Measured>,
    contrasts: Vec<Contrast>,
}

impl<'a> Analyst<'a> {
    /// Starts with the baseline, which is called `name`.
    ///
    /// # Errors
    /// If there is no measure, or the first one is not a mean; or if the run cannot be evaluated.
    pub fn new(
        qrels: &'a Qrels,
        options: ReportOptions,
        name: String,
        baseline: Run,
    ) -> Result<Self, ReportError> {
        let main = options.measures.first().ok_or(ReportError::NoMeasure)?;
        if !main.is_mean() {
            return Err(ReportError::NoMean { measure: main.to_string() });
        }
        if qrels.len() < 2 {
            return Err(ReportError::TooFewQueries { queries: qrels.len() });
        }
        let plan = Plan::new(&options.measures, options.eval());
        let measured = plan.measure(name.clone(), qrels, &baseline).map_err(ReportError::of_run(&name))?;
        Ok(Self { qrels, options, plan, baseline, runs: vec![measured], contrasts: Vec::new() })
    }

    /// Adds a run.
    ///
    /// # Errors
    /// If it cannot be evaluated.
    pub fn add(&mut self, name: String, run: &Run) -> Result<(), ReportError> {
        let measured =
            self.plan.measure(name.clone(), self.qrels, run).map_err(ReportError::of_run(&name))?;
        if let (Some(baseline), Some(measure)) = (self.runs.first(), self.plan.measures.first()) {
            let options = ContrastOptions {
                measure: measure.clone(),
                choice: Choice::Ends,
                limit: self.options.queries,
                documents: self.options.documents,
                eval: self.plan.eval,
            };
            let names = [baseline.name.clone(), name.clone()];
            let evaluations = [&baseline.evaluation, &measured.evaluation];
            let runs = [&self.baseline, run];
            let contrast = Contrast::of_evaluations(self.qrels, names, runs, evaluations, &options)?;
            self.contrasts.push(contrast);
        }
        self.runs.push(measured);
        Ok(())
    }

    /// The report.
    ///
    /// # Errors
    /// If a comparison is impossible.
    pub fn finish(self) -> Result<Report, ReportError> {
        let Self { options, plan, runs, mut contrasts, .. } = self;
        let files: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
        let short = names::short(&files);
        for (contrast, at) in contrasts.iter_mut().zip(1..) {
            contrast.names = [short[0].clone(), short[at].clone()];
        }
        let queries: Vec<String> = runs
            .iter()
            .take(1)
            .flat_map(|run| &run.evaluation.per_query)
            .map(|query| query.query_id.clone())
            .collect();
        let values: Vec<Vec<Vec<f64>>> =
            runs.iter().map(|run| by_measure(run, plan.measures.len())).collect();
        let main: Vec<&[f64]> = values.iter().filter_map(|run| run.first()).map(Vec::as_slice).collect();
        let evaluations: Vec<&Evaluation> = runs.iter().map(|run| &run.evaluation).collect();
        let pairs = Pairs::all(&evaluations, options.test)?;
        let estimates = |(run, values): (&Measured, &Vec<Vec<f64>>)| -> Vec<Estimate> {
            let of_measures = plan.measures.par_iter().zip(values).zip(&run.evaluation.aggregates);
            of_measures.map(|((measure, values), value)| Estimate::new(*value, values, measure)).collect()
        };
        let estimates: Vec<Vec<Estimate>> = runs.par_iter().zip(&values).map(estimates).collect();
        let summaries =
            runs.iter().zip(estimates).zip(short).zip(0..).map(|(((run, estimates), name), at)| RunSummary {
                file: run.name.clone(),
                name,
                letter: names::letter(at),
                missing: run.evaluation.missing,
                unjudged: run.evaluation.unjudged,
                estimates,
            });
        let measures = plan.measures.iter().map(|measure| MeasureName {
            name: measure.to_string(),
            summary: measure.summary(),
            is_mean: measure.is_mean(),
        });
        Ok(Report {
            title: options.title,
            judgments: options.judgments,
            relevance_level: options.relevance_level,
            test: options.test.name(),
            runs: summaries.collect(),
            measures: measures.collect(),
            pairs,
            curves: curves(&plan, &runs),
            precision_recall: runs.iter().map(|run| run.precision.clone()).collect(),
            ranks: RankHistogram::new(runs.iter().map(|run| run.first_ranks.as_slice())),
            groups: options.groups.as_ref().map(|groups| Groups::new(groups, &queries, &main)),
            difficulty: Difficulty::new(&main),
            queries,
            values,
            contrasts,
        })
    }
}

/// The values of the queries, `[measures][queries]`.
fn by_measure(run: &Measured, measures: usize) -> Vec<Vec<f64>> {
    let of =
        |at: usize| run.evaluation.per_query.iter().filter_map(move |query| query.values.get(at).copied());
    (0..measures).map(|at| of(at).collect()).collect()
}

/// The measures by cutoff, as deep as the longest ranking.
fn curves(plan: &Plan, runs: &[Measured]) -> Vec<DepthCurves> {
    let longest = runs.iter().map(|run| run.longest).max().unwrap_or(0);
    let deep = DEPTHS.iter().position(|depth| *depth >= longest).map_or(DEPTHS.len(), |last| last + 1);
    let curve = |(at, family): (usize, &String)| DepthCurves {
        measure: format!("{family}k"),
        depths: DEPTHS[..deep].to_vec(),
        values: runs.iter().map(|run| run.at_depths[at][..deep].to_vec()).collect(),
    };
    plan.families.iter().enumerate().map(curve).collect()
}
