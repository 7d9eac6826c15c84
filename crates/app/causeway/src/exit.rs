//! Exit codes, and output that a closed pipe does not turn into a panic.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// It worked, or it was asked to stop and did.
pub(crate) const OK: u8 = 0;
/// It failed: at start, at work, or what was checked is wrong.
pub(crate) const FAILED: u8 = 1;
/// The command line or, for `run`, the configuration is wrong: trying again will not help.
pub(crate) const USAGE: u8 = 2;

/// Writes to standard output. A reader that has gone away wants no more.
pub(crate) fn print(text: impl Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Says on standard error how it ended, and gives the exit code.
pub(crate) fn end(code: u8, how: impl Display) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{how}");
    ExitCode::from(code)
}
