//! Conformance cases as data, run against every data plane.
