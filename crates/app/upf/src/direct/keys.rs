//! The keys that a message names, and those of a plan: what a session of N4 and one of a packet thread must not share.

use std::net::Ipv4Addr;

use causeway_accel::Reservation;
use causeway_pfcp::{Header, MessageType, RawIes, ie_info};
use causeway_types::{Ipv4Net, Seid, Teid};

/// Types of IEs.
const F_TEID: u16 = 21;
const F_SEID: u16 = 57;
const NODE_ID: u16 = 60;
const UE_ADDRESS: u16 = 93;
const RECOVERY: u16 = 96;
const FRAMED_ROUTE: u16 = 153;

/// Groups in groups, at most.
const DEPTH: u8 = 4;

/// What a datagram names.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Named {
    /// The session of its header.
    pub(super) sessions: Vec<Seid>,
    /// CP F-SEIDs, UE addresses and TEIDs.
    pub(super) keys: Vec<Reservation>,
    /// Framed routes.
    pub(super) nets: Vec<Ipv4Net>,
    /// The CP F-SEIDs of establishments.
    pub(super) established: Vec<Reservation>,
    /// The UPF is to choose a UE address.
    pub(super) chooses_ue: bool,
    /// It is about the node of the SMF, or tells its Recovery Time Stamp.
    pub(super) about_node: Option<AboutNode>,
}

/// What a message tells about the node of an SMF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AboutNode {
    /// Its Recovery Time Stamp, and nothing else.
    Stamp(u32),
    /// Its association or its sessions; the node that it names, if that is an IPv4 address.
    More(Option<Ipv4Addr>),
}

impl Named {
    /// Reads the messages of a datagram, up to what cannot be read.
    pub(super) fn of(mut datagram: &[u8]) -> Self {
        let mut named = Self::default();
        while let Ok((header, body, rest)) = Header::decode(datagram) {
            named.read(&header, body);
            datagram = rest;
            if rest.is_empty() {
                break;
            }
        }
        named
    }

    fn read(&mut self, header: &Header, body: &[u8]) {
        let message = MessageType::from_code(header.message_type);
        self.about_node = self.about_node.or(about_node(message, body));
        match message {
            Some(MessageType::SessionEstablishmentRequest) => {
                self.read_group(body, DEPTH);
                let cps = self.keys.iter().filter(|key| matches!(key, Reservation::Cp(..)));
                self.established = cps.copied().collect();
            }
            Some(MessageType::SessionModificationRequest) => {
                self.sessions.extend(header.seid);
                self.read_group(body, DEPTH);
            }
            Some(MessageType::SessionDeletionRequest) => self.sessions.extend(header.seid),
            _ => {}
        }
    }

    fn read_group(&mut self, octets: &[u8], depth: u8) {
        for ie in RawIes::new(octets).map_while(Result::ok) {
            match ie.ie_type {
                F_SEID => self.keys.extend(cp_f_seid(ie.value)),
                UE_ADDRESS => self.read_ue(ie.value),
                F_TEID => self.keys.extend(teid(ie.value).map(Reservation::Teid)),
                FRAMED_ROUTE => self.nets.extend(route(ie.value)),
                other if depth > 0 && ie_info(other).is_some_and(|info| !info.fields.is_empty()) => {
                    self.read_group(ie.value, depth - 1);
                }
                _ => {}
            }
        }
    }

    /// UE IP Address (TS 29.244 clause 8.2.62).
    fn read_ue(&mut self, value: &[u8]) {
        const V4: u8 = 2;
        const CHV4: u8 = 16;
        if let [flags, rest @ ..] = value {
            self.chooses_ue |= flags & CHV4 != 0;
            let address = rest.first_chunk::<4>().filter(|_| flags & V4 != 0);
            self.keys.extend(address.map(|octets| Reservation::Ue(Ipv4Addr::from(*octets))));
        }
    }
}

/// What a message tells about the node of its sender.
pub(super) fn about_node(message: Option<MessageType>, body: &[u8]) -> Option<AboutNode> {
    let stamp = || {
        let mut ies = RawIes::new(body).map_while(Result::ok);
        let value = ies.find(|ie| ie.ie_type == RECOVERY)?.value;
        Some(AboutNode::Stamp(u32::from_be_bytes(*value.first_chunk()?)))
    };
    match message {
        None | Some(MessageType::PfdManagementRequest) => None,
        Some(MessageType::HeartbeatRequest | MessageType::HeartbeatResponse) => stamp(),
        Some(message) if message.is_session_related() => stamp(),
        Some(_) => Some(AboutNode::More(node_id(body))),
    }
}

/// Node ID of IPv4 (clause 8.2.38).
fn node_id(body: &[u8]) -> Option<Ipv4Addr> {
    let mut ies = RawIes::new(body).map_while(Result::ok);
    match *ies.find(|ie| ie.ie_type == NODE_ID)?.value {
        [0, a, b, c, d] => Some(Ipv4Addr::new(a, b, c, d)),
        _ => None,
    }
}

/// CP F-SEID with an IPv4 address (clause 8.2.37).
fn cp_f_seid(value: &[u8]) -> Option<Reservation> {
    const V4: u8 = 2;
    let (head, rest) = value.split_first_chunk::<9>()?;
    let [flags, seid @ ..] = *head;
    let address = rest.first_chunk::<4>().filter(|_| flags & V4 != 0)?;
    Some(Reservation::Cp(Ipv4Addr::from(*address), Seid(u64::from_be_bytes(seid))))
}

/// The TEID of an F-TEID that the SMF assigns (clause 8.2.3).
fn teid(value: &[u8]) -> Option<Teid> {
    const CHOOSE: u8 = 4;
    let [flags, teid @ ..] = *value.first_chunk::<5>()?;
    Teid::new(u32::from_be_bytes(teid)).filter(|_| flags & CHOOSE == 0)
}

/// The prefix of a Framed-Route (RFC 2865 clause 5.22).
fn route(value: &[u8]) -> Option<Ipv4Net> {
    let text = std::str::from_utf8(value).ok()?;
    let word = text.split_whitespace().next()?;
    let net = word.parse().ok().or_else(|| word.parse::<Ipv4Addr>().ok().map(Ipv4Net::from))?;
    Some(Ipv4Net::trunc(&net))
}

#[cfg(test)]
mod tests {
    use causeway_pfcp::{HeartbeatRequest, Message, RecoveryTimeStamp, SessionDeletionRequest};
    use causeway_types::NtpSeconds;

    use super::*;

    fn ie(ie_type: u16, value: &[u8]) -> Vec<u8> {
        [&ie_type.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
    }

    fn message(code: u8, body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u16 + 12).to_be_bytes();
        [&[0x21, code][..], &length, &[0; 7], &[9, 0, 0, 1, 0], body].concat()
    }

    // Input:  an establishment with a CP F-SEID, a PDR with UE address and TEID, another with a choice of both, a route.
    // Output: these keys, and that the UPF is to choose.
    #[test]
    fn a_request_names_its_keys() {
        let cp = ie(57, &[&[2][..], &7_u64.to_be_bytes(), &[192, 0, 2, 21]].concat());
        let pdi = [
            ie(21, &[1, 0, 0, 0, 5, 192, 0, 2, 1]),
            ie(93, &[2, 10, 0, 0, 1]),
            ie(153, b"10.9.0.0/16 0.0.0.0 1"),
        ];
        let chosen = [ie(21, &[5]), ie(93, &[0x10])];
        let pdrs = [ie(1, &ie(2, &pdi.concat())), ie(1, &ie(2, &chosen.concat()))];
        let named = Named::of(&message(50, &[cp, pdrs.concat()].concat()));
        let cp = Reservation::Cp(Ipv4Addr::new(192, 0, 2, 21), Seid(7));
        let teid = Reservation::Teid(Teid::new(5).unwrap());
        assert_eq!(named.keys, [cp, teid, Reservation::Ue(Ipv4Addr::new(10, 0, 0, 1))]);
        assert_eq!((named.established, named.nets), (vec![cp], vec!["10.9.0.0/16".parse().unwrap()]));
        assert!(named.chooses_ue && named.sessions.is_empty() && named.about_node.is_none());
    }

    // Input:  a heartbeat, a setup, a deletion, and octets that are none of these.
    // Output: the stamp; more; the session; nothing.
    #[test]
    fn a_message_is_about_a_node_or_a_session() {
        let mut octets = Vec::new();
        let heartbeat = HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(5)));
        Message::from(heartbeat).encode(None, 1, &mut octets).unwrap();
        assert_eq!(Named::of(&octets).about_node, Some(AboutNode::Stamp(5)));
        octets[1] = MessageType::AssociationSetupRequest.code();
        assert_eq!(Named::of(&octets).about_node, Some(AboutNode::More(None)));
        let mut octets = Vec::new();
        let deletion = SessionDeletionRequest::default();
        Message::from(deletion).encode(Some(Seid(3)), 1, &mut octets).unwrap();
        assert_eq!(Named::of(&octets).sessions, [Seid(3)]);
        for len in 0..octets.len() {
            assert_eq!(Named::of(&octets[..len]), Named::default());
        }
    }
}
