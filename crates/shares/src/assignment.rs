//! The share that a scheduler has given to this process, from the environment.

use std::ffi::OsString;

use toller_hub::env::{self, Variable};
use toller_ir::{Explain, Remedy, Setting, remedy};
use toller_store::Part;

/// The share of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Which share, counted from one.
    pub index: u32,
    /// The number of shares.
    pub of: u32,
    /// The variables that say so, as `SLURM_ARRAY_TASK_ID=3 of 8`.
    pub source: String,
}

/// Why a process has no certain share.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssignmentError {
    /// No scheduler has set its variables.
    #[error("no scheduler has given this process a share: {} are not set", variables())]
    None,
    /// A variable is set, and another that belongs to it is not.
    #[error("{set} is set, but {missing} is not")]
    Half {
        /// The variable that is set.
        set: &'static str,
        /// The variable that is missing.
        missing: &'static str,
    },
    /// A value that is not a number, or makes no share.
    #[error("{variable} is {value:?}, which {why}")]
    Value {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// Two schedulers that say different things.
    #[error("two schedulers give this process different shares: {first}, and {second}")]
    Disagreement {
        /// What the first says.
        first: String,
        /// What the second says.
        second: String,
    },
}

impl Explain for AssignmentError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::None => remedy!(
                "start the command as a task of a job array or of torchrun, or give {}",
                Setting::Shard.to("I/N")
            ),
            Self::Half { missing, .. } if *missing == env::JOB_COMPLETIONS.name => {
                "set JOB_COMPLETIONS to the Job's number of completions: Kubernetes sets only the index"
                    .into()
            }
            Self::Half { .. } | Self::Value { .. } | Self::Disagreement { .. } => {
                remedy!("give {}", Setting::Shard.to("I/N"))
            }
        })
    }
}

/// What a scheduler sets.
struct Scheduler {
    /// The number of this task.
    index: Variable,
    /// The number of tasks.
    count: Variable,
    /// The number of the first task, and of the last; without them, tasks count from zero.
    ends: Option<(Variable, Variable)>,
}

/// Kubernetes sets only the index; the number of completions is set in the Job.
const SCHEDULERS: [Scheduler; 4] = [
    Scheduler {
        index: env::SLURM_ARRAY_TASK_ID,
        count: env::SLURM_ARRAY_TASK_COUNT,
        ends: Some((env::SLURM_ARRAY_TASK_MIN, env::SLURM_ARRAY_TASK_MAX)),
    },
    Scheduler { index: env::JOB_COMPLETION_INDEX, count: env::JOB_COMPLETIONS, ends: None },
    Scheduler { index: env::AWS_BATCH_JOB_ARRAY_INDEX, count: env::AWS_BATCH_JOB_ARRAY_SIZE, ends: None },
    Scheduler { index: env::RANK, count: env::WORLD_SIZE, ends: None },
];

fn variables() -> String {
    let [first @ .., last] = SCHEDULERS.map(|scheduler| scheduler.index.name);
    format!("{} and {last}", first.join(", "))
}

/// The share that schedulers give to this process, by the variables that `value` returns.
///
/// # Errors
/// When there is no scheduler, when one says nothing certain, or when two disagree.
pub fn assigned(value: impl Fn(&Variable) -> Option<OsString>) -> Result<Assignment, AssignmentError> {
    let mut found: Option<Assignment> = None;
    for scheduler in &SCHEDULERS {
        let Some(assignment) = scheduler.assigned(&value)? else { continue };
        match &found {
            Some(first) if (first.index, first.of) != (assignment.index, assignment.of) => {
                let (first, second) = (first.source.clone(), assignment.source);
                return Err(AssignmentError::Disagreement { first, second });
            }
            Some(_) => {}
            None => found = Some(assignment),
        }
    }
    found.ok_or(AssignmentError::None)
}

impl Scheduler {
    /// The share that this scheduler gives, if it is there.
    fn assigned(
        &self,
        value: &impl Fn(&Variable) -> Option<OsString>,
    ) -> Result<Option<Assignment>, AssignmentError> {
        let Some(index) = number(&self.index, value)? else { return Ok(None) };
        let needed = |variable: &Variable| {
            let missing = AssignmentError::Half { set: self.index.name, missing: variable.name };
            number(variable, value)?.ok_or(missing)
        };
        let count = needed(&self.count)?;
        let (first, step) = match &self.ends {
            None => (0, 1),
            Some((first, last)) => {
                let (first, last) = (needed(first)?, needed(last)?);
                let step =
                    last.saturating_sub(first).checked_div(count.saturating_sub(1)).unwrap_or(1).max(1);
                // In a list such as 1,2,5, no task knows its place.
                if first + (count.max(1) - 1) * step != last {
                    let why = format!("does not divide the tasks {first} to {last} evenly");
                    return Err(wrong(&self.count, count, why));
                }
                (first, step)
            }
        };
        let place =
            index.checked_sub(first).filter(|distance| distance % step == 0).map(|distance| distance / step);
        let Some(place) = place.filter(|place| *place < count) else {
            return Err(wrong(&self.index, index, format!("is not one of {count} tasks from {first} on")));
        };
        let share = u32::try_from(place + 1).ok().zip(u32::try_from(count).ok());
        let share = share.filter(|(index, of)| Part::new(*index, *of, 0).is_ok());
        let Some((index_from_one, of)) = share else {
            return Err(wrong(&self.count, count, "is more shares than there can be".to_owned()));
        };
        let source = format!(
            "share {index_from_one}/{of} by {}={index} and {}={count}",
            self.index.name, self.count.name
        );
        Ok(Some(Assignment { index: index_from_one, of, source }))
    }
}

fn wrong(variable: &Variable, value: u64, why: String) -> AssignmentError {
    AssignmentError::Value { variable: variable.name, value: value.to_string(), why }
}

/// The value of a variable, if it is set.
fn number(
    variable: &Variable,
    value: &impl Fn(&Variable) -> Option<OsString>,
) -> Result<Option<u64>, AssignmentError> {
    let Some(text) = value(variable) else { return Ok(None) };
    let text = text.to_string_lossy().into_owned();
    // Far below an overflow of what is computed with it.
    match text.parse::<u32>() {
        Ok(number) => Ok(Some(number.into())),
        Err(_) => {
            let why = "is not a number from 0 on".to_owned();
            Err(AssignmentError::Value { variable: variable.name, value: text, why })
        }
    }
}

#[cfg(test)]
mod tests {
    use toller_ir::Explain;

    use super::{Assignment, AssignmentError, assigned};

    fn of(variables: &str) -> Result<Assignment, AssignmentError> {
        assigned(|variable| {
            let mut set = variables.split(' ').filter_map(|pair| pair.split_once('='));
            set.find(|(name, _)| *name == variable.name).map(|(_, value)| value.into())
        })
    }

    fn share(variables: &str) -> Option<(u32, u32)> {
        of(variables).ok().map(|found| (found.index, found.of))
    }

    fn slurm(id: u32, first: u32, last: u32, count: u32) -> String {
        format!(
            "SLURM_ARRAY_TASK_ID={id} SLURM_ARRAY_TASK_MIN={first} SLURM_ARRAY_TASK_MAX={last} \
             SLURM_ARRAY_TASK_COUNT={count}"
        )
    }

    #[test]
    fn every_scheduler_gives_each_task_a_share_of_its_own() {
        for (first, step) in [(0, 1), (1, 1), (5, 1), (0, 10), (3, 7)] {
            for place in 0..4 {
                let variables = slurm(first + place * step, first, first + 3 * step, 4);
                assert_eq!(share(&variables), Some((place + 1, 4)), "{variables}");
            }
        }
        assert_eq!(share(&slurm(7, 7, 7, 1)), Some((1, 1)), "an array of one");
        for variables in [
            "JOB_COMPLETION_INDEX=2 JOB_COMPLETIONS=8",
            "RANK=2 WORLD_SIZE=8",
            "AWS_BATCH_JOB_ARRAY_INDEX=2 AWS_BATCH_JOB_ARRAY_SIZE=8",
            "RANK=2 WORLD_SIZE=8 JOB_COMPLETION_INDEX=2 JOB_COMPLETIONS=8",
        ] {
            assert_eq!(share(variables), Some((3, 8)), "{variables}");
        }
        let found = of("RANK=2 WORLD_SIZE=8").map(|found| found.source);
        assert_eq!(found.as_deref(), Ok("share 3/8 by RANK=2 and WORLD_SIZE=8"));
    }

    #[test]
    fn what_is_not_certain_is_an_error_with_a_remedy() {
        let wrong = [
            ("", "no scheduler"),
            ("WORLD_SIZE=8", "no scheduler"),
            ("RANK=2", "RANK is set, but WORLD_SIZE is not"),
            ("JOB_COMPLETION_INDEX=2", "JOB_COMPLETIONS is not"),
            ("RANK=8 WORLD_SIZE=8", "RANK is \"8\", which is not one of 8 tasks from 0 on"),
            ("RANK=-1 WORLD_SIZE=8", "RANK is \"-1\", which is not a number"),
            ("RANK=0 WORLD_SIZE=0", "is not one of 0 tasks"),
            ("RANK=2 WORLD_SIZE=100000", "WORLD_SIZE is \"100000\""),
            (
                "RANK=2 WORLD_SIZE=8 JOB_COMPLETION_INDEX=1 JOB_COMPLETIONS=8",
                "different shares: share 2/8 by JOB",
            ),
            (
                &slurm(1, 1, 6, 3),
                "SLURM_ARRAY_TASK_COUNT is \"3\", which does not divide the tasks 1 to 6 evenly",
            ),
            (&slurm(2, 0, 9, 4), "is not one of 4 tasks"),
            (&slurm(0, 1, 4, 4), "is not one of 4 tasks from 1 on"),
            (&slurm(1, 4, 1, 4), "evenly"),
        ];
        for (variables, expected) in wrong {
            let error = of(variables).err();
            let message = error.as_ref().map(ToString::to_string).unwrap_or_default();
            assert!(message.contains(expected), "{variables}: {message:?}");
            assert!(error.is_some_and(|error| error.remedy().is_some()), "{variables}");
        }
    }
}
