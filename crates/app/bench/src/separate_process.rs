//! Rows that are measured in a separate process: memory that a process returned to its allocator would make the next figure
//! too low.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::report::{Cell, Report};
use crate::{BenchError, Common};

/// Runs a benchmark of this program again with these flags, and takes its rows and notes over.
///
/// # Errors
/// [`BenchError`] when it cannot be run or does not end well.
pub(crate) fn measure(
    benchmark: &str,
    flags: &[(&str, String)],
    common: &Common,
    report: &mut Report,
) -> Result<(), BenchError> {
    let path = std::env::temp_dir().join(format!("causeway-{benchmark}-{}.json", std::process::id()));
    let result = ask(benchmark, flags, common, &path);
    // It may not have come to be.
    let _ = fs::remove_file(&path);
    let json = result?;
    let told = json.get(0).unwrap_or(&Value::Null);
    let list = |name: &str| told.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    for row in list("rows") {
        report.table.rows.push(row.as_array().into_iter().flatten().map(Cell::from).collect());
    }
    for note in list("notes").iter().filter_map(Value::as_str) {
        report.note(note);
    }
    Ok(())
}

fn ask(benchmark: &str, flags: &[(&str, String)], common: &Common, path: &Path) -> Result<Value, BenchError> {
    let running = || BenchError::io("run this program again, for one row");
    let program = std::env::current_exe().map_err(running())?;
    let mut command = Command::new(program);
    // The benchmarks are a subcommand of one program and the whole of another.
    if std::env::args_os().nth(1).is_some_and(|first| first == "bench") {
        command.arg("bench");
    }
    command.arg(benchmark).stdout(Stdio::null()).arg("--seed").arg(common.seed.to_string());
    for (flag, value) in flags {
        command.arg(flag).arg(value);
    }
    if let Some(core) = common.core {
        command.arg("--core").arg(core.to_string());
    }
    let status = command.arg("--json").arg(path).status().map_err(running())?;
    if !status.success() {
        return Err(running()(std::io::Error::other(format!("it ended with {status}"))));
    }
    let text = fs::read_to_string(path).map_err(running())?;
    Ok(serde_json::from_str(&text)?)
}
