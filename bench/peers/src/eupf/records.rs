//! What eUPF's maps hold, as its program reads it on a little-endian machine.

use std::net::Ipv4Addr;

/// FORW (TS 29.244 clause 8.2.26).
const FORWARD: u8 = 2;
/// GTP-U/UDP/IPv4 (TS 29.244 clause 8.2.56).
const INTO_TUNNEL: u8 = 1;
/// Any protocol but ICMP, TCP and UDP by name.
const ANY_PROTOCOL: u8 = 1;
/// A filter that must match.
const FILTER_ONLY: u8 = 1;
/// The address of a subnet is IPv4.
const IPV4: u8 = 1;

fn put<const N: usize>(record: &mut [u8], at: usize, value: [u8; N]) {
    if let Some(room) = record.get_mut(at..at + N) {
        room.copy_from_slice(&value);
    }
}

/// A PDR with one SDF filter: `remote` at one end, at `remote_at` of the record; any address at the other.
pub(super) fn pdr(session: u32, far: u32, remote: (Ipv4Addr, u8), uplink: bool) -> [u8; 208] {
    const RULES: usize = 32;
    const SOURCE: usize = RULES + 16;
    const DESTINATION: usize = RULES + 80;
    let mut record = [0; 208];
    for (at, value) in [(0, far), (4, session), (8, session), (12, 0)] {
        put(&mut record, at, value.to_le_bytes());
    }
    record[17] = FILTER_ONLY;
    record[RULES] = ANY_PROTOCOL;
    let (address, length) = remote;
    let remote_at = if uplink { DESTINATION } else { SOURCE };
    record[remote_at] = IPV4;
    put(&mut record, remote_at + 16, u32::from(address).to_le_bytes());
    put(&mut record, remote_at + 32, (u32::MAX << (32 - length)).to_le_bytes());
    for ports in [SOURCE + 48, DESTINATION + 48] {
        put(&mut record, ports + 2, u16::MAX.to_le_bytes());
    }
    for (at, value) in [(148, far), (152, session), (156, session), (160, 0)] {
        put(&mut record, RULES + at, value.to_le_bytes());
    }
    record
}

/// A FAR to the data network.
pub(super) fn to_network() -> [u8; 16] {
    let mut record = [0; 16];
    record[0] = FORWARD;
    record
}

/// A FAR into a tunnel.
pub(super) fn to_tunnel(teid: u32, gnb: Ipv4Addr) -> [u8; 16] {
    let mut record = to_network();
    record[1] = INTO_TUNNEL;
    put(&mut record, 4, teid.to_le_bytes());
    put(&mut record, 8, gnb.octets());
    record
}

/// A QER with open gates, a QFI, and rates that nothing exceeds.
pub(super) fn qer(qfi: u8) -> [u8; 32] {
    let mut record = [0; 32];
    record[2] = qfi;
    put(&mut record, 4, u32::MAX.to_le_bytes());
    put(&mut record, 8, u32::MAX.to_le_bytes());
    record
}
