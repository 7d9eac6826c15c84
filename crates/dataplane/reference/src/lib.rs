//! The reference data plane: the oracle, one packet at a time.
