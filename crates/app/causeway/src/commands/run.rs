//! `causeway run`: the UPF, until a signal ends it.

use std::process::ExitCode;

use causeway_upf::config::{Config, ConfigErrors, Level, Origin};
use causeway_upf::logging::{self, LogControl};
use causeway_upf::service::{self, Owner};
use tracing::{error, info};

use crate::cli::ConfigArgs;
use crate::exit;

pub(super) fn run(args: &ConfigArgs) -> ExitCode {
    let config = match Config::load(args.config.as_deref(), &args.overrides()) {
        Ok(config) => config,
        Err(errors) => return exit::end(exit::USAGE, errors),
    };
    let logs = match logging::init(&config.logger) {
        Ok(logs) => logs,
        Err(error) => return exit::end(exit::FAILED, error),
    };
    let from = args.config.as_ref().map_or("defaults".into(), |file| file.display().to_string());
    info!("causeway {}, configuration {from}", env!("CARGO_PKG_VERSION"));
    let mut owner = Process { args, logs: logs.clone() };
    let result = service::run(&config, &mut owner);
    let code = match result {
        Ok(totals) => {
            info!("stopped: {totals}");
            exit::OK
        }
        Err(failure) => {
            error!("{failure}");
            exit::FAILED
        }
    };
    logs.flush();
    ExitCode::from(code)
}

/// This process, as the owner of the daemon.
struct Process<'a> {
    args: &'a ConfigArgs,
    logs: LogControl,
}

impl Owner for Process<'_> {
    fn load(&mut self) -> Result<Config, ConfigErrors> {
        Config::load(self.args.config.as_deref(), &self.args.overrides())
    }

    fn origin(&self, key: &str) -> Origin {
        Config::origin(self.args.config.as_deref(), &self.args.overrides(), key)
    }

    fn set_log_level(&mut self, level: Level) {
        self.logs.set_level(level);
    }

    /// Starts the threads of the allocator: without them it returns memory only during further allocations. Without memory for them it writes to
    /// standard error, but a failed start must be one line; so they come after the start.
    fn started(&mut self) {
        #[cfg(feature = "jemalloc")]
        let _ = tikv_jemalloc_ctl::background_thread::write(true);
    }
}
