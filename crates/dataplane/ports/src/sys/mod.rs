//! The system calls that no safe library offers. All unsafe code of this crate is here.
//!
//! Each module wraps one family of calls in safe functions over borrowed slices and descriptors.

pub(crate) mod mmsg;
pub(crate) mod sockopt;
pub(crate) mod tun;
