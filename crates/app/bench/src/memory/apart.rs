//! One row in a process of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Case;
use crate::report::{Cell, Report};
use crate::{BenchError, Common};

/// Runs this program again for the case alone, and takes its row and notes over.
pub(super) fn measure(case: &Case, common: &Common, report: &mut Report) -> Result<(), BenchError> {
    let path = std::env::temp_dir().join(format!("causeway-memory-{}.json", std::process::id()));
    let result = ask(case, common, &path);
    // It may not have come to be.
    let _ = fs::remove_file(&path);
    let json = result?;
    let told = json.get(0).unwrap_or(&Value::Null);
    let list = |name: &str| told.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    for row in list("rows") {
        report.rows.push(row.as_array().into_iter().flatten().map(Cell::from).collect());
    }
    for note in list("notes").iter().filter_map(Value::as_str) {
        report.note(note);
    }
    Ok(())
}

fn ask(case: &Case, common: &Common, path: &Path) -> Result<Value, BenchError> {
    let running = || BenchError::io("run this program again, for one row");
    let program = std::env::current_exe().map_err(running())?;
    let mut command = Command::new(program);
    // The benchmarks are a subcommand of one program and the whole of another.
    if std::env::args_os().nth(1).is_some_and(|first| first == "bench") {
        command.arg("bench");
    }
    command.arg("memory").stdout(Stdio::null());
    for (flag, value) in [
        ("--backend", case.backend.to_string()),
        ("--sessions", case.sessions.to_string()),
        ("--pdrs", case.pdrs.to_string()),
        ("--rules", case.rules.to_string()),
    ] {
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
