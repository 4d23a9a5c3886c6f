//! The binary `toller`.

use std::process::ExitCode;

fn main() -> ExitCode {
    toller_cli::prepare_process();
    let arguments: Vec<_> = std::env::args_os().collect();
    ExitCode::from(toller_cli::main(&arguments))
}
