//! The state of a run on disk: parameters and moments, sealed, so that a run goes on to the bit.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toller_files::{
    AtomicFile, Checksum, ChecksumHasher, FileError, is_sealed, names_in, remove_durably, remove_unfinished,
    write_sealed,
};

use crate::TrainError;
use crate::model::Model;
use crate::optimizer::Moments;

/// The checkpoints of a run: `step-N.bin` with all numbers, and after it `step-N.json`, which has its
/// checksum.
pub(crate) struct Checkpoints {
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    step: u64,
    numbers: usize,
    data: Checksum,
}

impl Checkpoints {
    pub(crate) fn new(folder: PathBuf) -> Result<Self, TrainError> {
        fs::create_dir_all(&folder).map_err(FileError::on("create", &folder))?;
        remove_unfinished(&folder, |name| name.starts_with("step-"))?;
        let checkpoints = Self { folder };
        // A kill may have come between the two files of a checkpoint.
        for name in names_in(&checkpoints.folder)? {
            let step = name.strip_prefix("step-").and_then(|name| name.strip_suffix(".bin")?.parse().ok());
            if let Some(step) = step.filter(|step| !checkpoints.path(*step, "json").exists()) {
                remove_durably(&checkpoints.path(step, "bin"))?;
            }
        }
        Ok(checkpoints)
    }

    fn path(&self, step: u64, extension: &str) -> PathBuf {
        self.folder.join(format!("step-{step:08}.{extension}"))
    }

    /// The steps of the checkpoints, ascending.
    fn steps(&self) -> Result<Vec<u64>, TrainError> {
        let names = names_in(&self.folder)?;
        let step = |name: &String| name.strip_prefix("step-")?.strip_suffix(".json")?.parse().ok();
        let mut steps: Vec<u64> = names.iter().filter_map(step).collect();
        steps.sort_unstable();
        Ok(steps)
    }

    /// Reads the last checkpoint that is whole, and returns its step. Damaged ones after it are removed, and
    /// their errors are given to `on_damage`. `None` if there is no checkpoint.
    ///
    /// # Errors
    /// When all are damaged, or one cannot be read.
    pub(crate) fn read_last(
        &self,
        model: &mut Model,
        moments: &mut [Moments],
        mut on_damage: impl FnMut(TrainError),
    ) -> Result<Option<u64>, TrainError> {
        let mut steps = self.steps()?;
        let mut damaged = Vec::new();
        while let Some(step) = steps.pop() {
            match self.read(step, model, moments) {
                Ok(()) => {
                    for (step, error) in damaged {
                        self.remove(step)?;
                        on_damage(error);
                    }
                    return Ok(Some(step));
                }
                Err(error @ TrainError::Damaged { .. }) => damaged.push((step, error)),
                Err(error) => return Err(error),
            }
        }
        match damaged.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(None),
        }
    }

    /// Removes a checkpoint. Without its manifest, it does not count.
    fn remove(&self, step: u64) -> Result<(), TrainError> {
        for extension in ["json", "bin"] {
            let path = self.path(step, extension);
            if path.exists() {
                remove_durably(&path)?;
            }
        }
        Ok(())
    }

    /// Writes a checkpoint.
    pub(crate) fn write(&self, step: u64, model: &Model, moments: &[Moments]) -> Result<(), TrainError> {
        let path = self.path(step, "bin");
        let mut file = AtomicFile::create(&path)?;
        let (mut hasher, mut numbers) = (ChecksumHasher::default(), 0);
        for values in all_values(model, moments) {
            let bytes: &[u8] = bytemuck::cast_slice(values);
            hasher.update(bytes);
            numbers += values.len();
            file.write_all(bytes).map_err(FileError::on("write", &path))?;
        }
        file.commit()?;
        write_sealed(&self.path(step, "json"), &Manifest { step, numbers, data: hasher.finish() })?;
        Ok(())
    }

    /// Removes all checkpoints but the last `keep` and the best.
    pub(crate) fn prune(&self, keep: usize, best: Option<u64>) -> Result<(), TrainError> {
        let steps = self.steps()?;
        let before_last = &steps[..steps.len().saturating_sub(keep.max(1))];
        for &old in before_last.iter().filter(|step| Some(**step) != best) {
            self.remove(old)?;
        }
        Ok(())
    }

    /// Reads the checkpoint of a step into a model and its moments.
    pub(crate) fn read(
        &self,
        step: u64,
        model: &mut Model,
        moments: &mut [Moments],
    ) -> Result<(), TrainError> {
        let (manifest_path, path) = (self.path(step, "json"), self.path(step, "bin"));
        let damaged = |path: &Path, problem: &str| TrainError::Damaged {
            path: path.to_owned(),
            problem: problem.to_owned(),
        };
        let text = fs::read(&manifest_path).map_err(FileError::on("read", &manifest_path))?;
        let manifest: Manifest = is_sealed(&text)
            .then(|| serde_json::from_slice(&text).ok())
            .flatten()
            .ok_or_else(|| damaged(&manifest_path, "its own checksum does not fit"))?;
        if !path.exists() {
            return Err(damaged(&path, "it is missing"));
        }
        let bytes = fs::read(&path).map_err(FileError::on("read", &path))?;
        if Checksum::of(&bytes) != manifest.data {
            return Err(damaged(&path, "its checksum does not fit"));
        }
        let needed: usize = all_values(model, moments).iter().map(|values| values.len()).sum();
        if manifest.numbers != needed || bytes.len() != 4 * needed || manifest.step != step {
            return Err(damaged(&path, "it is of another model, or an earlier version wrote it"));
        }
        let mut rest = bytes.as_slice();
        let mut fill = |values: &mut Vec<f32>| {
            let (own, after) = rest.split_at(4 * values.len());
            for (value, bytes) in values.iter_mut().zip(own.as_chunks().0) {
                *value = f32::from_le_bytes(*bytes);
            }
            rest = after;
        };
        for tower in model.towers_mut() {
            if let Some(weights) = tower.weights_mut() {
                weights.update(|parameters| {
                    let trained = parameters.iter_mut().filter(|parameter| !parameter.frozen);
                    trained.for_each(|parameter| fill(&mut parameter.values));
                });
            }
        }
        for moments in moments {
            moments.first.iter_mut().chain(&mut moments.second).for_each(&mut fill);
        }
        Ok(())
    }
}

/// The parameters that are trained, then moments, in one order.
fn all_values<'a>(model: &'a Model, moments: &'a [Moments]) -> Vec<&'a Vec<f32>> {
    let parameters = model.towers().iter().flat_map(|tower| tower.weights().parameters());
    let parameters = parameters.filter(|parameter| !parameter.frozen);
    let moments = moments.iter().flat_map(|moments| moments.first.iter().chain(&moments.second));
    parameters.map(|parameter| &parameter.values).chain(moments).collect()
}
