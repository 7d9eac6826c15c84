//! Random frames from the pools that random entries are from.

use fastrand::Rng;

use crate::frames::*;
use crate::{CPU, N3, N6, N9};

/// Of the UE's pool, of other UEs, of none, and one that the UPF never gives out.
pub(crate) fn teid(random: &mut Rng) -> u32 {
    *random.choice(&[TEID, TEID, TEID + 1, N9_TEID, N9_TEID + 1, 0x55_aa55]).unwrap()
}

/// A QFI; zero for a packet without one.
pub(crate) fn qfi(random: &mut Rng) -> u8 {
    *random.choice(&[0, 1, 1, 1, 9, 63]).unwrap()
}

/// Addresses of UEs, servers and the UPF itself.
pub(crate) fn address(random: &mut Rng) -> [u8; 4] {
    *random.choice(&[UE, UE, [10, 45, 0, 8], SERVER, SERVER, [198, 51, 100, 10], [203, 0, 113, 7]]).unwrap()
}

pub(crate) fn address_ipv6(random: &mut Rng) -> [u8; 16] {
    let mut address = *random.choice(&[UE_IPV6, UE_IPV6, SERVER_IPV6]).unwrap();
    if random.u8(0..4) == 0 {
        address[random.usize(5..16)] ^= 1;
    }
    address
}

pub(crate) fn protocol(random: &mut Rng) -> u8 {
    *random.choice(&[17, 17, 6, 1, 132]).unwrap()
}

pub(crate) fn port(random: &mut Rng) -> u16 {
    *random.choice(&[53, 80, 5000]).unwrap()
}

/// DSCP and ECN.
pub(crate) fn tos(random: &mut Rng) -> u8 {
    random.choice(&[0, 0, 0x28, 0xb8]).unwrap() | *random.choice(&[0, 0, 1, 2, 3]).unwrap()
}

/// A frame, and the port that it comes by.
pub(crate) fn frame(random: &mut Rng) -> (u16, Vec<u8>) {
    let mut chosen = match random.u8(0..20) {
        0..9 => (N3, uplink(random)),
        9..14 => (N6, ip(&user(random))),
        14 => (N9, to_upf(&gtpu(0x30, random.u8(..), random.u32(..), &[], b"rest"))),
        15 => (CPU, command(2, N6, 0, &tunnel(random))),
        16 => (CPU, command(1, N6, 0, &tunnel(random))),
        17 => (CPU, command(1, N6, 0, &user(random))),
        18 => (
            CPU,
            command(random.u8(0..5), *random.choice(&[N3, N6, N9]).unwrap(), random.u8(..), &user(random)),
        ),
        _ => (N6, crate::frames::frame(random.u16(0x0600..), &user(random))),
    };
    if random.u8(0..5) == 0 {
        let place = random.usize(12..chosen.1.len());
        // What is sent by a port that is not there is gone.
        if chosen.0 != CPU || !(16..18).contains(&place) {
            chosen.1[place] = random.u8(..);
        }
    }
    if random.u8(0..10) == 0 {
        chosen.1.truncate(random.usize(14..=chosen.1.len()));
    }
    chosen
}

/// A user packet in a tunnel, from wherever.
fn uplink(random: &mut Rng) -> Vec<u8> {
    ip(&tunnel(random))
}

fn tunnel(random: &mut Rng) -> Vec<u8> {
    let qfi = qfi(random);
    let (flags, between) = match (qfi, random.u8(0..4)) {
        (0, 0) => (0x32, vec![1, 2, 0, 0]),
        (0, _) => (0x30, vec![]),
        (_, 0) => (0x34, chain(random, qfi)),
        (_, _) => (0x34, container(random.u8(0..2), qfi).to_vec()),
    };
    let message = gtpu(flags, 255, teid(random), &between, &user(random));
    let to = *random.choice(&[UPF_N3, UPF_N3, UPF_N9, GNB]).unwrap();
    V4 { tos: random.u8(0..4), ..V4::udp(GNB, to, (2152, 2152), &message) }.octets()
}

/// Optional fields, and a container with or without another header before and behind it, of legal lengths and a little more.
fn chain(random: &mut Rng, qfi: u8) -> Vec<u8> {
    let mut octets = vec![0, 0, 0];
    let header = |octets: &mut Vec<u8>, kind: u8, content: &[u8], random: &mut Rng| {
        let units = random.u8(0..6);
        let length = usize::from(units.max(1)) * 4 - 2;
        octets.extend([kind, units]);
        octets.extend((0..length).map(|place| content.get(place).copied().unwrap_or_else(|| random.u8(..))));
    };
    if random.bool() {
        header(&mut octets, *random.choice(&[0x20, 0x40, 0xc0]).unwrap(), &[], random);
    }
    header(&mut octets, 0x85, &[0x10, qfi], random);
    if random.bool() {
        header(&mut octets, *random.choice(&[0x20, 0x40, 0x85, 0xc0]).unwrap(), &[], random);
    }
    octets.push(0);
    octets
}

/// A user packet of either family, now and then with a wrong checksum.
fn user(random: &mut Rng) -> Vec<u8> {
    let ports = (port(random), port(random));
    let (ttl, data) = (*random.choice(&[0, 1, 2, 64, 255]).unwrap(), vec![0x5a; random.usize(0..40)]);
    if random.u8(0..3) == 0 {
        let mut packet = v6_with(address_ipv6(random), address_ipv6(random), ttl, &udp(ports, &data));
        packet[6] = protocol(random);
        return with_class(packet, tos(random));
    }
    let options = vec![1; *random.choice(&[0, 0, 0, 4, 40]).unwrap()];
    let fragment = *random.choice(&[0, 0, 0x4000, 0x2000, 0x0007]).unwrap();
    let base = V4::udp(address(random), address(random), ports, &data);
    let packet = V4 { tos: tos(random), fragment, ttl, protocol: protocol(random), options, ..base };
    let mut octets = packet.octets();
    if random.u8(0..10) == 0 {
        octets[10] ^= 0x40;
    }
    octets
}
