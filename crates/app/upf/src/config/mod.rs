//! The configuration. Precedence: flag, environment, file, default. Every error states its origin and the remedy.
//!
//! A key is declared where `decode` reads it, with what is legal, and once in [`KEYS`] with its meaning: file, flags, environment, help,
//! JSON Schema and reference follow from these.

mod chain;
mod check;
mod cold_storage;
mod data_plane;
mod decode;
mod detection;
mod document;
mod enums;
mod error;
mod ethernet;
mod firewall;
mod forwarding;
mod framed;
mod host;
mod hybrid;
mod keys;
mod kind;
mod management;
mod memory;
mod model;
mod origin;
mod overrides;
mod pfcp;
mod problem;
mod qos;
mod quantities;
mod reload;
mod routing;
mod schema;
mod section;
mod serialize;
mod switch;
mod traffic;
mod values;
mod vxlan;
mod workers;
mod xplane;

use std::path::Path;

use causeway_file::FileError;

pub use chain::{COORDINATOR_PORT, Chain, MEMBER_PORT};
pub use cold_storage::ColdStorage;
pub use data_plane::DataPlane;
pub use detection::{Application, Predefined};
pub(crate) use detection::{applications, predefined_rules};
pub use enums::{
    Capture, DriverTiming, FirewallDefault, GtpuMode, HeavyFlow, HostAddresses, Level, LogFormat, N4Mode,
    N6Mode, NameIn, PathFailure, RequestPort, RouteOf, Switch, UnknownStations, WhenFull,
};
pub use error::{ConfigError, ConfigErrors};
pub use ethernet::EthernetNetwork;
pub use firewall::{Firewall, FirewallRules};
pub use forwarding::{ForwardingPolicy, N6Tunnel, RedirectTo};
pub use framed::FramedRoutes;
pub use host::{AcceptFrom, HostReachability};
pub use hybrid::{HybridKeys, SwitchModel};
pub use keys::{KEYS, Key};
pub use management::{MANAGEMENT_PORT, ManagementAccess, ManagementServer, ManagementSocket, ManagementTls};
pub use memory::Memory;
pub use model::{
    Buffering, Config, DEFAULT_ADDRESS, GTPU_PORT, Gtpu, GtpuServer, Logger, METRICS_PORT, Metrics,
    MetricsServer, PFCP_PORT, Session, Upf,
};
pub use origin::Origin;
pub use overrides::Overrides;
pub use pfcp::{Heartbeat, KnownSmf, Pfcp, PfcpClient, PfcpServer, Retransmission, Smf};
pub use problem::{Hint, Problem};
pub use qos::{Qos, Slice};
pub(crate) use quantities::octets_text;
pub use reload::Reloaded;
pub(crate) use reload::needs_restart;
pub use routing::{EchoConfig, Routing};
pub use schema::{reference, schema};
pub use switch::{P4Switch, SwitchLink, SwitchRoute};
pub use traffic::{Classes, FlowRate, HeavyHitters, Traffic};
pub use vxlan::VxlanSegment;
pub(crate) use workers::MAX_WORKERS;
pub use workers::{WorkerCount, Workers};
pub use xplane::XPlaneKeys;

use document::Place;
use origin::Origins;
use section::Reader;

/// Maximum size of a configuration file, in octets.
const MAX_FILE: u64 = 1 << 20;

impl Config {
    /// Reads the file, if one is given, and applies the flags.
    ///
    /// # Errors
    /// All errors, not only the first.
    pub fn load(file: Option<&Path>, overrides: &Overrides) -> Result<Self, ConfigErrors> {
        let Some(path) = file else { return Self::parse(file, "", overrides) };
        let unreadable = |problem| {
            let origin = Origin::File(path.to_owned());
            ConfigErrors(vec![ConfigError { origin, key: String::new(), problem }])
        };
        let mut config = Self::parse(file, &read(path).map_err(unreadable)?, overrides)?;
        let of_model = |problem| {
            let key = "upf.traffic.classes.model".to_owned();
            ConfigErrors(vec![ConfigError { origin: Self::origin(file, overrides, &key), key, problem }])
        };
        config
            .upf
            .traffic
            .classes
            .load()
            .and_then(|()| traffic::check_model(&config.upf))
            .map_err(of_model)?;
        let wrong = chain::check(&config.upf).into_iter();
        let of_chain = |(key, problem): (String, Problem)| ConfigError {
            origin: Self::origin(file, overrides, &key),
            key,
            problem,
        };
        let wrong: Vec<ConfigError> = wrong.map(of_chain).collect();
        if !wrong.is_empty() {
            return Err(ConfigErrors(wrong));
        }
        Ok(config)
    }

    /// Reads the text of a file named `file`, and applies the flags. Model files are not read.
    ///
    /// # Errors
    /// As for [`Config::load`].
    pub fn parse(file: Option<&Path>, text: &str, overrides: &Overrides) -> Result<Self, ConfigErrors> {
        let reader = Reader::new(Origins::new(file));
        let config = decoded(text, overrides, &reader);
        let errors = reader.errors.into_inner();
        if errors.is_empty() { Ok(config) } else { Err(ConfigErrors(errors)) }
    }

    /// Where a key of a file that [`Config::load`] accepts is given; if it is not, its group, or the file.
    pub fn origin(file: Option<&Path>, overrides: &Overrides, key: &str) -> Origin {
        let Some(path) = file else { return Origin::Default };
        let reader = Reader::new(Origins::new(file));
        drop(decoded(&read(path).unwrap_or_default(), overrides, &reader));
        match reader.origins.into_inner().of(key) {
            Origin::Default => Origin::File(path.to_owned()),
            origin => origin,
        }
    }

    /// The configuration as a file that [`Config::load`] reads as this configuration.
    pub fn to_yaml(&self) -> String {
        // Serialization to a string fails only for maps with unsupported keys; there are none.
        serde_yaml_ng::to_string(self).unwrap_or_default()
    }
}

fn decoded(text: &str, overrides: &Overrides, reader: &Reader) -> Config {
    let mut root = match document::parse(text) {
        Ok(root) => root,
        Err((line, problem)) => {
            let origin = reader.origins.borrow().at(Place::Line(line));
            reader.report(origin, "", problem);
            return Config::default();
        }
    };
    overrides.apply(&mut root, reader);
    let config = reader.root(&root, decode::config);
    // Contradictions that follow from wrong values are not reported.
    if reader.errors.borrow().is_empty() {
        for (key, problem) in check::check(&config) {
            let origin = reader.origins.borrow().of(&key);
            reader.report(origin, &key, problem);
        }
    }
    config
}

fn read(file: &Path) -> Result<String, Problem> {
    let octets = causeway_file::read(file, MAX_FILE).map_err(|error| match error {
        FileError::Unreadable(error) => Problem::Unreadable(error),
        FileError::NoFile { found } => Problem::NoFile { found },
        FileError::TooLong { most } => Problem::TooLong { most },
    })?;
    String::from_utf8(octets).map_err(|_| Problem::NotText)
}
