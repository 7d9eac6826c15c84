//! The rules of a session: of fixed size, as a switch has them in its arrays.

use std::net::Ipv4Addr;

use causeway_model as model;
use causeway_types::{FTeid, FarId, Interface, NetworkInstance, PdrId, Precedence, Qfi, QfiSet, Teid};

use crate::class::{
    CoreSide, Direction, Establishment, FarUpdate, Modification, NewFar, Parameters, Peer, Qer, Side,
    TunnelRequest,
};
use crate::{Config, Reason};

/// The rules of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Packets of the UE.
    pub uplink: Uplink,
    /// Packets to the UE.
    pub downlink: Option<Downlink>,
    /// The QER.
    pub qer: Option<Qer>,
}

/// The uplink PDR with its FAR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Uplink {
    /// The PDR.
    pub pdr: PdrId,
    /// Its precedence.
    pub precedence: Precedence,
    /// The local TEID; zero until it is chosen.
    pub(crate) teid: u32,
    /// Who chose the TEID.
    pub chosen: Chosen,
    /// The network of the PDI, by its number.
    pub(crate) network: Option<u8>,
    /// The UE address of the PDI.
    pub ue: Option<Ipv4Addr>,
    /// The QFI of the PDI.
    pub qfi: Option<Qfi>,
    /// The header to remove may be of either IP version.
    pub(crate) removes_either: bool,
    /// The QER applies.
    pub has_qer: bool,
    /// The FAR.
    pub far: FarId,
    /// It forwards; otherwise it drops.
    pub forwards: bool,
    /// Where to: the side, and the network by its number.
    pub(crate) to: Option<(CoreSide, Option<u8>)>,
}

/// Who chose a TEID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chosen {
    /// The SMF.
    BySmf,
    /// The UPF, with this CHOOSE ID.
    ByUpf(Option<u8>),
}

/// The downlink PDR with its FAR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Downlink {
    /// The PDR.
    pub pdr: PdrId,
    /// Its precedence.
    pub precedence: Precedence,
    pub(crate) source: CoreSide,
    pub(crate) network: Option<u8>,
    /// The UE address.
    pub ue: Ipv4Addr,
    /// The QER applies.
    pub has_qer: bool,
    /// The FAR.
    pub far: FarId,
    /// It forwards; otherwise it drops.
    pub forwards: bool,
    /// Where to.
    pub(crate) to: Option<ToAccess>,
}

/// The forwarding parameters of a downlink FAR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ToAccess {
    pub(crate) network: Option<u8>,
    pub(crate) peer: Option<Peer>,
}

impl Downlink {
    /// The tunnel of the gNB, if it is known.
    pub fn peer(&self) -> Option<Peer> {
        self.to?.peer
    }
}

impl Uplink {
    /// The local TEID.
    pub const fn teid(&self) -> Option<Teid> {
        Teid::new(self.teid)
    }
}

impl Rules {
    /// The rules that an establishment requests. A TEID of the UPF's choice is still zero.
    pub(crate) fn new(config: &Config, request: &Establishment<'_>) -> Result<Self, Reason> {
        let Direction { pdr, far } = &request.uplink;
        let (teid, chosen) = match pdr.tunnel.ok_or(Reason::Rules)? {
            TunnelRequest::Assigned(teid, addr) if addr == config.gtpu => (teid.value(), Chosen::BySmf),
            TunnelRequest::Assigned(..) => return Err(Reason::Tunnel),
            TunnelRequest::Choose { v6: true, .. } if config.has_v6 => return Err(Reason::Tunnel),
            TunnelRequest::Choose { id, .. } => (0, Chosen::ByUpf(id)),
        };
        let uplink = Uplink {
            pdr: pdr.id,
            precedence: pdr.precedence,
            teid,
            chosen,
            network: network(config, pdr.network)?,
            ue: pdr.ue.map(|ue| ue_address(config, ue)).transpose()?,
            qfi: pdr.qfi,
            removes_either: pdr.removes_either,
            has_qer: pdr.qer.is_some(),
            far: far.id,
            forwards: far.forwards,
            to: far.parameters.map(|parameters| to_core(config, parameters, None)).transpose()?,
        };
        let downlink = request.downlink.map(|direction| Downlink::new(config, &direction)).transpose()?;
        Ok(Self { uplink, downlink, qer: request.qer })
    }

    /// The rules after a modification, and the tunnel that gets an End Marker.
    pub(crate) fn modified(
        mut self,
        config: &Config,
        request: &Modification<'_>,
    ) -> Result<(Self, Option<Peer>), Reason> {
        // Updates are of rules that were there before.
        let mut end_marker = None;
        for update in request.fars.iter().flatten() {
            let before = self.downlink.and_then(|downlink| downlink.peer());
            self.update(config, update)?;
            let after = self.downlink.and_then(|downlink| downlink.peer());
            let is_downlink = self.downlink.is_some_and(|downlink| downlink.far == update.id);
            if update.end_marker && is_downlink && before != after {
                end_marker = before;
            }
        }
        if let Some(qer) = request.qer {
            if self.qer.is_some() {
                return Err(Reason::Rules);
            }
            self.qer = Some(qer);
        }
        if let Some(direction) = &request.downlink {
            let downlink = Downlink::new(config, direction)?;
            let has_qer = direction.pdr.qer.is_none_or(|id| self.qer.is_some_and(|qer| qer.id == id));
            let is_other = downlink.pdr != self.uplink.pdr && downlink.far != self.uplink.far;
            let is_of_ue = self.uplink.ue.is_none_or(|ue| ue == downlink.ue);
            if self.downlink.is_some() || !(has_qer && is_other && is_of_ue) {
                return Err(Reason::Rules);
            }
            self.downlink = Some(downlink);
        }
        Ok((self, end_marker))
    }

    fn update(&mut self, config: &Config, update: &FarUpdate<'_>) -> Result<(), Reason> {
        if update.id == self.uplink.far {
            let uplink = &mut self.uplink;
            uplink.forwards = update.forwards.unwrap_or(uplink.forwards);
            if let Some(parameters) = update.parameters {
                uplink.to = Some(to_core(config, parameters, uplink.to)?);
            }
            return if uplink.forwards && uplink.to.is_none() { Err(Reason::Rules) } else { Ok(()) };
        }
        let downlink = self.downlink.as_mut().filter(|downlink| downlink.far == update.id);
        let downlink = downlink.ok_or(Reason::Rules)?;
        downlink.forwards = update.forwards.unwrap_or(downlink.forwards);
        if let Some(parameters) = update.parameters {
            downlink.to = Some(to_access(config, parameters, downlink.to)?);
        }
        if downlink.forwards && downlink.to.is_none() { Err(Reason::Rules) } else { Ok(()) }
    }

    /// The rules in the form that N4 and the data planes share.
    pub(crate) fn to_rule_set(self, config: &Config) -> model::RuleSet {
        let mut rules = model::RuleSet::default();
        let name = |number: Option<u8>| {
            let named = number.and_then(|number| config.networks.get(usize::from(number)));
            named.map(|(_, name)| name.clone())
        };
        let (pdr, far) = self.uplink.rules(config, name);
        rules.fars.insert(far.id, far);
        let with_qer = |pdr: model::Pdr, has_qer| model::Pdr {
            qers: self.qer.filter(|_| has_qer).map(|qer| qer.id).into_iter().collect(),
            ..pdr
        };
        rules.pdrs.insert(pdr.id, with_qer(pdr, self.uplink.has_qer));
        if let Some(downlink) = self.downlink {
            let (pdr, far) = downlink.rules(name);
            rules.fars.insert(far.id, far);
            rules.pdrs.insert(pdr.id, with_qer(pdr, downlink.has_qer));
        }
        if let Some(qer) = self.qer {
            rules.qers.insert(qer.id, qer_rule(&qer));
        }
        rules
    }
}

impl Uplink {
    fn rules(
        &self,
        config: &Config,
        name: impl Fn(Option<u8>) -> Option<NetworkInstance>,
    ) -> (model::Pdr, model::Far) {
        let mut qfis = QfiSet::EMPTY;
        self.qfi.into_iter().for_each(|qfi| qfis.insert(qfi));
        let pdi = model::Pdi {
            tunnel: self.teid().map(|teid| FTeid { teid, addr: config.gtpu.into() }),
            network_instance: name(self.network),
            ue: self.ue.map(|ip| ue(ip, model::UeSide::Source)),
            qfis,
            ..model::Pdi::new(Interface::Access)
        };
        let header =
            if self.removes_either { model::RemovedHeader::Gtpu } else { model::RemovedHeader::GtpuIpv4 };
        let pdr = model::Pdr {
            precedence: self.precedence,
            removal: Some(model::HeaderRemoval { header, deletes_container: false }),
            ..model::Pdr::new(self.pdr, pdi, self.far)
        };
        let forwarding = self.to.map(|(side, network)| model::Forwarding {
            network_instance: name(network),
            ..model::Forwarding::to(side.into())
        });
        (pdr, model::Far { forwarding, ..model::Far::new(self.far, action(self.forwards)) })
    }
}

impl Downlink {
    fn new(config: &Config, Direction { pdr, far }: &Direction<'_>) -> Result<Self, Reason> {
        let &NewFar { id, forwards, parameters } = far;
        Ok(Self {
            pdr: pdr.id,
            precedence: pdr.precedence,
            source: pdr.source,
            network: network(config, pdr.network)?,
            ue: ue_address(config, pdr.ue.ok_or(Reason::Rules)?)?,
            has_qer: pdr.qer.is_some(),
            far: id,
            forwards,
            to: parameters.map(|parameters| to_access(config, parameters, None)).transpose()?,
        })
    }

    fn rules(&self, name: impl Fn(Option<u8>) -> Option<NetworkInstance>) -> (model::Pdr, model::Far) {
        let pdi = model::Pdi {
            network_instance: name(self.network),
            ue: Some(ue(self.ue, model::UeSide::Destination)),
            ..model::Pdi::new(self.source.into())
        };
        let pdr = model::Pdr { precedence: self.precedence, ..model::Pdr::new(self.pdr, pdi, self.far) };
        let forwarding = self.to.map(|to| model::Forwarding {
            network_instance: name(to.network),
            outer: to.peer.map(|peer| model::OuterHeader::Gtpu(peer.into())),
            ..model::Forwarding::to(Interface::Access)
        });
        (pdr, model::Far { forwarding, ..model::Far::new(self.far, action(self.forwards)) })
    }
}

impl From<Peer> for FTeid {
    fn from(peer: Peer) -> Self {
        Self { teid: peer.teid, addr: peer.addr.into() }
    }
}

const fn action(forwards: bool) -> model::ApplyAction {
    if forwards { model::ApplyAction::Forward } else { model::ApplyAction::Drop }
}

const fn ue(ip: Ipv4Addr, side: model::UeSide) -> model::UeAddress {
    model::UeAddress { v4: Some(ip), v6: None, side }
}

fn qer_rule(qer: &Qer) -> model::Qer {
    let gate = |is_open| if is_open { model::Gate::Open } else { model::Gate::Closed };
    model::Qer {
        uplink: gate(qer.uplink_open),
        downlink: gate(qer.downlink_open),
        mbr: qer.mbr.map(|(uplink, downlink)| model::RateLimit { uplink, downlink }),
        qfi: qer.qfi,
        ..model::Qer::new(qer.id)
    }
}

fn network(config: &Config, octets: Option<&[u8]>) -> Result<Option<u8>, Reason> {
    octets.map(|octets| config.network(octets).ok_or(Reason::Network)).transpose()
}

fn ue_address(config: &Config, ip: Ipv4Addr) -> Result<Ipv4Addr, Reason> {
    if config.may_be_ue(ip) { Ok(ip) } else { Err(Reason::Address) }
}

/// What an uplink FAR has after these parameters; a tunnel would be N9, which is not of the class.
fn to_core(
    config: &Config,
    parameters: Parameters<'_>,
    before: Option<(CoreSide, Option<u8>)>,
) -> Result<(CoreSide, Option<u8>), Reason> {
    let side = match parameters.destination {
        Some(Side::Core(side)) => Some(side),
        Some(Side::Access) => return Err(Reason::Rules),
        None => before.map(|(side, _)| side),
    };
    if parameters.peer.is_some() {
        return Err(Reason::Peer);
    }
    let named = network(config, parameters.network)?;
    Ok((side.ok_or(Reason::Rules)?, named.or(before.and_then(|(_, network)| network))))
}

/// What a downlink FAR has after these parameters.
fn to_access(
    config: &Config,
    parameters: Parameters<'_>,
    before: Option<ToAccess>,
) -> Result<ToAccess, Reason> {
    match parameters.destination {
        Some(Side::Access) => {}
        None if before.is_some() => {}
        _ => return Err(Reason::Rules),
    }
    if parameters.peer.is_some_and(|peer| !config.may_be_peer(peer.addr)) {
        return Err(Reason::Peer);
    }
    let named = network(config, parameters.network)?;
    Ok(ToAccess {
        network: named.or(before.and_then(|to| to.network)),
        peer: parameters.peer.or(before.and_then(|to| to.peer)),
    })
}
