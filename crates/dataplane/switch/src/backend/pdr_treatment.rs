//! The treatment of a PDR's packets, from its FAR and QERs, or why the switch cannot do it.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::{ApplyError, Topology};
use causeway_model::{
    ApplyAction, Far, Forwarding, Gate, OuterHeader, Pdr, PduSessionType, Qer, RemovedHeader, RuleSet,
    Steering, TosMarking,
};
use causeway_slowpath::lease::direction_of;
use causeway_types::{Direction, Interface, NetworkInstance, QerId, UrrId, WallTime};

use super::application_classes::ClassView;
use super::compile_session::{arrives_from, leaves_to, tenant_of_tunnel};
use super::config::Config;
use super::template::RuleAction;
use crate::model::upf::DropReason;

/// The treatment of a PDR's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Treatment {
    pub(super) action: RuleAction,
    /// The TEID at the far end of their outgoing tunnel.
    pub(super) teid: u32,
    /// The QER whose rate limits them.
    pub(super) meter: Option<QerId>,
}

/// Why the backend refuses a rule.
pub(super) type Refused = ApplyError;

/// Why the switch cannot provide a treatment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum UnsupportedBy {
    /// The switch cannot, the software behind it can.
    Switch(&'static str),
    /// Neither can.
    Both(&'static str),
}

impl From<UnsupportedBy> for Refused {
    fn from(cannot: UnsupportedBy) -> Self {
        match cannot {
            UnsupportedBy::Switch(reason) | UnsupportedBy::Both(reason) => unsupported(reason),
        }
    }
}

/// The error with this reason.
pub(super) const fn unsupported(reason: &'static str) -> Refused {
    ApplyError::Unsupported(reason)
}

/// The treatment of a PDR, while these quotas are exhausted.
pub(super) fn treat(
    pdr: &Pdr,
    rules: &RuleSet,
    exhausted: &BTreeSet<UrrId>,
    config: &Config,
) -> Result<Treatment, UnsupportedBy> {
    let direction = direction_of(pdr);
    let qers: Vec<&Qer> = pdr.qers.iter().filter_map(|id| rules.qers.get(id)).collect();
    qers.iter().try_for_each(|qer| check_qer(qer, direction))?;
    check_urrs(pdr, rules)?;
    check_headers(pdr, config)?;
    let (far, is_blocked) = far_of(pdr, rules, exhausted);
    let Some(far) = far else { return Ok(drops(DropReason::FarDrop)) };
    check_far(far, direction)?;
    let is_gated = qers.iter().any(|qer| qer.gate(direction) == Gate::Closed);
    let forwarding = match (far.action, &far.forwarding) {
        (ApplyAction::Drop, _) | (ApplyAction::Forward, None) => return Ok(drops(DropReason::FarDrop)),
        (ApplyAction::Forward, _) if is_blocked => return Ok(drops(DropReason::QuotaExhausted)),
        _ if is_gated => return Ok(drops(DropReason::GateClosed)),
        (ApplyAction::Buffer { .. }, _) => {
            return Ok(Treatment { action: RuleAction::Buffer, teid: 0, meter: None });
        }
        (ApplyAction::Forward, Some(forwarding)) => forwarding,
    };
    let meter = meter_of(&qers)?;
    let (action, teid) = leave(pdr, rules, forwarding, &qers, config)?;
    let meter = meter.filter(|_| action.forwards());
    Ok(Treatment { action, teid, meter })
}

const fn drops(reason: DropReason) -> Treatment {
    Treatment { action: RuleAction::Drop(reason), teid: 0, meter: None }
}

/// The effective FAR of a PDR, and whether an exhausted quota stops the packets that it forwards.
fn far_of<'r>(pdr: &Pdr, rules: &'r RuleSet, exhausted: &BTreeSet<UrrId>) -> (Option<&'r Far>, bool) {
    let spent = pdr.urrs.iter().filter(|id| exhausted.contains(id)).filter_map(|id| rules.urrs.get(id));
    let fars: Vec<_> = spent.map(|urr| urr.quota_far).collect();
    match fars.first() {
        None => (rules.fars.get(&pdr.far), false),
        // A quota without a FAR stops the packet, whatever FARs others have.
        Some(Some(far)) if fars.iter().all(Option::is_some) => (rules.fars.get(far), false),
        Some(_) => (rules.fars.get(&pdr.far), true),
    }
}

fn check_urrs(pdr: &Pdr, rules: &RuleSet) -> Result<(), UnsupportedBy> {
    let urrs = || pdr.urrs.iter().filter_map(|id| rules.urrs.get(id));
    if urrs().any(|urr| urr.dropped_threshold.is_some()) {
        return Err(UnsupportedBy::Switch("a threshold of dropped downlink traffic"));
    }
    if urrs().any(|urr| !urr.exempted_filters.is_empty()) {
        return Err(UnsupportedBy::Switch("flows that are exempted from a quota"));
    }
    if pdr.pdi.tunnel.is_some() && pdr.pdi.qfis.is_empty() && urrs().any(|urr| urr.before_qos) {
        return Err(UnsupportedBy::Switch("usage before QoS enforcement of a PDR without QFI"));
    }
    Ok(())
}

fn check_qer(qer: &Qer, direction: Direction) -> Result<(), UnsupportedBy> {
    let is_downlink = direction == Direction::Downlink;
    match () {
        () if qer.correlation.is_some() => {
            Err(UnsupportedBy::Switch("a QER that shares its rate with other sessions"))
        }
        () if qer.packet_rate.is_some() || qer.packet_rate_status.is_some() => {
            Err(UnsupportedBy::Switch("a QER with a packet rate"))
        }
        () if is_downlink && qer.reflective => Err(UnsupportedBy::Switch("Reflective QoS")),
        () if is_downlink && qer.ppi.is_some() => Err(UnsupportedBy::Switch("a Paging Policy Indicator")),
        () if is_downlink && qer.flow_marking != Default::default() => {
            Err(UnsupportedBy::Switch("DL Flow Level Marking"))
        }
        () => Ok(()),
    }
}

fn check_far(far: &Far, direction: Direction) -> Result<(), UnsupportedBy> {
    let follows_policy = far.forwarding.as_ref().is_some_and(|it| it.steering.policy.is_some());
    let copies_follow = far.duplicate && far.duplicates.iter().any(|copy| copy.policy.is_some());
    if follows_policy || copies_follow {
        return Err(UnsupportedBy::Both("a forwarding policy of the configuration"));
    }
    if far.duplicate {
        return Err(UnsupportedBy::Switch("a FAR that duplicates packets"));
    }
    if far.delivery_status.discarded && direction == Direction::Downlink && !far.buffers() {
        return Err(UnsupportedBy::Switch("a report of downlink packets that the FAR discards"));
    }
    Ok(())
}

/// The only QER whose rate applies.
fn meter_of(qers: &[&Qer]) -> Result<Option<QerId>, UnsupportedBy> {
    let mut limits: Vec<QerId> = qers.iter().filter(|qer| qer.mbr.is_some()).map(|qer| qer.id).collect();
    limits.sort_unstable();
    limits.dedup();
    match limits.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        _ => Err(UnsupportedBy::Switch("a PDR with several maximum bit rates")),
    }
}

fn leave(
    pdr: &Pdr,
    rules: &RuleSet,
    forwarding: &Forwarding,
    qers: &[&Qer],
    config: &Config,
) -> Result<(RuleAction, u32), UnsupportedBy> {
    let Forwarding { destination, network_instance, outer, marking, vlan, proxying, steering, enrichment } =
        forwarding;
    if *destination == Interface::CpFunction {
        return Err(UnsupportedBy::Switch("a FAR that sends to the CP function"));
    }
    if vlan.is_some() || *proxying != Default::default() {
        return Err(UnsupportedBy::Both("VLAN tags and proxying"));
    }
    if *steering != Steering::default() || !enrichment.is_empty() {
        return Err(UnsupportedBy::Switch("a FAR that redirects, steers or enriches packets"));
    }
    match outer {
        Some(OuterHeader::Gtpu(tunnel)) => {
            let peer = tunnel.addr.v4.ok_or(UnsupportedBy::Both("a tunnel over IPv6"))?;
            let local = local_end(network_instance.as_ref(), &config.topology);
            if local.is_none() || local != local_end(None, &config.topology) {
                return Err(UnsupportedBy::Both("a tunnel from another GTP-U address than the first"));
            }
            let is_to_access = *destination == Interface::Access;
            let dscp = marking.map_or(0, |marking| marking.apply(0) >> 2);
            let qfi = qfi_of(pdr, qers)?;
            let action = RuleAction::Encapsulate { peer, qfi, pdu_type: u8::from(!is_to_access), dscp };
            Ok((action, tunnel.teid.value()))
        }
        Some(OuterHeader::Unknown) => Ok((RuleAction::Drop(DropReason::NoForwarding), 0)),
        Some(OuterHeader::Udp(_) | OuterHeader::Ip(_)) => Err(UnsupportedBy::Both("a tunnel over N6")),
        None if *destination == Interface::Access => Ok((RuleAction::Drop(DropReason::NoForwarding), 0)),
        None => {
            check_exit(pdr, rules, forwarding, config)?;
            Ok((RuleAction::Decapsulate { dscp: marking.map(whole_dscp).transpose()? }, 0))
        }
    }
}

/// A data network that the switch does not serve.
const NOT_SERVED: UnsupportedBy =
    UnsupportedBy::Both("a data network without a VXLAN segment that is not the first such one");

/// Packets leave to a data network that the switch serves, the one of all packets of their tunnel, or the one that they came from: the switch has
/// no other way to tell it.
fn check_exit(
    pdr: &Pdr,
    rules: &RuleSet,
    forwarding: &Forwarding,
    config: &Config,
) -> Result<(), UnsupportedBy> {
    let exit = leaves_to(pdr, forwarding, config).ok_or(NOT_SERVED)?;
    match pdr.pdi.tunnel {
        Some(tunnel) if tenant_of_tunnel(tunnel.teid.value(), rules, config) != exit => {
            Err(UnsupportedBy::Switch("packets of one tunnel to several data networks"))
        }
        None if arrives_from(pdr, config) != [exit] => {
            Err(UnsupportedBy::Switch("packets from one data network to another"))
        }
        _ => Ok(()),
    }
}

/// Packets come from data networks that the switch serves. Those without a Network Instance are of all of them.
fn check_arrival(pdr: &Pdr, config: &Config) -> Result<(), Refused> {
    let is_served = |network: &NetworkInstance| config.tenant_of(network).is_some();
    match pdr.pdi.network_instance.as_ref().is_none_or(is_served) {
        true => Ok(()),
        false => Err(NOT_SERVED.into()),
    }
}

/// What packets of several data networks have in common: their frames have the same headers, so that their octets can be counted.
fn check_headers(pdr: &Pdr, config: &Config) -> Result<(), UnsupportedBy> {
    let mut octets = arrives_from(pdr, config).into_iter().map(|tenant| config.underlay_octets(tenant));
    let first = octets.next();
    match pdr.pdi.tunnel.is_some() || octets.all(|other| Some(other) == first) {
        true => Ok(()),
        false => Err(UnsupportedBy::Switch(
            "a PDR without a Network Instance, of data networks with and without a segment",
        )),
    }
}

/// The local address of tunnels in this network.
fn local_end(network: Option<&NetworkInstance>, topology: &Topology) -> Option<Ipv4Addr> {
    let serves = |instance: &Option<NetworkInstance>| match (instance, network) {
        (Some(serves), Some(asked)) => serves == asked,
        _ => true,
    };
    topology.gtpu.iter().filter(|end| serves(&end.network_instance)).find_map(|end| end.addr.v4)
}

/// The QFI of all packets that a PDR transmits.
fn qfi_of(pdr: &Pdr, qers: &[&Qer]) -> Result<u8, UnsupportedBy> {
    let marks = || qers.iter().filter_map(|qer| qer.qfi);
    if let Some(qfi) = marks().find(|qfi| qfi.value() != 0).or_else(|| marks().next()) {
        return Ok(qfi.value());
    }
    let keeps = pdr.pdi.tunnel.is_some() && pdr.removal.is_some_and(|removal| !removal.deletes_container);
    let mut qfis = pdr.pdi.qfis.iter();
    match (qfis.next(), qfis.next()) {
        (Some(one), None) if keeps => Ok(one.value()),
        _ if keeps => Err(UnsupportedBy::Both("a tunnel for packets that keep one of several QFIs")),
        _ => Err(UnsupportedBy::Switch(
            "a tunnel for packets without a QFI from a QER: the switch always sends one",
        )),
    }
}

fn whole_dscp(marking: TosMarking) -> Result<u8, UnsupportedBy> {
    let counted = !(marking.apply(0) ^ marking.apply(0xff));
    if counted != 0xfc {
        return Err(UnsupportedBy::Switch("a marking of some bits of the DSCP"));
    }
    Ok(marking.apply(0) >> 2)
}

/// The outer header that the PDR removes is the one that its packets have.
pub(super) fn check_removal(pdr: &Pdr) -> Result<(), Refused> {
    match (pdr.pdi.tunnel, pdr.removal.map(|removal| removal.header)) {
        (None, None) | (Some(_), Some(RemovedHeader::Gtpu | RemovedHeader::GtpuIpv4)) => Ok(()),
        _ => Err(unsupported("an Outer Header Removal that is not that of the PDR's tunnel over IPv4")),
    }
}

/// The address is a local GTP-U address.
pub(super) fn is_own(ip: Ipv4Addr, topology: &Topology) -> bool {
    topology.gtpu.iter().any(|end| end.addr.contains(IpAddr::V4(ip)))
}

pub(super) fn check_session(rules: &RuleSet) -> Result<(), Refused> {
    if rules.pdu_type != PduSessionType::Ip {
        return Err(unsupported("an Ethernet session"));
    }
    Ok(())
}

pub(super) fn check_pdr(pdr: &Pdr, config: &Config, view: ClassView<'_>) -> Result<(), Refused> {
    let pdi = &pdr.pdi;
    if !pdr.predefined.is_empty() || pdi.application.is_some() && !view.knows_applications() {
        return Err(unsupported("predefined rules and applications"));
    }
    if pdr.active_until.is_some() || pdr.active_from.is_some_and(|from| from != WallTime::default()) {
        return Err(unsupported("a PDR with an Activation or Deactivation Time"));
    }
    if !pdi.routes.is_empty() {
        return Err(unsupported("framed routes, and UEs with several addresses"));
    }
    if pdi.whole_ethernet_session || !pdi.ethernet.is_empty() || pdr.vlan_removal.is_some() {
        return Err(unsupported("Ethernet frames"));
    }
    if pdi.source == Interface::VnInternal {
        return Err(unsupported("packets of a virtual network"));
    }
    if pdi.ue.and_then(|ue| ue.v6).is_some_and(|net| net.prefix_len() != 64) {
        return Err(unsupported("a UE whose IPv6 prefix has other than 64 bits"));
    }
    check_removal(pdr)?;
    match pdi.tunnel {
        Some(_) => check_tunnel(pdr, config),
        None => check_arrival(pdr, config),
    }
}

fn check_tunnel(pdr: &Pdr, config: &Config) -> Result<(), Refused> {
    let Some(tunnel) = pdr.pdi.tunnel else { return Ok(()) };
    let own = tunnel.addr.v4.filter(|ip| is_own(*ip, &config.topology));
    let own = own.ok_or(unsupported("a tunnel that ends at no local IPv4 address"))?;
    if tunnel.addr.v6.is_some() {
        return Err(unsupported("a tunnel that ends at an IPv6 address"));
    }
    if tunnel.teid.value() >> 24 != 0 {
        return Err(unsupported("a TEID of more than 24 bits"));
    }
    let end = config.topology.gtpu.iter().find(|end| end.addr.v4 == Some(own));
    let instance = end.and_then(|end| end.network_instance.as_ref());
    match (instance, &pdr.pdi.network_instance) {
        (Some(instance), Some(asked)) if instance != asked => {
            Err(unsupported("a tunnel whose network differs from that of the PDI"))
        }
        _ => Ok(()),
    }
}
