//! A configuration that is reloaded while the UPF runs.

use std::net::Ipv4Addr;
use std::path::Path;

use causeway_pfcp::Cause;
use causeway_upf::config::{Config, KEYS, Overrides, Reloaded, Upf};

use crate::common::smf::Smf;
use crate::common::{Running, config, loopback, run};
use crate::config_keys::values::OTHER_VALUES;
use crate::config_keys::with_value;

fn reload(upf: &Running, next: Upf) -> Reloaded {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(upf.daemon.reload(next)).unwrap()
}

// Input:  each key alone, with another value than that of the running UPF, then the value before.
// Output: a key that is documented as live is applied, any other one takes effect at the next start; the configuration
//         that is shown follows the former only.
#[test]
fn every_key_is_applied_or_waits_for_a_restart() {
    let upf = loopback();
    let running = run(&config(upf), upf).unwrap();
    let shown = || running.fetch("/api/v1/config").1;
    let parsed = |text: &str| Config::parse(Some(Path::new("upf.yaml")), text, &Overrides::default());
    let before = parsed("").unwrap().upf;
    reload(&running, before.clone());
    let at_first = shown();
    for (path, value) in OTHER_VALUES.iter().filter(|(path, _)| path.starts_with("upf.")) {
        // Some are right only beside others.
        let Ok(next) = parsed(&with_value(path, value)) else { continue };
        let live = KEYS.iter().find(|key| key.path == *path).unwrap().live;
        let Reloaded { applied, at_restart } = reload(&running, next.upf);
        assert_eq!(applied.contains(path), live, "{path}: {applied:?} {at_restart:?}");
        assert_eq!(shown() != at_first, live, "{path}");
        reload(&running, before.clone());
    }
}

// Input:  an SMF with a session; a configuration that permits another host only, with another dataplane and a shorter
//         heartbeat interval.
// Output: the keys, each by its effect. The SMF keeps its session and establishes another one; an SMF at a third address
//         gets no association.
#[test]
fn sessions_stay_while_the_permitted_smfs_change() {
    let upf = loopback();
    let before = config(upf);
    let running = run(&before, upf).unwrap();
    let mut smf = Smf::new(loopback().into(), running.n4());
    smf.associate();
    assert_eq!(smf.try_establish(Ipv4Addr::new(10, 45, 0, 2)), Cause::RequestAccepted);
    let mut next = before.upf.clone();
    next.pfcp.allow = vec!["192.0.2.1/32".parse().unwrap()];
    next.qos.averaging_window = causeway_types::Span::from_millis(9);
    let Reloaded { applied, at_restart } = reload(&running, next);
    assert!(applied.contains(&"upf.pfcp.allow"), "{applied:?}");
    assert!(at_restart.contains(&"upf.qos.averaging_window"), "{at_restart:?}");
    assert_eq!(smf.try_establish(Ipv4Addr::new(10, 45, 0, 3)), Cause::RequestAccepted);
    assert_eq!(running.metric("pfcp_sessions"), 2.0);
    let mut other = Smf::new(loopback().into(), running.n4());
    assert_eq!(other.associate(), Cause::RequestRejected);
    reload(&running, before.upf);
    assert_eq!(other.associate(), Cause::RequestAccepted);
}
