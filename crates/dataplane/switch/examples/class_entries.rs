//! Prints the entries of a model file of `causeway train` for a switch with application classes, as commands of `simple_switch_CLI`.
//!
//! `cargo run -p causeway-switch --example class_entries -- MODEL.json`
//!
//! The entries of `class_members`, which say what session a rule is of, are the controller's.

#![forbid(unsafe_code)]

use std::error::Error;
use std::io::Write;

use causeway_class_model::ModelFile;
use causeway_switch::classes::entries;
use causeway_switch::driver::{Entry, FieldMatch, Program, Update};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: class_entries MODEL.json")?;
    let named = |error: &dyn Error| format!("{}: {error}", path.display());
    let octets = std::fs::read(&path).map_err(|error| named(&error))?;
    let model = ModelFile::decode(&octets).map_err(|error| named(&error))?.into_model();
    let program = Program::default().with_application_classes();
    let mut out = std::io::stdout().lock();
    for update in entries(&program, &model).map_err(|error| named(&error))? {
        if let Update::Insert(entry) = update {
            writeln!(out, "{}", command(&program, &entry))?;
        }
    }
    Ok(())
}

fn command(program: &Program, entry: &Entry) -> String {
    let table = program.tables.iter().find(|table| table.id == entry.key.table);
    let action = program.actions.iter().find(|action| action.id == entry.action);
    let field = |field: &FieldMatch| match *field {
        FieldMatch::Exact(value) => value.to_string(),
        FieldMatch::Ternary { value, mask } => format!("{value}&&&{mask}"),
        FieldMatch::Lpm { value, prefix } => format!("{value}/{prefix}"),
    };
    let names = [table.map(|table| table.name.clone()), action.map(|action| action.name.clone())];
    let parameters = entry.parameters.iter().map(u128::to_string);
    let priority = (entry.key.priority > 0).then(|| entry.key.priority.to_string());
    let words = ["table_add".to_owned()].into_iter().chain(names.into_iter().flatten());
    let words = words.chain(entry.key.fields.iter().map(field)).chain(["=>".to_owned()]);
    words.chain(parameters).chain(priority).collect::<Vec<_>>().join(" ")
}
