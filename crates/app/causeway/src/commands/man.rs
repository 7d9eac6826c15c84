//! `causeway man`: the manual pages.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory};
use clap_mangen::{Man, generate_to};
use thiserror::Error;

use crate::cli::Cli;
use crate::exit;

/// The options of `causeway man`.
#[derive(Args)]
pub(crate) struct ManArgs {
    /// The subcommand whose page is printed; without one, that of `causeway`
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    command: Vec<String>,
    /// Write the pages of all subcommands into this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

#[derive(Debug, Error)]
enum ManError {
    #[error("there is no subcommand `{0}`; see `causeway help`")]
    Unknown(String),
    #[error("cannot write to {}: {source}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("cannot render the page: {0}")]
    Page(#[from] io::Error),
}

pub(super) fn run(args: &ManArgs) -> ExitCode {
    let done = match &args.out {
        Some(folder) => write_all(folder),
        None => print(&args.command),
    };
    done.map_or_else(|error| exit::end(exit::FAILED, error), |()| ExitCode::from(exit::OK))
}

fn write_all(folder: &Path) -> Result<(), ManError> {
    let failed = |source| ManError::Folder { folder: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(failed)?;
    generate_to(Cli::command().disable_help_subcommand(true), folder).map_err(failed)
}

fn print(path: &[String]) -> Result<(), ManError> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut of: &Command = &command;
    for name in path {
        of = of.find_subcommand(name).ok_or_else(|| ManError::Unknown(path.join(" ")))?;
    }
    let mut page = Vec::new();
    Man::new(of.clone()).render(&mut page)?;
    // A closed pipe is no error.
    let _ = io::stdout().write_all(&page);
    Ok(())
}
