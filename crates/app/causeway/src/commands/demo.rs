//! `causeway demo`: a complete 5G user plane on this host.

use std::process::ExitCode;

use causeway_lab::demo::{self, Options};

use crate::cli::DemoArgs;
use crate::exit;

pub(super) fn run(args: DemoArgs) -> ExitCode {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => {
            return exit::end(exit::FAILED, format_args!("cannot find this program's own file: {error}"));
        }
    };
    match demo::run(&Options {
        out: args.out,
        dataplane: args.dataplane,
        program,
        keep: args.keep,
        lossy: None,
    }) {
        Ok(true) => ExitCode::from(exit::OK),
        Ok(false) => ExitCode::from(exit::FAILED),
        Err(error) => exit::end(exit::FAILED, format_args!("the demo cannot run: {error}")),
    }
}
