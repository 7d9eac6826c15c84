//! The order of placement: tables with the most dependent stages first.

use crate::pipeline::Pipeline;

/// The urgency of each table: the fewest stages that its dependent tables take, one after the other.
pub(super) fn ranks(pipeline: &Pipeline) -> Vec<usize> {
    let mut ranks = vec![0; pipeline.tables().len()];
    // Dependencies go forward, so one pass from the end visits each table after all its dependents.
    for table in (0..ranks.len()).rev() {
        let behind = pipeline.edges().iter().filter(|edge| edge.from == table);
        ranks[table] = behind.map(|edge| ranks[edge.to] + edge.kind.stages()).max().unwrap_or(0);
    }
    ranks
}
