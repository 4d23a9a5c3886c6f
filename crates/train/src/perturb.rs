//! The fast gradient method: word embeddings moved a little to where the loss grows fastest (Miyato et al.
//! 2017).

use crate::TrainError;
use crate::model::Model;
use crate::network::Gradients;

/// Word embeddings as they were.
pub(crate) struct Perturbed {
    tables: Vec<(usize, usize, Vec<f32>)>,
}

/// Refuses a perturbation where a tower that is trained keeps its word embeddings, as with a prefix.
///
/// # Errors
/// [`TrainError::NoEffect`].
pub(crate) fn check(model: &Model) -> Result<(), TrainError> {
    let mut trained = model.towers().iter().enumerate().filter(|(index, _)| model.trains(*index));
    if trained.any(|(_, tower)| tower.weights().words().is_none()) {
        let reason = "word embeddings are not trained";
        return Err(TrainError::NoEffect { setting: "perturb", reason });
    }
    Ok(())
}

impl Perturbed {
    /// Adds `epsilon * g / |g|` to the word embeddings of each tower that is trained, for its gradient g.
    pub(crate) fn new(model: &mut Model, gradients: &[Gradients], epsilon: f64) -> Result<Self, TrainError> {
        let mut tables = Vec::new();
        for (index, gradients) in gradients.iter().enumerate() {
            if !model.trains(index) {
                continue;
            }
            let words = model.towers()[index].weights().words();
            let words = words.ok_or_else(|| {
                TrainError::Untrainable(
                    "a model whose word embeddings are not trained cannot be perturbed".to_owned(),
                )
            })?;
            let gradient = &gradients.values()[words];
            let norm = gradient.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
            let Some(weights) = model.towers_mut()[index].weights_mut().filter(|_| norm > 0.0) else {
                continue;
            };
            let table = weights.table_mut(words);
            tables.push((index, words, table.to_vec()));
            let factor = epsilon / norm;
            table.iter_mut().zip(gradient).for_each(|(x, &g)| *x += (factor * f64::from(g)) as f32);
        }
        Ok(Self { tables })
    }

    /// Puts the word embeddings back, to the bit.
    pub(crate) fn undo(self, model: &mut Model) {
        for (tower, words, values) in self.tables {
            if let Some(weights) = model.towers_mut()[tower].weights_mut() {
                weights.table_mut(words).copy_from_slice(&values);
            }
        }
    }
}
