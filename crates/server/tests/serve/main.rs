//! A server on a port of this machine, and clients that mean well or do not.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod bits;
mod golden;
mod load;
mod malformed;
mod page;
mod refusals;
mod sparse;
mod stages;
mod support;
mod tls;
