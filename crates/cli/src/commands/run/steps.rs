//! Running a step by the command's own code in this process, and showing what would be run.

use std::time::Instant;

use toller_files::AtomicFile;
use toller_recipe::{Missing, Models, Piece, Plan, PlannedStep, Status, Work};

use super::catalogue;
use super::models::KnownModels;
use super::report::{Done, Report, StepReport};
use crate::commands;
use crate::error::{Context, Remedied};
use crate::interrupt;
use crate::ui::Ui;

/// Runs a step, unless it is up to date.
pub(super) fn carry_out(
    step: &PlannedStep,
    progress: &str,
    work: &mut Work,
    models: &mut KnownModels,
    threads: usize,
    ui: &Ui,
) -> crate::Result<StepReport> {
    let name = &step.name;
    let models = models.of(step, ui).context(format!("step {name}"))?;
    let status = work.status(step, models).context(format!("step {name}"))?;
    if let Status::UpToDate { seconds } = status {
        ui.status(format!("{progress} {name}: up to date"));
        return Ok(StepReport::new(step, Done::Before { seconds }));
    }
    ui.status(format!(
        "{progress} {name}: toller {} ({})",
        step.described(work.directory()),
        reason(&status)
    ));
    let started = Instant::now();
    perform(step, &status, work, models, threads, ui).context(format!("step {name}"))?;
    let seconds = started.elapsed().as_secs_f64();
    work.finish(step, seconds)?;
    Ok(StepReport::new(step, Done::Now { seconds, why: reason(&status) }))
}

fn perform(
    step: &PlannedStep,
    status: &Status,
    work: &mut Work,
    models: &Models,
    threads: usize,
    ui: &Ui,
) -> crate::Result<()> {
    work.begin(step, status, models)?;
    let arguments = work.command_line(step)?;
    let cli = catalogue::parse(&arguments).map_err(|error| Remedied::without_remedy(error.to_string()))?;
    let perform = |ui: &Ui| -> crate::Result<()> {
        let performed = interrupt::at_once(|| commands::perform(&cli, threads, ui))?;
        performed.map_err(|error| error.of_command(&catalogue::command_of(&arguments)))
    };
    let Some(stdout) = &step.stdout else {
        return perform(&ui.of_step());
    };
    let file = AtomicFile::create(work.directory().join(stdout))?;
    let (ui, captured) = ui.of_step_into(file);
    perform(&ui)?;
    Ok(captured.commit()?)
}

/// What would be run, and why.
pub(super) fn foresee(plan: &Plan, work: &mut Work, ui: &Ui) -> crate::Result<Report> {
    let mut models = KnownModels::default();
    let mut report = Report::default();
    for step in &plan.steps {
        let done = foresee_step(step, plan, &report, work, &mut models)?;
        ui.detail(format!("{}: toller {}", step.name, step.described(work.directory())));
        report.steps.push(StepReport::new(step, done));
    }
    Ok(report)
}

fn foresee_step(
    step: &PlannedStep,
    plan: &Plan,
    before: &Report,
    work: &mut Work,
    models: &mut KnownModels,
) -> crate::Result<Done> {
    if is_missing_something(step, plan) {
        return Ok(Done::Not { why: "input missing".to_owned() });
    }
    let waits = before
        .steps
        .iter()
        .filter(|earlier| step.needs.contains(&earlier.step) && !matches!(earlier.done, Done::Before { .. }));
    let waits: Vec<&str> = waits.map(|earlier| earlier.step.as_str()).collect();
    if !waits.is_empty() {
        return Ok(Done::Not { why: format!("after {}", waits.join(", ")) });
    }
    let models = match models.here(step) {
        Ok(models) => models,
        Err(name) => return Ok(Done::Not { why: format!("fetches the model {name}") }),
    };
    Ok(match work.status(step, models)? {
        Status::UpToDate { seconds } => Done::Before { seconds },
        status => Done::Not { why: reason(&status) },
    })
}

/// Whether a variable or an input of the step is missing.
pub(super) fn is_missing_something(step: &PlannedStep, plan: &Plan) -> bool {
    let unset = |text: &str| {
        plan.missing.iter().any(|missing| match missing {
            Missing::Variable(variable) => text.contains(&format!("${{{}}}", variable.name)),
            Missing::Input { .. } => false,
        })
    };
    let by_name = plan.missing.iter().any(|missing| match missing {
        Missing::Input { steps, .. } => steps.contains(&step.name),
        Missing::Variable(_) => false,
    });
    by_name
        || step.pieces().any(|piece| match piece {
            Piece::Text(text) | Piece::Model { name: text, .. } => unset(text),
            Piece::Input(path) | Piece::Upstream(path) | Piece::Output(path) | Piece::Cache(path) => {
                unset(&path.to_string_lossy())
            }
            Piece::Reported { report, .. } => unset(&report.to_string_lossy()),
        })
}

/// Why a step is run.
fn reason(status: &Status) -> String {
    match status {
        Status::UpToDate { .. } => "up to date".to_owned(),
        Status::New => "new".to_owned(),
        Status::Changed(what) => format!("changed: {}", what.join(", ")),
        Status::Unfinished => "unfinished".to_owned(),
        Status::Damaged(output) => format!("{} is not as it was written", output.display()),
        Status::Forced => "forced".to_owned(),
    }
}
