//! The README of a trained model: from what, on what and how it was trained.

use toller_encoder::TitleMode;
use toller_ir::Role;

use crate::loss::DualLoss;
use crate::model::Model;
use crate::settings::{Length, Settings};
use crate::task::Task;

/// The model before training, for the README.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseModel {
    /// Its name, without folders.
    pub name: String,
    /// Its id on the hub. The hub refuses a README whose `base_model` is anything else.
    pub hub_id: Option<String>,
}

/// The README of the model that a task makes of `base`, in Markdown. `data` are the names of files.
#[must_use]
pub fn card(base: &BaseModel, data: &[String], task: &Task, model: &Model, settings: &Settings) -> String {
    let (what, loss) = match task {
        Task::Dual { similarity, loss, .. } => {
            (format!("a dual encoder, similarity {similarity}"), dual_loss(*loss))
        }
        Task::Cross { loss, .. } => ("a cross-encoder".to_owned(), loss.name().to_owned()),
    };
    readme(base, data, (&what, "sentence-transformers"), &format!("{loss}\n{}", texts(task, model)), settings)
}

/// How texts become what is compared, as lines of the list of settings.
fn texts(task: &Task, model: &Model) -> String {
    match task {
        Task::Dual { encoder, titles, .. } => {
            let (query, passage) = (encoder.tower(Role::Query), encoder.tower(Role::Passage));
            let trained = match (model.towers().len(), model.trains(0)) {
                (1, _) => "one, for queries and passages",
                (_, true) if model.trains(1) => "two, both trained",
                (_, true) => "two, that of queries trained",
                (_, false) => "two, that of passages trained",
            };
            let prompts =
                [("queries", query), ("passages", passage)].map(|(what, tower)| match tower.prompt() {
                    "" => String::new(),
                    prompt => format!("- prompt of {what}: {prompt:?}\n"),
                });
            let prefix = match passage.prefix_tokens() {
                0 => String::new(),
                tokens => {
                    format!(
                        "- trained: only the keys and values of {tokens} tokens in front of every layer (a prefix)\n"
                    )
                }
            };
            let titles = match titles {
                TitleMode::Sep => "apart from the text, in one segment".to_owned(),
                TitleMode::Pair => "apart from the text, in a segment of their own".to_owned(),
                joined => format!("before the text, with {:?} between them", joined.separator()),
            };
            format!(
                "- encoders: {trained}\n{prefix}- pooling: {}\n- tokens of a query: {} at most\n\
                 - tokens of a passage: {} at most\n{}- titles: {titles}",
                passage.pooling(),
                query.max_length(),
                passage.max_length(),
                prompts.concat(),
            )
        }
        Task::Cross { encoder, separator, .. } => format!(
            "- tokens of a pair: {} at most, cut by {}\n- titles: before the text, with {separator:?} between them",
            encoder.max_length(),
            encoder.truncation(),
        ),
    }
}

/// The README of the token classifier that is made of `base`.
#[must_use]
pub fn token_card(base: &BaseModel, data: &[String], settings: &Settings) -> String {
    let what = ("a token classifier of where segments end", "transformers");
    readme(base, data, what, "softmax over the labels of each token", settings)
}

/// The README of `what` for users of a `library`.
fn readme(
    base: &BaseModel,
    data: &[String],
    (what, library): (&str, &str),
    loss: &str,
    settings: &Settings,
) -> String {
    let data: String = data.iter().map(|name| format!("- {name}\n")).collect();
    let BaseModel { name: model, hub_id } = base;
    let base_model = hub_id.as_ref().map(|id| format!("base_model: {id}\n")).unwrap_or_default();
    format!(
        "---\n{base_model}library_name: {library}\n---\n\n# {model}, trained\n\n\
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
        no_duplicates,
        // Chunks decide no bits on the CPU; the others decide what is kept.
        chunks: _,
        save_every: _,
        keep: _,
    } = settings;
    let length = match length {
        Length::Epochs(epochs) => format!("epochs: {epochs}"),
        Length::Steps(steps) => format!("steps: {steps}"),
    };
    let negatives = match negatives {
        0 => String::new(),
        count => format!("- negatives of an example: {count}\n"),
    };
    let norm = optimizer.max_norm.map_or("any".to_owned(), |norm| format!("at most {norm}"));
    let duplicates = if *no_duplicates { "- no query and no passage twice in a batch\n" } else { "" };
    let perturbation = perturbation
        .map(|epsilon| format!("- word embeddings moved along their gradient by: {epsilon}\n"))
        .unwrap_or_default();
    format!(
        "- {length}\n- batch size: {batch_size}\n- batches of a step: {accumulate}\n\
{duplicates}{negatives}- learning rate: {rate}, {schedule}\n- warm-up: {warmup}\n\
         - optimizer: {}, weight decay {}\n- norm of the gradient: {norm}\n\
         - dropout: {} of states, {} of attention, {} before a classifier\n{perturbation}- seed: {seed}\n",
        optimizer.rule, optimizer.weight_decay, dropout.hidden, dropout.attention, dropout.classifier,
    )
}
