//! Stemmers: what takes endings off a term.

mod porter;

pub(super) use porter::porter;
