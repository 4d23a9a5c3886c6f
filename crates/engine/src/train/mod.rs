//! Training: from options and files to a run that is ready to go.

mod compute;
mod data;
mod dev;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub use data::{TextFiles, TrainingData};
pub use dev::DevData;
use toller_hub::known_models;
use toller_train::{
    BaseModel, Dev, MarkedFile, MarkedSet, Plan, TokenTask, TrainError, Trainer, card, check_output,
    token_card,
};

use crate::event::Event;
use crate::{Engine, EngineError};
use data::file_name;

/// A run that is ready to go.
pub struct Training {
    /// The run.
    pub trainer: Trainer,
    /// The README of the trained model, which [`Trainer::run`] writes.
    pub card: String,
}

/// The model of a name that has been resolved.
fn base_model(name: &str) -> Result<BaseModel, EngineError> {
    if Path::new(name).is_dir() {
        let folder = Path::new(name).canonicalize().ok().and_then(|path| file_name(&path));
        return Ok(BaseModel { name: folder.unwrap_or_else(|| name.to_owned()), hub_id: None });
    }
    let known = known_models()?.into_iter().find(|model| model.name == name);
    let id = name.split_once('@').map_or(name, |(id, _)| id);
    let hub_id = known.map_or_else(|| Some(id.to_owned()), |model| model.source);
    Ok(BaseModel { name: name.to_owned(), hub_id })
}

impl Engine {
    /// Prepares a run that trains what ranks passages, or goes on with the one that `output` holds. `model`
    /// is the name of the model before training.
    ///
    /// # Errors
    /// When the data do not go together or do not suit the task, a file is bad, and as for [`Trainer::new`];
    /// [`TrainError::Stopped`] once `stop` is set while the dev set is read.
    pub fn trainer(
        &self,
        plan: Plan,
        model: &str,
        mut data: TrainingData,
        output: &Path,
        stop: &AtomicBool,
    ) -> Result<Training, EngineError> {
        check_output(output)?;
        data.check()?;
        let source = self.examples(&data)?;
        let dev = data.dev.take();
        let (corpus, level) = (data.corpus.as_ref(), data.relevance_level());
        let open = |set: DevData| self.dev_set(&set, &plan.task, corpus, level, stop);
        let dev = dev.map(|dev| dev.open(open)).transpose()?;
        let card = card(&base_model(model)?, &data.names(), &plan.task, &plan.model, &plan.settings);
        let trainer = Trainer::new(plan.task, plan.model, source, dev, plan.settings, output)?;
        Ok(self.ready(trainer, card))
    }

    /// The same for a token classifier, which is evaluated on files of marked texts.
    ///
    /// # Errors
    /// When a file is bad, and as for [`Trainer::new`].
    pub fn token_trainer(
        &self,
        plan: Plan<TokenTask>,
        model: &str,
        dev: Option<Dev<Vec<PathBuf>>>,
        output: &Path,
    ) -> Result<Training, EngineError> {
        check_output(output)?;
        let open = |paths: Vec<PathBuf>| {
            let files = paths.iter().map(|path| MarkedFile::open(path)).collect::<Result<Vec<_>, _>>()?;
            MarkedSet::new(&plan.task, &files)
        };
        let dev = dev.map(|dev| dev.open::<_, TrainError>(open)).transpose()?;
        let names: Vec<String> = plan.task.files().filter_map(file_name).collect();
        let card = token_card(&base_model(model)?, &names, &plan.settings);
        let trainer = Trainer::tokens(plan.task, plan.model, dev, plan.settings, output)?;
        Ok(self.ready(trainer, card))
    }

    fn ready(&self, trainer: Trainer, card: String) -> Training {
        trainer.damaged().iter().for_each(|error| self.notify(Event::CheckpointDamaged(error)));
        if let Some(found) = trainer.inspected() {
            self.notify(Event::ExamplesInspected(found));
        }
        Training { trainer, card }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{BaseModel, base_model};

    #[test]
    fn only_an_id_of_the_hub_is_a_base_model() {
        let of = |name: &str| {
            let BaseModel { name, hub_id } = base_model(name).unwrap();
            (name, hub_id.unwrap_or_default())
        };
        let pair = |name: &str, id: &str| (name.to_owned(), id.to_owned());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine");
        std::fs::create_dir(&path).unwrap();
        assert_eq!(of(path.to_str().unwrap()), pair("mine", ""), "no path of this machine");
        let (name, id) = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2");
        assert_eq!(of(name), pair(name, id));
        assert_eq!(of("org/name@v1"), pair("org/name@v1", "org/name"));
    }
}
