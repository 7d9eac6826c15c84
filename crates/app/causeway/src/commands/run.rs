//! `causeway run`: the UPF, until a signal ends it.

use std::process::ExitCode;

use causeway_upf::config::Config;
use causeway_upf::logging::{self, LogControl};
use causeway_upf::{Daemon, StartError, service};
use tracing::{error, info, warn};

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
    let code = match service::run(|| start(&config), || reload(&logs, args)) {
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

/// Starts the daemon, then the threads of the allocator. Without memory for them the allocator writes to standard
/// error, but a failed start must be one line.
fn start(config: &Config) -> Result<Daemon, StartError> {
    let daemon = Daemon::start(config)?;
    // Without them the allocator returns memory only during further allocations.
    #[cfg(feature = "jemalloc")]
    let _ = tikv_jemalloc_ctl::background_thread::write(true);
    Ok(daemon)
}

/// SIGHUP: reads the log level again. All other settings stay as at the start.
fn reload(logs: &LogControl, args: &ConfigArgs) {
    match Config::load(args.config.as_deref(), &args.overrides()) {
        Ok(config) => {
            logs.set_level(config.logger.level);
            info!("log level is {}; other keys take effect at the next start", config.logger.level.word());
        }
        Err(errors) => errors.0.iter().for_each(|error| warn!("the configuration is not reloaded: {error}")),
    }
}
