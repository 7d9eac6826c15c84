//! Exit codes, and output that does not panic on a closed pipe.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// Success, or a requested stop.
pub(crate) const OK: u8 = 0;
/// Failure: at start, at run time, or of a check.
pub(crate) const FAILED: u8 = 1;
/// The command line or, for `run`, the configuration is wrong: a retry does not help.
pub(crate) const USAGE: u8 = 2;

/// Writes to standard output. A closed pipe is no error.
pub(crate) fn print(text: impl Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Writes the result to standard error, and returns the exit code.
pub(crate) fn end(code: u8, how: impl Display) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{how}");
    ExitCode::from(code)
}

/// Writes a remark to standard error, so that standard output has only what was asked for.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
