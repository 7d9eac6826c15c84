//! The contract between the control plane and every data plane.
