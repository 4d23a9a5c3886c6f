//! Linear layers.

pub(crate) mod cpu;
pub(crate) mod reference;
mod weight;

pub(crate) use self::weight::{Conversions, Finish, Int8Weight, Weight, convert_to_pairs};
