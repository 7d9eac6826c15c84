//! Rows of `docs/resources.csv`, of one program: `resources PROGRAM COMPILER FILE`, where FILE is the compiler's `pipe/logs/resources.json`.

use std::env::args;
use std::error::Error;
use std::fs::read_to_string;
use std::io::{Write, stdout};

use causeway_experiment::resources::of_compiler;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = args().skip(1).collect();
    let [program, compiler, file] = arguments.as_slice() else {
        return Err("usage: resources PROGRAM COMPILER FILE".into());
    };
    let list = read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    for (resource, used) in of_compiler(&list).map_err(|error| format!("{file}: {error}"))? {
        writeln!(stdout(), "{program},{compiler},{},{},{}", resource.name(), used.used, used.of)?;
    }
    Ok(())
}
