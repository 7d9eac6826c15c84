//! The messages that a P4 switch parses: a layout of IEs, from which the parser of `p4/blocks` is generated.
//!
//! A switch parses IEs in the order of TS 29.244 alone, one PDR, one FAR and one QER of a message, and values of few lengths
//! ([`Class::PUBLISHED`](crate::Class::PUBLISHED) less what a parser of 256 rows cannot hold). It stores each value in a
//! field. [`parse()`] does the same in software.

mod layout;
mod parse;
mod render;

pub use layout::{Field, Forms, Part, fields, forms};
pub use parse::{Fields, Parsed, parse};
pub use render::{ies, states};
