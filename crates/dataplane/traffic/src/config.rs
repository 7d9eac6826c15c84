//! Errors of configurations.

/// Why a detector cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// A number is out of its range.
    #[error("{what} is {given}: from {least} to {most}")]
    OutOfRange {
        /// The field of the configuration.
        what: &'static str,
        /// Its value.
        given: u64,
        /// The least permitted value.
        least: u64,
        /// The greatest permitted value.
        most: u64,
    },
}

/// Checks a number.
pub(crate) const fn in_range(
    what: &'static str,
    given: u64,
    least: u64,
    most: u64,
) -> Result<(), ConfigError> {
    if given < least || given > most {
        Err(ConfigError::OutOfRange { what, given, least, most })
    } else {
        Ok(())
    }
}
