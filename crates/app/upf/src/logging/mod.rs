//! Logs of the process: to standard error, as text or JSON, at a level that can change while it runs.
//!
//! Lines pass through a bounded queue to a writer thread, so that a thread that logs never waits for the reader of the
//! log. When the queue is full, lines are suppressed and counted, as are lines of one place in the program beyond its
//! limit. Non-printable characters are escaped, since peers choose some of the text.

mod escape;
mod fields;
mod limit;
mod line_counts;
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

pub(crate) use fields::LineFields;
pub(crate) use limit::count_suppressed;
pub(crate) use line_counts::{LineCounts, Subject};
pub(crate) use writer::suppressed_lines;

/// How long the process waits for the last lines at its end.
const TIMEOUT: Duration = Duration::from_secs(1);

/// A failure to set up logs.
#[derive(Debug, Error)]
pub enum LogError {
    /// This process has a logger already.
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
    /// Sets the least severe level that is logged.
    pub fn set_level(&self, level: Level) {
        // It fails only when the subscriber was dropped; then there are no logs.
        let _ = self.level.reload(targets(level));
    }

    /// Waits until all lines so far are written, for at most a second, so that a stopped reader does not block the
    /// process.
    pub fn flush(&self) {
        self.queue.flush(TIMEOUT);
    }
}

/// Logs to standard error from now on, for the whole process. Panics are logged, too.
///
/// # Errors
/// This process has a logger already, or the system has no free thread.
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
    // A direct write to standard error would wait for its reader.
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

/// Lines of Causeway at the configured level; those of libraries only as warnings and errors.
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
