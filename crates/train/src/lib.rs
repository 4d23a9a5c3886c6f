//! Training of dual encoders, cross-encoders and token classifiers.
//!
//! A run is a function of its model, its data, its settings and its seed: neither threads, nor the division
//! of a batch into chunks, nor an interruption changes a bit of its weights.

mod card;
mod checkpoint;
mod claim;
mod data;
mod dev;
mod dropout;
mod error;
mod figure;
mod inspect;
mod job;
mod kernels;
mod lesson;
mod log;
mod loss;
mod model;
mod network;
mod optimizer;
mod perturb;
mod save;
mod settings;
mod task;
#[cfg(test)]
mod tests;
mod token_task;
mod trainer;

pub use card::{BaseModel, card, token_card};
pub use claim::check_output;
pub use data::{
    BadRecords, Candidate, Example, ExampleFile, Judged, LeftOut, MarkedFile, MarkedText, Negatives, Source,
    read_negatives,
};
pub use dev::{Dev, DevSet, Evaluation, Judge, MarkedSet, RankedSet};
pub use dropout::{Dropout, Rates};
pub use error::TrainError;
pub use inspect::Inspected;
pub use job::{CrossRun, DualRun, Plan, RunOptions, TokenRun};
pub use loss::{CrossLoss, DualLoss, DualLossName, DualObjective, Groups, Similarity};
pub use model::{Chunks, Compute, Graded, Inputs, Model};
pub use network::{Gradients, Parameter, Recorder, TensorName, Tower, Weights};
pub use optimizer::{Moments, Optimizer, Rule, Schedule, Warmup, global_norm};
pub use settings::{Length, Settings};
pub use task::Task;
pub use token_task::TokenTask;
pub use trainer::{Crowded, Ending, Report, StepReport, Trainer};
