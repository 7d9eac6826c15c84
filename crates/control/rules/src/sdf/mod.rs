//! Flow descriptions as text: the IPFilterRule of RFC 6733 section 4.3.1, as restricted by TS 29.212 clause 5.4.2.

mod parse;
mod print;

pub use parse::FlowError;
