//! The daemon with a folder for the state of idle sessions.

use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use causeway_packet::Meta;
use causeway_types::{Span, Teid};
use causeway_upf::config::DataPlane;

use crate::common::smf::Smf;
use crate::common::{Gnb, PATIENCE, Running, SERVER, config, loopback, next, one_hop_on, packet, run};

/// The UE of the last session: those before it are the first ones of their profile.
const LAST_UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 7);

fn event(running: &Running, event: &str) -> f64 {
    running.metric(&format!("causeway_cold_storage_events_total{{event=\"{event}\"}}"))
}

// Input:  six UEs of one profile; packets of the last in both directions; it is idle for longer than `idle_after`; packets again, until its state has
//         come back twice; an operator looks at its session, which ends then.
// Output: each packet arrives, and the usage is exact to the octet. No file has a name.
#[test]
fn an_idle_session_is_in_the_folder() {
    for plane in ["fastpath", "hybrid"] {
        let (upf, folder) = (loopback(), tempfile::tempdir().unwrap());
        let mut config = config(upf);
        config.upf.dataplane = DataPlane::named(plane).unwrap();
        config.upf.cold_storage.folder = Some(folder.path().into());
        config.upf.cold_storage.idle_after = Span::from_millis(200);
        let mut running = run(&config, upf).unwrap();
        let mut smf = Smf::new(loopback().into(), running.n4());
        smf.associate();
        let (gnb, teid) = (Gnb::new(), Teid::new(0x77).unwrap());
        let sessions: Vec<_> = (2..=7)
            .map(|host| {
                let session = smf.establish_counting(Ipv4Addr::new(10, 45, 0, host));
                smf.forward(session, teid, gnb.address);
                session
            })
            .collect();
        let session = sessions[5];
        let (up, down) = (packet(LAST_UE, SERVER, b"up"), packet(SERVER, LAST_UE, b"down"));
        let (start, mut rounds) = (Instant::now(), 0);
        while event(&running, "loaded") < 2.0 {
            assert!(start.elapsed() < PATIENCE, "{plane}: {} loads", event(&running, "loaded"));
            rounds += 1;
            gnb.send(upf, session.uplink.teid, &up);
            assert_eq!(next(&mut running.server), one_hop_on(up.clone()));
            assert!(running.server.push(Meta::Ip, &down));
            assert!(gnb.receive().ends_with(&one_hop_on(down.clone())));
            // It becomes idle; if that takes longer here, another round shows it.
            thread::sleep(Duration::from_millis(500));
        }
        let (head, body) = running.fetch(&format!("/api/v1/sessions/{:#x}", session.up_seid.0));
        assert!(head.contains("200 OK"), "{head}\n{body}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let octets = |packet: &[u8]| rounds * packet.len() as u64;
        assert_eq!(smf.delete(session), Some((octets(&up), octets(&down))), "{plane}");
        assert_eq!(event(&running, "lost"), 0.0);
        assert_eq!(smf.delete(sessions[0]), Some((0, 0)));
    }
}

// Input:  a folder that does not exist.
// Output: the UPF does not start, and the error names the key and the folder.
#[test]
fn a_folder_that_cannot_be_used_is_an_error() {
    let upf = loopback();
    let mut config = config(upf);
    config.upf.cold_storage.folder = Some("/nonexistent/causeway".into());
    let error = run(&config, upf).err().unwrap().to_string();
    assert!(error.starts_with("upf.cold_storage.folder: /nonexistent/causeway: "), "{error}");
}
