//! The UPF daemon: configuration, runtime, metrics.
