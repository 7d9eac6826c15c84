//! IPv4 packets that are not read at a glance, and are handled as plain ones all the same: those with options, and those in
//! tunnels with sequence numbers, other extension headers, or marks of congestion.

use causeway_ports::BATCH;
use causeway_types::Qfi;

use crate::choose::{DOWNLINK, UPLINK};
use crate::engine::FastPath;
use crate::filters::Gist;
use crate::heads::{ecn, lose_hop};
use crate::key::Key;
use crate::plain::{NOWHERE, Plains, flaw};
use crate::tunnelled::Tunnelled;

const HEADER: usize = 20;
const LINK_LOCAL: u32 = 0xa9fe;

/// What an IPv4 packet says.
#[derive(Clone, Copy, Debug)]
struct Read {
    len: u32,
    src: u32,
    dst: u32,
    protocol: u8,
    tos: u8,
    /// Source above destination.
    ports: Option<u32>,
    flaws: u8,
    hops: u32,
}

impl Read {
    /// `None`: it is not well-formed, or does not have what its protocol says that it has.
    fn of(bytes: &[u8]) -> Option<Self> {
        let head = bytes.first_chunk::<HEADER>()?;
        let header_len = usize::from(head[0] & 0x0f) * 4;
        let len = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let offset = usize::from(u16::from_be_bytes([head[6], head[7]]) & 0x1fff) * 8;
        if head[0] >> 4 != 4
            || header_len < HEADER
            || len < header_len
            || offset + len > usize::from(u16::MAX)
        {
            return None;
        }
        let packet = bytes.get(..len)?;
        let protocol = head[9];
        let ports = match protocol {
            6 | 17 | 33 | 132 | 136 if offset == 0 => {
                Some(u32::from_be_bytes(*packet.get(header_len..)?.first_chunk()?))
            }
            50 | 51 => return None,
            _ => None,
        };
        let address = |at: usize| head.get(at..)?.first_chunk().map(|octets| u32::from_be_bytes(*octets));
        let (src, dst) = (address(12)?, address(16)?);
        let words = packet.get(..header_len)?.as_chunks::<2>().0.iter();
        let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes(*word))).sum();
        let is_right = (sum & 0xffff) + (sum >> 16) == 0xffff;
        let is_of_link = src >> 16 == LINK_LOCAL || dst >> 16 == LINK_LOCAL;
        let flaws = flaw::OURS
            | (flaw::DAMAGED * u8::from(!is_right))
            | (flaw::LAST_HOP * u8::from(head[8] <= 1))
            | (flaw::LINK * u8::from(is_of_link));
        let hops = lose_hop(u32::from_le_bytes([head[8], protocol, head[10], head[11]]));
        Some(Self { len: len as u32, src, dst, protocol, tos: head[1], ports, flaws, hops })
    }

    fn gist<const WAY: bool>(&self, qfi: Option<Qfi>) -> Gist {
        let (remote, ports) = match WAY {
            UPLINK => (self.dst, self.ports.unwrap_or(0)),
            DOWNLINK => (self.src, self.ports.unwrap_or(0).rotate_left(16)),
        };
        let gist = Gist::v4(remote, ports, self.protocol, self.tos).ports_if(self.ports.is_some());
        qfi.map_or(gist, |qfi| gist.with_qfi(qfi)).with_ue(false, true)
    }
}

impl FastPath {
    /// Takes a G-PDU for a plain packet. `at`: the place of its key, `outer`: the ECN of its outer header. `false`: it is none.
    #[inline(never)]
    pub(crate) fn reread_message(
        &self,
        plains: &mut Plains,
        (index, message): (usize, &[u8]),
        tunnelled: &Tunnelled,
        (place, outer): (u32, u32),
    ) -> bool {
        let user = message.get(tunnelled.start.into()..tunnelled.end.into());
        let Some(mut read) = user.and_then(Read::of).filter(|_| !tunnelled.is_strange) else { return false };
        let inner = u32::from(read.tos & 0x03);
        if ecn::drops(outer, inner) {
            read.flaws |= flaw::DOOMED;
        } else if ecn::changes(outer, inner) {
            read.tos = read.tos & !0x03 | outer as u8;
            read.flaws |= flaw::CONGESTED;
        }
        read.flaws |= flaw::CARRIES * u8::from(!tunnelled.is_plain);
        plains.starts[index % BATCH] = tunnelled.start.into();
        let line = self.slot_in(plains, index, tunnelled.teid);
        plains.keys[index % BATCH] = tunnelled.teid;
        self.put::<UPLINK>(plains, (index, place, line), &read, tunnelled.qfi);
        true
    }

    /// The slot of a TEID. Those of all messages of a batch have been computed at once, which takes a message less time.
    pub(crate) fn slot_in(&self, plains: &Plains, index: usize, teid: u32) -> u32 {
        let at = index % BATCH;
        if plains.keys[at] == teid { plains.lines[at] } else { self.table.slots(&[teid])[0] }
    }

    /// Takes a packet of a data network for a plain one. `false`: it is none.
    #[inline(never)]
    pub(crate) fn reread_packet(
        &self,
        plains: &mut Plains,
        (index, packet): (usize, &[u8]),
        network: u16,
    ) -> bool {
        let Some(read) = Read::of(packet) else { return false };
        let place = Key::Ipv4(network, read.dst).place();
        plains.starts[index % BATCH] = 0;
        plains.keys[index % BATCH] = read.dst;
        let line = self.table.at_address(read.dst).unwrap_or(0);
        self.put::<DOWNLINK>(plains, (index, place, line), &read, None);
        true
    }

    fn put<const WAY: bool>(
        &self,
        plains: &mut Plains,
        (index, place, line): (usize, u32, u32),
        read: &Read,
        qfi: Option<Qfi>,
    ) {
        let at = index % BATCH;
        let gist = read.gist::<WAY>(qfi);
        let local = if WAY == UPLINK { read.src } else { read.dst };
        plains.is_plain[at] = 1;
        let is_quick = local != 0 && local != gist.remote() && read.flaws & flaw::DOOMED == 0;
        plains.is_quick[at] = u32::from(is_quick);
        (plains.places[at], plains.lines[at]) = (place, line);
        (plains.locals[at], plains.lens[at], plains.flaws[at]) = (local, read.len, read.flaws.into());
        (plains.words[at], plains.ports[at], plains.remotes[at]) = gist.parts();
        (plains.hops[at], plains.steps[at]) = (read.hops, self.guess.step(gist));
        let id = u64::from(place) << 32 | u64::from(plains.keys[at]);
        plains.ids[at] = if plains.is_quick[at] != 0 { id } else { NOWHERE };
        if index < plains.ahead {
            self.table.prefetch(line);
        }
    }
}
