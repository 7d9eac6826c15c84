//! X-PLANE (Liu et al., MobiCom '23): state of a UPF in external memory.

pub mod figures;
pub mod memory;
mod path;
