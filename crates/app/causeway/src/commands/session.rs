//! `causeway session`: one session whole.

use std::io;
use std::process::ExitCode;

use causeway_upf::management::views::{
    BarView, DirectionalVolume, FarView, LimitsView, PdrView, QerView, RateView, SessionDetail, SessionPage,
    SessionStateView, TunnelView, UrrStateView, UrrView,
};
use clap::Args;

use super::identifiers::{SessionName, session};
use super::sessions::SessionTable;
use crate::client::{Client, ClientError};
use crate::exit;
use crate::management::{CommandError, ManagementArgs, ask};
use crate::output::{Cell, Fields, Output, Table, Tone, ago, bit_rate, number, octets, span, timestamp};

/// The options of `causeway session`.
#[derive(Args)]
pub(crate) struct SessionArgs {
    /// An address of the UE, or the UPF's SEID (in decimal or, after 0x, hexadecimal)
    #[arg(value_name = "UE|SEID", value_parser = session)]
    session: SessionName,

    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &SessionArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let seid = match &args.session {
            SessionName::Seid(seid) => seid.clone(),
            SessionName::Ue(ue) => {
                let parameters = [("ue", ue.to_string())];
                let page: SessionPage = client.get("/api/v1/sessions", &parameters)?;
                match page.sessions.as_slice() {
                    [] => return Err(CommandError::NoSession(format!("the UE address {ue}"))),
                    [one] => one.seid.clone(),
                    several => {
                        let mut table = SessionTable::for_sessions(several);
                        table.add(several);
                        exit::note("several sessions have this address; name one by its SEID:");
                        return if output.is_json() {
                            Ok(output.json(&page)?)
                        } else {
                            Ok(table.write(output)?)
                        };
                    }
                }
            }
        };
        let detail = detail(client, &seid)?;
        if output.is_json() {
            output.json(&detail)?;
        } else {
            show(&detail, output)?;
        }
        Ok(())
    })
}

fn detail(client: &Client, seid: &str) -> Result<SessionDetail, CommandError> {
    client.get(&format!("/api/v1/sessions/{seid}"), &[]).map_err(|error| match error {
        ClientError::Refused { status: 404, .. } => CommandError::NoSession(format!("SEID {seid}")),
        error => error.into(),
    })
}

fn show(detail: &SessionDetail, output: &mut Output) -> io::Result<()> {
    fields(detail).write(output)?;
    section("PDRs", pdrs(&detail.pdrs), output)?;
    section("FARs", fars(&detail.fars), output)?;
    section("QERs", qers(&detail.qers), output)?;
    section("URRs", urrs(&detail.urrs), output)?;
    if let Some(state) = &detail.state {
        section("Usage", usage(state), output)?;
        section("Drops", drops(state), output)?;
        if let Some(drops) = &state.drops {
            let last = &drops.last_reason;
            output.line(format_args!(
                "  the last one {} ago, {}: {}",
                ago(drops.last),
                last.reason,
                last.meaning
            ))?;
            output.line(format_args!("  To do: {}", last.remedy))?;
        }
    }
    section("BARs", bars(&detail.bars), output)
}

fn fields(detail: &SessionDetail) -> Fields {
    let session = &detail.session;
    let mut fields = Fields::new();
    fields.field("SEID", &*session.seid);
    fields.field("SMF", format!("{}, its SEID {}@{}", session.node_id, session.cp_seid, session.cp_address));
    fields.field("established", format!("{} ago", ago(session.since as f64)));
    for (name, identity) in session.user.iter().flat_map(|user| user.identities()) {
        fields.field(name, identity);
    }
    fields.field("type", &*detail.pdu_session_type);
    fields.field_if_any("UE", joined(&session.ue));
    fields.field_if_any("DNN", joined(&session.network_instances));
    fields.field_if_any("slice", detail.slice.as_deref());
    fields.field_if_any("application class", session.class.as_deref());
    fields.field_if_any("local tunnels", joined(&session.tunnels));
    fields.field_if_any("peers", joined(&session.peers));
    fields.field_if_any("inactivity timer", detail.inactivity_timer.map(span));
    if detail.waiting_reports > 0 {
        let waiting = format!("{} wait for the SMF", number(detail.waiting_reports));
        fields.field("reports", Cell::bad(waiting));
    }
    match &detail.state {
        Some(state) => state_fields(state, &mut fields),
        None => fields.field("state", Cell::new("the data plane cannot tell", Tone::Faint)),
    }
    fields
}

fn drops(state: &SessionStateView) -> Table {
    let mut table = Table::indented(&["REASON", ">PACKETS"], 2);
    for drop in state.drops.iter().flat_map(|drops| &drops.reasons) {
        table.row([Cell::new(&drop.reason, Tone::Bad), drop.packets.into()]);
    }
    table
}

fn state_fields(state: &SessionStateView, fields: &mut Fields) {
    fields.field("packet thread", state.worker.to_string());
    let last = state.last_packet.map(|time| format!("{} ago", ago(time)));
    fields.field("last packet", last.unwrap_or_else(|| "none that a URR counts".into()));
    let buffer = &state.buffer;
    let oldest = buffer.oldest.map(|time| format!(", the oldest for {}", ago(time))).unwrap_or_default();
    let held = format!("{} packets, {}{oldest}", number(buffer.packets), octets(buffer.octets as u64));
    fields.field("buffer", held);
    match &state.drops {
        Some(drops) => {
            let dropped: u64 = drops.reasons.iter().map(|drop| drop.packets).sum();
            let text = format!("{} packets, the first {} ago", number(dropped), ago(drops.since));
            fields.field("drops", Cell::bad(text));
        }
        None => fields.field("drops", "none known; those of all sessions: `causeway drops`"),
    }
}

fn section(name: &str, mut table: Table, output: &mut Output) -> io::Result<()> {
    if table.is_empty() {
        return Ok(());
    }
    output.line("")?;
    output.line(Cell::new(name, Tone::Heading))?;
    table.write(output)
}

fn joined(texts: &[String]) -> Option<String> {
    Some(texts.join(", ")).filter(|text| !text.is_empty())
}

fn ids<T: ToString>(ids: &[T]) -> Cell {
    joined(&ids.iter().map(T::to_string).collect::<Vec<_>>()).into()
}

fn tunnel(tunnel: &TunnelView) -> String {
    format!("{}@{}", tunnel.teid, tunnel.addresses.join(","))
}

fn pdrs(pdrs: &[PdrView]) -> Table {
    let columns = ["PDR", ">PRECEDENCE", "FROM", "FAR", "QERs", "URRs", "REMOVES", "MATCHES"];
    let mut table = Table::indented(&columns, 2);
    for pdr in pdrs {
        table.row([
            pdr.id.to_string().into(),
            pdr.precedence.to_string().into(),
            pdr.source.as_str().into(),
            pdr.far.to_string().into(),
            ids(&pdr.qers),
            ids(&pdr.urrs),
            pdr.outer_header_removal.as_deref().into(),
            matches(pdr).join("; ").into(),
        ]);
    }
    table
}

/// What a packet must have.
fn matches(pdr: &PdrView) -> Vec<String> {
    let mut parts = Vec::new();
    parts.extend(pdr.tunnel.as_ref().map(|own| format!("tunnel {}", tunnel(own))));
    parts.extend(pdr.network_instance.as_ref().map(|name| format!("DNN {name}")));
    parts.extend(joined(&pdr.ue).map(|ue| format!("UE {ue}")));
    parts.extend(joined(&pdr.framed_routes).map(|routes| format!("route {routes}")));
    if !pdr.qfis.is_empty() {
        let qfis: Vec<_> = pdr.qfis.iter().map(u8::to_string).collect();
        parts.push(format!("QFI {}", qfis.join(",")));
    }
    parts.extend(pdr.filters.iter().map(|filter| format!("`{filter}`")));
    if pdr.ethernet_filters > 0 {
        parts.push(format!("{} Ethernet filters", pdr.ethernet_filters));
    }
    parts.extend(pdr.application.as_ref().map(|name| format!("application {name}")));
    parts.extend(pdr.predefined_rules.iter().map(|name| format!("predefined rule {name}")));
    parts.extend(pdr.active_from.map(|time| format!("from {}", timestamp(time as f64))));
    parts.extend(pdr.active_until.map(|time| format!("until {}", timestamp(time as f64))));
    parts
}

fn fars(fars: &[FarView]) -> Table {
    let mut table = Table::indented(&["FAR", "ACTION", "TO", "DNN", "INTO", "MORE"], 2);
    for far in fars {
        let tone = if far.action == "drop" { Tone::Bad } else { Tone::Plain };
        let into = far.tunnel.as_ref().map(|peer| format!("tunnel {}", tunnel(peer)));
        table.row([
            far.id.to_string().into(),
            Cell::new(far.action.replace('_', " "), tone),
            far.destination.as_deref().into(),
            far.network_instance.as_deref().into(),
            into.or_else(|| far.outer_header.clone()).into(),
            joined(&more_of(far)).into(),
        ]);
    }
    table
}

fn more_of(far: &FarView) -> Vec<String> {
    let mut parts = Vec::new();
    parts.extend(far.forwarding_policy.as_ref().map(|policy| format!("policy {policy}")));
    parts.extend(far.redirect.as_ref().map(|to| format!("redirect to {to}")));
    parts.extend(far.bar.map(|bar| format!("BAR {bar}")));
    if far.duplicates > 0 {
        parts.push(format!("{} copies", far.duplicates));
    }
    parts
}

fn qers(qers: &[QerView]) -> Table {
    let columns =
        ["QER", "UPLINK", "DOWNLINK", "QFI", ">MBR UP", ">MBR DOWN", ">GBR UP", ">GBR DOWN", "MORE"];
    let mut table = Table::indented(&columns, 2);
    let gate = |open| if open { Cell::new("open", Tone::Good) } else { Cell::bad("closed") };
    let kbps = |kbps: u64| bit_rate(kbps as f64 * 1e3);
    let rate = |rate: &Option<RateView>, of: fn(&RateView) -> u64| rate.as_ref().map(of).map(kbps).into();
    for qer in qers {
        table.row([
            qer.id.to_string().into(),
            gate(qer.gates.uplink_open),
            gate(qer.gates.downlink_open),
            qer.qfi.map(|qfi| qfi.to_string()).into(),
            rate(&qer.mbr, |rate| rate.uplink_kbps),
            rate(&qer.mbr, |rate| rate.downlink_kbps),
            rate(&qer.gbr, |rate| rate.uplink_kbps),
            rate(&qer.gbr, |rate| rate.downlink_kbps),
            joined(&more_of_qer(qer)).into(),
        ]);
    }
    table
}

fn more_of_qer(qer: &QerView) -> Vec<String> {
    let mut parts = Vec::new();
    parts.extend(qer.correlation.map(|id| format!("correlation {id}")));
    if qer.limits_packet_rate {
        parts.push("packet rate".into());
    }
    if qer.reflective {
        parts.push("reflective".into());
    }
    parts.extend(qer.paging_policy.map(|ppi| format!("PPI {ppi}")));
    parts
}

fn urrs(urrs: &[UrrView]) -> Table {
    let mut table = Table::indented(&["URR", "MEASURES", "TRIGGERS", "THRESHOLDS", "QUOTAS", "MORE"], 2);
    for urr in urrs {
        table.row([
            urr.id.to_string().into(),
            joined(&urr.measures).into(),
            joined(&urr.triggers).into(),
            limits(&urr.thresholds).into(),
            limits(&urr.quotas).into(),
            joined(&more_of_urr(urr)).into(),
        ]);
    }
    table
}

fn more_of_urr(urr: &UrrView) -> Vec<String> {
    let mut parts = Vec::new();
    parts.extend(urr.period.map(|period| format!("every {}", span(period))));
    parts.extend(urr.quota_holding_time.map(|time| format!("holding time {}", span(time))));
    parts.extend(urr.quota_far.map(|far| format!("beyond the quota FAR {far}")));
    if !urr.linked.is_empty() {
        let linked: Vec<_> = urr.linked.iter().map(u32::to_string).collect();
        parts.push(format!("linked to URR {}", linked.join(",")));
    }
    if urr.before_qos {
        parts.push("before QoS".into());
    }
    if urr.inactive {
        parts.push("paused".into());
    }
    parts
}

/// Limits, or what is left of them.
fn limits(limits: &LimitsView) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(DirectionalVolume { total, uplink, downlink }) = &limits.volume {
        parts.extend(total.map(octets));
        parts.extend(uplink.map(|volume| format!("{} up", octets(volume))));
        parts.extend(downlink.map(|volume| format!("{} down", octets(volume))));
    }
    parts.extend(limits.seconds.map(span));
    parts.extend(limits.events.map(|events| format!("{} events", number(events))));
    joined(&parts)
}

fn usage(state: &SessionStateView) -> Table {
    let columns = [
        "URR",
        ">UP",
        ">DOWN",
        ">UP TOTAL",
        ">DOWN TOTAL",
        ">TIME",
        "UNTIL THRESHOLD",
        "UNTIL QUOTA",
        "STATE",
    ];
    let mut table = Table::indented(&columns, 2);
    for urr in &state.usage {
        let traffic = |octets_of: u64, packets: u64| {
            Cell::from(format!("{} in {} packets", octets(octets_of), number(packets)))
        };
        table.row([
            urr.urr.to_string().into(),
            traffic(urr.unreported.uplink_octets, urr.unreported.uplink_packets),
            traffic(urr.unreported.downlink_octets, urr.unreported.downlink_packets),
            octets(urr.total.uplink_octets).into(),
            octets(urr.total.downlink_octets).into(),
            span(urr.total.seconds).into(),
            limits(&urr.until_threshold).into(),
            limits(&urr.until_quota).into(),
            state_of(urr),
        ]);
    }
    table
}

fn state_of(urr: &UrrStateView) -> Cell {
    match (urr.exhausted, urr.active) {
        (true, _) => Cell::bad("quota exhausted"),
        (false, true) => "measuring".into(),
        (false, false) => Cell::new("paused", Tone::Faint),
    }
}

fn bars(bars: &[BarView]) -> Table {
    let mut table = Table::indented(&["BAR", ">NOTIFICATION DELAY", ">SUGGESTED PACKETS"], 2);
    for bar in bars {
        table.row([
            bar.id.to_string().into(),
            span(bar.notification_delay).into(),
            bar.suggested_packets.map(u64::from).into(),
        ]);
    }
    table
}
