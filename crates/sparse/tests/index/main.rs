//! Indexes from outside: built, opened, searched, damaged.

mod build;
mod common;
mod damage;
mod golden;
mod impact;
mod search;
