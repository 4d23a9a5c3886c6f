//! Tests of whole gradients and of whole runs.

mod reference;

mod dev;
mod gradient;
mod run;
mod torch;
