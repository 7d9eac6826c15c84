//! The difference of two configurations, and the part that a running UPF follows.

use serde_yaml_ng::Value;

use super::keys::{KEYS, Key};
use super::model::{Config, Upf};

/// What became of a new configuration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reloaded {
    /// The keys with a new value that is in force.
    pub applied: Vec<&'static str>,
    /// The keys with a new value that takes effect at the next start.
    pub at_restart: Vec<&'static str>,
}

impl Reloaded {
    /// `old` was in force, `next` is, and `new` was read.
    pub(crate) fn new(old: &Upf, next: &Upf, new: &Upf) -> Self {
        let whole = |upf: &Upf| Config { upf: upf.clone(), ..Config::default() };
        let changed =
            |from, to| changed_keys(&whole(from), &whole(to)).into_iter().map(|key| key.path).collect();
        Self { applied: changed(old, next), at_restart: changed(next, new) }
    }
}

/// The keys whose values differ, in the order of the sample file.
fn changed_keys(old: &Config, new: &Config) -> Vec<&'static Key> {
    // Serialization fails only for maps with unsupported keys; there are none.
    let shown = |config: &Config| serde_yaml_ng::to_value(config).unwrap_or_default();
    let (old, new) = (shown(old), shown(new));
    let differs = |key: &&Key| {
        let path: Vec<&str> = key.path.split('.').collect();
        values(&old, &path) != values(&new, &path)
    };
    KEYS.iter().filter(differs).collect()
}

/// The values of a key; those of list items follow one another, `None` for an item without the key.
fn values<'a>(value: &'a Value, path: &[&str]) -> Vec<Option<&'a Value>> {
    let Some((name, rest)) = path.split_first() else { return vec![Some(value)] };
    let Some(inner) = value.get(name.trim_end_matches("[]")) else { return vec![None] };
    match inner.as_sequence() {
        Some(items) if name.ends_with("[]") => items.iter().flat_map(|item| values(item, rest)).collect(),
        _ => values(inner, rest),
    }
}

impl Upf {
    /// This configuration with the values of `new` for the keys that a running UPF follows ([`Key::live`]).
    #[must_use]
    pub(crate) fn with_live_keys(&self, new: &Self) -> Self {
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
        upf.traffic.clone_from(&new.traffic);
        upf
    }
}
