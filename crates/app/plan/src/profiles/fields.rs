//! Keys and operands that several profiles share.

use crate::table::Field;

/// Makes a key of fields by name and width in bits.
pub(super) fn key(fields: &[&[(&'static str, u32)]]) -> Vec<Field> {
    fields.iter().copied().flatten().map(|&(name, bits)| Field { name, bits }).collect()
}

/// The id of a PDR.
pub(super) const PDR_ID: &[(&str, u32)] = &[("pdr_id", 24)];
/// The id of a meter.
pub(super) const METER_ID: &[(&str, u32)] = &[("meter_id", 16)];
/// The tunnel of an uplink packet.
pub(super) const TUNNEL: &[(&str, u32)] = &[("gtpu.teid", 24), ("gtpu.qfi", 6)];
/// The same with the whole TEID.
pub(super) const WHOLE_TUNNEL: &[(&str, u32)] = &[("gtpu.teid", 32), ("gtpu.qfi", 6)];
/// The UE's address in a downlink packet.
pub(super) const UE_ADDRESS: &[(&str, u32)] = &[("inner.dst", 32)];
/// What filters match.
pub(super) const FIVE_TUPLE: &[(&str, u32)] =
    &[("inner.src", 32), ("inner.dst", 32), ("inner.protocol", 8), ("inner.sport", 16), ("inner.dport", 16)];
/// Additional fields of filters.
pub(super) const DSCP: &[(&str, u32)] = &[("inner.dscp", 8)];
/// The number of a shared filter.
pub(super) const FILTER_ID: &[(&str, u32)] = &[("filter_id", 16)];

/// Operand: a PDR_ID of 24 bits, whose container has 32.
pub(super) const OPERAND_PDR_ID: u32 = 32;
/// Operand: a meter's id.
pub(super) const OPERAND_METER: u32 = 16;
/// Operand: a TEID.
pub(super) const OPERAND_TEID: u32 = 32;
/// Operand: an IPv4 address.
pub(super) const OPERAND_IPV4: u32 = 32;
/// Operand: a QFI, or a few flags.
pub(super) const OPERAND_OCTET: u32 = 8;

/// The constants of an encapsulation header that are too long for an instruction, so they are operands too: by octet or
/// by word, as the headers' containers are (version and length, identification, flags and TTL, protocol, ports,
/// lengths, GTP-U flags and type, type of the extension).
pub(super) const HEADER_CONSTANTS: &[u32] = &[8, 16, 16, 16, 8, 8, 16, 16, 16, 8, 8, 16, 8];

/// The operands of an action that adds a tunnel header, after those of the rule itself.
pub(super) fn encapsulation(rule: &[u32]) -> Vec<u32> {
    rule.iter().chain(HEADER_CONSTANTS).copied().collect()
}
