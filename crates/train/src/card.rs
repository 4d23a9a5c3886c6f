//! The README of a trained model: from what, on what and how it was trained.

use toller_train::{DualLoss, Length, Settings, Warmup};

use crate::args::paths::InputPath;

/// The README of `what` for users of a `library`, in Markdown.
pub fn of<'a>(
    (what, library): (&str, &str),
    model: Option<&str>,
    data: impl Iterator<Item = &'a InputPath>,
    loss: &str,
    settings: &Settings,
) -> String {
    let model = model.unwrap_or_default();
    let data: String = data
        .filter_map(|path| path.file_name())
        .map(|name| format!("- {}\n", name.to_string_lossy()))
        .collect();
    format!(
        "---\nbase_model: {model}\nlibrary_name: {library}\n---\n\n# {model}, trained\n\n\
         Trained with `toller train` {version} from {model}: {what}.\n\n## Data\n{data}\n## Settings\n\
         - loss: {loss}\n{settings}",
        version = env!("CARGO_PKG_VERSION"),
        settings = lines(settings),
    )
}

/// A loss in words.
pub fn dual_loss(loss: DualLoss) -> String {
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
