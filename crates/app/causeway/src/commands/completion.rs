//! `causeway completion`: completion scripts for shells.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use crate::cli::Cli;
use crate::exit;

/// The options of `causeway completion`.
#[derive(Args)]
pub(crate) struct CompletionArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &CompletionArgs) -> ExitCode {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "causeway", &mut script);
    // A closed pipe is no error.
    let _ = io::stdout().write_all(&script);
    ExitCode::from(exit::OK)
}
