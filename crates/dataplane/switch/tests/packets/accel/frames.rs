//! Frames of the stories of profile `accel`.

use std::net::Ipv4Addr;

use causeway_switch::accel::{ETHERTYPE_CHAIN, Entry, Record};

use crate::N3;

pub(super) const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
pub(super) const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
pub(super) const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
pub(super) const ETHERNET: [u8; 2] = [8, 0];

pub(super) fn ie(ie_type: u16, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    [&ie_type.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
}

pub(super) fn message(message: u8, seid: u64, sequence: u32, ies: &[u8]) -> Vec<u8> {
    let [_, number @ ..] = sequence.to_be_bytes();
    let length = (ies.len() as u16 + 12).to_be_bytes();
    [&[0x21, message], &length[..], &seid.to_be_bytes(), &number, &[0], ies].concat()
}

/// An IPv4 packet, with the checksum of its header.
pub(super) fn ipv4(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16 + 20).to_be_bytes();
    let head = [&[0x45, 0], &length[..], &[0, 0, 0x40, 0, 64, protocol, 0, 0]].concat();
    let mut packet = [&head, &source.octets()[..], &destination.octets(), payload].concat();
    let words = packet[..20].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet
}

pub(super) fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16 + 8).to_be_bytes();
    [&source.to_be_bytes()[..], &destination.to_be_bytes(), &length, &[0, 0], payload].concat()
}

pub(super) fn ethernet(packet: &[u8]) -> Vec<u8> {
    [&MACS[..], &ETHERNET, packet].concat()
}

/// A G-PDU with a PDU Session Container.
pub(super) fn g_pdu(teid: u32, qfi: u8, packet: &[u8]) -> Vec<u8> {
    let length = (packet.len() as u16 + 8).to_be_bytes();
    [&[0x34, 255], &length[..], &teid.to_be_bytes(), &[0, 0, 0, 0x85, 1, 0x10, qfi, 0], packet].concat()
}

/// The frame of the CPU port with which a frame that came by N3 goes to the software, behind the entry of its session.
pub(super) fn cpu_frame(frame: &[u8], entry: Option<&Entry>) -> Vec<u8> {
    let flags = if entry.is_some() { 2 } else { 0 };
    let [port_high, port_low] = N3.to_be_bytes();
    let mut all =
        [&frame[..12], &[0x88, 0xb5, 7, flags, port_high, port_low, 0, 0, 0, 0], &frame[12..14]].concat();
    if let Some(entry) = entry {
        all.extend(entry.encode());
    }
    all.extend(&frame[14..]);
    all
}

/// The frame from the primary to the standby of a chain: the record of a session in front of a packet, or alone.
pub(super) fn chain_frame(record: &Record, packet: &[u8]) -> Vec<u8> {
    let follows = if packet.is_empty() { 0 } else { u16::from_be_bytes(ETHERNET) };
    [&MACS[..], &ETHERTYPE_CHAIN.to_be_bytes(), &record.encode(follows), packet].concat()
}
