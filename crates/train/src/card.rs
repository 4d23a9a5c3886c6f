//! The README of a trained model: from what, on what and how it was trained.

use crate::loss::DualLoss;
use crate::optimizer::Warmup;
use crate::settings::{Length, Settings};
use crate::task::Task;

/// The README of the model that a task makes of `model`, in Markdown. `data` are the names of files.
#[must_use]
pub fn card(model: &str, data: &[String], task: &Task, settings: &Settings) -> String {
    let (what, loss) = match task {
        Task::Dual { similarity, loss, .. } => {
            (format!("a dual encoder, similarity {similarity}"), dual_loss(*loss))
        }
        Task::Cross { loss, .. } => ("a cross-encoder".to_owned(), loss.name().to_owned()),
    };
    readme(model, data, (&what, "sentence-transformers"), &loss, settings)
}

/// The README of the token classifier that is made of `model`.
#[must_use]
pub fn token_card(model: &str, data: &[String], settings: &Settings) -> String {
    let what = ("a token classifier of where segments end", "transformers");
    readme(model, data, what, "softmax over the labels of each token", settings)
}

/// The README of `what` for users of a `library`.
fn readme(
    model: &str,
    data: &[String],
    (what, library): (&str, &str),
    loss: &str,
    settings: &Settings,
) -> String {
    let data: String = data.iter().map(|name| format!("- {name}\n")).collect();
    format!(
        "---\nbase_model: {model}\nlibrary_name: {library}\n---\n\n# {model}, trained\n\n\
         Trained with `toller train` {version} from {model}: {what}.\n\n## Data\n{data}\n## Settings\n\
         - loss: {loss}\n{settings}",
        version = env!("CARGO_PKG_VERSION"),
        settings = lines(settings),
    )
}

/// A loss in words.
fn dual_loss(loss: DualLoss) -> String {
    match loss {
        DualLoss::Contrastive { temperature, in_batch, symmetric } => {
            let over = if in_batch { "the whole batch" } else { "the query's own passages" };
            let both = if symmetric { ", queries by their passages too" } else { "" };
            format!("contrastive over {over}{both}, temperature {temperature}")
        }
        DualLoss::MarginMse => "margin-mse".to_owned(),
        DualLoss::Divergence { temperature } => format!("kl, temperature {temperature}"),
    }
}

/// The settings, as a list.
fn lines(settings: &Settings) -> String {
    let Settings {
        length,
        batch_size,
        accumulate,
        negatives,
        rate,
        schedule,
        warmup,
        optimizer,
        dropout,
        perturbation,
        seed,
        ..
    } = settings;
    let length = match length {
        Length::Epochs(epochs) => format!("epochs: {epochs}"),
        Length::Steps(steps) => format!("steps: {steps}"),
    };
    let warmup = match warmup {
        Warmup::Steps(steps) => format!("{steps} steps"),
        Warmup::Share(share) => format!("{share} of the steps"),
    };
    let negatives = match negatives {
        0 => String::new(),
        count => format!("- negatives of an example: {count}\n"),
    };
    let norm = optimizer.max_norm.map_or("any".to_owned(), |norm| format!("at most {norm}"));
    let perturbation = perturbation
        .map(|epsilon| format!("- word embeddings moved along their gradient by: {epsilon}\n"))
        .unwrap_or_default();
    format!(
        "- {length}\n- batch size: {batch_size}\n- batches of a step: {accumulate}\n\
{negatives}- learning rate: {rate}, {schedule}\n- warm-up: {warmup}\n\
         - optimizer: {}, weight decay {}\n- norm of the gradient: {norm}\n\
         - dropout: {} of states, {} of attention, {} before a classifier\n{perturbation}- seed: {seed}\n",
        optimizer.rule, optimizer.weight_decay, dropout.hidden, dropout.attention, dropout.classifier,
    )
}
