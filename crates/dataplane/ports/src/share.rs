//! Several ports at one address or device, each for a thread of its own.

/// Whether a port has its address or device for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PortSharing {
    /// There is no other.
    #[default]
    Exclusive,
    /// Others follow. Nobody else is there yet: not another process either.
    First,
    /// The first one is there.
    Further,
}
