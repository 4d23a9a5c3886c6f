//! Tests of whole gradients and of whole runs.

mod reference;

mod gradient;
mod run;
