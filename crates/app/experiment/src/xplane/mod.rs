//! X-PLANE (Liu et al., MobiCom '23): state of a UPF in external memory.

pub mod figures;
mod limits;
pub mod memory;
mod path;
mod places;
pub mod table2;
