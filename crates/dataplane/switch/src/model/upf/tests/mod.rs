//! What packets cannot show; what becomes of them is told in `tests/packets`.

mod codes;
mod programs;
