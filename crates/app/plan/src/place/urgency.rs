//! Which table goes first: the one that the most stages lie behind.

use crate::pipeline::Pipeline;

/// The urgency of each table: stages that what depends on it takes at least, one after the other.
pub(super) fn ranks(pipeline: &Pipeline) -> Vec<usize> {
    let mut ranks = vec![0; pipeline.tables().len()];
    // Dependencies go forward, so one pass from the end sees each table after all that depend on it.
    for table in (0..ranks.len()).rev() {
        let behind = pipeline.edges().iter().filter(|edge| edge.from == table);
        ranks[table] = behind.map(|edge| ranks[edge.to] + edge.kind.stages()).max().unwrap_or(0);
    }
    ranks
}
