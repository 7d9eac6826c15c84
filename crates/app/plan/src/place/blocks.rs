//! Blocks of a program: consecutive tables under the same conditions.
//!
//! Without long branches a stage tells only the next one which table comes next, so tables after a block must wait
//! until the whole block is placed.

use crate::pipeline::Pipeline;
use crate::table::{Branch, Gress, Table};

/// The tables under some conditions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Block {
    gress: Gress,
    conditions: Vec<Branch>,
    /// The tables, by their indices in the pipeline.
    pub(super) members: Vec<usize>,
    /// Tables outside that must be placed before the block begins, as its members depend on them: later they would have
    /// to wait for it.
    pub(super) needs: Vec<usize>,
}

impl Block {
    /// Whether the table must wait while the block is incomplete: it is not part of it, and packets may execute both.
    pub(super) fn holds_up(&self, table: usize, tables: &[Table]) -> bool {
        let Some(other) = tables.get(table) else { return false };
        let apart =
            |branch: &Branch| self.conditions.iter().any(|b| b.on == branch.on && b.way != branch.way);
        other.gress == self.gress && !self.members.contains(&table) && !other.path.iter().any(apart)
    }
}

/// The blocks of a program; each nested condition makes a block of its own.
pub(super) fn blocks(pipeline: &Pipeline) -> Vec<Block> {
    let tables = pipeline.tables();
    let mut blocks: Vec<Block> = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        for depth in 1..=table.path.len() {
            let conditions = &table.path[..depth];
            let previous = index.checked_sub(1).filter(|previous| {
                tables[*previous].gress == table.gress && tables[*previous].path.starts_with(conditions)
            });
            let open = blocks.iter_mut().find(|block| {
                block.conditions == conditions
                    && previous.is_some_and(|previous| block.members.contains(&previous))
            });
            match open {
                Some(block) => block.members.push(index),
                None => blocks.push(Block {
                    gress: table.gress,
                    conditions: conditions.to_vec(),
                    members: vec![index],
                    needs: Vec::new(),
                }),
            }
        }
    }
    for block in &mut blocks {
        block.needs = needs(pipeline, &block.members);
    }
    blocks
}

/// All tables outside on which the members depend, directly or indirectly.
fn needs(pipeline: &Pipeline, members: &[usize]) -> Vec<usize> {
    let mut needs: Vec<usize> = members.to_vec();
    // Dependencies go forward, so one pass from the end follows each to its beginning.
    for table in (0..pipeline.tables().len()).rev() {
        if needs.contains(&table) {
            let from = pipeline.edges().iter().filter(|edge| edge.to == table).map(|edge| edge.from);
            needs.extend(from);
        }
    }
    needs.retain(|need| !members.contains(need));
    needs.sort_unstable();
    needs.dedup();
    needs
}

#[cfg(test)]
mod tests {
    use super::blocks;
    use crate::pipeline::{Dependency, Pipeline};
    use crate::table::{Gress, Match, Table};

    fn table(name: &str) -> Table {
        Table::new(name, Gress::Ingress, Match::Always, 0)
    }

    // Input:  a table, one under a condition, two under that and another one, one after them on the other branch.
    // Output: a block for the outer condition's three tables and the inner one's two, which need the table on which the
    //         last of them depends; one for the other branch.
    #[test]
    fn each_condition_makes_a_block() {
        let mut pipeline = Pipeline::default();
        pipeline.add(table("first"), &[]).unwrap();
        pipeline.add(table("a").when("x", 1), &[]).unwrap();
        pipeline.add(table("b").when("x", 1).when("y", 0), &[("a", Dependency::Match)]).unwrap();
        pipeline.add(table("c").when("x", 1).when("y", 0), &[("first", Dependency::Match)]).unwrap();
        pipeline.add(table("d").when("x", 0), &[]).unwrap();
        let found: Vec<_> = blocks(&pipeline).into_iter().map(|block| (block.members, block.needs)).collect();
        assert_eq!(found, [(vec![1, 2, 3], vec![0]), (vec![2, 3], vec![0, 1]), (vec![4], vec![])]);
    }
}
