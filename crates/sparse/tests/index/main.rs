//! Indexes from outside: built, opened, searched, damaged.

mod build;
mod common;
mod search;
