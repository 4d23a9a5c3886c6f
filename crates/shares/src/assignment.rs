//! The share that a scheduler has given to this process, from the environment.

use std::ffi::OsString;

use toller_hub::env::{self, Variable};
use toller_ir::{Explain, Remedy, Setting, remedy};
use toller_store::Part;

use crate::scheduler::{Place, Scheduler, number};

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
    /// A place without a share.
    #[error("{variables} is share {index} of {of}, which there cannot be")]
    NoShare {
        /// Which share, counted from one.
        index: u64,
        /// The number of shares.
        of: u64,
        /// The variables that say so.
        variables: String,
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
                "start the command as a task of a job array, of srun or of torchrun, or give {}",
                Setting::Shard.to("I/N")
            ),
            Self::Half { missing, .. } if *missing == env::JOB_COMPLETIONS.name => {
                "set JOB_COMPLETIONS to the Job's number of completions: Kubernetes sets only the index"
                    .into()
            }
            Self::Half { .. } | Self::Value { .. } | Self::NoShare { .. } => remedy!(
                "give {}, or {} with the number of all shares: the number of the task is then the share",
                Setting::Shard.to("I/N"),
                Setting::Shard.to("auto/N")
            ),
            Self::Disagreement { .. } => remedy!("give {}", Setting::Shard.to("I/N")),
        })
    }
}

const SLURM_ARRAY: Scheduler = Scheduler {
    index: env::SLURM_ARRAY_TASK_ID,
    count: env::SLURM_ARRAY_TASK_COUNT,
    ends: Some((env::SLURM_ARRAY_TASK_MIN, env::SLURM_ARRAY_TASK_MAX)),
};

/// The processes that one `srun` starts. A batch script has the first variable too, but not the second.
const SLURM_STEP: Scheduler =
    Scheduler { index: env::SLURM_PROCID, count: env::SLURM_STEP_NUM_TASKS, ends: None };

const TORCHRUN: Scheduler = Scheduler { index: env::RANK, count: env::WORLD_SIZE, ends: None };

/// Kubernetes sets only the index; the number of completions is set in the Job.
const OTHERS: [Scheduler; 3] = [
    Scheduler { index: env::JOB_COMPLETION_INDEX, count: env::JOB_COMPLETIONS, ends: None },
    Scheduler { index: env::AWS_BATCH_JOB_ARRAY_INDEX, count: env::AWS_BATCH_JOB_ARRAY_SIZE, ends: None },
    TORCHRUN,
];

fn variables() -> String {
    let [others @ .., last] = OTHERS.map(|scheduler| scheduler.index.name);
    format!("{}, {} and {last}", SLURM_ARRAY.index.name, others.join(", "))
}

/// The share that schedulers give to this process, by the variables that `value` returns.
///
/// The number of shares is the scheduler's number of tasks, or `of`. If `of` is given, fewer tasks than there
/// are shares may run, as when single ones are repeated: the number of the task then tells the share alone.
/// It counts from one in a Slurm array, and from zero elsewhere.
///
/// # Errors
/// When there is no scheduler, when one says nothing certain, or when two disagree.
pub fn assigned(
    of: Option<u32>,
    value: impl Fn(&Variable) -> Option<OsString>,
) -> Result<Assignment, AssignmentError> {
    let mut found: Option<Assignment> = None;
    let slurm = slurm(of.is_some(), &value).transpose();
    let others = OTHERS.iter().filter_map(|scheduler| scheduler.place(of.is_some(), &value).transpose());
    for place in slurm.into_iter().chain(others) {
        let assignment = place?.share(of)?;
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

/// The place in an array of Slurm, and in a step of it. A step of one process divides nothing, and in one
/// that runs torchrun, its processes are the shares.
fn slurm(
    of_is_given: bool,
    value: &impl Fn(&Variable) -> Option<OsString>,
) -> Result<Option<Place>, AssignmentError> {
    let array = SLURM_ARRAY.place(of_is_given, value)?;
    let tasks = number(&SLURM_STEP.count, value)?.filter(|tasks| *tasks > 1);
    let Some(tasks) = tasks.filter(|_| value(&TORCHRUN.index).is_none()) else { return Ok(array) };
    let step = SLURM_STEP.place(false, value)?;
    Ok(match (array, step) {
        (Some(array), Some(step)) => Some(Place {
            at: array.at * tasks + step.at,
            of: array.of.map(|of| of * tasks),
            source: format!("{}, {}", array.source, step.source),
        }),
        (array, step) => array.or(step),
    })
}

impl Place {
    /// The share of this place, of as many as there are places, or of `of`.
    fn share(self, of: Option<u32>) -> Result<Assignment, AssignmentError> {
        let Self { at, of: places, source } = self;
        let (number, all) = (at + 1, of.map(u64::from).or(places).unwrap_or(0));
        let share = u32::try_from(number).ok().zip(u32::try_from(all).ok());
        match share.filter(|(index, of)| Part::new(*index, *of, 0).is_ok()) {
            Some((index, of)) => {
                Ok(Assignment { index, of, source: format!("share {index}/{of} by {source}") })
            }
            None => Err(AssignmentError::NoShare { index: number, of: all, variables: source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use toller_ir::Explain;

    use super::{Assignment, AssignmentError, assigned};

    fn of(variables: &str) -> Result<Assignment, AssignmentError> {
        assigned_of(None, variables)
    }

    fn assigned_of(of: Option<u32>, variables: &str) -> Result<Assignment, AssignmentError> {
        assigned(of, |variable| {
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
        assert_eq!(share(&slurm(1, 1, 1, 1)), Some((1, 1)), "an array of one");
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
    fn the_processes_of_srun_divide_the_share_of_their_task() {
        let step = |process: u32, of: u32| {
            format!("SLURM_PROCID={process} SLURM_NTASKS={of} SLURM_STEP_NUM_TASKS={of} SLURM_STEP_ID=0")
        };
        for process in 0..3 {
            assert_eq!(share(&step(process, 3)), Some((process + 1, 3)));
            for task in 0..4 {
                let variables = format!("{} {}", slurm(task, 0, 3, 4), step(process, 3));
                assert_eq!(share(&variables), Some((task * 3 + process + 1, 12)), "{variables}");
            }
        }
        let found = of(&format!("{} {}", slurm(2, 1, 2, 2), step(0, 2))).map(|found| found.source);
        let source = "share 3/4 by SLURM_ARRAY_TASK_ID=2 and SLURM_ARRAY_TASK_COUNT=2, SLURM_PROCID=0 and \
                      SLURM_STEP_NUM_TASKS=2";
        assert_eq!(found.as_deref(), Ok(source));
        // The batch script itself, and a step of one process, are the whole task.
        for whole in ["SLURM_PROCID=0 SLURM_NTASKS=4", &step(0, 1)] {
            assert_eq!(of(whole), Err(AssignmentError::None), "{whole}");
            assert_eq!(share(&format!("{whole} {}", slurm(2, 1, 3, 3))), Some((2, 3)), "{whole}");
        }
        // Each process of the step is a torchrun, which starts processes of its own.
        assert_eq!(share(&format!("{} RANK=5 WORLD_SIZE=8", step(1, 2))), Some((6, 8)));
    }

    #[test]
    fn single_tasks_are_repeated_with_the_number_of_all_shares() {
        for (variables, index) in [
            (&*slurm(5, 5, 5, 1), 5),
            (&slurm(6, 4, 6, 3), 6),
            (&slurm(2, 1, 5, 3), 2),
            ("JOB_COMPLETION_INDEX=4", 5),
            ("AWS_BATCH_JOB_ARRAY_INDEX=0 AWS_BATCH_JOB_ARRAY_SIZE=2", 1),
            ("RANK=7 WORLD_SIZE=8", 8),
            (&format!("{} SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2", slurm(4, 4, 4, 1)), 8),
        ] {
            let found = assigned_of(Some(8), variables).map(|found| (found.index, found.of));
            assert_eq!(found, Ok((index, 8)), "{variables}");
        }
        for (variables, expected) in [
            ("", "no scheduler"),
            (&*slurm(0, 0, 0, 1), "SLURM_ARRAY_TASK_ID is \"0\", which is not a number from 1 on"),
            (&slurm(9, 9, 9, 1), "SLURM_ARRAY_TASK_ID=9 is share 9 of 8"),
            ("RANK=8", "RANK=8 is share 9 of 8"),
        ] {
            let message = assigned_of(Some(8), variables).err().map(|error| error.to_string());
            assert!(message.as_ref().is_some_and(|message| message.contains(expected)), "{message:?}");
        }
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
            ("RANK=2 WORLD_SIZE=100000", "RANK=2 and WORLD_SIZE=100000 is share 3 of 100000"),
            (
                "RANK=2 WORLD_SIZE=8 JOB_COMPLETION_INDEX=1 JOB_COMPLETIONS=8",
                "different shares: share 2/8 by JOB",
            ),
            (
                &slurm(1, 1, 6, 3),
                "SLURM_ARRAY_TASK_COUNT is \"3\", which does not divide the tasks 1 to 6 evenly",
            ),
            (&slurm(2, 0, 9, 4), "is not one of 4 tasks"),
            (&slurm(5, 5, 5, 1), "SLURM_ARRAY_TASK_ID is \"5\", which is the only task of its array"),
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
