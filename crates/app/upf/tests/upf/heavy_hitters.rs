//! Heavy hitters of a running daemon: list, metrics, events, and a reload.

use std::net::Ipv4Addr;

use causeway_dataplane::Threshold;
use causeway_types::Span;
use causeway_upf::config::{DataPlane, FlowRate, HeavyFlow};
use causeway_upf::management::views::HeavyHittersView;

use crate::common::smf::{Session, Smf};
use crate::common::{Gnb, Running, SERVER, config, loopback, packet, run, until};

const UES: [Ipv4Addr; 3] =
    [Ipv4Addr::new(10, 45, 0, 2), Ipv4Addr::new(10, 45, 0, 3), Ipv4Addr::new(10, 45, 0, 4)];

fn listed(running: &Running, query: &str) -> HeavyHittersView {
    let (head, body) = running.fetch(&format!("/api/v1/heavy-hitters{query}"));
    assert!(head.contains("200 OK"), "{head}\n{body}");
    serde_json::from_str(&body).unwrap()
}

fn send(gnb: &Gnb, running: &Running, session: Session, ue: Ipv4Addr, packets: usize) {
    for _ in 0..packets {
        gnb.send(running.upf, session.uplink.teid, &packet(ue, SERVER, &[0; 500]));
    }
}

/// One UE of three exceeds a threshold of this data plane, with its window in the configuration, if it can be set, and as it is shown.
fn one_ue_exceeds(plane: &str, window: Option<Span>, window_ms: u64) {
    let upf = loopback();
    let mut config = config(upf);
    config.upf.dataplane = DataPlane::named(plane).unwrap();
    let heavy = &mut config.upf.traffic.heavy_hitters;
    heavy.threshold = Some(FlowRate(Threshold::PacketsPerSecond(50)));
    heavy.window = window.unwrap_or(heavy.window);
    let running = run(&config, upf).unwrap();
    let mut smf = Smf::new(loopback().into(), running.n4());
    smf.associate();
    let gnb = Gnb::new();
    let sessions =
        UES.map(|ue| smf.establish_forwarding(ue, causeway_types::Teid::new(7).unwrap(), gnb.address));
    let mut events = running.events();
    let empty = listed(&running, "");
    assert!(empty.enabled && empty.flows.is_empty() && empty.total == 0, "{empty:?}");
    assert_eq!((empty.threshold.as_deref(), empty.window_ms), (Some("50pps"), window_ms));

    send(&gnb, &running, sessions[1], UES[1], 3);
    send(&gnb, &running, sessions[2], UES[2], 2);
    until("a heavy hitter is listed", || {
        send(&gnb, &running, sessions[0], UES[0], 200);
        !listed(&running, "").flows.is_empty()
    });
    until("its rate is that of the packets", || {
        send(&gnb, &running, sessions[0], UES[0], 200);
        let list = listed(&running, "");
        let rates = list.flows.first().map(|flow| (flow.packets_per_second, flow.bits_per_second));
        rates.is_some_and(|(packets, bits)| packets >= 50 && bits >= 8 * 500 * packets)
    });
    let list = listed(&running, "?limit=1");
    let [flow] = list.flows.as_slice() else { panic!("{list:?}") };
    assert_eq!((flow.ue.as_str(), flow.direction.as_str(), list.total), ("10.45.0.2", "uplink", 1));
    assert_eq!(flow.seid, Some(sessions[0].up_seid.to_string()));
    assert_eq!(flow.smf, Some(smf.local().ip().to_string()));
    assert_eq!(flow.flow, None);
    assert!(flow.since > 1_700_000_000, "{flow:?}");
    let began = events.read_until("event: heavy_hitter\n");
    assert!(running.metric("causeway_heavy_hitters_found_total") >= 1.0);
    let (head, body) = running.fetch("/api/v1/heavy-hitters?limit=0");
    assert!(head.contains("400") && body.contains("a number from 1 to 1000"), "{head} {body}");

    let ended = events.read_until("event: heavy_hitter_over\n");
    until("the heavy hitter is over", || listed(&running, "").flows.is_empty());
    assert_eq!(running.metric("causeway_heavy_hitters{direction=\"uplink\"}"), 0.0);
    assert_eq!(running.metric("causeway_heavy_hitters{direction=\"downlink\"}"), 0.0);
    for others in [UES[1], UES[2]] {
        assert!(
            !began.contains(&format!("\"{others}\"")) && !ended.contains(&format!("\"{others}\"")),
            "{ended}"
        );
    }

    let mut next = config.upf.clone();
    next.traffic.heavy_hitters.threshold = None;
    next.traffic.heavy_hitters.flow = HeavyFlow::FiveTuple;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let reloaded = runtime.block_on(running.daemon.reload(next)).unwrap();
    assert!(reloaded.applied.iter().any(|key| key == "upf.traffic.heavy_hitters.threshold"), "{reloaded:?}");
    until("the search is off", || !listed(&running, "").enabled);
    send(&gnb, &running, sessions[0], UES[0], 200);
    assert!(listed(&running, "").flows.is_empty());
}

// Input:  three UEs with sessions of one SMF, a threshold of 50 packets a second. One UE sends 200 packets each time that
//         the list is read, the others five in all. Then it is silent. Then a configuration without a threshold is loaded.
// Output: its uplink alone is listed, with rate, session, SMF and time; the metrics count it; `limit` is checked; the event
//         stream says that it began and ended; the list is empty after the silence, and says at last that the search is off.
#[test]
fn one_ue_exceeds_the_threshold() {
    one_ue_exceeds("fastpath", Some(Span::from_millis(400)), 400);
}

// Input:  the same with the model of a switch, which has a window of its own.
// Output: the same. The switch has said which UE is heavy, and its counters how much, and when it was over.
#[test]
fn one_ue_exceeds_the_threshold_on_a_switch() {
    one_ue_exceeds("switch", None, 805);
}

// Input:  a switch over P4Runtime whose program finds no heavy hitters, and a threshold.
// Output: the daemon does not start, and says the key, and how the program is compiled with them.
#[cfg(feature = "p4runtime")]
#[test]
fn a_program_without_heavy_hitters_is_refused() {
    let mut config = crate::switch::configuration_for("127.0.0.1:9".parse().unwrap());
    config.upf.traffic.heavy_hitters.threshold = Some(FlowRate(Threshold::PacketsPerSecond(50)));
    let error = causeway_upf::Daemon::start(&config).map(drop).unwrap_err().to_string();
    assert!(
        error.starts_with("upf.traffic.heavy_hitters.threshold: the P4 program of upf.switch.p4info"),
        "{error}"
    );
    assert!(error.contains("HEAVY_HITTERS"), "{error}");
}
