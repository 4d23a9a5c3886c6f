//! The store from outside: one test binary, one file for each promise.

mod codes;
mod common;
mod damage;
mod golden;
mod impacts;
mod kill;
mod parts;
mod repair;
mod resume;
mod round_trip;
mod scale;
