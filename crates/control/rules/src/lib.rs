//! PFCP rules as legal values: decode, validate, diff and plan; all pure.
