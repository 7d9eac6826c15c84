//! Execution of system programs.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::LabError;

/// Runs a program to its end with `input` on its standard input.
///
/// # Errors
/// [`LabError::Missing`] when it is not installed, [`LabError::Command`] with what it said when it failed.
pub fn run_program<A: AsRef<OsStr>>(
    program: &str,
    args: impl IntoIterator<Item = A>,
    input: &str,
) -> Result<(), LabError> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let shown = format!("{command:?}").replace('"', "");
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            LabError::Missing(format!("the program `{program}` is not installed"))
        }
        _ => LabError::io(shown.clone())(error),
    })?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends without reading says itself what it did not like.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(LabError::io(shown.clone()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    let message = if said.is_empty() { output.status.to_string() } else { said };
    Err(LabError::Command { command: shown, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a program that prints to its standard error and fails; one that does not exist.
    // Output: what it said with the command; which program is missing.
    #[test]
    fn a_failure_says_which_command_and_why() {
        let failed = run_program("sh", ["-c", "echo no such thing >&2; exit 3"], "").unwrap_err();
        assert!(failed.to_string().ends_with("failed: no such thing"), "{failed}");
        let silent = run_program("false", [""; 0], "").unwrap_err();
        assert_eq!(silent.to_string(), "`false` failed: exit status: 1");
        let missing = run_program("causeway-no-such-program", [""; 0], "").unwrap_err();
        assert_eq!(missing.to_string(), "the program `causeway-no-such-program` is not installed");
    }
}
