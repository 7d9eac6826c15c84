//! What a data plane says of a packet is what it does with it, and saying it changes nothing.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use causeway_conformance::{
    BACKENDS, Backend, Outcome, Setup, compare_or_record, load_all, load_fragments, run,
};
use causeway_dataplane::{
    Applied, ApplyError, Capabilities, Counters, Dataplane, Disposition, Egress, Event, Explanation,
    HostReachability, Ingress, NamedCounter, PacketEngine, Plan, PlanId, PollApplied, Topology, Transmit,
};
use causeway_model::Applications;
use causeway_types::{Time, WallClock};

/// Explained packets, over all cases.
static EXPLAINED: AtomicU64 = AtomicU64::new(0);

/// A data plane that is asked about each packet before it is processed.
struct ExplainedBackend(&'static dyn Backend);

impl Backend for ExplainedBackend {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn build(&self, topology: Topology, setup: &Setup) -> Box<dyn PacketEngine> {
        Box::new(Explained(self.0.build(topology, setup)))
    }
}

struct Explained(Box<dyn PacketEngine>);

impl Dataplane for Explained {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn submit(&mut self, now: Time, id: PlanId, plan: &Plan) -> PollApplied {
        self.0.submit(now, id, plan)
    }

    fn poll_applied(&mut self, now: Time) -> Option<(PlanId, Result<Applied, ApplyError>)> {
        self.0.poll_applied(now)
    }

    fn set_applications(&mut self, applications: &Arc<Applications>) {
        self.0.set_applications(applications);
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.0.set_host_reachability(host);
    }

    fn set_wall_clock(&mut self, now: Time, clock: WallClock) {
        self.0.set_wall_clock(now, clock);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.0.poll_event()
    }

    fn next_deadline(&self) -> Option<Time> {
        self.0.next_deadline()
    }

    fn advance(&mut self, now: Time) {
        self.0.advance(now);
    }

    fn counters(&self) -> Counters {
        self.0.counters()
    }

    fn stage_packets(&self) -> Vec<NamedCounter> {
        self.0.stage_packets()
    }
}

impl PacketEngine for Explained {
    fn topology(&self) -> &Topology {
        self.0.topology()
    }

    fn process(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Disposition {
        // Timers that are due precede the packet.
        self.0.advance(now);
        self.0.flush(out);
        let explained = self.0.explain(now, ingress, packet);
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        let disposition = self.0.process(now, ingress, packet, &mut sent);
        if let Some(explained) = explained {
            compare(&explained, disposition, &sent, ingress);
        }
        sent.iter().for_each(|(egress, packet)| out.transmit(egress, packet));
        disposition
    }

    fn flush(&mut self, out: &mut dyn Transmit) {
        self.0.flush(out);
    }
}

fn compare(explained: &Explanation, disposition: Disposition, sent: &[(Egress, Vec<u8>)], ingress: &Ingress) {
    EXPLAINED.fetch_add(1, Ordering::Relaxed);
    let lengths: Vec<_> = sent.iter().map(|(egress, packet)| (egress.clone(), packet.len())).collect();
    assert_eq!(
        (explained.disposition, &explained.sent),
        (disposition, &lengths),
        "{ingress:?}: {explained:?}"
    );
    // A user packet passes by rules; End Markers, which have no PDR, do too.
    let passes = matches!(disposition, Disposition::Forwarded | Disposition::Buffered);
    assert!(
        explained.rules.is_some() || explained.sessions.is_empty() || !passes,
        "{ingress:?}: {explained:?}"
    );
}

// Input:  all conformance cases, with a question about each packet before it is processed.
// Output: each packet has the disposition, and causes the packets, that were said; each case goes as without questions.
#[test]
fn what_is_explained_happens() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = load_all(&here.join("cases")).unwrap_or_else(|error| panic!("{error}"));
    let fragments = load_fragments(&here.join("fragments.yaml")).unwrap_or_else(|error| panic!("{error}"));
    for backend in BACKENDS {
        for case in &cases {
            let name = format!("{} on {}", case.path.display(), backend.name());
            let transcript = run(case, &fragments, &ExplainedBackend(backend))
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            match compare_or_record(case, &transcript.text).unwrap_or_else(|error| panic!("{name}: {error}"))
            {
                Outcome::Same | Outcome::Recorded => {}
                Outcome::Differs { line, recorded, seen } => {
                    panic!("{name}: line {line}\n  recorded: {recorded:?}\n  seen:     {seen:?}")
                }
            }
        }
    }
    assert!(EXPLAINED.load(Ordering::Relaxed) > 1000, "{EXPLAINED:?}");
}
