//! The command line's names for the settings and commands in remedies.

use std::collections::BTreeSet;

use toller_ir::{Command, Explain, Remedy, Setting};

/// The flag of a setting.
pub fn flag(setting: Setting) -> String {
    format!("--{}", setting.name().replace('_', "-"))
}

/// The command line of a command.
fn command_line(command: Command) -> String {
    match command {
        Command::Pull | Command::Quantize => format!("toller store {}", command.name()),
        _ => format!("toller {}", command.name()),
    }
}

/// A remedy, with the flags that `flag` gives.
pub fn spelled(remedy: &Remedy, flag: impl Fn(Setting) -> String) -> String {
    remedy.render(|term| term.spelled(command_line, &flag))
}

/// An error and its remedy on one line.
pub fn in_one_line(error: &dyn Explain) -> String {
    let remedy = error.remedy().map(|remedy| format!("; {}", spelled(&remedy, flag)));
    error.to_string() + &remedy.unwrap_or_default()
}

/// The first of these flags that is given.
pub fn first_given<'a>(flags: impl IntoIterator<Item = (&'a str, bool)>) -> Option<&'a str> {
    flags.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
}

/// The flags of a command.
pub fn of_command(command: &clap::Command) -> BTreeSet<String> {
    command.get_arguments().filter_map(clap::Arg::get_long).map(|name| format!("--{name}")).collect()
}

/// Whether a command, or one below it, takes a flag.
#[cfg(test)]
pub fn has_option(command: &clap::Command, flag: &str) -> bool {
    let is_it = |argument: &clap::Arg| argument.get_long() == flag.strip_prefix("--");
    command.get_arguments().any(is_it) || command.get_subcommands().any(|below| has_option(below, flag))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_flag_and_command_that_remedies_name_is_there() {
        let toller = Cli::command();
        for setting in Setting::ALL {
            let flag = flag(setting);
            assert!(has_option(&toller, &flag), "no command takes {flag}");
        }
        for command in Command::ALL {
            let line = command_line(command);
            let found = line.split(' ').skip(1).try_fold(&toller, |below, name| below.find_subcommand(name));
            assert!(found.is_some(), "there is no `{line}`");
        }
    }
}
