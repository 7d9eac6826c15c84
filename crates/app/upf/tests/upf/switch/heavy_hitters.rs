//! Heavy hitters on a switch over real gRPC: rows, copies and counters; the list over the management API.

use std::time::{Duration, Instant};

use causeway_dataplane::Threshold;
use causeway_p4runtime::server::{ModelSwitch, Options};
use causeway_types::Teid;
use causeway_upf::Daemon;
use causeway_upf::config::{Config, FlowRate};
use causeway_upf::management::views::HeavyHittersView;

use super::firewall::reload;
use super::{GNB, GNB_TEID, N3, Served, Switch, event, from_ue, in_tunnel, of_profile, start, state};
use crate::common::smf::{Session, Smf};
use crate::common::{PATIENCE, fetch, until};

/// A UE with a session at a switch behind P4Runtime that finds heavy hitters.
struct Sender {
    switch: Served,
    daemon: Daemon,
    config: Config,
    smf: Smf,
    session: Session,
}

impl Sender {
    fn new(p4info: &str) -> Self {
        let switch = Served::serving(ModelSwitch::new(Options::default()), "127.0.0.1:0".parse().unwrap());
        let mut config = of_profile(&switch, p4info);
        config.upf.traffic.heavy_hitters.threshold = Some(FlowRate(Threshold::PacketsPerSecond(50)));
        let (daemon, mut smf) = start(&config);
        // A session waits for the rows of the search, which are thousands.
        let wanted = || state(&daemon).tables.iter().map(|table| table.entries).sum();
        until("the switch has the rows of the search", || switch.switch.entries() >= wanted());
        let session = smf.establish_forwarding(crate::common::UE, Teid::new(GNB_TEID).unwrap(), GNB);
        Self { switch, daemon, config, smf, session }
    }

    fn send(&mut self, packets: usize) {
        for _ in 0..packets {
            self.switch.put(N3, &in_tunnel(self.session.uplink.teid, &from_ue(1)));
            while self.switch.switch.poll_sent().is_some() {}
        }
    }

    fn list(&self) -> HeavyHittersView {
        serde_json::from_str(&fetch(&self.daemon, "/api/v1/heavy-hitters").1).unwrap()
    }

    /// Sends so many packets each time until the list is as asked for.
    fn until(&mut self, packets: usize, what: &str, is_so: impl Fn(&HeavyHittersView) -> bool) {
        let start = Instant::now();
        loop {
            self.send(packets);
            let list = self.list();
            if is_so(&list) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{what}: {list:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn found_by_reading(&self) -> u64 {
        event(&self.daemon, "heavy_hitters_found_by_reading")
    }
}

/// A UE that exceeds the threshold of a switch with this program, over P4Runtime.
fn one_ue_exceeds(p4info: &str) {
    let mut sender = Sender::new(p4info);
    let list = sender.list();
    assert!(list.enabled && list.flows.is_empty(), "{list:?}");
    assert_eq!((list.threshold.as_deref(), list.window_ms), (Some("50pps"), 805));
    sender.until(100, "a heavy hitter", |list| list.flows.len() == 1);
    let flow = sender.list().flows.remove(0);
    assert_eq!((flow.ue.as_str(), flow.direction.as_str()), ("10.45.0.2", "uplink"));
    assert_eq!(flow.seid, Some(sender.session.up_seid.to_string()));
    let octets = 8 * from_ue(1).len() as u64;
    sender.until(100, "a rate that the counters say", |list| {
        let rates = list.flows.first().map(|flow| (flow.packets_per_second, flow.bits_per_second));
        rates.is_some_and(|(packets, bits)| packets >= 50 && bits >= octets * packets)
    });
    sender.until(0, "the end of the heavy hitter", |list| list.flows.is_empty());

    // The copies by which the switch says which flow is heavy are lost: the counters say it.
    sender.switch.switch.lose_packets_in(true);
    let before = sender.found_by_reading();
    sender.until(100, "a heavy hitter whose copy is lost", |list| list.flows.len() == 1);
    assert!(sender.found_by_reading() > before);
    sender.switch.switch.lose_packets_in(false);

    let mut next = sender.config.upf.clone();
    next.traffic.heavy_hitters.threshold = None;
    reload(&sender.daemon, next);
    sender.until(100, "the end of the search", |list| !list.enabled && list.flows.is_empty());
    reload(&sender.daemon, sender.config.upf.clone());
    sender.until(100, "a heavy hitter of another search", |list| list.flows.len() == 1);
    sender.smf.delete(sender.session);
}

// Input:  a switch behind P4Runtime whose program, `hip4`, finds heavy hitters; a UE that sends 100 packets each time that the list is read, then none; again
//         while the switch's copies are lost; a reload without the threshold, and with it.
// Output: its uplink is listed with a rate that the counters say, and no more when it is silent; a lost copy is made up for by reading; the
//         reloads end the search, and begin it again.
#[test]
fn a_heavy_hitter_is_found_over_p4runtime() {
    one_ue_exceeds("hip4-heavy-hitters.bmv2.txtpb");
}

// Input:  the same with `direct`, whose rules are numbers of entries.
// Output: the same.
#[test]
fn a_heavy_hitter_is_found_by_direct_over_p4runtime() {
    one_ue_exceeds("direct-heavy-hitters.bmv2.txtpb");
}
