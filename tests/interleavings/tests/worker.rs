//! What packet threads share, in all interleavings: see the documentation of each model.

use causeway_interleavings::worker;

macro_rules! models {
    ($($name:ident)*) => { $(#[test] fn $name() { worker::$name(); })* };
}

models! {
    no_command_is_slept_through
    packets_arrive_once_and_in_order
    a_key_has_its_old_or_its_new_owner
    neighbours_do_not_hide_a_key
    writers_in_turn_keep_each_others_keys
    a_turn_that_was_missed_comes
    the_waiting_thread_comes_first
}
