//! Zero-copy PFCP codec (TS 29.244 Release 17).
