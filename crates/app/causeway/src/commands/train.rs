//! `causeway train`: a model of application classes from tables and captures.

use std::process::ExitCode;

use causeway_experiment::training::{TrainArguments, TrainingError};

use crate::exit;

pub(super) fn run(arguments: &TrainArguments) -> ExitCode {
    match causeway_experiment::training::run(arguments, &mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::from(exit::OK),
        // A closed pipe is no error.
        Err(TrainingError::Output(source)) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::from(exit::OK)
        }
        Err(error) => {
            let code = if error.is_usage() { exit::USAGE } else { exit::FAILED };
            exit::end(code, format_args!("no model is trained: {error}"))
        }
    }
}
