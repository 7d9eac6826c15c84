//! Serializes values in the syntax of a configuration file.

use std::fmt;
use std::net::IpAddr;

use causeway_types::{Bitrate, IpNet, Span};
use serde::Serializer;

use super::quantities::{bitrate_text, octets_text, span_text};

pub(super) fn span<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&span_text(*span))
}

pub(super) fn octets<S: Serializer>(octets: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&octets_text(*octets))
}

pub(super) fn bitrate<S: Serializer>(rate: &Bitrate, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&bitrate_text(*rate))
}

pub(super) fn bitrate_if_any<S: Serializer>(
    rate: &Option<Bitrate>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    shown_if_any(&rate.map(bitrate_text), serializer)
}

pub(super) fn shown<T: fmt::Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

pub(super) fn shown_if_any<T: fmt::Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

/// A list as one comma-separated value.
pub(super) fn words<T: fmt::Display, S: Serializer>(list: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    let texts: Vec<_> = list.iter().map(ToString::to_string).collect();
    serializer.collect_str(&texts.join(", "))
}

/// Addresses as one comma-separated value.
pub(super) fn addresses<S: Serializer>(ips: &[IpAddr], serializer: S) -> Result<S::Ok, S::Error> {
    let texts: Vec<_> = ips.iter().map(IpAddr::to_string).collect();
    serializer.serialize_str(&texts.join(", "))
}

/// Prefixes as one comma-separated value.
pub(super) fn prefixes<S: Serializer>(nets: &[IpNet], serializer: S) -> Result<S::Ok, S::Error> {
    let texts: Vec<_> = nets.iter().map(IpNet::to_string).collect();
    serializer.serialize_str(&texts.join(", "))
}
