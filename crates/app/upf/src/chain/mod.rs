//! A chain of two daemons (AccelUPF section 3.6, `docs/chain.md`): one is the primary, the other keeps the state of all sessions to
//! take over.
//!
//! - [`ChainMember`] keeps the records and speaks with the other member and the coordinator, in threads of its own.
//! - [`coordinate`] is the process that decides who is in the chain.
//! - `ServiceAddresses` are on this host while it is the primary.
//!
//! What the records hold is the matter of `control/replication`.

mod addresses;
mod coordinator;
mod limit;
mod member;
mod stream;

use std::hash::{DefaultHasher, Hash, Hasher};

use causeway_ports::announce::may_announce;

use crate::config::{Config, Upf, needs_restart};
use crate::error::StartError;

pub(crate) use addresses::{ANNOUNCEMENTS, APART, DEVICE, ServiceAddresses};
pub use coordinator::{CoordinatorError, coordinate};
use member::MemberSettings;
#[cfg(test)]
pub(crate) use member::has_no_responses;
pub(crate) use member::{ChainHead, Change, Record};
pub use member::{ChainMember, ChainStatus, Role};

impl ChainMember {
    /// Begins the member of the configuration; `None`: it is in no chain.
    ///
    /// # Errors
    /// `upf.chain.listen` cannot be used, or this process may not announce addresses, or an interface of `upf.chain.dev` does not exist.
    pub fn of(config: &Config) -> Result<Option<Self>, StartError> {
        let chain = &config.upf.chain;
        let (Some(node), Some(listen), Some(peer), Some(coordinator)) =
            (chain.member, chain.listen, chain.peer, chain.coordinator)
        else {
            return Ok(None);
        };
        // A primary whose addresses nobody finds would be worse than none.
        for dev in &chain.dev {
            may_announce(dev).map_err(|source| StartError::Port { key: "upf.chain.dev".into(), source })?;
        }
        let (common, silence) = (common(&config.upf), chain.timeout);
        let settings = MemberSettings { node, listen, peer, coordinator, common, silence };
        let begun = Self::begin(settings);
        begun.map(Some).map_err(|source| StartError::Chain { address: listen, source })
    }
}

/// A hash of all keys that members must have in common: those that need a restart, but for those of the host. Others follow a reload of each
/// member, and a process knows only what was in the file at its start.
fn common(upf: &Upf) -> u64 {
    let own = Upf::default();
    let mut chain = upf.chain.clone();
    (chain.member, chain.listen, chain.peer, chain.dev) = (None, None, None, Vec::new());
    let upf = Upf {
        chain,
        memory: own.memory,
        interface_timeout: own.interface_timeout,
        workers: own.workers,
        metrics: own.metrics,
        management: own.management,
        ..upf.clone()
    };
    let config = Config { upf, ..Config::default() };
    let mut hasher = DefaultHasher::new();
    (env!("CARGO_PKG_VERSION"), needs_restart(&config)).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

    use super::*;
    use crate::config::Overrides;

    fn of(text: &str) -> u64 {
        common(&Config::parse(None, text, &Overrides::default()).unwrap().upf)
    }

    // Input:  configurations that differ in keys of the host and of the member; in a UE pool, which a reload may change; in the Node ID.
    // Output: only the last one is another.
    #[test]
    fn members_have_the_keys_of_sessions_in_common() {
        let chain = |member: u8, dev: &str| {
            format!(
                "chain: {{member: {member}, listen: 192.0.2.{member}, peer: 192.0.2.9, coordinator: 192.0.2.3, address: 192.0.2.10, \
                 dev: {dev}}}"
            )
        };
        let one =
            of(&format!("{{logger: {{level: warn}}, upf: {{workers: {{count: 1}}, {}}}}}", chain(1, "eth0")));
        let other = of(&format!("{{upf: {{memory: 1GiB, {}}}}}", chain(2, "eth1")));
        assert_eq!(one, other);
        let pool = "session: [{subnet: 10.46.0.0/16, gateway: 10.46.0.1}]";
        assert_eq!(one, of(&format!("{{upf: {{{pool}, {}}}}}", chain(1, "eth0"))));
        assert_ne!(one, of(&format!("{{upf: {{node_id: upf.example, {}}}}}", chain(1, "eth0"))));
    }

    // Input:  a member in a thread without CAP_NET_RAW.
    // Output: an error that names the key, the capability and the drop-in.
    #[test]
    fn a_member_without_the_right_to_announce_does_not_start() {
        let text = "upf: {chain: {member: 1, listen: 127.0.0.1, peer: 192.0.2.2, coordinator: 192.0.2.3, address: 192.0.2.10, dev: eth0}}";
        let config = Config::parse(None, text, &Overrides::default()).unwrap();
        let error = std::thread::spawn(move || {
            let mut rights = capabilities(None).unwrap();
            rights.effective.remove(CapabilitySet::NET_RAW);
            set_capabilities(None, rights).unwrap();
            ChainMember::of(&config).unwrap_err().to_string()
        });
        let error = error.join().unwrap();
        assert!(error.starts_with("upf.chain.dev: "), "{error}");
        assert!(error.contains("CAP_NET_RAW") && error.contains("causeway.service.d/chain.conf"), "{error}");
    }
}
