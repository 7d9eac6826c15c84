//! Several ports at one address or device, each for its own thread.

/// Whether a port shares its address or device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PortSharing {
    /// It does not.
    #[default]
    Exclusive,
    /// It is the first of several. No other port or process uses the address or device yet.
    First,
    /// The first one is open already.
    Further,
}
