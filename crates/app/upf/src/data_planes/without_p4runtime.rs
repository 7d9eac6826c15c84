//! A build without P4Runtime drives no switch.

use super::{BoxedDataPlane, Parts};
use crate::config::P4Switch;
use crate::error::StartError;

/// There are none.
#[derive(Default)]
pub(super) struct Drivers;

/// # Errors
/// Always.
pub(super) fn remote_switch(_: &P4Switch, _: &str, _: &Parts<'_>) -> Result<BoxedDataPlane, StartError> {
    Err(StartError::WithoutP4Runtime)
}

/// # Errors
/// Always.
pub(super) fn switch_in_front(
    _: &P4Switch,
    _: &str,
    parts: &Parts<'_>,
) -> Result<BoxedDataPlane, StartError> {
    let Drivers = parts.common.drivers;
    Err(StartError::WithoutP4Runtime)
}
