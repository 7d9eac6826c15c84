//! The XDP program: the frames that it delivers to the sockets. All others pass to the kernel.

use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

use causeway_types::IpNet;

use super::asm::{AsmError, Assembler, Helper, Label, Op, Reg, Size, When};
use crate::sys::bpf::Instruction;

/// The frames to deliver. The Ethernet address is not checked: it may change while the program runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// Datagrams to a UDP port of these addresses, in packets without IP options, extension headers, fragmentation and VLAN tag.
    Udp {
        /// The port.
        port: u16,
        /// The addresses.
        addresses: Vec<IpAddr>,
    },
    /// IP packets, without VLAN tag, to these prefixes, but not to the addresses of this host in `except`.
    Prefixes {
        /// The prefixes of UEs.
        pools: Vec<IpNet>,
        /// Addresses of the kernel.
        except: Vec<IpAddr>,
    },
}

/// Field offsets from the start of an untagged frame.
const ETHER_TYPE: i16 = 12;
const IP: i16 = 14;
const V4_FRAGMENT: i16 = IP + 6;
const V4_PROTOCOL: i16 = IP + 9;
const V4_DESTINATION: i16 = IP + 16;
const V4_UDP: i16 = IP + 20;
const V6_NEXT: i16 = IP + 6;
const V6_DESTINATION: i16 = IP + 24;
const V6_UDP: i16 = IP + 40;
/// The destination port in a UDP header, and the length of the header.
const UDP_PORT: i16 = 2;
const UDP: i16 = 8;

/// Offsets in `struct xdp_md`.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const QUEUE: i16 = 16;

/// The verdict that passes a frame to the kernel.
const PASS: u32 = 2;
/// The protocol number of UDP.
const UDP_PROTOCOL: u32 = 17;

/// The contents of the registers in the whole program.
const CONTEXT: Reg = Reg::R6;
const FRAME: Reg = Reg::R2;
const END: Reg = Reg::R3;
const VALUE: Reg = Reg::R5;

/// A program under construction, with the labels of its parts.
struct Builder {
    asm: Assembler,
    /// The frame is delivered.
    take: Label,
    /// The frame passes to the kernel.
    pass: Label,
}

/// The program that delivers wanted frames to the socket of their receive queue in `sockets`, if there is one.
pub(super) fn assemble(wanted: &Wanted, sockets: impl AsFd) -> Result<Vec<Instruction>, AsmError> {
    let mut asm = Assembler::default();
    let (take, pass) = (asm.label(), asm.label());
    let mut builder = Builder { asm, take, pass };
    builder.classify(wanted);
    builder.end(sockets.as_fd().as_raw_fd())
}

/// Two octets of a packet as a register holds them.
const fn half(value: u16) -> u32 {
    value.to_be() as u32
}

impl Builder {
    fn classify(&mut self, wanted: &Wanted) {
        let asm = &mut self.asm;
        asm.copy(CONTEXT, Reg::R1);
        asm.load(Size::Word, FRAME, CONTEXT, DATA);
        asm.load(Size::Word, END, CONTEXT, DATA_END);
        self.require_len(IP);
        self.asm.load(Size::Half, VALUE, FRAME, ETHER_TYPE);
        let (v4, v6) = (self.asm.label(), self.asm.label());
        self.asm.jump_if(VALUE, When::Equal, half(0x0800), v4);
        self.asm.jump_if(VALUE, When::Equal, half(0x86dd), v6);
        self.asm.jump(self.pass);
        self.asm.place(v4);
        self.v4(wanted);
        self.asm.place(v6);
        self.v6(wanted);
    }

    /// Passes shorter frames to the kernel.
    fn require_len(&mut self, octets: i16) {
        self.asm.copy(Reg::R4, FRAME);
        self.asm.advance(Reg::R4, octets.unsigned_abs());
        self.asm.jump_if_behind(Reg::R4, END, self.pass);
    }

    /// Passes frames to the kernel in which the field, after `mask`, is not `value`.
    fn require(&mut self, size: Size, offset: i16, mask: Option<u32>, value: u32) {
        self.asm.load(size, VALUE, FRAME, offset);
        if let Some(mask) = mask {
            self.asm.op(Op::And, VALUE, mask);
        }
        self.asm.jump_if(VALUE, When::Differs, value, self.pass);
    }

    fn v4(&mut self, wanted: &Wanted) {
        match wanted {
            Wanted::Udp { port, addresses } => {
                self.require_len(V4_UDP + UDP);
                self.require(Size::Octet, IP, None, 0x45);
                // More fragments, or not the first.
                self.require(Size::Half, V4_FRAGMENT, Some(half(0x3fff)), 0);
                self.require(Size::Octet, V4_PROTOCOL, None, UDP_PROTOCOL);
                self.require(Size::Half, V4_UDP + UDP_PORT, None, half(*port));
                self.destinations(
                    addresses.iter().map(|ip| IpNet::from(*ip)),
                    V4_DESTINATION,
                    true,
                    self.take,
                );
            }
            Wanted::Prefixes { pools, except } => {
                self.require_len(V4_UDP);
                self.require(Size::Octet, IP, Some(0xf0), 0x40);
                self.destinations(except.iter().map(|ip| IpNet::from(*ip)), V4_DESTINATION, true, self.pass);
                self.destinations(pools.iter().copied(), V4_DESTINATION, true, self.take);
            }
        }
        self.asm.jump(self.pass);
    }

    fn v6(&mut self, wanted: &Wanted) {
        match wanted {
            Wanted::Udp { port, addresses } => {
                self.require_len(V6_UDP + UDP);
                self.require(Size::Octet, IP, Some(0xf0), 0x60);
                self.require(Size::Octet, V6_NEXT, None, UDP_PROTOCOL);
                self.require(Size::Half, V6_UDP + UDP_PORT, None, half(*port));
                self.destinations(
                    addresses.iter().map(|ip| IpNet::from(*ip)),
                    V6_DESTINATION,
                    false,
                    self.take,
                );
            }
            Wanted::Prefixes { pools, except } => {
                self.require_len(V6_UDP);
                self.require(Size::Octet, IP, Some(0xf0), 0x60);
                self.destinations(except.iter().map(|ip| IpNet::from(*ip)), V6_DESTINATION, false, self.pass);
                self.destinations(pools.iter().copied(), V6_DESTINATION, false, self.take);
            }
        }
        self.asm.jump(self.pass);
    }

    /// Jumps if the destination is in one of the prefixes of the family.
    fn destinations(&mut self, prefixes: impl Iterator<Item = IpNet>, field: i16, v4: bool, to: Label) {
        for prefix in prefixes.filter(|prefix| prefix.addr().is_ipv4() == v4) {
            let other = self.asm.label();
            for (offset, (net, mask)) in (field..).step_by(4).zip(words(&prefix)) {
                if mask == 0 {
                    break;
                }
                self.asm.load(Size::Word, VALUE, FRAME, offset);
                if mask != u32::MAX {
                    self.asm.op(Op::And, VALUE, mask);
                }
                self.asm.jump_if(VALUE, When::Differs, net, other);
            }
            self.asm.jump(to);
            self.asm.place(other);
        }
    }

    /// Delivers the frame to the socket of its queue, or to the kernel.
    fn end(mut self, sockets: i32) -> Result<Vec<Instruction>, AsmError> {
        let asm = &mut self.asm;
        asm.place(self.take);
        asm.load(Size::Word, Reg::R2, CONTEXT, QUEUE);
        asm.map(Reg::R1, sockets);
        asm.set(Reg::R3, PASS);
        asm.call(Helper::RedirectMap);
        asm.exit();
        asm.place(self.pass);
        asm.set(Reg::R0, PASS);
        asm.exit();
        self.asm.finish()
    }
}

/// Network and mask of a prefix, word by word as a register holds them.
fn words(prefix: &IpNet) -> Vec<(u32, u32)> {
    let octets = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let (net, mask) = (octets(prefix.network()), octets(prefix.netmask()));
    let word = |octets: &[u8]| octets.first_chunk().copied().map_or(0, u32::from_ne_bytes);
    net.chunks(4).zip(mask.chunks(4)).map(|(net, mask)| (word(net), word(mask))).collect()
}

#[cfg(test)]
mod tests;
