//! HTTP redirection: the UPF responds to connections of the UE in place of the server (TS 29.244 clause 5.4.7).
//!
//! No state is kept. The upper half of the sequence number of the SYN-ACK marks it as the UPF's, and the lower half
//! holds the number of the UE's first octet, so that a request can be recognized from later segments:
//!
//! | from the UE | to the UE |
//! |---|---|
//! | SYN | SYN-ACK |
//! | the first octets, an HTTP request | 302 with the URL, and FIN |
//! | the first octets, anything else | RST; the packet counts as dropped |
//! | later octets, or FIN | ACK |
//! | a segment of a connection that existed before | RST; the packet counts as dropped |
//! | RST, or an ACK without octets | nothing |

use std::net::IpAddr;

use causeway_model::Url;
use causeway_packet::checksum::Checksum;
use causeway_packet::{Fragment, IpProtocol, IpRepr, Tcp, TcpFlags, TcpRepr, UserPacket, http};

/// The window of the UPF's segments: the UE sends at most one request.
const WINDOW: u16 = 0xffff;

/// The response of the UPF to a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HttpResponse {
    /// A packet for the UE, if any.
    pub(crate) packet: Option<Vec<u8>>,
    /// The packet belongs to a redirection; otherwise it counts as dropped.
    pub(crate) is_redirection: bool,
}

/// The response to an uplink packet that is redirected to this URL. `None` when it is no TCP segment.
pub(crate) fn answer(packet: &[u8], url: &Url) -> Option<HttpResponse> {
    let user = UserPacket::parse(packet).ok()?;
    let is_tcp = user.flow.protocol == IpProtocol::TCP && user.flow.fragment == Fragment::Whole;
    let tcp = is_tcp.then(|| Tcp::parse(user.transport()).ok()).flatten()?;
    let (src, dst) = (user.flow.src, user.flow.dst);
    if !tcp.checksum_is_valid(src, dst) {
        return None;
    }
    let segment = Segment { tcp: &tcp, mark: mark(src, dst, &tcp) };
    let (reply, is_redirection) = segment.reply(url);
    let packet = match reply {
        Some((repr, octets)) => Some(build(dst, src, &repr, &octets)?),
        None => None,
    };
    Some(HttpResponse { packet, is_redirection })
}

/// The upper half of the UPF's first sequence number in this connection.
fn mark(ue: IpAddr, server: IpAddr, tcp: &Tcp<'_>) -> u16 {
    let ports = [tcp.src_port().to_be_bytes(), tcp.dst_port().to_be_bytes()].concat();
    let sum = Checksum::new().pseudo(ue, server, IpProtocol::TCP, ports.len());
    sum.unwrap_or_default().with(&ports).finish()
}

struct Segment<'a> {
    tcp: &'a Tcp<'a>,
    mark: u16,
}

impl Segment<'_> {
    /// The header and octets of the reply, and whether the segment belongs to a redirection.
    fn reply(&self, url: &Url) -> (Option<(TcpRepr, Vec<u8>)>, bool) {
        let (tcp, flags) = (self.tcp, self.tcp.flags());
        if flags.contains(TcpFlags::RST) {
            return (None, true);
        }
        if flags.contains(TcpFlags::SYN) {
            let first = u32::from(self.mark) << 16 | tcp.sequence() & 0xffff;
            let repr = self.repr(first, tcp.sequence().wrapping_add(1), TcpFlags::SYN | TcpFlags::ACK);
            return (Some((repr, Vec::new())), true);
        }
        if !flags.contains(TcpFlags::ACK) || !self.acknowledges_upf() {
            return (self.reset(), false);
        }
        if tcp.payload().is_empty() && !flags.contains(TcpFlags::FIN) {
            return (None, true);
        }
        match self.is_first() && !tcp.payload().is_empty() {
            true if http::begins_request(tcp.payload()) => (Some(self.found(url)), true),
            true => (self.reset(), false),
            false => (Some((self.repr(tcp.acknowledgment(), self.end(), TcpFlags::ACK), Vec::new())), true),
        }
    }

    /// The segment acknowledges octets of the UPF: the upper half of the number is the mark, or one more after a
    /// carry.
    fn acknowledges_upf(&self) -> bool {
        let ours = (self.tcp.acknowledgment() >> 16) as u16;
        ours == self.mark || ours == self.mark.wrapping_add(1)
    }

    /// It begins with the octet after the SYN, and acknowledges only the SYN of the UPF.
    fn is_first(&self) -> bool {
        self.tcp.sequence() & 0xffff == self.tcp.acknowledgment() & 0xffff
    }

    /// The sequence number after the segment.
    fn end(&self) -> u32 {
        let fin = u32::from(self.tcp.flags().contains(TcpFlags::FIN));
        self.tcp.sequence().wrapping_add(self.tcp.payload().len() as u32).wrapping_add(fin)
    }

    fn found(&self, url: &Url) -> (TcpRepr, Vec<u8>) {
        let text = format!(
            "HTTP/1.1 302 Found\r\nLocation: {}\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n",
            url.as_str()
        );
        let flags = TcpFlags::PSH | TcpFlags::ACK | TcpFlags::FIN;
        (self.repr(self.tcp.acknowledgment(), self.end(), flags), text.into_bytes())
    }

    /// RFC 9293 clause 3.10.7.1.
    fn reset(&self) -> Option<(TcpRepr, Vec<u8>)> {
        let repr = match self.tcp.flags().contains(TcpFlags::ACK) {
            true => self.repr(self.tcp.acknowledgment(), 0, TcpFlags::RST),
            false => self.repr(0, self.end(), TcpFlags::RST | TcpFlags::ACK),
        };
        Some((repr, Vec::new()))
    }

    fn repr(&self, sequence: u32, acknowledgment: u32, flags: TcpFlags) -> TcpRepr {
        TcpRepr {
            src_port: self.tcp.dst_port(),
            dst_port: self.tcp.src_port(),
            sequence,
            acknowledgment,
            flags,
            window: WINDOW,
            urgent: 0,
        }
    }
}

fn build(src: IpAddr, dst: IpAddr, repr: &TcpRepr, octets: &[u8]) -> Option<Vec<u8>> {
    let mut segment = Vec::new();
    repr.write(src, dst, &[], octets, &mut segment).ok()?;
    let mut packet = Vec::new();
    IpRepr::new(src, dst, IpProtocol::TCP).ok()?.write(&segment, &mut packet).ok()?;
    Some(packet)
}
