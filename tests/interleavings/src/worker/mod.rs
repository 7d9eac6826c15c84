//! The modules of the daemon that packet threads share, and their models.

#[allow(dead_code, reason = "the daemon uses more of it")]
#[path = "../../../../crates/app/upf/src/worker/directory.rs"]
mod directory;
mod directory_models;
#[allow(dead_code, reason = "the daemon uses more of it")]
#[path = "../../../../crates/app/upf/src/worker/handoff_ring.rs"]
mod handoff_ring;
#[allow(dead_code, reason = "the daemon uses more of it")]
#[path = "../../../../crates/app/upf/src/worker/in_turn.rs"]
mod in_turn;
mod in_turn_models;
#[allow(dead_code, reason = "the daemon uses more of it")]
#[path = "../../../../crates/app/upf/src/worker/notifier.rs"]
mod notifier;
#[path = "../../../../crates/app/upf/src/worker/prefix_lengths.rs"]
mod prefix_lengths;
mod sync;
mod wake_models;

pub use directory_models::{
    a_key_has_its_old_or_its_new_owner, neighbours_do_not_hide_a_key, writers_in_turn_keep_each_others_keys,
};
pub use in_turn_models::{a_turn_that_was_missed_comes, the_waiting_thread_comes_first};
pub use wake_models::{no_command_is_slept_through, packets_arrive_once_and_in_order};

/// Explores a model with at most so many points at which a thread is interrupted although it could go on. Two show most defects;
/// without a limit exploration takes hours.
fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}
