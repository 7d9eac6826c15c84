//! Tests of what packet threads share. They are beside its modules, since `tests/interleavings` compiles these with a model checker.

mod directory;
mod handoff_ring;
mod notifier;
