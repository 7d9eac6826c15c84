//! The share of the messages of real SMFs that a data plane answers itself (`docs/accel.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use causeway_accel::switch::parse;
use causeway_accel::{Accel, Class, Config, MAX_ANSWER, NotPossible, Verdict, fits};
use causeway_model::Capabilities;
use causeway_pfcp::{
    ApplyAction, CreateFar, CreatePdr, CreateQer, CreateUrr, DestinationInterface, FTeid,
    ForwardingParameters, GateStatus, Header, Ie, MeasurementMethod, Message, MessageType, NodeId as Node,
    OuterHeaderCreation, OuterHeaderRemoval, Pdi, RawIes, RemovedHeader, SessionDeletionRequest,
    SessionEstablishmentRequest, SessionModificationRequest, SourceInterface, UeIpAddress, UpdateFar,
    UpdateForwardingParameters,
};
use causeway_types::{
    DualIp, FSeid, FarId, NodeId, PdrId, Precedence, QerId, Qfi, ReportingTriggers, Seid, UrrId,
};

use crate::backends::SlowPathBackend;
use crate::case::{Case, Fragments};
use crate::runner::{PFCP_PORT, START_TIME, UPF, run, topology};
use crate::script::Input;
use crate::{CaseError, matrix};

/// The part of the page that is rendered, between these lines.
pub const BEGIN: &str =
    "<!-- The table is rendered from the cases: CAUSEWAY_RECORD=1 cargo test -p causeway-conformance -->\n";
/// The end of the rendered part.
pub const END: &str = "<!-- The end of the table -->\n";

/// The bit of a header for a SEID, and where that is.
const S: u8 = 1;
const SEID: std::ops::Range<usize> = 4..12;

/// The messages of an SMF that are about sessions.
#[derive(Default)]
struct Share {
    messages: usize,
    /// Of the class by their form: as published, and as it is.
    form: [usize; 2],
    /// Answered, in the order of the case.
    answered: [usize; 2],
    /// Answered by the P4 program, and why others are not.
    by_program: usize,
    not_by_program: BTreeMap<String, usize>,
    /// The same of the class as it is, of cases without URRs and with some: messages, and those answered.
    by_usage: [(usize, usize); 2],
    /// Why not, of the class as it is.
    reasons: BTreeMap<String, usize>,
    /// Of cases without URRs and with some: messages, and those that a packet thread with N4 answers by itself.
    by_packet_thread: [(usize, usize); 2],
    /// Why not.
    left: BTreeMap<String, usize>,
}

/// A message of an SMF, and the SEID in the response of N4 if it establishes a session.
struct Asked {
    from: Ipv4Addr,
    octets: Vec<u8>,
    established: Option<u64>,
    /// What comes before its response is for the control thread; without a run of N4 nothing is known.
    left: Option<Option<&'static str>>,
    /// It answers a report, which only N4 can have sent: the session is N4's since then.
    answers_report: bool,
}

impl Asked {
    /// It creates a URR.
    fn measures_usage(&self) -> bool {
        let Ok((_, body, _)) = Header::decode(&self.octets) else { return false };
        RawIes::new(body).flatten().any(|ie| ie.ie_type == <CreateUrr<'_> as Ie<'_>>::TYPE)
    }
}

/// The table of shares by software, with so many of the most frequent reasons in each row.
///
/// # Errors
/// A case does not run.
pub fn accel_shares(cases: &[Case], fragments: &Fragments, reasons: usize) -> Result<String, CaseError> {
    let mut shares: BTreeMap<usize, (&str, Share)> = BTreeMap::new();
    for case in cases {
        let Some((column, name)) = matrix::column(case) else { continue };
        let share = &mut shares.entry(column).or_insert((name, Share::default())).1;
        share.add(&requests(case, fragments)?);
    }
    let mut emulated = Vec::new();
    for (name, with_urr) in [("emulated SMF of HiP4-UPF", true), ("the same without its URR", false)] {
        let mut share = Share::default();
        share.add(&emulated_smf(with_urr));
        emulated.push((name, share));
    }
    let mut table = String::from(
        "| SMF | session messages | form, published | form | answered, published | answered | without URRs | with URRs | why not | packet thread, \
         without URRs | with URRs | why not | P4 program | why not |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let rows = shares.into_values().chain(emulated);
    rows.for_each(|(name, share)| share.write(name, reasons, &mut table));
    Ok(table)
}

impl Share {
    fn add(&mut self, requests: &[Asked]) {
        let answered_before = self.answered[1];
        for (at, class) in [Class::PUBLISHED, Class::SMFS].into_iter().enumerate() {
            let Ok(mut upf) = Front::new(class) else { continue };
            for request in requests {
                if request.answers_report {
                    upf.report(request);
                    continue;
                }
                self.form[at] += usize::from(fits(&class, &request.octets).is_ok());
                match upf.send(request) {
                    None => self.answered[at] += 1,
                    Some(reason) if at == 1 => *self.reasons.entry(reason).or_default() += 1,
                    Some(_) => {}
                }
            }
        }
        if let Ok(mut upf) = Front::new(Class::PUBLISHED) {
            for request in requests {
                if request.answers_report {
                    upf.report(request);
                } else if let Some(reason) = upf.send_to_program(request) {
                    *self.not_by_program.entry(reason).or_default() += 1;
                } else {
                    self.by_program += 1;
                }
            }
        }
        let answered = self.answered[1] - answered_before;
        let messages = requests.iter().filter(|request| !request.answers_report).count();
        let of_kind = &mut self.by_usage[usize::from(requests.iter().any(Asked::measures_usage))];
        *of_kind = (of_kind.0 + messages, of_kind.1 + answered);
        self.messages += messages;
        let of_kind = &mut self.by_packet_thread[usize::from(requests.iter().any(Asked::measures_usage))];
        for left in requests.iter().filter(|request| !request.answers_report).filter_map(|it| it.left) {
            *of_kind = (of_kind.0 + 1, of_kind.1 + usize::from(left.is_none()));
            if let Some(left) = left {
                *self.left.entry(left.to_owned()).or_default() += 1;
            }
        }
    }

    fn write(&self, name: &str, most: usize, out: &mut String) {
        let share = |count: usize, of: usize| match of {
            0 => "-".to_owned(),
            _ => format!("{count} ({:.0} %)", 100.0 * count as f64 / of as f64),
        };
        let percent = |count: usize| share(count, self.messages);
        let [without, with] = self.by_usage.map(|(messages, answered)| share(answered, messages));
        let list = |reasons: &BTreeMap<String, usize>| {
            let mut reasons: Vec<_> = reasons.iter().collect();
            reasons.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
            let texts = reasons.iter().take(most).map(|(name, count)| format!("{name} ({count})"));
            texts.collect::<Vec<_>>().join("; ")
        };
        let ([one, two], [first, both]) = (self.form.map(percent), self.answered.map(percent));
        let [alone, usage] = self.by_packet_thread.map(|(messages, answered)| share(answered, messages));
        let (reasons, left) = (list(&self.reasons), list(&self.left));
        let (program, others) = (percent(self.by_program), list(&self.not_by_program));
        let _ = writeln!(
            out,
            "| {name} | {} | {one} | {two} | {first} | {both} | {without} | {with} | {reasons} | {alone} | {usage} | {left} | {program} | {others} |",
            self.messages
        );
    }
}

/// A data plane in front of N4: SEIDs in requests are those of N4, which has seen all of them.
struct Front {
    accel: Accel,
    /// SEIDs there and here of the sessions that are here.
    here: BTreeMap<u64, u64>,
    /// SEIDs of sessions that went to N4.
    at_n4: BTreeSet<u64>,
}

impl Front {
    fn new(class: Class) -> Result<Self, NotPossible> {
        let endpoints = topology().endpoints();
        let capabilities = Capabilities::all(1000, 16);
        let config = Config::new(&NodeId::Ip(UPF.into()), UPF.into(), &endpoints, &capabilities)?;
        let config = config.with_class(class);
        Ok(Self { accel: Accel::new(config)?, here: BTreeMap::new(), at_n4: BTreeSet::new() })
    }

    /// N4 has sent a report about a session, which it took over for that.
    fn report(&mut self, answer: &Asked) {
        let there =
            answer.octets.get(SEID).and_then(|place| Some(u64::from_be_bytes(place.try_into().ok()?)));
        let Some(there) = there else { return };
        let index = self.here.get(&there).and_then(|here| self.accel.index_of(Seid(*here)));
        if index.and_then(|index| self.accel.adopt(index)).is_some() {
            self.at_n4.insert(there);
        }
    }

    /// The same with what the P4 program parses and does (docs/accel.md).
    fn send_to_program(&mut self, request: &Asked) -> Option<String> {
        let Some(reason) = not_for_program(&request.octets) else { return self.send(request) };
        let seid =
            request.octets.get(SEID).and_then(|place| Some(u64::from_be_bytes(place.try_into().ok()?)));
        if let Some(there) = seid.filter(|there| self.at_n4.contains(there) || self.here.contains_key(there))
        {
            if !self.at_n4.insert(there) {
                return Some("session of N4".to_owned());
            }
            let index = self.here.get(&there).and_then(|here| self.accel.index_of(Seid(*here)));
            index.and_then(|index| self.accel.adopt(index));
        }
        self.at_n4.extend(request.established);
        Some(reason.to_owned())
    }

    /// `None`: it is answered.
    fn send(&mut self, request: &Asked) -> Option<String> {
        // The cases say elsewhere who is associated: here all are.
        let _ = self.accel.associate(request.from, request.from);
        let mut octets = request.octets.clone();
        let has_seid = octets.first().is_some_and(|flags| flags & S != 0);
        if let Some(place) = octets.get_mut(SEID).filter(|_| has_seid) {
            let there = u64::from_be_bytes((&*place).try_into().unwrap_or_default());
            if self.at_n4.contains(&there) {
                return Some("session of N4".to_owned());
            }
            place.copy_from_slice(&self.here.get(&there).unwrap_or(&there).to_be_bytes());
        }
        let from = SocketAddrV4::new(request.from, PFCP_PORT);
        let mut answer = [0; MAX_ANSWER];
        match self.accel.message(START_TIME, from, &octets, &mut answer) {
            Verdict::Answered { len, .. } => {
                let here = answer.get(..len).and_then(up_seid);
                self.here.extend(request.established.zip(here));
                None
            }
            Verdict::ToN4 { reason, adopt } => {
                let adopted = adopt.and_then(|index| self.accel.adopt(index)).map(|adopted| adopted.seid.0);
                let there =
                    self.here.iter().find(|(_, here)| Some(**here) == adopted).map(|(there, _)| *there);
                self.at_n4.extend(there.into_iter().chain(request.established));
                Some(reason.to_string())
            }
        }
    }
}

/// Why the P4 program does not answer a message of this form, whatever session it is about; `None`: it may.
fn not_for_program(octets: &[u8]) -> Option<&'static str> {
    let Some((head, body)) = octets.split_first_chunk::<16>() else { return Some("header") };
    let parsed = parse(body);
    if head[2] != 0 {
        return Some("longer than 255 octets");
    }
    if parsed.is_misfit || parsed.fields.encode() != body {
        return Some("not parsed: an IE, its place or its length");
    }
    let forms = ["form_pdr", "form_far", "form_qer", "form_peer"].map(|name| parsed.fields.form(name));
    let is_forwarding = parsed.fields.get("apply_action") == 2;
    match (MessageType::from_code(head[1]), forms) {
        (Some(MessageType::SessionEstablishmentRequest), [1, 1, ..]) => None,
        (Some(MessageType::SessionModificationRequest), [1, 1, 0, peer]) if peer != 0 || !is_forwarding => {
            None
        }
        (Some(MessageType::SessionModificationRequest), [0, 2, 0, _]) => None,
        (Some(MessageType::SessionDeletionRequest), _) if body.is_empty() => None,
        _ => Some("rules that it has not"),
    }
}

/// The session requests of a case, and the answers to reports, in their order.
fn requests(case: &Case, fragments: &Fragments) -> Result<Vec<Asked>, CaseError> {
    let transcript = run(case, fragments, &SlowPathBackend)?;
    let mut requests = Vec::new();
    for input in &transcript.inputs {
        let Input::Pfcp { from: IpAddr::V4(from), octets } = input else { continue };
        let Ok((header, ..)) = Header::decode(octets) else { continue };
        let message = MessageType::from_code(header.message_type);
        let is_request = message.is_some_and(|it| it.is_request() && it.is_session_related());
        let answers_report = message == Some(MessageType::SessionReportResponse);
        if !(is_request || answers_report) || message == Some(MessageType::SessionReportRequest) {
            continue;
        }
        let is_establishment = message == Some(MessageType::SessionEstablishmentRequest);
        let is_answer = |octets: &[u8]| {
            Header::decode(octets).is_ok_and(|(answer, ..)| answer.sequence == header.sequence)
        };
        let mut sent = transcript.datagrams.iter().filter(|sent| is_answer(&sent.payload));
        let established = sent.find_map(|sent| up_seid(&sent.payload)).filter(|_| is_establishment);
        let pfcp = transcript.datagrams.iter().filter(|sent| sent.from.port() == PFCP_PORT);
        let behind = pfcp.zip(&transcript.sent_behind).find(|(sent, _)| is_answer(&sent.payload));
        let left = behind.map(|(_, behind)| *behind);
        requests.push(Asked { from: *from, octets: octets.clone(), established, left, answers_report });
    }
    Ok(requests)
}

/// The UPF's SEID in a response to an establishment.
fn up_seid(octets: &[u8]) -> Option<u64> {
    let (header, body, _) = Header::decode(octets).ok()?;
    let Ok(Message::SessionEstablishmentResponse(response)) = Message::decode(&header, body) else {
        return None;
    };
    response.up_f_seid.map(|f_seid| f_seid.seid.0)
}

/// A registration, a handover and a deregistration of the workload of HiP4-UPF.
fn emulated_smf(with_urr: bool) -> Vec<Asked> {
    let from = Ipv4Addr::new(192, 0, 2, 21);
    let (ue, gnb) = (Ipv4Addr::new(10, 45, 0, 2), Ipv4Addr::new(192, 0, 2, 11));
    let choose = FTeid::Choose { v4: true, v6: false, choose_id: None };
    let (far, qfi) = (|id| Some(FarId(id)), Qfi::from_low_bits(1));
    let urrs = || if with_urr { [UrrId(1)].into() } else { Default::default() };
    let uplink = Pdi { local_f_teid: Some(choose), qfis: [qfi].into(), ..Pdi::new(SourceInterface::Access) };
    let address = UeIpAddress { ipv4: Some(ue), destination: true, ..UeIpAddress::default() };
    let downlink = Pdi { ue_ip_addresses: [address].into(), ..Pdi::new(SourceInterface::Core) };
    let removal = Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4));
    let pdr = |id: u16, pdi| CreatePdr {
        far_id: far(id.into()),
        qer_ids: [QerId(1)].into(),
        urr_ids: urrs(),
        ..CreatePdr::new(PdrId(id), Precedence(255), pdi)
    };
    let pdrs = [CreatePdr { outer_header_removal: removal, ..pdr(1, uplink) }, pdr(2, downlink)];
    let to = |id, destination| CreateFar {
        forwarding_parameters: Some(ForwardingParameters::new(destination)),
        ..CreateFar::new(FarId(id), ApplyAction::FORW)
    };
    let fars = [to(1, DestinationInterface::Core), to(2, DestinationInterface::Access)];
    let qer = CreateQer { qfi: Some(qfi), ..CreateQer::new(QerId(1), GateStatus::OPEN) };
    let urr = CreateUrr::new(UrrId(1), MeasurementMethod::VOLUM, ReportingTriggers::VOLTH);
    let cp = FSeid { seid: Seid(1), addr: from.into() };
    let registration = SessionEstablishmentRequest {
        create_qers: [qer].into(),
        create_urrs: if with_urr { [urr].into() } else { Default::default() },
        ..SessionEstablishmentRequest::new(Node::Ip(from.into()), cp, pdrs, fars)
    };
    let forwarding = UpdateForwardingParameters {
        outer_header_creation: Some(OuterHeaderCreation::gtpu(1, DualIp::from(gnb))),
        ..UpdateForwardingParameters::default()
    };
    let update = UpdateFar { update_forwarding_parameters: Some(forwarding), ..UpdateFar::new(FarId(2)) };
    let handover =
        SessionModificationRequest { update_fars: [update].into(), ..SessionModificationRequest::default() };
    let there = Seid(7);
    let messages: [(Message<'_>, Seid); 3] = [
        (registration.into(), Seid(0)),
        (handover.into(), there),
        (SessionDeletionRequest::default().into(), there),
    ];
    let asked = |(sequence, (message, seid)): (u32, (Message<'_>, Seid))| {
        let mut octets = Vec::new();
        // A session of a few rules is no longer than a datagram.
        let _ = message.encode(Some(seid), sequence, &mut octets);
        let established = (seid == Seid(0)).then_some(there.0);
        Asked { from, octets, established, left: None, answers_report: false }
    };
    (1..).zip(messages).map(asked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Node ID, CP F-SEID, Create PDR and Create FAR of an establishment, as the parser of the P4 program has them.
    const PARTS: [&[u8]; 4] = [
        &[0, 60, 0, 5, 0, 192, 0, 2, 20],
        &[0, 57, 0, 13, 2, 0, 0, 0, 0, 0, 0, 0, 9, 192, 0, 2, 20],
        &[
            0, 1, 0, 50, 0, 56, 0, 2, 0, 1, 0, 29, 0, 4, 0, 0, 0, 32, 0, 2, 0, 19, 0, 20, 0, 1, 0, 0, 21, 0,
            1, 5, 0, 93, 0, 5, 2, 10, 46, 0, 63, 0, 95, 0, 1, 0, 0, 108, 0, 4, 0, 0, 0, 1,
        ],
        &[0, 3, 0, 22, 0, 108, 0, 4, 0, 0, 0, 1, 0, 44, 0, 1, 2, 0, 4, 0, 5, 0, 42, 0, 1, 1],
    ];

    fn message(kind: u8, ies: &[u8]) -> Vec<u8> {
        let length = (ies.len() + 12).to_be_bytes();
        [&[0x21, kind, length[6], length[7]], &[0; 12][..], ies].concat()
    }

    // Input:  an establishment of the P4 program's parser; the same with FAR and PDR exchanged, with a part less, and with 256 octets; a deletion, and
    //         one with the CP F-SEID; an empty modification.
    // Output: the first and the plain deletion may be answered; each other one has its reason.
    #[test]
    fn the_program_takes_what_it_parses() {
        let [node, cp, pdr, far] = PARTS;
        let establishment = [node, cp, pdr, far].concat();
        assert_eq!(not_for_program(&message(50, &establishment)), None);
        assert_eq!(not_for_program(&message(54, &[])), None);
        let not_parsed = Some("not parsed: an IE, its place or its length");
        assert_eq!(not_for_program(&message(50, &[node, cp, far, pdr].concat())), not_parsed);
        let rules = Some("rules that it has not");
        assert_eq!(not_for_program(&message(50, &[node, cp, pdr].concat())), rules);
        assert_eq!(not_for_program(&message(54, cp)), rules);
        assert_eq!(not_for_program(&message(52, &[])), rules);
        assert_eq!(
            not_for_program(&message(50, &[&establishment[..], &[0; 244]].concat())),
            Some("longer than 255 octets")
        );
        assert_eq!(not_for_program(&[]), Some("header"));
    }
}
