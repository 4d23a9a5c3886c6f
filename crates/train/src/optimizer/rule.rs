//! AdamW and LAMB, with clipping by the global norm.

use rayon::prelude::*;
use toller_ir::named;

use crate::network::{Gradients, Parameter, Weights};

named! {
    /// How gradients change parameters.
    pub enum Rule: "an optimizer" {
        /// Adam with weight decay apart from the gradient (Loshchilov and Hutter 2019, algorithm 2).
        AdamW = "adamw",
        /// Adam's step scaled by the ratio of the norms of parameter and step, for each tensor (You et al.
        /// 2020, algorithm 2), without correction of the moments' bias, norms cut at 10: T2Ranking's.
        Lamb = "lamb",
    }
}

/// The settings of an optimizer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Optimizer {
    /// How gradients change parameters.
    pub rule: Rule,
    /// The decay of the moments.
    pub betas: [f64; 2],
    /// Is added to the root of the second moment.
    pub epsilon: f64,
    /// The weight decay of matrices; biases and norms have none.
    pub weight_decay: f64,
    /// The largest norm of the gradient of all parameters together; `None` for any.
    pub max_norm: Option<f64>,
}

impl Optimizer {
    /// The usual settings of a rule.
    #[must_use]
    pub fn new(rule: Rule) -> Self {
        let epsilon = if rule == Rule::AdamW { 1e-8 } else { 1e-6 };
        Self { rule, betas: [0.9, 0.999], epsilon, weight_decay: 0.0, max_norm: Some(1.0) }
    }
}

/// The running means of the gradient and of its square, for each parameter of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// Of the gradient.
    pub first: Vec<Vec<f32>>,
    /// Of its square.
    pub second: Vec<Vec<f32>>,
}

impl Moments {
    /// Zeros.
    #[must_use]
    pub fn zeros(weights: &Weights) -> Self {
        let zeros = Gradients::zeros(weights).values;
        Self { first: zeros.clone(), second: zeros }
    }
}

/// What is the same for all numbers of a step.
#[derive(Clone, Copy)]
struct Step {
    betas: [f32; 2],
    /// One minus the betas, rounded once.
    shares: [f32; 2],
    clip: f32,
    rate: f32,
    decay: f32,
    epsilon: f32,
    /// The root of the correction of the second moment's bias.
    second_correction: f32,
    first_correction: f64,
}

impl Optimizer {
    /// Changes the parameters of a network. `step` counts from 1; `norm` is the norm of all gradients.
    pub fn apply(
        &self,
        weights: &mut Weights,
        gradients: &Gradients,
        moments: &mut Moments,
        (step, rate, norm): (u64, f64, f64),
    ) {
        let [b1, b2] = self.betas;
        // As in PyTorch: min(1, max / (norm + 1e-6)).
        let clip = self.max_norm.map_or(1.0, |max| (max / (norm + 1e-6)).min(1.0));
        let exponent = i32::try_from(step).unwrap_or(i32::MAX);
        let plan = Step {
            betas: [b1 as f32, b2 as f32],
            shares: [(1.0 - b1) as f32, (1.0 - b2) as f32],
            clip: clip as f32,
            rate: rate as f32,
            decay: self.weight_decay as f32,
            epsilon: self.epsilon as f32,
            second_correction: (1.0 - b2.powi(exponent)).sqrt() as f32,
            first_correction: 1.0 - b1.powi(exponent),
        };
        weights.update(|parameters| {
            let moments = moments.first.par_iter_mut().zip(&mut moments.second);
            let rows = parameters.par_iter_mut().zip(&gradients.values).zip(moments);
            let trained = rows.filter(|((parameter, _), _)| !parameter.frozen);
            trained.for_each(|((parameter, gradient), (first, second))| match self.rule {
                Rule::AdamW => plan.adamw(parameter, gradient, first, second),
                Rule::Lamb => plan.lamb(parameter, gradient, first, second),
            });
        });
    }
}

/// The Euclidean norm of all gradients, in f64 and in one order.
#[must_use]
pub fn global_norm<'a>(gradients: impl IntoIterator<Item = &'a Gradients>) -> f64 {
    let squares = gradients.into_iter().map(|gradients| {
        let squares: Vec<f64> = gradients.values.par_iter().map(|values| square(values)).collect();
        squares.iter().sum::<f64>()
    });
    squares.sum::<f64>().sqrt()
}

/// The sum of squares: sixteen sums, then theirs.
fn square(values: &[f32]) -> f64 {
    let mut sums = [0.0_f64; 16];
    for values in values.chunks(16) {
        for (sum, &value) in sums.iter_mut().zip(values) {
            *sum += f64::from(value) * f64::from(value);
        }
    }
    sums.iter().sum()
}

impl Step {
    /// The new moments for a number of the gradient.
    #[inline(always)]
    fn moments(&self, gradient: f32, first: &mut f32, second: &mut f32) {
        let gradient = gradient * self.clip;
        *first = self.betas[0] * *first + self.shares[0] * gradient;
        *second = self.betas[1] * *second + self.shares[1] * gradient * gradient;
    }

    fn adamw(&self, parameter: &mut Parameter, gradient: &[f32], first: &mut [f32], second: &mut [f32]) {
        let keep = if parameter.decays { 1.0 - self.rate * self.decay } else { 1.0 };
        let rate = (f64::from(self.rate) / self.first_correction) as f32;
        let moments = first.iter_mut().zip(second);
        for ((value, &gradient), (first, second)) in parameter.values.iter_mut().zip(gradient).zip(moments) {
            self.moments(gradient, first, second);
            let root = second.sqrt() / self.second_correction + self.epsilon;
            *value = *value * keep - rate * (*first / root);
        }
    }

    fn lamb(&self, parameter: &mut Parameter, gradient: &[f32], first: &mut [f32], second: &mut [f32]) {
        let decay = if parameter.decays { self.decay } else { 0.0 };
        let mut start = 0;
        for tensor in &parameter.tensors {
            let part = start..start + tensor.len();
            start = part.end;
            let values = &mut parameter.values[part.clone()];
            let moments = first[part.clone()].iter_mut().zip(&mut second[part.clone()]);
            let steps =
                values.iter().zip(&gradient[part]).zip(moments).map(|((&value, &gradient), (m, v))| {
                    self.moments(gradient, m, v);
                    *m / (v.sqrt() + self.epsilon) + decay * value
                });
            let steps: Vec<f32> = steps.collect();
            let (length, step) = (square(values).sqrt().min(10.0), square(&steps).sqrt());
            let trust = if length == 0.0 || step == 0.0 { 1.0 } else { length / step };
            let rate = (f64::from(self.rate) * trust) as f32;
            values.iter_mut().zip(steps).for_each(|(value, step)| *value -= rate * step);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::Path;

    use super::{Moments, Optimizer, Rule, global_norm};
    use crate::network::{Gradients, Parameter, TensorName, Weights};
    use crate::optimizer::Schedule;

    /// Two tensors in one parameter, and a bias.
    fn weights() -> Weights {
        let tensor = |name: &str, shape: &[usize]| TensorName::new(Path::new("model"), name, shape);
        let values = |count: usize| (0..count).map(|i| (i as f32 * 0.7).sin() + 0.1).collect();
        let matrix = Parameter {
            tensors: vec![tensor("a", &[2, 3]), tensor("b", &[1, 3])],
            values: values(9),
            decays: true,
            frozen: false,
        };
        let tensors = vec![tensor("c", &[3])];
        let bias = Parameter { tensors, values: values(3), decays: false, frozen: false };
        Weights { parameters: vec![matrix, bias], ..Weights::default() }
    }

    /// The gradient of a step.
    fn gradient(step: u64, index: usize) -> f32 {
        ((step as f32 * 0.37 + index as f32 * 1.3).cos() * 2.0) * if step % 50 == 7 { 30.0 } else { 1.0 }
    }

    fn run(optimizer: Optimizer, steps: u64) -> Vec<Vec<f32>> {
        let mut weights = weights();
        let mut moments = Moments::zeros(&weights);
        for step in 1..=steps {
            let values =
                [(0..9).map(|i| gradient(step, i)).collect(), (9..12).map(|i| gradient(step, i)).collect()];
            let gradients = Gradients { values: values.into() };
            let rate = 0.01 * Schedule::Linear.factor(step - 1, 20, steps);
            optimizer.apply(&mut weights, &gradients, &mut moments, (step, rate, global_norm([&gradients])));
        }
        weights.parameters().iter().map(|parameter| parameter.values.clone()).collect()
    }

    /// The papers' algorithms in f64, as PyTorch and torch_optimizer write them.
    fn expected(optimizer: Optimizer, steps: u64) -> Vec<f64> {
        let start = weights();
        let mut values: Vec<f64> =
            start.parameters.iter().flat_map(|p| p.values.iter().map(|&x| f64::from(x))).collect();
        let (mut m, mut v) = (vec![0.0; 12], vec![0.0; 12]);
        let [b1, b2] = optimizer.betas;
        for step in 1..=steps {
            let mut g: Vec<f64> = (0..12).map(|i| f64::from(gradient(step, i))).collect();
            let norm = g.iter().map(|g| g * g).sum::<f64>().sqrt();
            let clip = (optimizer.max_norm.unwrap() / (norm + 1e-6)).min(1.0);
            g.iter_mut().for_each(|g| *g *= clip);
            let rate = 0.01 * Schedule::Linear.factor(step - 1, 20, steps);
            for i in 0..12 {
                m[i] = b1 * m[i] + (1.0 - b1) * g[i];
                v[i] = b2 * v[i] + (1.0 - b2) * g[i] * g[i];
            }
            let decay = |i: usize| if i < 9 { optimizer.weight_decay } else { 0.0 };
            for part in [0..6, 6..9, 9..12] {
                match optimizer.rule {
                    Rule::AdamW => {
                        for i in part {
                            values[i] *= 1.0 - rate * decay(i);
                            let first = m[i] / (1.0 - b1.powi(step as i32));
                            let second = v[i] / (1.0 - b2.powi(step as i32));
                            values[i] -= rate * first / (second.sqrt() + optimizer.epsilon);
                        }
                    }
                    Rule::Lamb => {
                        let step: Vec<f64> = part
                            .clone()
                            .map(|i| m[i] / (v[i].sqrt() + optimizer.epsilon) + decay(i) * values[i])
                            .collect();
                        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
                        let trust = norm(&values[part.clone()]).min(10.0) / norm(&step);
                        part.zip(step).for_each(|(i, step)| values[i] -= rate * trust * step);
                    }
                }
            }
        }
        values
    }

    #[test]
    fn two_hundred_steps_follow_the_formulas() {
        for rule in Rule::ALL {
            let optimizer = Optimizer { weight_decay: 0.01, ..Optimizer::new(rule) };
            let found = run(optimizer, 200).concat();
            for (found, expected) in found.iter().zip(expected(optimizer, 200)) {
                let error = (f64::from(*found) - expected).abs() / expected.abs().max(0.1);
                assert!(error < 1e-5, "{rule}: {found} for {expected}");
            }
            assert_ne!(found[0], weights().parameters[0].values[0]);
        }
    }
}
