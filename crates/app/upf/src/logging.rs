//! Logs of the process: to standard error, as text or JSON, at a level that can change while it runs.

use std::io::{self, IsTerminal};

use thiserror::Error;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::reload;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{fmt, registry};

use crate::config::{Level, LogFormat, Logger};

/// Something logs already in this process.
#[derive(Debug, Error)]
#[error("cannot set up logs: {0}")]
pub struct LogError(#[from] TryInitError);

/// Changes the level of the logs.
#[derive(Clone, Debug)]
pub struct LogControl(reload::Handle<Targets, Registry>);

impl LogControl {
    /// Logs what is at least this severe from now on.
    pub fn set_level(&self, level: Level) {
        // It fails only when the subscriber is gone, and then nothing logs any more.
        let _ = self.0.reload(targets(level));
    }
}

/// Logs to standard error from now on, for the whole process.
///
/// # Errors
/// Something logs already.
pub fn init(logger: &Logger) -> Result<LogControl, LogError> {
    let (filter, control) = reload::Layer::new(targets(logger.level));
    let layer = fmt::layer().with_writer(io::stderr).with_target(false);
    let layer: Box<dyn Layer<_> + Send + Sync> = match logger.format {
        LogFormat::Text => Box::new(layer.with_ansi(io::stderr().is_terminal())),
        LogFormat::Json => Box::new(layer.json().flatten_event(true)),
    };
    registry().with(filter.and_then(layer)).try_init()?;
    Ok(LogControl(control))
}

/// Our own lines at the level asked for; those of libraries only when something is wrong.
fn targets(level: Level) -> Targets {
    let ours = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    Targets::new().with_default(ours.min(LevelFilter::WARN)).with_target("causeway", ours)
}

#[cfg(test)]
mod tests {
    use tracing::Level as Severity;

    use super::*;

    #[test]
    fn libraries_are_quiet_and_we_are_as_loud_as_asked() {
        let debug = targets(Level::Debug);
        assert!(debug.would_enable("causeway_upf::worker", &Severity::DEBUG));
        assert!(!debug.would_enable("causeway_upf::worker", &Severity::TRACE));
        assert!(!debug.would_enable("hyper::proto", &Severity::INFO));
        assert!(debug.would_enable("hyper::proto", &Severity::WARN));
        assert!(!targets(Level::Error).would_enable("hyper::proto", &Severity::WARN));
    }
}
