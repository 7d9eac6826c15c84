//! `causeway config`: checks and explains a configuration.

use std::process::ExitCode;

use causeway_upf::config::{Config, KEYS};

use crate::cli::{ConfigArgs, ConfigCommand};
use crate::exit::{self, print};

pub(super) fn run(command: ConfigCommand) -> ExitCode {
    match command {
        ConfigCommand::Check(args) => check(&args),
        ConfigCommand::Keys => keys(),
    }
}

fn check(args: &ConfigArgs) -> ExitCode {
    match Config::load(args.config.as_deref(), &args.overrides()) {
        Ok(config) => {
            print(config.to_yaml().trim_end());
            // Not on standard output, which contains only the configuration file.
            exit::end(exit::OK, "ok")
        }
        Err(errors) => exit::end(exit::FAILED, errors),
    }
}

fn keys() -> ExitCode {
    let width = KEYS.iter().map(|key| key.path.len()).max().unwrap_or(0);
    for key in KEYS {
        let when = if key.live { " (reload)" } else { "" };
        print(format_args!("{:width$}  {} [{}]{when}", key.path, key.summary, key.default));
    }
    ExitCode::from(exit::OK)
}
