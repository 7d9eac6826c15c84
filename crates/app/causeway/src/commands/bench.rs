//! `causeway bench`: benchmarks of this build on this host.

use std::process::ExitCode;

use causeway_bench::Arguments;

use crate::exit;

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    match causeway_bench::run(arguments, &mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::from(exit::OK),
        Err(error) => exit::end(exit::FAILED, format_args!("the benchmark cannot run: {error}")),
    }
}
