//! The tables of a program with their dependencies.

use std::collections::HashMap;

use crate::error::PlanError;
use crate::table::{Match, Table};

/// The kind of a dependency on an earlier table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dependency {
    /// It matches on, or is executed because of, a result of the earlier table's action: a later stage.
    Match,
    /// Its action uses or writes a result of the earlier table's action: a later stage.
    Action,
    /// It is executed only when the earlier one misses or hits: the same stage is possible.
    Control,
}

impl Dependency {
    /// Stages between the last part of the earlier table and the first one of the later.
    pub const fn stages(self) -> usize {
        match self {
            Self::Match | Self::Action => 1,
            Self::Control => 0,
        }
    }
}

/// One dependency, by indices in [`Pipeline::tables`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Edge {
    /// The earlier table.
    pub from: usize,
    /// The later table.
    pub to: usize,
    /// The kind.
    pub kind: Dependency,
}

/// A program: tables in the order of execution, and dependencies that go forward in it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Pipeline {
    tables: Vec<Table>,
    edges: Vec<Edge>,
}

impl Pipeline {
    /// The tables, in the order of the program.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The dependencies.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Adds a table that depends on others, by their names.
    ///
    /// # Errors
    /// [`PlanError`] when the name is taken, a table that it depends on has not been added, or the table is invalid.
    pub fn add(&mut self, table: Table, after: &[(&str, Dependency)]) -> Result<(), PlanError> {
        if self.position(&table.name).is_some() {
            return Err(PlanError::Duplicate { table: table.name });
        }
        check(&table)?;
        let to = self.tables.len();
        for &(name, kind) in after {
            let Some(from) = self.position(name) else {
                return Err(PlanError::Missing { table: table.name, needs: name.to_owned() });
            };
            self.edges.push(Edge { from, to, kind });
        }
        self.tables.push(table);
        Ok(())
    }

    /// Changes the size of a table.
    ///
    /// # Errors
    /// [`PlanError`] when there is no such table, or its kind does not allow the size.
    pub fn resize(&mut self, name: &str, entries: u32) -> Result<(), PlanError> {
        let Some(index) = self.position(name) else {
            let known = self.tables.iter().map(|table| table.name.clone()).collect();
            return Err(PlanError::Unknown { table: name.to_owned(), known });
        };
        let table = &mut self.tables[index];
        let before = std::mem::replace(&mut table.entries, entries);
        check(table).inspect_err(|_| self.tables[index].entries = before)
    }

    /// The index of a table.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.name == name)
    }

    /// The dependencies of each table on earlier ones.
    pub fn before(&self) -> HashMap<usize, Vec<Edge>> {
        let mut before: HashMap<usize, Vec<Edge>> = HashMap::new();
        for edge in &self.edges {
            before.entry(edge.to).or_default().push(*edge);
        }
        before
    }
}

/// Checks that a layout is possible.
fn check(table: &Table) -> Result<(), PlanError> {
    let wrong = |why: String| Err(PlanError::Illegal { table: table.name.clone(), why });
    let bits = table.matching.bits();
    if table.actions.iter().flatten().any(|operand| *operand == 0) {
        return wrong("its operands must have a bit at least".to_owned());
    }
    match &table.matching {
        Match::Always if table.entries == 0 => Ok(()),
        Match::Always => {
            if table.counter.is_none() && table.meter.is_none() && table.entries > 1 {
                return wrong("a table without a key has one entry".to_owned());
            }
            Ok(())
        }
        Match::Index(_) => {
            if bits == 0 || bits > 22 || table.entries != 1 << bits {
                return wrong(format!(
                    "addressed by {bits} bits it has 2^{bits} entries, not {}",
                    table.entries
                ));
            }
            if table.actions.len() > 1 {
                return wrong("addressed by index it can have one action only".to_owned());
            }
            Ok(())
        }
        Match::Exact(_) | Match::Ternary(_) => {
            if bits == 0 || bits > 512 {
                return wrong(format!("its key has {bits} bits, 1 to 512 are possible"));
            }
            if table.entries == 0 {
                return wrong("it must have an entry at least".to_owned());
            }
            Ok(())
        }
    }
}
