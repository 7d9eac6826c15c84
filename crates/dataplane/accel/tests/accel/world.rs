//! Messages octet by octet, the data plane's table, and N4 beside it.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use causeway_accel::{Accel, Config, MAX_ANSWER, Verdict};
use causeway_model::{Capabilities, LocalEndpoint, LocalEndpoints};
use causeway_n4::{Config as N4Config, N4, Output};
use causeway_pfcp::{AssociationSetupRequest, Message, NodeId as Node, RecoveryTimeStamp};
use causeway_types::{DualIp, NetworkInstance, NodeId, NtpSeconds, Span, Time};

pub(crate) const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 100);
pub(crate) const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
pub(crate) const NOW: Time = Time::from_secs(1_700_000_000);

/// The UPF's restart.
const RECOVERY: NtpSeconds = NtpSeconds(3_900_000_000);

/// The SMF of this number.
pub(crate) const fn smf(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, 20 + number)
}

pub(crate) const fn smf_port(number: u8) -> SocketAddrV4 {
    SocketAddrV4::new(smf(number), 8805)
}

pub(crate) fn endpoints() -> LocalEndpoints {
    LocalEndpoints {
        gtpu: vec![LocalEndpoint { addr: N3.into(), network_instance: None }],
        networks: ["internet", "ims"].map(NetworkInstance::new).into(),
        own: vec![UPF.into()],
        ..LocalEndpoints::default()
    }
}

pub(crate) fn capabilities() -> Capabilities {
    Capabilities { outer_ipv6: false, ..Capabilities::all(100_000, 16) }
}

pub(crate) fn config() -> Config {
    let node = NodeId::Ip(UPF.into());
    let mut config =
        Config::new(&node, UPF.into(), &endpoints(), &capabilities()).expect("a possible configuration");
    (config.sessions, config.keys, config.first_slot) = (64, 1024, 0x0080_0000);
    config
}

/// With two associated SMFs.
pub(crate) fn accel() -> Accel {
    accel_with(config())
}

pub(crate) fn accel_with(config: Config) -> Accel {
    let mut accel = Accel::new(config).expect("few sessions");
    for number in 0..2 {
        accel.associate(smf(number), smf(number)).expect("few SMFs");
    }
    accel
}

/// The answer, and what became of the message.
pub(crate) fn message(accel: &mut Accel, from: SocketAddrV4, octets: &[u8]) -> (Vec<u8>, Verdict) {
    let mut answer = [0; MAX_ANSWER];
    let verdict = accel.message(NOW, from, octets, &mut answer);
    let len = if let Verdict::Answered { len, .. } = verdict { len } else { 0 };
    (answer[..len].to_vec(), verdict)
}

/// N4 with a data plane that accepts everything.
pub(crate) struct Control {
    pub(crate) n4: N4,
    /// What it sent.
    sent: Vec<(SocketAddr, Vec<u8>)>,
}

impl Control {
    /// With the same two SMFs.
    pub(crate) fn new() -> Self {
        Self::with_sessions(1000)
    }

    /// The same for this many sessions.
    pub(crate) fn with_sessions(sessions: usize) -> Self {
        let mut config = N4Config::new(NodeId::Ip(UPF.into()), DualIp::from(UPF));
        config.heartbeat.interval = Span::ZERO;
        config.limits.sessions = sessions;
        // Its own TEIDs are none that an SMF of these tests chooses.
        config.seed = 0x11 << 56;
        let mut control =
            Self { n4: N4::new(config, capabilities(), endpoints(), RECOVERY), sent: Vec::new() };
        for number in 0..2 {
            let setup = AssociationSetupRequest::new(
                Node::Ip(smf(number).into()),
                RecoveryTimeStamp(NtpSeconds(1000)),
            );
            let mut octets = Vec::new();
            Message::from(setup).encode(None, 1, &mut octets).expect("it is short");
            control.message(smf_port(number), &octets).expect("an answer");
        }
        control
    }

    /// The answer to a request: what has its sequence number.
    pub(crate) fn message(&mut self, from: SocketAddrV4, octets: &[u8]) -> Option<Vec<u8>> {
        self.sent.clear();
        self.n4.datagram(NOW, from.into(), octets);
        while let Some(output) = self.n4.poll_output() {
            match output {
                Output::Send { to, bytes } => self.sent.push((to, bytes)),
                Output::Apply { id, .. } => {
                    self.n4.applied(NOW, id, Ok(causeway_dataplane::Applied::default()));
                }
                Output::Applications(_) | Output::Notice(_) => {}
            }
        }
        // Responses to an association setup, and to session requests; not the UPF's own requests, such as reports.
        let is_response = |bytes: &[u8]| matches!(bytes.get(1), Some(6 | 51 | 53 | 55));
        let at = self.sent.iter().position(|(to, bytes)| *to == from.into() && is_response(bytes))?;
        Some(self.sent.swap_remove(at).1)
    }
}

/// An IE.
pub(crate) fn ie(ie_type: u16, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    let length = u16::try_from(value.len()).expect("a short IE");
    [&ie_type.to_be_bytes()[..], &length.to_be_bytes(), value].concat()
}

/// A message about a session.
pub(crate) fn datagram(message: u8, seid: u64, sequence: u32, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 12).expect("a short message").to_be_bytes();
    let [_, number @ ..] = sequence.to_be_bytes();
    [&[0x21, message][..], &length, &seid.to_be_bytes(), &number, &[0], body].concat()
}

pub(crate) const ESTABLISHMENT: u8 = 50;
pub(crate) const MODIFICATION: u8 = 52;
pub(crate) const DELETION: u8 = 54;

/// A session of the class, as its SMF asks for it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) smf: u8,
    pub(crate) cp: u64,
    /// Flags and rest of the F-TEID.
    pub(crate) f_teid: Vec<u8>,
    pub(crate) uplink_ue: bool,
    pub(crate) ue: Ipv4Addr,
    pub(crate) destination: bool,
    pub(crate) uplink_qfi: Option<u8>,
    pub(crate) removal: Vec<u8>,
    pub(crate) network: Option<Vec<u8>>,
    /// The side of the data network: 1 or 2.
    pub(crate) core: u8,
    pub(crate) downlink: bool,
    pub(crate) downlink_first: bool,
    pub(crate) fars_reversed: bool,
    /// The tunnel of the gNB.
    pub(crate) peer: Option<(u32, Ipv4Addr)>,
    /// Apply Action of the downlink.
    pub(crate) action: Vec<u8>,
    pub(crate) parameters: bool,
    /// QERs 1, 2 and 3: gates, with MBR, QFI.
    pub(crate) qers: Vec<(u8, bool, Option<u8>)>,
    /// PDRs name them from the last to the first.
    pub(crate) qers_reversed: bool,
    pub(crate) interface_types: bool,
    pub(crate) tail: Vec<u8>,
}

impl Default for Asked {
    /// As most SMFs ask for it.
    fn default() -> Self {
        Self {
            smf: 0,
            cp: 7,
            f_teid: vec![5],
            uplink_ue: false,
            ue: Ipv4Addr::new(10, 45, 0, 2),
            destination: true,
            uplink_qfi: Some(9),
            removal: vec![0],
            network: Some(b"internet".to_vec()),
            core: 1,
            downlink: true,
            downlink_first: false,
            fars_reversed: false,
            peer: None,
            action: vec![2],
            parameters: true,
            qers: vec![(0, true, Some(9))],
            qers_reversed: false,
            interface_types: false,
            tail: ie(113, [1]),
        }
    }
}

/// The rules of both directions have these ids.
pub(crate) const UPLINK: u8 = 1;
pub(crate) const DOWNLINK: u8 = 2;

impl Asked {
    fn network(&self) -> Vec<u8> {
        self.network.as_ref().map(|name| ie(22, name)).unwrap_or_default()
    }

    fn interface_type(&self, value: u8) -> Vec<u8> {
        if self.interface_types { ie(160, [value]) } else { Vec::new() }
    }

    fn qer_ids(&self) -> Vec<u8> {
        let count = self.qers.len() as u32;
        let ids = (1..=count).map(|id| if self.qers_reversed { count + 1 - id } else { id });
        ids.flat_map(|id| ie(109, id.to_be_bytes())).collect()
    }

    pub(crate) fn uplink_pdr(&self) -> Vec<u8> {
        ie(1, self.in_uplink_pdr().concat())
    }

    /// The IEs of the uplink PDR: PDR ID, Precedence, PDI, Outer Header Removal, FAR ID, QER IDs.
    pub(crate) fn in_uplink_pdr(&self) -> [Vec<u8>; 6] {
        let ue = if self.uplink_ue { ie(93, [&[2][..], &self.ue.octets()].concat()) } else { Vec::new() };
        let qfi = self.uplink_qfi.map(|qfi| ie(124, [qfi])).unwrap_or_default();
        let (network, kind) = (self.network(), self.interface_type(11));
        let pdi = [ie(20, [0]), ie(21, &self.f_teid), network, ue, qfi, kind].concat();
        let far = ie(108, u32::from(UPLINK).to_be_bytes());
        let precedence = ie(29, 255_u32.to_be_bytes());
        [ie(56, [0, UPLINK]), precedence, ie(2, pdi), ie(95, &self.removal), far, self.qer_ids()]
    }

    pub(crate) fn downlink_pdr(&self) -> Vec<u8> {
        ie(1, self.in_downlink_pdr().concat())
    }

    /// The IEs of the downlink PDR: PDR ID, Precedence, PDI, FAR ID, QER IDs.
    pub(crate) fn in_downlink_pdr(&self) -> [Vec<u8>; 5] {
        let flags = if self.destination { 6 } else { 2 };
        let ue = ie(93, [&[flags][..], &self.ue.octets()].concat());
        let pdi = [ie(20, [self.core]), self.network(), ue, self.interface_type(17)].concat();
        let far = ie(108, u32::from(DOWNLINK).to_be_bytes());
        [ie(56, [0, DOWNLINK]), ie(29, 255_u32.to_be_bytes()), ie(2, pdi), far, self.qer_ids()]
    }

    pub(crate) fn uplink_far(&self) -> Vec<u8> {
        let to = [ie(42, [self.core]), self.network(), self.interface_type(17)].concat();
        ie(3, [ie(108, u32::from(UPLINK).to_be_bytes()), ie(44, [2]), ie(4, to)].concat())
    }

    pub(crate) fn downlink_far(&self) -> Vec<u8> {
        let peer = self.peer.map(outer_header).unwrap_or_default();
        let to = [ie(42, [0]), peer, self.interface_type(11)].concat();
        let to = if self.parameters { ie(4, to) } else { Vec::new() };
        ie(3, [ie(108, u32::from(DOWNLINK).to_be_bytes()), ie(44, &self.action), to].concat())
    }

    pub(crate) fn create_qers(&self) -> Vec<Vec<u8>> {
        let numbered = (1_u32..).zip(&self.qers);
        numbered.map(|(id, (gates, with_rates, qfi))| create_qer(id, *gates, *with_rates, *qfi)).collect()
    }

    pub(crate) fn cp_f_seid(&self) -> Vec<u8> {
        ie(57, [&[2][..], &self.cp.to_be_bytes(), &smf(self.smf).octets()].concat())
    }

    pub(crate) fn node_id(&self) -> Vec<u8> {
        ie(60, [&[0][..], &smf(self.smf).octets()].concat())
    }

    /// The IEs of the message.
    pub(crate) fn ies(&self) -> Vec<Vec<u8>> {
        let mut pdrs = vec![self.uplink_pdr()];
        let mut fars = vec![self.uplink_far()];
        if self.downlink {
            pdrs.insert(usize::from(!self.downlink_first), self.downlink_pdr());
            fars.insert(usize::from(!self.fars_reversed), self.downlink_far());
        }
        let head = vec![self.node_id(), self.cp_f_seid()];
        [head, pdrs, fars, self.create_qers(), vec![self.tail.clone()]].concat()
    }

    pub(crate) fn request(&self, sequence: u32) -> Vec<u8> {
        datagram(ESTABLISHMENT, 0, sequence, &self.ies().concat())
    }
}

pub(crate) fn create_qer(id: u32, gates: u8, with_rates: bool, qfi: Option<u8>) -> Vec<u8> {
    let rate = [0, 0, 1, 0x86, 0xa0];
    let mbr = if with_rates { ie(26, [rate, rate].concat()) } else { Vec::new() };
    let qfi = qfi.map(|qfi| ie(124, [qfi])).unwrap_or_default();
    ie(7, [ie(109, id.to_be_bytes()), ie(25, [gates]), mbr, qfi].concat())
}

/// Outer Header Creation of GTP-U over IPv4.
pub(crate) fn outer_header((teid, addr): (u32, Ipv4Addr)) -> Vec<u8> {
    ie(84, [&[1, 0][..], &teid.to_be_bytes(), &addr.octets()].concat())
}

/// An Update FAR of the downlink.
pub(crate) fn to_gnb(teid: u32, flags: Option<u8>) -> Vec<u8> {
    let flags = flags.map(|flags| ie(49, [flags])).unwrap_or_default();
    let parameters = [ie(42, [0]), outer_header((teid, GNB)), flags].concat();
    ie(10, [ie(108, u32::from(DOWNLINK).to_be_bytes()), ie(44, [2]), ie(11, parameters)].concat())
}
