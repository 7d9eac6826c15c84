//! Several workers: who owns which session, how packets find them, and that together they do what one does.

mod bench;
mod shared;
mod swap;
mod traffic;
