//! The answers: templates, encoded once, into which the values of one request are written.

use std::net::Ipv4Addr;

use causeway_pfcp::{
    Cause, CreatedPdr, FTeid, Message, NodeId as Node, SessionDeletionResponse, SessionEstablishmentResponse,
    SessionModificationResponse,
};
use causeway_types::{DualIp, FSeid, NodeId, PdrId, Seid, Teid};

/// The longest answer in octets: with a Node ID of 255 octets, and two addresses of the UPF.
pub const MAX_ANSWER: usize = 384;

/// Where header and values are.
const SEID: usize = 4;
const SEQUENCE: usize = 12;
/// From the end of a Created PDR with an IPv4 F-TEID.
const CREATED_PDR_ID: usize = 15;
const CREATED_TEID: usize = 8;
/// Octets of a Created PDR.
const CREATED_PDR: usize = 23;

/// The answers with zeros for the values.
#[derive(Clone, Debug)]
pub(crate) struct Templates {
    established: Vec<u8>,
    established_with_tunnel: Vec<u8>,
    /// Where the UPF's SEID is in both.
    up_seid: usize,
    modified: Vec<u8>,
    deleted: Vec<u8>,
    not_associated: Vec<u8>,
}

/// The F-TEID that was chosen for a PDR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Created {
    pub(crate) pdr: PdrId,
    pub(crate) teid: Teid,
}

impl Templates {
    pub(crate) fn new(node: &NodeId, address: DualIp, gtpu: Ipv4Addr) -> Option<Self> {
        let accepted = Cause::RequestAccepted;
        let tunnel = FTeid::Assigned { teid: 0, addr: gtpu.into() };
        let created = CreatedPdr { local_f_teid: Some(tunnel), ..CreatedPdr::new(PdrId(0)) };
        let established = || SessionEstablishmentResponse {
            up_f_seid: Some(FSeid { seid: Seid(0), addr: address }),
            ..SessionEstablishmentResponse::new(Node::from(node), accepted)
        };
        let plain = encode(established().into())?;
        let with_tunnel =
            encode(SessionEstablishmentResponse { created_pdrs: [created].into(), ..established() }.into())?;
        let addresses = address.v4.map_or(0, |_| 4) + address.v6.map_or(0, |_| 16);
        Some(Self {
            up_seid: plain.len().checked_sub(addresses + 8)?,
            established: plain,
            established_with_tunnel: with_tunnel,
            modified: encode(SessionModificationResponse::new(accepted).into())?,
            deleted: encode(SessionDeletionResponse::new(accepted).into())?,
            not_associated: encode(
                SessionEstablishmentResponse::new(Node::from(node), Cause::NoEstablishedAssociation).into(),
            )?,
        })
    }

    /// A session is established.
    pub(crate) fn established(
        &self,
        (cp, sequence): (Seid, u32),
        up: Seid,
        created: Option<Created>,
        out: &mut [u8; MAX_ANSWER],
    ) -> usize {
        let template = if created.is_some() { &self.established_with_tunnel } else { &self.established };
        let len = begin(template, cp, sequence, out);
        put(out, self.up_seid, &up.0.to_be_bytes());
        if let Some(Created { pdr, teid }) = created {
            put(out, len - CREATED_PDR_ID, &pdr.0.to_be_bytes());
            put(out, len - CREATED_TEID, &teid.value().to_be_bytes());
        }
        len
    }

    /// A modification is accepted.
    pub(crate) fn modified(&self, cp: Seid, sequence: u32, out: &mut [u8; MAX_ANSWER]) -> usize {
        begin(&self.modified, cp, sequence, out)
    }

    /// A session is deleted.
    pub(crate) fn deleted(&self, cp: Seid, sequence: u32, out: &mut [u8; MAX_ANSWER]) -> usize {
        begin(&self.deleted, cp, sequence, out)
    }

    /// An establishment is rejected: the SMF is not associated (cause 72).
    pub(crate) fn not_associated(&self, sequence: u32, out: &mut [u8; MAX_ANSWER]) -> usize {
        begin(&self.not_associated, Seid(0), sequence, out)
    }
}

/// The encoded message, if it is no longer than an answer may be.
fn encode(message: Message<'_>) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    message.encode(Some(Seid(0)), 0, &mut octets).ok()?;
    (octets.len() <= MAX_ANSWER - CREATED_PDR).then_some(octets)
}

fn begin(template: &[u8], cp: Seid, sequence: u32, out: &mut [u8; MAX_ANSWER]) -> usize {
    put(out, 0, template);
    put(out, SEID, &cp.0.to_be_bytes());
    let [_, sequence @ ..] = sequence.to_be_bytes();
    put(out, SEQUENCE, &sequence);
    template.len()
}

/// Templates are shorter than the buffer, so that all places are in it.
fn put(out: &mut [u8; MAX_ANSWER], at: usize, octets: &[u8]) {
    if let Some(place) = out.get_mut(at..at + octets.len()) {
        place.copy_from_slice(octets);
    }
}
