//! `causeway experiment`: figures of papers on a modelled switch.

use std::process::ExitCode;

use causeway_experiment::{Arguments, ExperimentError};

use crate::exit;

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    match causeway_experiment::run(arguments, &mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::from(exit::OK),
        // A closed pipe is no error.
        Err(ExperimentError::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::from(exit::OK)
        }
        Err(error) => {
            let code = if error.is_usage() { exit::USAGE } else { exit::FAILED };
            exit::end(code, format_args!("the experiment cannot be carried out: {error}"))
        }
    }
}
