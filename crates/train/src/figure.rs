//! The figure of a run: loss, learning rate, norm of the gradient and measures by step.

use toller_plot::{Axis, Curve, Curves, Figure, Panel, Style};

use crate::TrainError;
use crate::dev::Evaluation;
use crate::trainer::StepReport;

/// Points of a curve, at most: a point is the mean of consecutive steps.
const POINTS: usize = 300;

/// An SVG document, or `None` before the first step.
pub(crate) fn figure(
    title: &str,
    steps: &[StepReport],
    evaluations: &[Evaluation],
) -> Result<Option<String>, TrainError> {
    if steps.is_empty() {
        return Ok(None);
    }
    let panel = |name: &str, value: fn(&StepReport) -> f64| {
        let curve = Curve { name: name.to_owned(), points: means(steps, value), style: Style::Line };
        Panel { title: name.to_owned(), content: curves(Axis::linear(name), vec![curve]).into() }
    };
    let mut panels = vec![
        panel("loss", |step| step.loss),
        panel("learning rate", |step| step.rate),
        panel("norm of the gradient", |step| step.norm),
    ];
    if let Some(first) = evaluations.first() {
        let curve = |name: &String| Curve {
            name: name.clone(),
            points: evaluations.iter().map(|e| (e.step as f64, e.measures[name])).collect(),
            style: Style::Measured,
        };
        let measured = curves(Axis::fitted("measure"), first.measures.keys().map(curve).collect());
        panels.push(Panel { title: "dev set".to_owned(), content: measured.into() });
    }
    let (last, tokens) = (&steps[steps.len() - 1], steps.iter().map(|step| step.tokens).sum::<usize>());
    let subtitle = format!("step {} of {}, epoch {:.2}, {tokens} tokens", last.step, last.total, last.epoch);
    Ok(Some(Figure { title: title.to_owned(), subtitle, panels }.to_svg()?))
}

fn curves(y: Axis, curves: Vec<Curve>) -> Curves {
    Curves { x: Axis::linear("step"), y, curves }
}

/// The curve of a value, in at most [`POINTS`] points.
fn means(steps: &[StepReport], value: fn(&StepReport) -> f64) -> Vec<(f64, f64)> {
    let mean = |steps: &[StepReport], value: &dyn Fn(&StepReport) -> f64| {
        steps.iter().map(value).sum::<f64>() / steps.len() as f64
    };
    let size = steps.len().div_ceil(POINTS).max(1);
    steps.chunks(size).map(|steps| (mean(steps, &|step| step.step as f64), mean(steps, &value))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use super::{POINTS, figure, means};
    use crate::dev::Evaluation;
    use crate::trainer::StepReport;

    fn steps(count: u64) -> Vec<StepReport> {
        let step = |step| StepReport {
            step,
            total: count,
            epoch: 1.0,
            loss: step as f64,
            rate: 1e-5,
            norm: 1.0,
            tokens: 10,
            seconds: 0.1,
        };
        (1..=count).map(step).collect()
    }

    #[test]
    fn long_runs_have_few_points() {
        let points = means(&steps(1000), |step| step.loss);
        assert_eq!((points.len(), points[0]), (250, (2.5, 2.5)));
        assert!(means(&steps(90_001), |step| step.loss).len() <= POINTS);
    }

    #[test]
    fn measures_are_a_panel() {
        let measures = BTreeMap::from([("nDCG@10".to_owned(), 0.5)]);
        let evaluations = [Evaluation { step: 0, measures, seconds: 1.0 }];
        let with = figure("run", &steps(3), &evaluations).unwrap().unwrap();
        assert!(with.contains("nDCG@10") && with.contains("learning rate"));
        assert!(!figure("run", &steps(3), &[]).unwrap().unwrap().contains("dev set"));
        assert_eq!(figure("run", &[], &evaluations).unwrap(), None);
    }
}
