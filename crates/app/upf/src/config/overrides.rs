//! Flags and environment variables, which take precedence over the file.

use std::net::SocketAddr;

use super::error::ConfigError;
use super::model::{Config, GTPU_PORT, GtpuServer, METRICS_PORT, MOST_SESSIONS, MetricsServer, PFCP_PORT};
use super::origin::{Origin, Origins};
use super::pfcp::{PfcpServer, Smf};
use super::problem::Problem;
use super::values;

/// Values from flags or environment variables, as written. `None` and empty lists change nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Overrides {
    /// `--log-level`, for `logger.level`.
    pub log_level: Option<String>,
    /// `--log-format`, for `logger.format`.
    pub log_format: Option<String>,
    /// `--node-id`, for `upf.node_id`.
    pub node_id: Option<String>,
    /// `--max-sessions`, for `upf.max_sessions`.
    pub max_sessions: Option<String>,
    /// `--pfcp-address`, for the whole list `upf.pfcp.server`.
    pub pfcp_address: Vec<String>,
    /// `--smf-address`, for the whole list `upf.pfcp.client.smf`.
    pub smf_address: Vec<String>,
    /// `--gtpu-address`, for the whole list `upf.gtpu.server`.
    pub gtpu_address: Vec<String>,
    /// `--metrics-address`, for the whole list `upf.metrics.server`.
    pub metrics_address: Vec<String>,
}

impl Overrides {
    /// Applies the values to the configuration and records their origins.
    pub(super) fn apply(&self, config: &mut Config, origins: &mut Origins, errors: &mut Vec<ConfigError>) {
        let mut apply = Apply { origins, errors };
        let upf = &mut config.upf;
        apply.one(&LOG_LEVEL, self.log_level.as_ref(), values::word, &mut config.logger.level);
        apply.one(&LOG_FORMAT, self.log_format.as_ref(), values::word, &mut config.logger.format);
        apply.one(&NODE_ID, self.node_id.as_ref(), |text| values::node_id(text).map(Some), &mut upf.node_id);
        let sessions = values::number(1..=MOST_SESSIONS);
        apply.one(&MAX_SESSIONS, self.max_sessions.as_ref(), sessions, &mut upf.max_sessions);
        apply.list(&PFCP_ADDRESS, &self.pfcp_address, pfcp_server, &mut upf.pfcp.server);
        apply.list(&SMF_ADDRESS, &self.smf_address, smf, &mut upf.pfcp.client.smf);
        apply.list(&GTPU_ADDRESS, &self.gtpu_address, gtpu_server, &mut upf.gtpu.server);
        apply.list(&METRICS_ADDRESS, &self.metrics_address, metrics_server, &mut upf.metrics.server);
    }
}

/// A flag with its environment variable and its key.
struct Flag {
    name: &'static str,
    key: &'static str,
}

const LOG_LEVEL: Flag = Flag { name: "--log-level (CAUSEWAY_LOG_LEVEL)", key: "logger.level" };
const LOG_FORMAT: Flag = Flag { name: "--log-format (CAUSEWAY_LOG_FORMAT)", key: "logger.format" };
const NODE_ID: Flag = Flag { name: "--node-id (CAUSEWAY_NODE_ID)", key: "upf.node_id" };
const MAX_SESSIONS: Flag = Flag { name: "--max-sessions (CAUSEWAY_MAX_SESSIONS)", key: "upf.max_sessions" };
const PFCP_ADDRESS: Flag = Flag { name: "--pfcp-address (CAUSEWAY_PFCP_ADDRESS)", key: "upf.pfcp.server" };
const SMF_ADDRESS: Flag = Flag { name: "--smf-address (CAUSEWAY_SMF_ADDRESS)", key: "upf.pfcp.client.smf" };
const GTPU_ADDRESS: Flag = Flag { name: "--gtpu-address (CAUSEWAY_GTPU_ADDRESS)", key: "upf.gtpu.server" };
const METRICS_ADDRESS: Flag =
    Flag { name: "--metrics-address (CAUSEWAY_METRICS_ADDRESS)", key: "upf.metrics.server" };

struct Apply<'a> {
    origins: &'a mut Origins,
    errors: &'a mut Vec<ConfigError>,
}

impl Apply<'_> {
    fn one<T>(
        &mut self,
        flag: &Flag,
        text: Option<&String>,
        parse: impl Fn(&str) -> Result<T, Problem>,
        slot: &mut T,
    ) {
        let Some(text) = text else { return };
        self.origins.note(flag.key, Origin::Flag(flag.name));
        match parse(text) {
            Ok(value) => *slot = value,
            Err(problem) => self.report(flag, flag.key.to_owned(), problem),
        }
    }

    fn list<T>(
        &mut self,
        flag: &Flag,
        texts: &[String],
        parse: impl Fn(&str) -> Result<T, Problem>,
        slot: &mut Vec<T>,
    ) {
        if texts.is_empty() {
            return;
        }
        self.origins.forget(flag.key);
        self.origins.note(flag.key, Origin::Flag(flag.name));
        slot.clear();
        for (n, text) in texts.iter().enumerate() {
            match parse(text) {
                Ok(value) => slot.push(value),
                Err(problem) => self.report(flag, format!("{}[{n}].address", flag.key), problem),
            }
        }
    }

    fn report(&mut self, flag: &Flag, key: String, problem: Problem) {
        self.errors.push(ConfigError { origin: Origin::Flag(flag.name), key, problem });
    }
}

fn own(text: &str, port: u16) -> Result<SocketAddr, Problem> {
    let socket = values::endpoint(text, port)?;
    values::own_address(&socket.ip().to_string())?;
    Ok(socket)
}

fn pfcp_server(text: &str) -> Result<PfcpServer, Problem> {
    let socket = own(text, PFCP_PORT)?;
    Ok(PfcpServer::at(socket.ip(), socket.port()))
}

fn smf(text: &str) -> Result<Smf, Problem> {
    let socket = own(text, PFCP_PORT)?;
    Ok(Smf { address: socket.ip(), port: socket.port() })
}

fn gtpu_server(text: &str) -> Result<GtpuServer, Problem> {
    let socket = own(text, GTPU_PORT)?;
    Ok(GtpuServer { address: Some(socket.ip()), port: socket.port(), ..GtpuServer::default() })
}

fn metrics_server(text: &str) -> Result<MetricsServer, Problem> {
    let socket = values::endpoint(text, METRICS_PORT)?;
    Ok(MetricsServer { address: socket.ip(), port: socket.port() })
}
