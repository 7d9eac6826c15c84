//! Messages as text, for traces and debugging.
//!
//! One line per IE, indented by two spaces for each enclosing group: name, type, value. The text is the same for
//! the same octets, so that recordings can be compared. Values that cannot be decoded, unknown IEs and those of
//! vendors are hexadecimal.

use std::fmt::{self, Write};

use crate::raw::fmt_hex;
use crate::{Header, HeaderError, IeError, IeInfo, MessageType, RawIe, RawIes, ie_info};

/// Formats a datagram, with all bundled messages.
#[derive(Clone, Copy, Debug)]
pub struct Dump<'a>(pub &'a [u8]);

impl fmt::Display for Dump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        loop {
            match Header::decode(rest) {
                Ok((header, body, after)) => {
                    write_header(&header, f)?;
                    write_ies(body, 1, f)?;
                    rest = after;
                }
                Err(error) => return write_broken(rest, error, f),
            }
            if rest.is_empty() {
                return Ok(());
            }
        }
    }
}

/// Formats the IEs of a message body or group.
#[derive(Clone, Copy, Debug)]
pub struct DumpIes<'a>(pub &'a [u8]);

impl fmt::Display for DumpIes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ies(self.0, 0, f)
    }
}

fn write_header(header: &Header, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match MessageType::from_code(header.message_type) {
        Some(message_type) => f.write_str(message_type.name())?,
        None => write!(f, "message type {}", header.message_type)?,
    }
    if let Some(seid) = header.seid {
        write!(f, ", SEID {:#x}", seid.0)?;
    }
    write!(f, ", sequence {}", header.sequence)?;
    if let Some(priority) = header.priority {
        write!(f, ", priority {priority}")?;
    }
    f.write_str(if header.follow_on { ", another follows\n" } else { "\n" })
}

fn write_broken(octets: &[u8], error: HeaderError, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "not a message: {error}: ")?;
    fmt_hex(octets, f)?;
    f.write_char('\n')
}

fn write_ies(octets: &[u8], depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for ie in RawIes::new(octets) {
        write!(f, "{:1$}", "", 2 * depth)?;
        match ie {
            Ok(ie) => write_ie(&ie, depth, f)?,
            Err(error) => writeln!(f, "broken off: {error}")?,
        }
    }
    Ok(())
}

fn write_ie(ie: &RawIe<'_>, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match ie_info(ie.ie_type) {
        Some(info) if !info.fields.is_empty() => {
            writeln!(f, "{} ({})", info.name, info.ie_type)?;
            write_ies(ie.value, depth + 1, f)
        }
        Some(info) => write_value(info, ie.value, f),
        None => writeln!(f, "{ie:?}"),
    }
}

fn write_value(info: &IeInfo, value: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{} ({}): ", info.name, info.ie_type)?;
    match info.show(value, f) {
        Ok(()) => {}
        Err(_) if value.is_empty() => f.write_str("null")?,
        Err(IeError { fault, .. }) => {
            write!(f, "{fault}: ")?;
            fmt_hex(value, f)?;
        }
    }
    f.write_char('\n')
}
