//! Requests to changes of sessions: what is accepted, what is refused, and why.

mod common;
mod dialects;
mod mutated;
mod nothing_ignored;
mod refusals;
