//! `--shard`: which share of a job this process does.

use std::str::FromStr;

use toller_hub::env::Variable;
use toller_shares::assigned;
use toller_store::Part;

use crate::error::UsageError;
use crate::ui::Ui;

/// `I/N`, `auto` or `auto/N`, as given on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardArg {
    /// The share that a scheduler gives.
    Auto {
        /// The number of shares, unless the scheduler gives that too.
        of: Option<u32>,
    },
    /// This share.
    Given {
        /// Which, counted from one.
        index: u32,
        /// The number of shares.
        of: u32,
    },
}

impl FromStr for ShardArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto { of: None });
        }
        let numbers = text.split_once('/').and_then(|(index, of)| {
            let index = if index == "auto" { None } else { Some(index.parse().ok()?) };
            Some((index, of.parse().ok()?))
        });
        let (index, of) = numbers.ok_or("I/N, as in 3/8, or auto, or auto/N")?;
        // If the scheduler gives the index, the number of shares alone can be wrong here.
        Part::new(index.unwrap_or(1), of, 0).map_err(|error| error.to_string())?;
        Ok(index.map_or(Self::Auto { of: Some(of) }, |index| Self::Given { index, of }))
    }
}

impl ShardArg {
    /// Which share, counted from one, and of how many. What a scheduler says is shown.
    pub fn resolve(self, ui: &Ui) -> Result<(u32, u32), UsageError> {
        match self {
            Self::Given { index, of } => Ok((index, of)),
            Self::Auto { of } => {
                let assignment = assigned(of, Variable::get)
                    .map_err(|error| UsageError::of_flag("--shard auto", &error))?;
                ui.status(&assignment.source);
                Ok((assignment.index, assignment.of))
            }
        }
    }
}
