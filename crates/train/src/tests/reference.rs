//! BERT in f64, slow and obviously right, with the masks of dropout: what gradients are compared with.

use std::collections::BTreeMap;

use toller_nn::Activation;
use toller_tokenizer::Tokens;

use crate::dropout::Dropout;
use crate::network::Weights;

/// A network by its tensors' names.
pub(super) struct Reference {
    pub(super) tensors: BTreeMap<String, Vec<f64>>,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) hidden: usize,
    pub(super) epsilon: f64,
    pub(super) activation: Activation,
    /// What follows the last layer.
    pub(super) head: Head,
}

/// What follows the last layer.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Head {
    /// The mean, a dense layer with tanh, unit length.
    MeanDenseUnit,
    /// The first token.
    Cls,
    /// The pooler with tanh, dropout, a linear layer.
    Classifier,
    /// Dropout and a linear layer, for each token.
    Tokens,
}

/// The parameters' values in f64.
pub(super) fn tensors(weights: &Weights) -> BTreeMap<String, Vec<f64>> {
    let mut tensors = BTreeMap::new();
    for parameter in weights.parameters() {
        let mut start = 0;
        for tensor in &parameter.tensors {
            let values = &parameter.values[start..start + tensor.len()];
            start += tensor.len();
            let values = values.iter().map(|&x| f64::from(x)).collect();
            assert!(tensors.insert(tensor.name.clone(), values).is_none(), "{} twice", tensor.name);
        }
    }
    tensors
}

impl Reference {
    fn get(&self, name: &str) -> &[f64] {
        let is_it = |known: &&String| *known == name || known.ends_with(&format!(".{name}"));
        let found: Vec<_> = self.tensors.keys().filter(is_it).collect();
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        &self.tensors[found[0]]
    }

    fn linear(&self, name: &str, x: &[f64], inputs: usize) -> Vec<f64> {
        let (weight, bias) = (self.get(&format!("{name}.weight")), self.get(&format!("{name}.bias")));
        let of = |x: &[f64]| -> Vec<f64> {
            let products =
                weight.chunks_exact(inputs).map(|w| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>());
            products.zip(bias).map(|(product, bias)| product + bias).collect()
        };
        x.chunks_exact(inputs).flat_map(of).collect()
    }

    fn norm(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let (weight, bias) = (self.get(&format!("{name}.weight")), self.get(&format!("{name}.bias")));
        let mut out = Vec::new();
        for row in x.chunks_exact(self.hidden) {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
            let scale = 1.0 / (variance + self.epsilon).sqrt();
            out.extend(row.iter().zip(weight).zip(bias).map(|((x, w), b)| (x - mean) * scale * w + b));
        }
        out
    }

    /// The result for the sequence of a number.
    pub(super) fn forward(&self, tokens: &Tokens, sequence: u64, dropout: Option<Dropout>) -> Vec<f64> {
        let hidden = self.hidden;
        let mut step = 0;
        let mut drop_out = |rate: fn(&Dropout) -> f32, values: &mut [f64]| {
            step += 1;
            let mask = dropout.and_then(|dropout| dropout.mask(rate(&dropout), sequence, step));
            let mut factors = vec![1.0; values.len()];
            mask.iter().for_each(|mask| mask.apply(0, &mut factors));
            values.iter_mut().zip(factors).for_each(|(value, factor)| *value *= f64::from(factor));
        };
        let hidden_rate: fn(&Dropout) -> f32 = |dropout| dropout.rates.hidden;
        let none: fn(&Dropout) -> f32 = |_| 0.0;

        let mut x = vec![0.0; tokens.len() * hidden];
        for (position, x) in x.chunks_exact_mut(hidden).enumerate() {
            for (table, row) in [
                ("word_embeddings.weight", tokens.input_ids[position] as usize),
                ("token_type_embeddings.weight", tokens.type_ids[position] as usize),
                ("position_embeddings.weight", position),
            ] {
                let row = &self.get(table)[row * hidden..][..hidden];
                x.iter_mut().zip(row).for_each(|(x, row)| *x += row);
            }
        }
        let mut x = self.norm("embeddings.LayerNorm", &x);
        drop_out(hidden_rate, &mut x);
        for layer in 0..self.layers {
            let name = |part: &str| format!("layer.{layer}.{part}");
            drop_out(none, &mut []); // the product to queries, keys and values
            let part = |part: &str| self.linear(&name(&format!("attention.self.{part}")), &x, hidden);
            let (queries, keys, values) = (part("query"), part("key"), part("value"));
            let context = self.attend(&queries, &keys, &values, |weights| {
                drop_out(|dropout| dropout.rates.attention, weights);
            });
            let mut sum = self.linear(&name("attention.output.dense"), &context, hidden);
            drop_out(hidden_rate, &mut sum);
            sum.iter_mut().zip(&x).for_each(|(sum, x)| *sum += x);
            x = self.norm(&name("attention.output.LayerNorm"), &sum);
            let mut inner = self.linear(&name("intermediate.dense"), &x, hidden);
            drop_out(none, &mut []);
            inner.iter_mut().for_each(|x| *x = self.activation.reference(*x));
            let width = inner.len() / tokens.len();
            let mut sum = self.linear(&name("output.dense"), &inner, width);
            drop_out(hidden_rate, &mut sum);
            sum.iter_mut().zip(&x).for_each(|(sum, x)| *sum += x);
            x = self.norm(&name("output.LayerNorm"), &sum);
        }
        if self.head != Head::Tokens {
            drop_out(none, &mut []); // the pooling
        }
        match self.head {
            Head::Tokens => {
                drop_out(|dropout| dropout.rates.classifier, &mut x);
                self.linear("classifier", &x, hidden)
            }
            Head::Cls => x[..hidden].to_vec(),
            Head::MeanDenseUnit => {
                let mean: Vec<f64> = (0..hidden)
                    .map(|column| x.iter().skip(column).step_by(hidden).sum::<f64>() / tokens.len() as f64)
                    .collect();
                let mut dense = self.linear("linear", &mean, hidden);
                dense.iter_mut().for_each(|x| *x = x.tanh());
                let length = dense.iter().map(|x| x * x).sum::<f64>().sqrt();
                dense.iter().map(|x| x / length).collect()
            }
            Head::Classifier => {
                let mut features = self.linear("pooler.dense", &x[..hidden], hidden);
                features.iter_mut().for_each(|x| *x = x.tanh());
                drop_out(none, &mut []);
                drop_out(|dropout| dropout.rates.classifier, &mut features);
                self.linear("classifier", &features, hidden)
            }
        }
    }

    /// Attention of all heads; `drop_out` masks the weights `[heads, tokens, tokens]`.
    fn attend(
        &self,
        queries: &[f64],
        keys: &[f64],
        values: &[f64],
        drop_out: impl FnOnce(&mut [f64]),
    ) -> Vec<f64> {
        let (hidden, size) = (self.hidden, self.hidden / self.heads);
        let tokens = queries.len() / hidden;
        let mut weights = Vec::new();
        for head in 0..self.heads {
            for query in 0..tokens {
                let at = |x: &[f64], token: usize, c: usize| x[token * hidden + head * size + c];
                let score = |key: usize| {
                    let product: f64 = (0..size).map(|c| at(queries, query, c) * at(keys, key, c)).sum();
                    (product / (size as f64).sqrt()).exp()
                };
                let scores: Vec<f64> = (0..tokens).map(score).collect();
                let total: f64 = scores.iter().sum();
                weights.extend(scores.iter().map(|score| score / total));
            }
        }
        drop_out(&mut weights);
        let mut out = vec![0.0; tokens * hidden];
        for (row, weights) in weights.chunks_exact(tokens).enumerate() {
            let (head, query) = (row / tokens, row % tokens);
            for c in head * size..(head + 1) * size {
                out[query * hidden + c] =
                    weights.iter().enumerate().map(|(key, weight)| weight * values[key * hidden + c]).sum();
            }
        }
        out
    }
}
