//! The log lines of N4. Their rate is limited, so that peers cannot flood the log.

use std::fmt::Display;
use std::io;
use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::{ClassChange, Event, HeavyFlow, HeavyHitter, Plan};
use causeway_model::SessionChange;
use causeway_n4::{N4, Notice, message_label};
use causeway_pfcp::{Header, MessageType};
use causeway_types::{Seid, Time};
use tracing::Level;

use super::networks::OutsideAddress;
use crate::logging::{LineCounts, LineFields, Subject, count_suppressed};
use crate::management::views::{direction_text, ue_text};

/// Maximum number of [`LateLines`]; the rest is lost, as with the limits of [`Log`].
const MAX_LATE: usize = 128;

/// Something to log that a packet thread noticed, which writes no log lines itself.
#[derive(Debug)]
pub(super) enum LateLine {
    /// An error of an N4 socket.
    NotReceived(io::Error),
    /// A datagram that was not sent.
    Unsent(SocketAddr, io::Error),
    /// A UE address of a new session.
    Outside(Seid, OutsideAddress),
    /// An event of the data plane, which N4 has handled.
    Event(Event),
}

/// What the control thread logs at the end of its turn.
#[derive(Debug, Default)]
pub(super) struct LateLines(Vec<LateLine>);

impl LateLines {
    /// Another one.
    pub(super) fn push(&mut self, line: LateLine) {
        if self.0.len() < MAX_LATE {
            self.0.push(line);
        }
    }

    /// Others.
    pub(super) fn append(&mut self, others: &mut Self) {
        others.0.drain(..).for_each(|line| self.push(line));
    }

    /// There are none.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes them.
    pub(super) fn take(&mut self) -> Vec<LateLine> {
        std::mem::take(&mut self.0)
    }
}

/// Writes log lines, with limits for each kind: for each peer and in all.
#[derive(Debug, Default)]
pub(super) struct Log {
    counts: LineCounts,
    /// What is logged when datagrams have been sent.
    pub(super) later: LateLines,
}

impl Log {
    /// Logs what a packet thread noticed.
    pub(super) fn late(&mut self, now: Time, line: &LateLine) {
        match line {
            LateLine::NotReceived(error) => {
                self.warn(now, "N4 sockets", None, &format_args!("receiving on N4: {error}"));
            }
            LateLine::Unsent(to, error) => {
                let what = format_args!("sending to {to} on N4: {error}");
                self.warn(now, "unsent datagrams", Some(to.ip()), &what);
            }
            LateLine::Outside(session, outside) => self.outside_address(now, *session, outside),
            LateLine::Event(event) => self.event(now, event),
        }
    }

    /// A notice, at its level, with the fields of its session.
    pub(super) fn notice(&mut self, now: Time, notice: &Notice, n4: &N4) {
        let subject = (notice.kind(), notice.peer());
        self.line(now, level_of(notice), subject, notice, || LineFields::of_notice(notice, n4));
    }

    /// A warning of a kind, which a peer may have caused.
    pub(super) fn warn(&mut self, now: Time, kind: &'static str, peer: Option<IpAddr>, what: &dyn Display) {
        let fields = || LineFields { peer: peer.map(|peer| peer.to_string()), ..LineFields::default() };
        self.line(now, Level::WARN, (kind, peer), what, fields);
    }

    /// An event of the data plane.
    pub(super) fn event(&mut self, now: Time, event: &Event) {
        match event {
            Event::HeavyHitter { hitter, is_over } => return self.heavy_hitter(now, hitter, *is_over),
            Event::ClassChange { session, change } => return self.class_change(now, *session, change),
            _ => {}
        }
        let what = format_args!("data plane: {event:?}");
        self.line(now, Level::DEBUG, ("events of the data plane", None), &what, || LineFields {
            session: session_of(event).map(|seid| seid.to_string()),
            ..LineFields::default()
        });
    }

    fn heavy_hitter(&mut self, now: Time, hitter: &HeavyHitter, is_over: bool) {
        let HeavyFlow { session, direction, ue, transport } = &hitter.flow;
        let (direction, ue) = (direction_text(*direction), ue_text(ue));
        let flow = transport.as_ref().map_or(String::new(), |flow| {
            format!(
                " ({} port {} to {} port {}, protocol {})",
                flow.addresses.0, flow.ports.0, flow.addresses.1, flow.ports.1, flow.protocol
            )
        });
        let kbps = hitter.bits_per_second / 1000;
        let what = match is_over {
            false => format!("heavy hitter: {direction} of UE {ue}{flow}"),
            true => format!(
                "heavy hitter is over: {direction} of UE {ue}{flow}, after {} s, last {kbps} kbit/s",
                now.since(hitter.since).as_secs()
            ),
        };
        self.line(now, Level::INFO, ("heavy hitters", None), &what, || LineFields {
            session: session.map(|seid| seid.to_string()),
            ue: Some(ue.clone()),
            ..LineFields::default()
        });
    }

    fn class_change(&mut self, now: Time, session: Seid, change: &ClassChange) {
        let ClassChange { ue, from, to } = change;
        let ue = ue.as_ref().map(ue_text);
        let whose = ue.as_ref().map_or_else(String::new, |ue| format!(" of UE {ue}"));
        let what = format!("session {session}{whose}: application class {to}, before {from}");
        self.line(now, Level::INFO, ("application classes", None), &what, || LineFields {
            session: Some(session.to_string()),
            ue: ue.clone(),
            ..LineFields::default()
        });
    }

    /// Messages, plans or events are logged.
    pub(super) fn is_detailed(&self) -> bool {
        is_enabled(Level::DEBUG)
    }

    /// A PFCP message that was received or is sent; its contents are not logged.
    pub(super) fn message(
        &mut self,
        now: impl FnOnce() -> Time,
        what: &'static str,
        peer: SocketAddr,
        message: &[u8],
    ) {
        if !is_enabled(Level::TRACE) {
            return;
        }
        let (now, mut rest) = (now(), message);
        while let Ok((header, body, next)) = Header::decode(rest) {
            let label = message_label(MessageType::from_code(header.message_type));
            let octets = rest.len() - next.len();
            let line = format_args!(
                "{what} {}, {octets} octets, {} of them IEs",
                label.replace('_', " "),
                body.len()
            );
            self.line(now, Level::TRACE, ("PFCP messages", Some(peer.ip())), &line, || LineFields {
                peer: Some(peer.to_string()),
                message: Some(label.clone()),
                sequence: Some(header.sequence),
                session: header.seid.map(|seid| seid.to_string()),
                octets: Some(octets),
                ..LineFields::default()
            });
            rest = next;
        }
    }

    /// A UE address that no subnet of its data network contains.
    fn outside_address(&mut self, now: Time, session: Seid, outside: &OutsideAddress) {
        let OutsideAddress { ue, dnn } = outside;
        let what = format_args!(
            "session {session}: UE address {ue} is in no subnet of data network {dnn}, so that downlink packets may not \
             reach the UPF; add its subnet to upf.session, or give the SMF the subnets of this UPF"
        );
        self.line(now, Level::WARN, ("UE addresses outside the subnets", None), &what, || LineFields {
            session: Some(session.to_string()),
            ue: Some(ue.to_string()),
            dnn: Some(dnn.to_string()),
            ..LineFields::default()
        });
    }

    fn line(
        &mut self,
        now: Time,
        level: Level,
        subject: Subject,
        what: &dyn Display,
        fields: impl FnOnce() -> LineFields,
    ) {
        if !is_enabled(level) {
            return;
        }
        if self.counts.has_ended(now) {
            self.summarise(now);
        }
        if self.counts.admit(level, subject) {
            fields().write(level, what);
        } else {
            count_suppressed();
        }
    }

    /// When suppressed lines are to be reported; `None`: there are none.
    pub(super) fn due(&self) -> Option<Time> {
        self.counts.due()
    }

    /// Reports the suppressed lines when the period has ended.
    pub(super) fn log_suppressed(&mut self, now: Time) {
        if self.due().is_some_and(|due| due <= now) {
            self.summarise(now);
        }
    }

    /// Reports the suppressed lines, and begins a new period.
    pub(super) fn summarise(&mut self, now: Time) {
        for (level, line) in self.counts.begin(now) {
            LineFields::default().write(level, &line);
        }
    }
}

fn is_enabled(level: Level) -> bool {
    match level {
        Level::TRACE => tracing::enabled!(Level::TRACE),
        Level::DEBUG => tracing::enabled!(Level::DEBUG),
        Level::INFO => tracing::enabled!(Level::INFO),
        Level::WARN => tracing::enabled!(Level::WARN),
        Level::ERROR => tracing::enabled!(Level::ERROR),
    }
}

fn level_of(notice: &Notice) -> Level {
    match notice.level() {
        causeway_n4::Level::Debug => Level::DEBUG,
        causeway_n4::Level::Info => Level::INFO,
        causeway_n4::Level::Warn => Level::WARN,
        causeway_n4::Level::Error => Level::ERROR,
    }
}

fn session_of(event: &Event) -> Option<Seid> {
    match event {
        Event::Usage { session, .. }
        | Event::DownlinkData { session, .. }
        | Event::Inactivity { session }
        | Event::ErrorIndication { session, .. }
        | Event::ClassChange { session, .. } => Some(*session),
        Event::HeavyHitter { hitter, .. } => hitter.flow.session,
        Event::PathDown { .. } | Event::PathUnused { .. } | Event::PathUp { .. } => None,
    }
}

impl Log {
    /// A plan that is submitted to the data plane.
    pub(super) fn plan(&mut self, now: impl FnOnce() -> Time, plan: &Plan) {
        if is_enabled(Level::DEBUG) {
            let (done, writes) = (what(plan), plan.ops().len());
            let line = format_args!("session {}: {done}, {writes} writes", plan.session);
            self.line(now(), Level::DEBUG, ("changes of sessions", None), &line, || {
                LineFields::of_plan(plan)
            });
        }
    }
}

fn what(plan: &Plan) -> &'static str {
    match &plan.change {
        SessionChange::Install(_) => "established",
        SessionChange::Remove => "removed",
        SessionChange::Rebind(_) | SessionChange::Update(_) => "modified",
    }
}

#[cfg(test)]
mod tests {
    use causeway_model::RuleSet;
    use causeway_types::Seid;

    use super::*;

    #[test]
    fn a_plan_is_named_by_what_it_does_to_its_session() {
        assert_eq!(what(&Plan::install(Seid(1), RuleSet::default())), "established");
        assert_eq!(what(&Plan::removal(Seid(1))), "removed");
        assert_eq!(what(&Plan::update(Seid(1), vec![])), "modified");
    }
}
