//! The command line from outside: the binary is run as a user runs it, on files in a folder of its own.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on has failed, and says what it skips"
)]

mod accuracy;
mod ad_hoc;
mod analyze;
mod annotate;
mod bad_input;
mod bad_model_or_store;
mod bench;
mod codes;
mod columns;
mod context;
mod data;
mod depth;
mod diff;
mod evaluate;
mod full_disk;
mod fuse;
mod hostile;
mod hybrid;
mod impact;
mod impact_stores;
mod interruption;
mod job_scripts;
mod json;
mod library;
mod main_job;
mod max_passage;
mod mine;
mod models;
mod objects;
mod output;
mod published_recipes;
mod ranks;
mod recipes;
mod replaced;
mod report;
mod reproduce;
mod rerank;
mod retrieve;
mod same_everywhere;
mod search_filter;
mod serve;
mod shards;
mod sparse_models;
mod store_tools;
mod support;
mod train;
mod training_recipes;
mod two_towers;
mod vector_prf;
