//! Every environment variable that Toller reads, in one place.
//!
//! The `HF_*` variables mean what they mean to the Python package `huggingface_hub`.

use std::env;
use std::ffi::OsString;

/// An environment variable and what it is for.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it is for, as `toller doctor` prints it.
    pub meaning: &'static str,
}

impl Variable {
    /// Its value in this process; a variable set to nothing counts as unset.
    #[must_use]
    pub fn get(&self) -> Option<OsString> {
        env::var_os(self.name).filter(|value| !value.is_empty())
    }
}

/// The value of any variable, for paths that are written with `$NAME`.
pub(crate) fn value_of(name: &str) -> Option<OsString> {
    env::var_os(name)
}

/// The variables of object stores, with their values: those that the tools of Amazon, Google and Azure read.
#[must_use]
pub fn of_object_stores() -> Vec<(String, String)> {
    let is_theirs = |name: &str| ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|start| name.starts_with(start));
    let texts = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.filter(|(name, value)| is_theirs(name) && !value.is_empty()).collect()
}

macro_rules! variables {
    ($($(#[$doc:meta])* $name:ident: $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            $(#[$doc])*
            pub const $name: Variable = Variable { name: stringify!($name), meaning: $meaning };
        )*

        /// Every variable of this file.
        pub const ALL: &[Variable] = &[$($name),*];
    };
}

variables! {
    TOLLER_CACHE: "Folder of Toller's own downloads (else XDG_CACHE_HOME/toller, else ~/.cache/toller)";
    HF_HOME: "Folder of the Hugging Face hub's files (else XDG_CACHE_HOME/huggingface, else ~/.cache/huggingface)";
    HF_HUB_CACHE: "Folder of the models that the hub's clients have downloaded (else HF_HOME/hub)";
    HUGGINGFACE_HUB_CACHE: "The older name of HF_HUB_CACHE";
    HF_ENDPOINT: "Address of the hub (else huggingface.co)";
    HF_HUB_OFFLINE: "1, ON, YES or TRUE: use downloaded models only, never the network";
    TRANSFORMERS_OFFLINE: "The older name of HF_HUB_OFFLINE";
    HF_TOKEN: "Token for private and gated models";
    HUGGING_FACE_HUB_TOKEN: "The older name of HF_TOKEN";
    HF_TOKEN_PATH: "File that holds the token (else HF_HOME/token)";
    HF_HUB_DISABLE_IMPLICIT_TOKEN: "1, ON, YES or TRUE: send no token";
    HF_HUB_ETAG_TIMEOUT: "Seconds to wait for the hub's answer (else 10)";
    HF_HUB_DOWNLOAD_TIMEOUT: "Seconds that a download may pause (else 10)";
    SSL_CERT_FILE: "Certificates (PEM) to trust instead of the built-in ones, as behind a company's proxy";
    REQUESTS_CA_BUNDLE: "The same, as Python's requests names it";
    TOLLER_WATCH_LAUNCHES: "Set: print every launch of a kernel on a GPU, and wait for it";
    RAYON_NUM_THREADS: "Threads to compute with, unless a command is given another number";
    SLURM_ARRAY_TASK_ID: "Number of this task of a Slurm job array";
    SLURM_ARRAY_TASK_COUNT: "Tasks of the Slurm job array";
    SLURM_ARRAY_TASK_MIN: "Number of the Slurm job array's first task";
    SLURM_ARRAY_TASK_MAX: "Number of the Slurm job array's last task";
    SLURM_PROCID: "Number of this process of Slurm's srun, from 0";
    SLURM_STEP_NUM_TASKS: "Processes of Slurm's srun";
    JOB_COMPLETION_INDEX: "Number of this pod of a Kubernetes Indexed Job, from 0";
    JOB_COMPLETIONS: "Pods of the Kubernetes Job; Kubernetes does not set it, so the Job's manifest must";
    AWS_BATCH_JOB_ARRAY_INDEX: "Number of this job of an AWS Batch array, from 0";
    AWS_BATCH_JOB_ARRAY_SIZE: "Jobs of the AWS Batch array";
    RANK: "Number of this process of torchrun, from 0";
    WORLD_SIZE: "Processes of torchrun";
    XDG_CACHE_HOME: "Folder of all caches (else ~/.cache)";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::ALL;

    #[test]
    fn every_variable_is_declared_once_and_explained() {
        let names: BTreeSet<_> = ALL.iter().map(|variable| variable.name).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(ALL.iter().all(|variable| variable.meaning.len() > 10));
    }
}
