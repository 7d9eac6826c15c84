//! Logs of the process: to standard error, as text or JSON, at a level that can change while it runs.
//!
//! Lines go through a bounded queue to a thread that writes them: whoever logs never waits for whoever reads the log. What finds
//! the queue full is left out and counted, as is what one place in the program writes beyond its limit. What is not printed as itself
//! is escaped, since peers choose some of the text.

mod escape;
mod limit;
mod writer;

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::time::Duration;

use thiserror::Error;
use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{self, Writer};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::reload;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{fmt, registry};

use self::escape::{Escaped, JsonEvents};
use self::limit::Limit;
use self::writer::Queue;
use crate::config::{Level, LogFormat, Logger};

pub(crate) use limit::count_suppressed;
pub(crate) use writer::suppressed_lines;

/// How long the end of the process waits for the last lines.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Why there are no logs.
#[derive(Debug, Error)]
pub enum LogError {
    /// Something logs already in this process.
    #[error("cannot set up logs: {0}")]
    Taken(#[from] TryInitError),
    /// The thread that writes them cannot be started.
    #[error("cannot start the thread that writes logs: {0}")]
    Thread(#[from] io::Error),
}

/// Changes the level of the logs.
#[derive(Clone, Debug)]
pub struct LogControl {
    level: reload::Handle<Targets, Registry>,
    queue: Queue,
}

impl LogControl {
    /// Logs what is at least this severe from now on.
    pub fn set_level(&self, level: Level) {
        // It fails only when the subscriber is gone, and then nothing logs any more.
        let _ = self.level.reload(targets(level));
    }

    /// Waits until all lines so far are written, but for a second at most: a reader that has stopped does not keep the process.
    pub fn flush(&self) {
        self.queue.flush(TIMEOUT);
    }
}

/// Logs to standard error from now on, for the whole process. Panics are logged, too.
///
/// # Errors
/// Something logs already, or the system has no thread left.
pub fn init(logger: &Logger) -> Result<LogControl, LogError> {
    let (filter, level) = reload::Layer::new(targets(logger.level));
    let queue = Queue::start(io::stderr())?;
    let layer = fmt::layer().with_writer(queue.clone()).with_target(false);
    let layer: Box<dyn Layer<_> + Send + Sync> = match logger.format {
        LogFormat::Text => {
            let layer = layer.with_ansi(io::stderr().is_terminal());
            Box::new(layer.fmt_fields(format::debug_fn(field).delimited(" ")))
        }
        LogFormat::Json => Box::new(layer.json().flatten_event(true).map_event_format(JsonEvents)),
    };
    registry().with(filter.and_then(Limit).and_then(layer)).try_init()?;
    // What writes to standard error itself would wait for its reader.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    Ok(LogControl { level, queue })
}

/// Writes a field of a line: its message, or another with its name.
fn field(writer: &mut Writer<'_>, field: &Field, value: &dyn std::fmt::Debug) -> std::fmt::Result {
    if field.name() != "message" {
        write!(writer, "{field}=")?;
    }
    write!(Escaped(writer), "{value:?}")
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
