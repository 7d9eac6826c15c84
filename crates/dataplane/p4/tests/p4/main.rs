//! The files that the compiler of P4 writes, and what is made of them.

mod compiled;
mod fresh;
mod inspect;
mod targets;
