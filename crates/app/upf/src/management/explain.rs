//! What would become of a packet: the packet from the words of a request, and the explanation as JSON.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use causeway_dataplane::{
    Disposition, DropReason, Egress, Explanation, Ingress, MatchedRules, QerVerdict, RateVerdict, SessionKey,
};
use causeway_model::Gate;
use causeway_packet::{IpProtocol, IpRepr, gtpu};
use causeway_types::{NetworkInstance, Qfi, Seid, Teid, Volume};

use super::details::action;
use super::query::number;
use super::refusal::Refusal;
use super::server::{Shared, in_time};
use super::views::{
    ExplanationView, FirewallView, MatchedRulesView, PacketView, PdrTrialView, ProblemView, QerVerdictView,
    ReasonView, SentView, SessionTrialView, UrrVerdictView, VolumeView, direction_text,
};
use crate::config::{GTPU_PORT, Upf};

/// The address of a gNB where none is given: one of documentation (RFC 5737).
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// The length of a user's packet where none is given, and its limits, in octets.
const LENGTH: u16 = 100;
const LENGTHS: std::ops::RangeInclusive<u16> = 60..=1500;

/// The form of a request, in short.
const FORM: &str = r#"a packet such as {"interface": "n6", "source": "203.0.113.1", "destination": "10.45.0.2"}; see /api/v1"#;

/// Explains what would become of a packet now, and by which rules.
///
/// Nothing is sent, counted or measured. The packet is described in words, or given in hexadecimal.
#[utoipa::path(
    post, path = "/api/v1/explain", tag = "Sessions",
    request_body = PacketView,
    responses(
        (status = 200, description = "The explanation", body = ExplanationView),
        (status = 400, description = "The packet is not described right", body = ProblemView, content_type = "application/problem+json"),
        (status = 413, description = "The body is too large", body = ProblemView, content_type = "application/problem+json"),
        (status = 501, description = "The data plane explains no such packets", body = ProblemView, content_type = "application/problem+json"),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn explain(
    State(management): Shared,
    body: Result<Json<PacketView>, JsonRejection>,
) -> Result<Json<ExplanationView>, Refusal> {
    let Json(view) = body.map_err(|rejection| Refusal::of_body(&rejection, FORM))?;
    let (ingress, packet) = packet(&view, &management.upf()).map_err(Refusal::Packet)?;
    let explained = in_time(management.workers.explain(ingress, packet)).await?;
    explained.map(|explanation| Json(shown(explanation))).ok_or(Refusal::Unexplained)
}

/// The packet that a request describes; otherwise what is wrong.
fn packet(view: &PacketView, upf: &Upf) -> Result<(Ingress, Vec<u8>), &'static str> {
    let user = user_packet(view)?;
    match view.interface.as_str() {
        "n6" if view.teid.is_some() || view.qfi.is_some() => Err("teid and qfi are for packets of n3"),
        "n6" => {
            let known: Vec<&str> = upf.session.iter().map(|session| session.dnn.as_str()).collect();
            let name = view.network.as_deref().or(known.first().copied());
            let name = name.filter(|name| known.contains(name)).ok_or("network is no dnn of upf.session")?;
            Ok((Ingress::Ip { network: NetworkInstance::new(name) }, user))
        }
        "n3" if view.network.is_some() => Err("network is for packets of n6"),
        "n3" => {
            let teid = view.teid.as_deref().ok_or("a packet of n3 needs its teid")?;
            let teid = number(teid).and_then(|teid| Teid::new(u32::try_from(teid).ok()?));
            let teid = teid.ok_or("teid is a number from 1 to 0xffffffff")?;
            let first = || upf.gtpu.server.iter().find_map(|server| server.address);
            let local = view.local.or_else(first).ok_or("give local: upf.gtpu.server names no address")?;
            let peer = SocketAddr::new(view.peer.unwrap_or(PEER), GTPU_PORT);
            let header = match view.qfi.map(Qfi::new) {
                None => gtpu::prefix::without_extensions(teid, user.len()).map(|header| header.to_vec()),
                Some(None) => return Err("qfi is a number from 0 to 63"),
                Some(Some(qfi)) => gtpu::prefix::uplink(teid, qfi, user.len()).map(|header| header.to_vec()),
            };
            let header = header.map_err(|_| "the packet is too long")?;
            Ok((Ingress::Gtpu { local, peer, tos: 0, hops: None }, [header, user].concat()))
        }
        _ => Err("interface is n3 or n6"),
    }
}

/// The user's packet from the IP header on.
fn user_packet(view: &PacketView) -> Result<Vec<u8>, &'static str> {
    if let Some(hexadecimal) = &view.packet {
        return octets(hexadecimal).ok_or("packet is an even number of hexadecimal digits, at most 4000");
    }
    let source = view.source.ok_or("give source, the source address of the user's packet")?;
    let destination =
        view.destination.ok_or("give destination, the destination address of the user's packet")?;
    let protocol = match view.protocol.as_deref().unwrap_or("udp") {
        "udp" => IpProtocol::UDP,
        "tcp" => IpProtocol::TCP,
        "icmp" if source.is_ipv4() => IpProtocol::ICMP,
        "icmp" => IpProtocol::ICMPV6,
        other => IpProtocol(other.parse().map_err(|_| "protocol is udp, tcp, icmp or a number up to 255")?),
    };
    let length = view.length.unwrap_or(LENGTH);
    if !LENGTHS.contains(&length) {
        return Err("length is from 60 to 1500 octets");
    }
    let header = if source.is_ipv4() { 20 } else { 40 };
    let mut payload = vec![0; usize::from(length) - header];
    match protocol {
        IpProtocol::UDP | IpProtocol::TCP => {
            payload[..2].copy_from_slice(&view.source_port.to_be_bytes());
            payload[2..4].copy_from_slice(&view.destination_port.to_be_bytes());
            if protocol == IpProtocol::UDP {
                let length = length - header as u16;
                payload[4..6].copy_from_slice(&length.to_be_bytes());
            } else {
                // A header of 20 octets with the flag ACK.
                (payload[12], payload[13]) = (0x50, 0x10);
            }
        }
        IpProtocol::ICMP => payload[0] = 8,
        IpProtocol::ICMPV6 => payload[0] = 128,
        _ => {}
    }
    let mut packet = Vec::new();
    let ip = IpRepr::new(source, destination, protocol);
    let ip = ip.map_err(|_| "source and destination are of different IP versions")?;
    ip.write(&payload, &mut packet).map_err(|_| "the packet is too long")?;
    Ok(packet)
}

fn octets(hexadecimal: &str) -> Option<Vec<u8>> {
    let digits = hexadecimal.as_bytes();
    let is_right =
        digits.len().is_multiple_of(2) && digits.len() <= 4000 && digits.iter().all(u8::is_ascii_hexdigit);
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if is_right { digits.chunks(2).map(octet).collect() } else { None }
}

pub(super) const fn disposition(disposition: Disposition) -> &'static str {
    match disposition {
        Disposition::Forwarded => "forwarded",
        Disposition::Buffered => "buffered",
        Disposition::Consumed => "consumed",
        Disposition::Dropped(_) => "dropped",
    }
}

pub(super) fn reason(reason: DropReason) -> ReasonView {
    ReasonView {
        reason: reason.label().into(),
        meaning: reason.meaning().into(),
        remedy: reason.remedy().into(),
    }
}

pub(super) fn shown(explanation: Explanation) -> ExplanationView {
    let dropped = match explanation.disposition {
        Disposition::Dropped(why) => Some(reason(why)),
        _ => None,
    };
    let trial = |(id, mismatch): (causeway_types::PdrId, Option<causeway_dataplane::PdrMismatch>)| {
        PdrTrialView { id: id.0, mismatch: mismatch.map(|mismatch| mismatch.to_string()) }
    };
    ExplanationView {
        disposition: disposition(explanation.disposition).into(),
        reason: dropped,
        key: explanation.key.map(|key| match key {
            SessionKey::Tunnel { teid, local, qfi } => {
                let qfi = qfi.map_or_else(String::new, |qfi| format!(", QFI {qfi}"));
                format!("TEID {teid} at {local}{qfi}")
            }
            SessionKey::Mac { network, address } => format!("MAC address {address} in {network}"),
            SessionKey::UeAddress { network, address } => format!("UE {address} in {network}"),
        }),
        firewall: explanation.firewall.map(|it| *it).map(|it| FirewallView {
            direction: direction_text(it.direction).into(),
            action: it.action.to_string(),
            number: it.rule.as_ref().and_then(|(number, _)| u32::try_from(*number).ok()),
            rule: it.rule.map(|(_, rule)| rule.to_string()),
        }),
        sessions: explanation
            .sessions
            .into_iter()
            .map(|session| SessionTrialView {
                seid: hexadecimal(session.session),
                pdrs: session.pdrs.into_iter().map(trial).collect(),
            })
            .collect(),
        rules: explanation.rules.map(rules),
        sent: explanation.sent.iter().map(|(egress, octets)| sent(egress, *octets)).collect(),
    }
}

fn rules(rules: MatchedRules) -> MatchedRulesView {
    MatchedRulesView {
        seid: hexadecimal(rules.session),
        pdr: rules.pdr.0,
        direction: direction_text(rules.direction).into(),
        far: rules.far.0,
        action: action(rules.action).into(),
        qers: rules.qers.iter().map(qer).collect(),
        urrs: rules
            .urrs
            .iter()
            .map(|urr| UrrVerdictView {
                id: urr.id.0,
                is_exhausted: urr.is_exhausted,
                before: volume(urr.before),
                after: volume(urr.after),
            })
            .collect(),
    }
}

const fn volume(volume: Volume) -> VolumeView {
    VolumeView {
        uplink_octets: volume.uplink,
        downlink_octets: volume.downlink,
        uplink_packets: volume.uplink_packets,
        downlink_packets: volume.downlink_packets,
    }
}

fn qer(qer: &QerVerdict) -> QerVerdictView {
    let rate = |verdict| match verdict {
        RateVerdict::Guaranteed => "within_gbr".to_owned(),
        RateVerdict::Allowed => "within_mbr".to_owned(),
        RateVerdict::Exceeded => "above_mbr".to_owned(),
    };
    let gate = if qer.gate == Gate::Open { "open" } else { "closed" };
    QerVerdictView { id: qer.id.0, gate: gate.into(), rate: qer.rate.map(rate) }
}

pub(super) fn sent(egress: &Egress, octets: usize) -> SentView {
    let to = match egress {
        Egress::Gtpu { peer, .. } => format!("GTP-U peer {peer}"),
        Egress::Ip { network } => format!("data network {network}"),
        Egress::Ethernet { network } => format!("Ethernet data network {network}"),
    };
    SentView { to, octets }
}

fn hexadecimal(seid: Seid) -> String {
    format!("{:#x}", seid.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Overrides};

    fn described(text: &str) -> Result<(Ingress, Vec<u8>), &'static str> {
        let upf = Config::parse(None, "", &Overrides::default()).unwrap().upf;
        packet(&serde_json::from_str(text).unwrap(), &upf)
    }

    // Input:  packets in words, and in hexadecimal.
    // Output: well-formed packets with these fields.
    #[test]
    fn packets_are_built_from_words() {
        let (ingress, udp) = described(
            r#"{"interface": "n6", "source": "203.0.113.1", "destination": "10.45.0.2", "source_port": 53, "length": 60}"#,
        )
        .unwrap();
        assert_eq!(ingress, Ingress::Ip { network: NetworkInstance::new("internet") });
        let parsed = causeway_packet::Ipv4::parse(&udp).unwrap();
        assert_eq!((udp.len(), parsed.dst()), (60, Ipv4Addr::new(10, 45, 0, 2)));
        assert_eq!(udp[20..26], [0, 53, 0, 0, 0, 40]);
        let (ingress, tcp) = described(
            r#"{"interface": "n3", "teid": "0x2a", "qfi": 9, "source": "2001:db8::2", "destination": "2001:db8::1", "protocol": "tcp"}"#,
        )
        .unwrap();
        let peer = SocketAddr::new(PEER, 2152);
        assert_eq!(ingress, Ingress::Gtpu { local: [127, 0, 0, 7].into(), peer, tos: 0, hops: None });
        let message = gtpu::Packet::parse(&tcp).unwrap();
        assert_eq!((message.header.teid, tcp.len() - message.body_offset), (Teid::new(0x2a), 100));
        let (_, raw) = described(r#"{"interface": "n6", "packet": "4500"}"#).unwrap();
        assert_eq!(raw, [0x45, 0]);
    }

    // Input:  descriptions that lack something, or contradict themselves.
    // Output: what is wrong, by the name of the field.
    #[test]
    fn what_is_missing_is_named() {
        let ends = r#""source": "10.45.0.2", "destination": "203.0.113.1""#;
        for (text, named) in [
            (r#"{"interface": "n4"}"#.to_owned(), "give source"),
            (format!(r#"{{"interface": "n4", {ends}}}"#), "interface is n3 or n6"),
            (format!(r#"{{"interface": "n3", {ends}}}"#), "needs its teid"),
            (format!(r#"{{"interface": "n3", "teid": "0", {ends}}}"#), "teid is a number"),
            (format!(r#"{{"interface": "n3", "teid": "1", "qfi": 64, {ends}}}"#), "qfi is"),
            (format!(r#"{{"interface": "n3", "teid": "1", "network": "x", {ends}}}"#), "network is for"),
            (format!(r#"{{"interface": "n6", "teid": "1", {ends}}}"#), "teid and qfi"),
            (format!(r#"{{"interface": "n6", "network": "x", {ends}}}"#), "no dnn"),
            (format!(r#"{{"interface": "n6", "protocol": "x", {ends}}}"#), "protocol is"),
            (format!(r#"{{"interface": "n6", "length": 59, {ends}}}"#), "length is"),
            (r#"{"interface": "n6", "packet": "450"}"#.to_owned(), "packet is an even"),
            (
                r#"{"interface": "n6", "source": "::1", "destination": "10.45.0.2"}"#.to_owned(),
                "different IP",
            ),
        ] {
            let error = described(&text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
