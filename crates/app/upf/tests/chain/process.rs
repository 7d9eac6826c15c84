//! What this program is as a child: a member of the chain, or its coordinator.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use causeway_upf::chain::coordinate;
use causeway_upf::config::{Config, ConfigErrors, Level, Origin, Overrides};
use causeway_upf::service::{self, Owner};

/// A member with this configuration file.
pub(crate) const MEMBER: &str = "CAUSEWAY_TEST_CHAIN_MEMBER";
/// A coordinator with this file.
pub(crate) const COORDINATOR: &str = "CAUSEWAY_TEST_CHAIN_COORDINATOR";
/// The silence after which a member has failed for it, in seconds.
pub(crate) const SILENCE: &str = "CAUSEWAY_TEST_CHAIN_SILENCE";

/// A member whose configuration is in this file.
struct OfFile(PathBuf);

impl Owner for OfFile {
    fn load(&mut self) -> Result<Config, ConfigErrors> {
        Config::load(Some(&self.0), &Overrides::default())
    }

    fn origin(&self, key: &str) -> Origin {
        Config::origin(Some(&self.0), &Overrides::default(), key)
    }

    fn set_log_level(&mut self, _: Level) {}

    fn started(&mut self) {
        tracing::warn!("the owner knows that the daemon has started");
    }
}

/// Runs as the environment says, until it is killed.
pub(crate) fn run() {
    if let Ok(file) = std::env::var(MEMBER) {
        let mut owner = OfFile(file.into());
        let config = owner.load().expect("a configuration");
        let _logs = causeway_upf::logging::init(&config.logger).expect("logs");
        let ended = service::run(&config, &mut owner);
        panic!("the member has ended: {ended:?}");
    }
    if let Ok(file) = std::env::var(COORDINATOR) {
        let _logs = causeway_upf::logging::init(&Config::default().logger).expect("logs");
        let silence = std::env::var(SILENCE).ok().and_then(|text| text.parse().ok()).expect("seconds");
        let listen = SocketAddr::from(([10, 0, 0, 1], 8807));
        panic!(
            "the coordinator has ended: {:?}",
            coordinate(listen, Path::new(&file), Duration::from_secs(silence))
        );
    }
}
