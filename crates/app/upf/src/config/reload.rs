//! The difference of two configurations, and the part that a running UPF follows.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml_ng::Value;

use super::enums::N6Mode;
use super::forwarding::ForwardingPolicy;
use super::keys::{KEYS, Key};
use super::management;
use super::model::{Config, Session, Upf};
use super::qos::Slice;
use super::workers::WorkerCount;

/// What became of a new configuration. A change is a key; or an item of a list that came or went, such as
/// `upf.session: 10.46.0.0/16 added`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reloaded {
    /// The changes that are in force.
    pub applied: Vec<String>,
    /// The changes that take effect at the next start.
    pub at_restart: Vec<String>,
}

impl Reloaded {
    /// `old` was in force, `next` is, and `new` was read.
    pub(crate) fn new(old: &Upf, next: &Upf, new: &Upf) -> Self {
        let whole = |upf: &Upf| Config { upf: upf.clone(), ..Config::default() };
        let changed = |from, to| changes(&whole(from), &whole(to));
        Self { applied: changed(old, next), at_restart: changed(next, new) }
    }

    /// A file that a key names has other contents, which are in force.
    pub(crate) fn add_file(&mut self, key: &'static str) {
        if self.applied.iter().all(|change| change != key) {
            self.applied.push(key.to_owned());
        }
    }
}

/// The keys whose values differ, and the items of lists that only one has, in the order of the sample file.
fn changes(old: &Config, new: &Config) -> Vec<String> {
    // Serialization fails only for maps with unsupported keys; there are none.
    let shown = |config: &Config| serde_yaml_ng::to_value(config).unwrap_or_default();
    let (old, new) = (shown(old), shown(new));
    let mut changes = Vec::new();
    let mut list = ListChange::default();
    for Key { path, .. } in KEYS {
        let is_changed = match path.split_once("[].") {
            None => value(&old, path) != value(&new, path),
            Some((name, key)) => {
                if list.name != name {
                    list = ListChange::new(name, &old, &new);
                    changes.append(&mut list.items);
                }
                list.in_both.iter().any(|(old, new)| old.get(key) != new.get(key))
            }
        };
        if is_changed {
            changes.push((*path).to_owned());
        }
    }
    changes
}

/// The configuration without what a reload may change, as text. A list is left out as a whole if a key of its items is live: items come and go.
pub(crate) fn needs_restart(config: &Config) -> String {
    let mut all = serde_yaml_ng::to_value(config).unwrap_or_default();
    for key in KEYS.iter().filter(|key| key.live) {
        let path: Vec<&str> = key.path.split('.').collect();
        remove(&mut all, &path);
    }
    serde_yaml_ng::to_string(&all).unwrap_or_default()
}

/// Removes a key, or the list that it is in, and the sections that are empty then.
fn remove(value: &mut Value, path: &[&str]) {
    let (Some(section), Some((name, rest))) = (value.as_mapping_mut(), path.split_first()) else { return };
    if let (Some(inner), false) = (section.get_mut(name), rest.is_empty() || name.ends_with("[]")) {
        remove(inner, rest);
        if inner.as_mapping().is_some_and(|section| !section.is_empty()) {
            return;
        }
    }
    section.shift_remove(name.trim_end_matches("[]"));
}

/// The value of a path of names.
fn value<'a>(config: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(config, |value, name| value.get(name))
}

/// The difference of two lists.
#[derive(Default)]
struct ListChange<'a> {
    name: &'static str,
    /// Items that came or went, and a change of their order.
    items: Vec<String>,
    /// The items that both have, old and new.
    in_both: Vec<(&'a Value, &'a Value)>,
}

impl<'a> ListChange<'a> {
    fn new(name: &'static str, old: &'a Value, new: &'a Value) -> Self {
        let (old, new) = (labelled(name, old), labelled(name, new));
        let places: BTreeMap<_, _> = old.iter().enumerate().map(|(n, (label, _))| (label, n)).collect();
        let known: BTreeSet<_> = new.iter().map(|(label, _)| label).collect();
        let mut change = Self { name, ..Self::default() };
        let mut order = Vec::new();
        for (label, item) in &new {
            match places.get(label) {
                Some(&place) => {
                    order.push(place);
                    change.in_both.push((old[place].1, item));
                }
                None => change.items.push(format!("{name}: {} added", label.0)),
            }
        }
        let gone = old.iter().filter(|(label, _)| !known.contains(label));
        change.items.extend(gone.map(|(label, _)| format!("{name}: {} removed", label.0)));
        if !order.is_sorted() {
            change.items.push(format!("{name}: in another order"));
        }
        change
    }
}

/// The name of an item in messages, and how many items before it have that name.
type Label = (String, usize);

/// The items of a list with their labels.
fn labelled<'a>(list: &str, config: &'a Value) -> Vec<(Label, &'a Value)> {
    let items = value(config, list).and_then(Value::as_sequence);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let label = |item: &'a Value| {
        let name = item_name(list, item);
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        ((name, *count), item)
    };
    items.into_iter().flatten().map(label).collect()
}

/// The first key of an item with its value; of a slice both keys of its S-NSSAI.
fn item_name(list: &str, item: &Value) -> String {
    let keys = KEYS.iter().filter_map(|key| key.path.strip_prefix(list)?.strip_prefix("[]."));
    let named = keys.filter_map(|key| Some((key, item.get(key).filter(|value| !value.is_null())?)));
    let is_slice = list == "upf.qos.slice";
    let identity = named.enumerate().filter(|(n, (key, _))| *n == 0 || is_slice && *key == "sd");
    let identity = identity.map(|(_, named)| named).map(|(key, value)| match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => format!("{key} {number}"),
        other => serde_yaml_ng::to_string(other).unwrap_or_default().trim().to_owned(),
    });
    identity.collect::<Vec<_>>().join(" ")
}

impl Upf {
    /// This configuration with the values of `new` for the keys that a running UPF follows ([`Key::live`]), where it can:
    /// `start` is the configuration that it was started with, which opened its devices.
    ///
    /// - A UE address pool may come or change on a TUN device that was opened at the start, and go if no other pool has to
    ///   wait for a restart. Address translation of a pool may begin and end; its gateway stays until a restart, since the
    ///   kernel has no route to the pool while its address changes.
    /// - A forwarding policy may come or change, unless the data plane is a switch, which has none. One that goes stays until
    ///   a restart, since rules may name it.
    /// - The rates of a slice may change, and a slice may go. One that was not there at the start may come with one packet
    ///   thread and no switch: otherwise its sessions are on several threads, or in the tables of the switch.
    /// - Access to the management API changes if what is listened to is protected afterwards.
    #[must_use]
    pub(crate) fn with_live_keys(&self, new: &Self, start: &Self) -> Self {
        let mut upf = self.clone();
        let (pfcp, routes) = (&mut upf.pfcp, &mut upf.framed_routes);
        pfcp.client = new.pfcp.client.clone();
        pfcp.heartbeat = new.pfcp.heartbeat.clone();
        pfcp.retransmission = new.pfcp.retransmission.clone();
        pfcp.association_retry = new.pfcp.association_retry;
        pfcp.release_timeout = new.pfcp.release_timeout;
        pfcp.path_failure = new.pfcp.path_failure;
        pfcp.request_port = new.pfcp.request_port;
        pfcp.load_control = new.pfcp.load_control;
        pfcp.overload_control = new.pfcp.overload_control;
        pfcp.overload_mark = new.pfcp.overload_mark;
        pfcp.overload_validity = new.pfcp.overload_validity;
        pfcp.smf.clone_from(&new.pfcp.smf);
        pfcp.allow.clone_from(&new.pfcp.allow);
        routes.max = new.framed_routes.max;
        routes.max_per_smf = new.framed_routes.max_per_smf;
        routes.max_per_session = new.framed_routes.max_per_session;
        upf.ue_address_quarantine = new.ue_address_quarantine;
        upf.applications.clone_from(&new.applications);
        upf.gtpu.echo = new.gtpu.echo.clone();
        upf.session = self.live_pools(new, start);
        if !start.dataplane.has_switch() {
            upf.forwarding_policy = live_policies(&self.forwarding_policy, &new.forwarding_policy);
        }
        let is_known = |slice: &&Slice| start.qos.slice.iter().any(|known| known.id() == slice.id());
        let is_alone = start.workers.count == WorkerCount::Exactly(1);
        let may_come = is_alone && !start.dataplane.has_switch();
        let live_slice = |slice: &&Slice| may_come || is_known(slice);
        upf.qos.slice = new.qos.slice.iter().filter(live_slice).cloned().collect();
        upf.management.tls = new.management.tls.clone();
        upf.management.token_file.clone_from(&new.management.token_file);
        upf.management.capture = new.management.capture;
        if !management::check(&upf).is_empty() {
            // The addresses that are listened to would be open.
            upf.management = self.management.clone();
        }
        upf.traffic.clone_from(&new.traffic);
        upf.firewall.clone_from(&new.firewall);
        upf
    }

    /// The pools that can be in force.
    fn live_pools(&self, new: &Self, start: &Self) -> Vec<Session> {
        // A switch has the pools in its tables.
        if start.dataplane.has_switch() {
            return self.session.clone();
        }
        let known = |session: &Session| self.session.iter().find(|known| known.is_same_pool(session));
        let has_gateways = start.session.iter().any(|session| session.gateway.is_some());
        let has_device = |session: &Session| {
            let is_its = |opened: &&Session| opened.dev == session.dev && opened.dnn == session.dnn;
            let opened = start.session.iter().find(is_its);
            let is_open = |opened: &Session| {
                opened.mode == N6Mode::Tun && session.mode == opened.mode && session.mtu == opened.mtu
            };
            opened.is_some_and(is_open) && (has_gateways || session.gateway.is_none())
        };
        let of_new = |session: &Session| match known(session) {
            Some(known) if known.mode != N6Mode::Tun => Some(known.clone()),
            Some(known) => Some(Session {
                ue_pool: session.ue_pool,
                pool_identity: session.pool_identity.clone(),
                framed_routes: session.framed_routes.clone(),
                nat: session.nat,
                ..known.clone()
            }),
            None => has_device(session).then(|| session.clone()),
        };
        let mut pools: Vec<Session> = new.session.iter().filter_map(of_new).collect();
        // While a new pool waits for a restart, none goes: it may be meant to take its place.
        let may_go = pools.len() == new.session.len();
        let is_kept = |known: &&Session| {
            let is_bound = !may_go || known.mode != N6Mode::Tun;
            is_bound && new.session.iter().all(|session| !session.is_same_pool(known))
        };
        // A pool that took the addresses of one that stays would give them to other UEs.
        let stay: Vec<Session> = self.session.iter().filter(is_kept).cloned().collect();
        pools.retain(|pool| {
            let overlaps =
                |kept: &Session| kept.subnet.contains(&pool.subnet) || pool.subnet.contains(&kept.subnet);
            !stay.iter().any(overlaps)
        });
        pools.extend(stay);
        pools
    }
}

impl Session {
    /// The same subnet behind the same device.
    pub(crate) fn is_same_pool(&self, other: &Self) -> bool {
        (self.subnet, &self.dev, &self.dnn) == (other.subnet, &other.dev, &other.dnn)
    }
}

/// The new policies, then those that go.
fn live_policies(old: &[ForwardingPolicy], new: &[ForwardingPolicy]) -> Vec<ForwardingPolicy> {
    let is_gone = |policy: &&ForwardingPolicy| !new.iter().any(|next| next.name == policy.name);
    new.iter().chain(old.iter().filter(is_gone)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::Overrides;
    use super::*;

    fn upf(text: &str) -> Upf {
        Config::parse(None, &format!("{{upf: {{{text}}}}}"), &Overrides::default()).unwrap().upf
    }

    fn subnets(upf: &Upf) -> Vec<String> {
        upf.session.iter().map(|session| session.subnet.to_string()).collect()
    }

    // Input:  a UPF with a TUN device; pools on it come, change and go; others are on a new device, or have another MTU.
    // Output: those on the device are in force, in the order of the file; the others wait for a restart.
    #[test]
    fn pools_follow_on_devices_that_are_open() {
        let start = upf("session: [{subnet: 10.45.0.0/16, gateway: 10.45.0.1}]");
        let pool = |subnet: &str, more: &str| format!("{{subnet: {subnet}{more}}}");
        let (a, b) =
            (pool("10.45.0.0/16", ", gateway: 10.45.0.1, ue_pool: 10.45.7.0/24"), pool("10.46.0.0/16", ""));
        let c = pool("10.47.0.0/16", ", dnn: ims, dev: other");
        let new = upf(&format!("session: [{b}, {a}, {c}]"));
        let next = start.with_live_keys(&new, &start);
        assert_eq!(subnets(&next), ["10.46.0.0/16", "10.45.0.0/16"]);
        let renamed = upf(&format!("session: [{c}]"));
        assert_eq!(subnets(&start.with_live_keys(&renamed, &start)), ["10.45.0.0/16"]);
        assert_eq!(next.session[1].ue_pool, "10.45.7.0/24".parse().ok());
        assert_eq!(subnets(&next.with_live_keys(&upf(&format!("session: [{b}]")), &start)), ["10.46.0.0/16"]);
        let wider = upf("session: [{subnet: 10.48.0.0/16, mtu: 1300}]");
        assert_eq!(subnets(&next.with_live_keys(&wider, &start)), subnets(&next));
        let moved = upf("session: [{subnet: 10.45.0.0/16, gateway: 10.45.0.9, nat: true}]");
        let nat = Session { nat: true, ..start.session[0].clone() };
        assert_eq!(start.with_live_keys(&moved, &start).session, [nat]);
        let switch = Upf { dataplane: crate::config::DataPlane::Switch, ..start.clone() };
        assert_eq!(switch.with_live_keys(&new, &switch).session, switch.session);
    }

    // Input:  policies and slices come, change and go.
    // Output: policies come and change, and go at a restart; slices come, change and go. With several packet threads, or a switch,
    //         slices that were not there at the start do not come; nor do policies with a switch.
    #[test]
    fn policies_and_rates_follow() {
        let start = upf("forwarding_policy: [{name: a}, {name: b}], qos: {slice: [{sst: 1, uplink: 1Mbps}]}");
        let new = upf(
            "forwarding_policy: [{name: c}, {name: a, drop: true}], qos: {slice: [{sst: 2}, {sst: 1, uplink: 2Mbps}]}",
        );
        let next = start.with_live_keys(&new, &start);
        let named: Vec<_> = next.forwarding_policy.iter().map(|it| (it.name.as_str(), it.drop)).collect();
        assert_eq!(named, [("c", false), ("a", true), ("b", false)]);
        assert_eq!(next.qos.slice, new.qos.slice);
        assert_eq!(next.with_live_keys(&start, &start).qos.slice, start.qos.slice);
        let bare = upf("");
        let follows = bare.with_live_keys(&new, &bare);
        assert_eq!((&follows.forwarding_policy, &follows.qos), (&new.forwarding_policy, &new.qos));
        let several = upf("workers: {count: 2}, qos: {slice: [{sst: 1}]}");
        let follows = several.with_live_keys(&new, &several);
        assert_eq!(follows.qos.slice, [new.qos.slice[1].clone()]);
        assert!(follows.with_live_keys(&upf(""), &several).qos.slice.is_empty());
        let switch = Upf { dataplane: crate::config::DataPlane::Switch, ..bare };
        let follows = switch.with_live_keys(&new, &switch);
        assert!(follows.forwarding_policy.is_empty() && follows.qos.slice.is_empty());
    }

    // Input:  lists whose items come, go, change, change places, or have the same name.
    // Output: each item that came or went, the keys of those that changed, and no key that is the same in both.
    #[test]
    fn changes_of_lists_are_told_by_item() {
        let told = |old: &str, new: &str| {
            let (old, new) = (upf(old), upf(new));
            assert_eq!(Reloaded::new(&old, &new, &new).at_restart, [""; 0]);
            Reloaded::new(&old, &new, &new).applied
        };
        let a = "{subnet: 10.45.0.0/16, gateway: 10.45.0.1}";
        let with_pool = "{subnet: 10.45.0.0/16, gateway: 10.45.0.1, ue_pool: 10.45.7.0/24}";
        let b = "{subnet: 10.46.0.0/16}";
        let pools = |items: &[&str]| format!("session: [{}]", items.join(", "));
        let came = "upf.session: 10.46.0.0/16 added";
        let changed = "upf.session[].ue_pool";
        assert_eq!(told(&pools(&[a]), &pools(&[a, b])), [came]);
        assert_eq!(told(&pools(&[a]), &pools(&[b, with_pool])), [came, changed]);
        assert_eq!(told(&pools(&[a, b]), &pools(&[b, a])), ["upf.session: in another order"]);
        assert_eq!(told(&pools(&[a, b]), &pools(&[a])), ["upf.session: 10.46.0.0/16 removed"]);
        assert_eq!(told(&pools(&[a, b]), &pools(&[a, b])), [""; 0]);
        let slices = |text: &str| format!("qos: {{slice: [{text}]}}");
        assert_eq!(
            told(
                &slices("{sst: 1, uplink: 1Mbps}"),
                &slices("{sst: 1, uplink: 2Mbps}, {sst: 1, sd: 00000a}")
            ),
            ["upf.qos.slice: sst 1 00000a added", "upf.qos.slice[].uplink"]
        );
        let smfs = |text: &str| format!("pfcp: {{client: {{smf: [{text}]}}}}");
        assert_eq!(
            told(
                &smfs("{address: 192.0.2.1}, {address: 192.0.2.1, port: 1}"),
                &smfs("{address: 192.0.2.1}, {address: 192.0.2.1, port: 2}, {address: 192.0.2.1, port: 3}")
            ),
            ["upf.pfcp.client.smf: 192.0.2.1 added", "upf.pfcp.client.smf[].port"]
        );
        assert_eq!(told("max_sessions: 7", "max_sessions: 8"), ["upf.max_sessions"]);
    }

    // Input:  the addresses beyond loopback go, and so do TLS and the token; only the latter.
    // Output: the server that still listens stays protected.
    #[test]
    fn a_server_that_still_listens_stays_protected() {
        let text =
            "management: {server: [{address: 192.0.2.1}], tls: {certificate: a, key: b}, token_file: c}";
        let (start, new) = (upf(text), upf(""));
        assert_eq!(start.with_live_keys(&new, &start).management, start.management);
        let other =
            upf("management: {server: [{address: 192.0.2.1}], tls: {certificate: d, key: e}, token_file: f}");
        assert_eq!(start.with_live_keys(&other, &start).management, other.management);
    }

    // Input:  configurations that differ in live keys: of a section, of lists, of a section that has no other; in others, also of such a list.
    // Output: the same text; others, but for the list, whose items a reload may change.
    #[test]
    fn what_needs_a_restart_is_told_apart() {
        let text = |keys: &str| needs_restart(&Config { upf: upf(keys), ..Config::default() });
        let plain = text("");
        for live in [
            "pfcp: {allow: 192.0.2.0/24, heartbeat: {interval: 1s}}",
            "session: [{subnet: 10.45.0.0/16}, {subnet: 10.46.0.0/16, dnn: ims, dev: other}]",
            "forwarding_policy: [{name: a, dscp: 46}]",
            "firewall: {uplink: deny}",
            "qos: {slice: [{sst: 1}]}",
        ] {
            assert_eq!(text(live), plain, "{live}");
        }
        for other in ["node_id: upf.example", "pfcp: {max_associations: 7}", "qos: {averaging_window: 7ms}"] {
            assert_ne!(text(other), plain, "{other}");
        }
    }
}
