//! Conversion between the types of drivers and the messages of P4Runtime.

mod from_wire;
mod to_wire;

#[cfg(test)]
mod tests;

use causeway_switch::driver::WriteError;
use tonic::Code;

use crate::bytes::NotANumber;
use crate::wire::P4Error;
pub(crate) use from_wire::{count_of, index_of, rates_of};
pub(crate) use to_wire::{wire_count, wire_rates};

/// Why a part of a request cannot be done, as a P4Runtime status.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    pub(crate) fn to_wire(&self) -> P4Error {
        P4Error { canonical_code: self.code as i32, message: self.message.clone() }
    }
}

impl From<Refusal> for tonic::Status {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code, refusal.message)
    }
}

impl From<NotANumber> for Refusal {
    fn from(error: NotANumber) -> Self {
        Self::new(Code::OutOfRange, error.to_string())
    }
}

impl From<&WriteError> for Refusal {
    fn from(error: &WriteError) -> Self {
        let code = match error {
            WriteError::UnknownTable(_)
            | WriteError::UnknownAction { .. }
            | WriteError::Arity { .. }
            | WriteError::Field { .. }
            | WriteError::MeterRates
            | WriteError::RegisterValue { .. }
            | WriteError::Priority { .. } => Code::InvalidArgument,
            WriteError::UnknownCounter { .. }
            | WriteError::UnknownMeter { .. }
            | WriteError::UnknownRegister { .. } => Code::OutOfRange,
            WriteError::Exists(_) => Code::AlreadyExists,
            WriteError::Missing(_) => Code::NotFound,
            WriteError::Full { .. } => Code::ResourceExhausted,
            WriteError::Const(_) => Code::PermissionDenied,
            WriteError::Refused { status, .. } => Code::from(*status),
        };
        Self::new(code, error.to_string())
    }
}
