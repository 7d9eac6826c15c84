//! `causeway explain`: what would become of a packet, and by which rules.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use causeway_upf::management::views::{
    ExplanationView, MatchedRulesView, PacketView, SessionDetail, SessionPage, SessionTrialView, TunnelView,
    VolumeView,
};
use clap::{Args, ValueEnum};
use hyper::Method;

use super::explain_file::{self, FileArgs};
use super::identifiers::{count, teid};
use crate::client::Client;
use crate::management::{CommandError, ManagementArgs, ask};
use crate::output::{Cell, Fields, Output, Tone};

/// The direction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum PacketDirection {
    /// From the UE, in a tunnel of its gNB.
    Uplink,
    /// From a data network to the UE.
    Downlink,
}

/// The options of `causeway explain`.
#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// uplink: from the UE, in a tunnel; downlink: from a data network
    #[arg(value_enum, hide_possible_values = true, required_unless_present = "read")]
    direction: Option<PacketDirection>,
    /// The address of the UE
    #[arg(required_unless_present = "read")]
    ue: Option<IpAddr>,
    /// The address of the host that it talks to
    #[arg(required_unless_present = "read")]
    remote: Option<IpAddr>,
    /// Explain the packets of a pcap or pcapng file instead: GTP-U as from N3, other IP packets as from a data network
    #[arg(
        short,
        long,
        value_name = "FILE",
        conflicts_with_all = ["direction", "ue", "remote", "protocol", "ue_port", "port", "length", "teid", "qfi"]
    )]
    read: Option<PathBuf>,
    /// The packet of the file with this number, from 1 on; without it all
    #[arg(long, value_name = "N", requires = "read", conflicts_with = "direction", value_parser = count)]
    packet: Option<u64>,
    /// Protocol of the packet: udp, tcp, icmp, or a number
    #[arg(long, default_value = "udp")]
    protocol: String,
    /// Port of the UE
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    ue_port: u16,
    /// Port of the host
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Length of the packet with its IP header, in octets
    #[arg(long, value_name = "OCTETS", default_value_t = 100)]
    length: u16,
    /// uplink: TEID of the tunnel; without it that of the session with this UE
    #[arg(long, value_parser = teid)]
    teid: Option<String>,
    /// uplink: QFI in the PDU Session Container; without it, and without --teid, the first that the session expects there
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=63))]
    qfi: Option<u8>,
    /// downlink, or a file: data network from which the packet comes; without it the first
    #[arg(long)]
    dnn: Option<String>,

    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &ExplainArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        if let Some(file) = &args.read {
            return explain_file::run(
                &FileArgs { file, packet: args.packet, dnn: args.dnn.as_deref() },
                client,
                output,
            );
        }
        let packet = packet(args, client)?;
        let explanation: ExplanationView = client.call(Method::POST, "/api/v1/explain", Some(&packet))?;
        if output.is_json() {
            return Ok(output.json(&explanation)?);
        }
        show(&explanation, output)
    })
}

fn packet(args: &ExplainArgs, client: &Client) -> Result<PacketView, CommandError> {
    let view = PacketView {
        protocol: Some(args.protocol.clone()),
        length: Some(args.length),
        ..PacketView::default()
    };
    let (Some(direction), Some(ue), Some(remote)) = (args.direction, args.ue, args.remote) else {
        // The command line asks for them without a file.
        return Ok(view);
    };
    Ok(match direction {
        PacketDirection::Uplink => {
            let (teid, local, expected) = match &args.teid {
                Some(teid) => (teid.clone(), None, None),
                None => tunnel(ue, client)?,
            };
            PacketView {
                interface: "n3".into(),
                teid: Some(teid),
                qfi: args.qfi.or(expected),
                local,
                source: Some(ue),
                destination: Some(remote),
                source_port: args.ue_port,
                destination_port: args.port,
                ..view
            }
        }
        PacketDirection::Downlink => PacketView {
            interface: "n6".into(),
            network: args.dnn.clone(),
            source: Some(remote),
            destination: Some(ue),
            source_port: args.port,
            destination_port: args.ue_port,
            ..view
        },
    })
}

/// The uplink tunnel of the session of a UE, and a QFI that its PDR expects.
fn tunnel(ue: IpAddr, client: &Client) -> Result<(String, Option<IpAddr>, Option<u8>), CommandError> {
    let page: SessionPage = client.get("/api/v1/sessions", &[("ue", ue.to_string())])?;
    for session in &page.sessions {
        let detail: SessionDetail = client.get(&format!("/api/v1/sessions/{}", session.seid), &[])?;
        for pdr in detail.pdrs.iter().filter(|pdr| pdr.source == "access") {
            let Some(TunnelView { teid, addresses }) = &pdr.tunnel else { continue };
            let local = addresses.iter().find_map(|address| address.parse().ok());
            return Ok((teid.clone(), local, pdr.qfis.first().copied()));
        }
    }
    Err(CommandError::NoSession(format!("an uplink tunnel and the UE address {ue}")))
}

pub(super) fn show(explanation: &ExplanationView, output: &mut Output) -> Result<(), CommandError> {
    let mut fields = Fields::new();
    fields.field_if_any("Key", explanation.key.as_deref());
    fields.field_if_any("Firewall", explanation.firewall.as_ref().map(ToString::to_string));
    fields.write(output)?;
    explanation.sessions.iter().try_for_each(|session| trial(session, output))?;
    for rule in explanation.rules.iter().flat_map(rules) {
        output.line(format_args!("  {rule}"))?;
    }
    let tone = if explanation.disposition == "dropped" { Tone::Bad } else { Tone::Heading };
    let verdict = Cell::new(&explanation.disposition, tone);
    match &explanation.reason {
        None => output.line(format_args!("Verdict: {verdict}"))?,
        Some(reason) => {
            output.line(format_args!("Verdict: {verdict}, {}", reason.reason))?;
            output.line(format_args!("  {}", reason.meaning))?;
            output.line(format_args!("  To do: {}", reason.remedy))?;
        }
    }
    for sent in &explanation.sent {
        output.line(format_args!("Sent: {} octets to {}", sent.octets, sent.to))?;
    }
    Ok(())
}

fn trial(session: &SessionTrialView, output: &mut Output) -> Result<(), CommandError> {
    output.line(format_args!("Session {}", session.seid))?;
    for pdr in &session.pdrs {
        let outcome = pdr.mismatch.as_deref().unwrap_or("matches");
        output.line(format_args!("  PDR {}: {outcome}", pdr.id))?;
    }
    Ok(())
}

/// The rules that apply to a packet, each in words.
pub(super) fn rules(rules: &MatchedRulesView) -> Vec<String> {
    let far = format!("FAR {} {}", rules.far, rules.action.replace('_', " "));
    let qers = rules.qers.iter().map(|qer| {
        let rate =
            qer.rate.as_deref().map_or_else(String::new, |rate| format!(" {}", rate.replace('_', " ")));
        format!("QER {} gate {}{rate}", qer.id, qer.gate)
    });
    let urrs = rules.urrs.iter().map(|urr| {
        let quota = if urr.is_exhausted { "quota exhausted" } else { "counts" };
        format!("URR {} {quota}{}", urr.id, volumes(&urr.before, &urr.after))
    });
    std::iter::once(far).chain(qers).chain(urrs).collect()
}

/// The volumes that a packet changes, before and after it.
fn volumes(before: &VolumeView, after: &VolumeView) -> String {
    let parts = [
        ("uplink", before.uplink_octets, after.uplink_octets),
        ("downlink", before.downlink_octets, after.downlink_octets),
    ];
    let changed = parts.into_iter().filter(|(_, before, after)| before != after);
    changed.map(|(direction, before, after)| format!(" {direction} octets {before} to {after}")).collect()
}
