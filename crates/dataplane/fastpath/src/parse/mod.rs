//! The first stage: parse. It reads the headers of the packets of a batch, and changes nothing.
//!
//! Common packets (IPv4 without options, alone or behind a common GTP-U header) are parsed half a batch at a time by
//! [`headers`]. Where a half batch has others, [`unusual`] parses it again, and [`ipv6`] its IPv6 packets. What remains
//! is parsed one packet at a time, by [`g_pdu`] and [`user_header`].

pub(crate) mod address_filter;
mod fields;
pub(crate) mod g_pdu;
mod headers;
pub(crate) mod ipv6;
mod unusual;
pub(crate) mod user_header;

#[cfg(test)]
pub(crate) use headers::has_valid_checksum;
pub(crate) use headers::{BatchHeaders, HeaderReading, MESSAGE_HEAD_LEN, USER_HEAD_LEN, ecn};
pub(crate) use unusual::{SkipFirstParse, UserPacketOffset};

#[cfg(test)]
mod tests;
