//! The rules of a session: of fixed size, as a switch has them in its arrays.

use std::net::Ipv4Addr;

use causeway_model as model;
use causeway_types::{FTeid, FarId, Interface, NetworkInstance, PdrId, Precedence, Qfi, QfiSet, Teid};

use crate::class::{
    Action, CoreSide, Direction, Establishment, FarUpdate, Modification, NewFar, NewPdi, Parameters,
    PdrUpdate, Peer, Qer, QerIds, Qers, Side, TunnelRequest, are_there,
};
use crate::{Config, Reason};

/// The rules of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Packets of the UE.
    pub uplink: Uplink,
    /// Packets to the UE.
    pub downlink: Option<Downlink>,
    /// The QERs.
    pub qers: Qers,
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
    /// The QERs that apply, in this order.
    pub qers: QerIds,
    /// The FAR.
    pub far: FarId,
    /// What happens to packets; they are never buffered.
    pub action: Action,
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
    /// The QERs that apply, in this order.
    pub qers: QerIds,
    /// The FAR.
    pub far: FarId,
    /// What happens to packets.
    pub action: Action,
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
    /// The number of QFIs of its QERs.
    pub fn qos_flows(&self) -> u32 {
        let qfis = self.qers.iter().flatten().filter_map(|qer| qer.qfi);
        qfis.fold(0_u64, |bits, qfi| bits | 1 << qfi.value()).count_ones()
    }

    /// The rules that an establishment requests. A TEID of the UPF's choice is still zero.
    pub(crate) fn new(config: &Config, request: &Establishment<'_>) -> Result<Self, Reason> {
        let Direction { pdr, far } = &request.uplink;
        let (teid, chosen) = match pdr.pdi.tunnel.ok_or(Reason::Rules)? {
            TunnelRequest::Assigned(teid, addr) if addr == config.gtpu && !config.is_of_n4(teid) => {
                (teid.value(), Chosen::BySmf)
            }
            TunnelRequest::Assigned(..) => return Err(Reason::Tunnel),
            TunnelRequest::Choose { v6: true, .. } if config.has_v6 => return Err(Reason::Tunnel),
            TunnelRequest::Choose { id, .. } => (0, Chosen::ByUpf(id)),
        };
        let uplink = Uplink {
            pdr: pdr.id,
            precedence: pdr.precedence,
            teid,
            chosen,
            network: network(config, pdr.pdi.network)?,
            ue: pdr.pdi.ue.map(|ue| ue_address(config, ue)).transpose()?,
            qfi: pdr.pdi.qfi,
            removes_either: pdr.removes_either,
            qers: pdr.qers,
            far: far.id,
            action: far.action,
            to: far.parameters.map(|parameters| to_core(config, parameters, None)).transpose()?,
        };
        let downlink = request.downlink.map(|direction| Downlink::new(config, &direction)).transpose()?;
        Ok(Self { uplink, downlink, qers: request.qers })
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
        for qer in request.qers.iter().flatten() {
            let is_new = self.qers.iter().flatten().all(|other| other.id != qer.id);
            let place = self.qers.iter_mut().find(|place| place.is_none()).filter(|_| is_new);
            *place.ok_or(Reason::Rules)? = Some(*qer);
        }
        for update in request.pdrs.iter().flatten() {
            self.update_pdr(config, update)?;
        }
        if let Some(direction) = &request.downlink {
            let downlink = Downlink::new(config, direction)?;
            let is_other = downlink.pdr != self.uplink.pdr && downlink.far != self.uplink.far;
            if self.downlink.is_some() || !is_other {
                return Err(Reason::Rules);
            }
            self.downlink = Some(downlink);
        }
        if self.is_of_one_ue() && self.has_its_qers() { Ok((self, end_marker)) } else { Err(Reason::Rules) }
    }

    /// The addresses of the UE.
    pub fn ues(&self) -> impl Iterator<Item = Ipv4Addr> + use<> {
        self.uplink.ue.into_iter().chain(self.downlink.map(|downlink| downlink.ue))
    }

    /// The rules without the values that differ from session to session: equal for sessions of one policy.
    #[must_use]
    pub fn shape(mut self) -> Self {
        let unknown = Ipv4Addr::UNSPECIFIED;
        self.uplink.teid = 0;
        self.uplink.ue = self.uplink.ue.map(|_| unknown);
        if let Some(downlink) = &mut self.downlink {
            downlink.ue = unknown;
            let peer = downlink.to.as_mut().and_then(|to| to.peer.as_mut());
            if let (Some(peer), Some(teid)) = (peer, Teid::new(1)) {
                *peer = Peer { teid, addr: unknown };
            }
        }
        self
    }

    fn is_of_one_ue(&self) -> bool {
        self.downlink.is_none_or(|downlink| self.uplink.ue.is_none_or(|ue| ue == downlink.ue))
    }

    fn has_its_qers(&self) -> bool {
        let of_downlink = self.downlink.map_or(QerIds::default(), |downlink| downlink.qers);
        are_there(&self.uplink.qers, &self.qers) && are_there(&of_downlink, &self.qers)
    }

    /// The PDI replaces the previous one, but keeps tunnel and UE of the session.
    fn update_pdr(&mut self, config: &Config, update: &PdrUpdate<'_>) -> Result<(), Reason> {
        if update.id == self.uplink.pdr {
            return self.uplink.update_pdr(config, update);
        }
        let downlink = self.downlink.as_mut().filter(|downlink| downlink.pdr == update.id);
        downlink.ok_or(Reason::Rules)?.update_pdr(config, update)
    }

    fn update(&mut self, config: &Config, update: &FarUpdate<'_>) -> Result<(), Reason> {
        if update.id == self.uplink.far {
            let uplink = &mut self.uplink;
            uplink.action = update.action.unwrap_or(uplink.action);
            if matches!(uplink.action, Action::Buffer { .. }) {
                return Err(Reason::Rules);
            }
            if let Some(parameters) = update.parameters {
                uplink.to = Some(to_core(config, parameters, uplink.to)?);
            }
            return if uplink.action == Action::Forward && uplink.to.is_none() {
                Err(Reason::Rules)
            } else {
                Ok(())
            };
        }
        let downlink = self.downlink.as_mut().filter(|downlink| downlink.far == update.id);
        let downlink = downlink.ok_or(Reason::Rules)?;
        downlink.action = update.action.unwrap_or(downlink.action);
        if let Some(parameters) = update.parameters {
            downlink.to = Some(to_access(config, parameters, downlink.to)?);
        }
        if downlink.action == Action::Forward && downlink.to.is_none() { Err(Reason::Rules) } else { Ok(()) }
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
        let with_qers = |pdr, qers: QerIds| model::Pdr { qers: qers.into_iter().flatten().collect(), ..pdr };
        rules.pdrs.insert(pdr.id, with_qers(pdr, self.uplink.qers));
        if let Some(downlink) = self.downlink {
            let (pdr, far) = downlink.rules(name);
            rules.fars.insert(far.id, far);
            rules.pdrs.insert(pdr.id, with_qers(pdr, downlink.qers));
        }
        for qer in self.qers.iter().flatten() {
            rules.qers.insert(qer.id, qer_rule(qer));
        }
        rules
    }
}

impl Uplink {
    fn update_pdr(&mut self, config: &Config, update: &PdrUpdate<'_>) -> Result<(), Reason> {
        let &PdrUpdate { precedence, pdi, removes_either, far, qers, .. } = update;
        if far.is_some_and(|far| far != self.far) {
            return Err(Reason::Rules);
        }
        if let Some(NewPdi { tunnel, network: name, ue, qfi, .. }) = pdi {
            match tunnel.ok_or(Reason::Rules)? {
                TunnelRequest::Choose { v6: true, .. } if config.has_v6 => return Err(Reason::Tunnel),
                // For the tunnel that is there.
                TunnelRequest::Choose { .. } => {}
                TunnelRequest::Assigned(teid, addr) => {
                    let is_same = teid.value() == self.teid && addr == config.gtpu;
                    if self.chosen != Chosen::BySmf || !is_same {
                        return Err(Reason::Tunnel);
                    }
                }
            }
            self.network = network(config, name)?;
            self.ue = ue.map(|ue| ue_address(config, ue)).transpose()?;
            self.qfi = qfi;
        }
        self.precedence = precedence.unwrap_or(self.precedence);
        self.removes_either = removes_either.unwrap_or(self.removes_either);
        self.qers = replaced(self.qers, qers);
        Ok(())
    }

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
        (pdr, model::Far { forwarding, ..model::Far::new(self.far, action(self.action)) })
    }
}

impl Downlink {
    fn update_pdr(&mut self, config: &Config, update: &PdrUpdate<'_>) -> Result<(), Reason> {
        let &PdrUpdate { precedence, pdi, removes_either, far, qers, .. } = update;
        if far.is_some_and(|far| far != self.far) || removes_either.is_some() {
            return Err(Reason::Rules);
        }
        if let Some(NewPdi { source, network: name, ue, .. }) = pdi {
            let Side::Core(source) = source else { return Err(Reason::Rules) };
            // Another address is another key.
            if ue != Some(self.ue) {
                return Err(Reason::Rules);
            }
            (self.source, self.network) = (source, network(config, name)?);
        }
        self.precedence = precedence.unwrap_or(self.precedence);
        self.qers = replaced(self.qers, qers);
        Ok(())
    }

    fn new(config: &Config, Direction { pdr, far }: &Direction<'_>) -> Result<Self, Reason> {
        let &NewFar { id, action, parameters } = far;
        let Side::Core(source) = pdr.pdi.source else { return Err(Reason::Rules) };
        Ok(Self {
            pdr: pdr.id,
            precedence: pdr.precedence,
            source,
            network: network(config, pdr.pdi.network)?,
            ue: ue_address(config, pdr.pdi.ue.ok_or(Reason::Rules)?)?,
            qers: pdr.qers,
            far: id,
            action,
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
        (pdr, model::Far { forwarding, ..model::Far::new(self.far, action(self.action)) })
    }
}

impl From<Peer> for FTeid {
    fn from(peer: Peer) -> Self {
        Self { teid: peer.teid, addr: peer.addr.into() }
    }
}

/// The list of a PDR after an update: another one, if it is not empty.
fn replaced(before: QerIds, update: QerIds) -> QerIds {
    if update.iter().any(Option::is_some) { update } else { before }
}

const fn action(action: Action) -> model::ApplyAction {
    match action {
        Action::Drop => model::ApplyAction::Drop,
        Action::Forward => model::ApplyAction::Forward,
        Action::Buffer { notify } => model::ApplyAction::Buffer { notify },
    }
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
