//! `causeway plan`: which tables fit into the stages of a switch.

use std::process::ExitCode;

use causeway_plan::{Arguments, PlanError};

use crate::exit;

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    match causeway_plan::run(arguments, &mut std::io::stdout().lock()) {
        Ok(true) => ExitCode::from(exit::OK),
        Ok(false) => ExitCode::from(exit::FAILED),
        // A closed pipe is no error.
        Err(PlanError::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::from(exit::OK)
        }
        Err(error) => {
            let code = if error.is_usage() { exit::USAGE } else { exit::FAILED };
            exit::end(code, format_args!("cannot plan: {error}"))
        }
    }
}
