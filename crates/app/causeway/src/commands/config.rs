//! `causeway config`: checks and explains a configuration.

use std::process::ExitCode;

use causeway_upf::config::{self, Config, KEYS};
use causeway_upf::management::views::ConfigView;
use clap::Args;

use crate::cli::{ConfigArgs, ConfigCommand, KeysForm};
use crate::exit::{self, print};
use crate::management::{ManagementArgs, ask};
use crate::output::printable;

/// The options of `causeway config show`.
#[derive(Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(command: ConfigCommand) -> ExitCode {
    match command {
        ConfigCommand::Check(args) => check(&args),
        ConfigCommand::Keys(args) => keys(args.output),
        ConfigCommand::Schema => json(&config::schema()),
        ConfigCommand::Show(args) => show(&args),
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

fn keys(form: KeysForm) -> ExitCode {
    match form {
        KeysForm::Text => lines(),
        KeysForm::Json => json(KEYS),
        KeysForm::Markdown => {
            print(config::reference().trim_end());
            ExitCode::from(exit::OK)
        }
    }
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> ExitCode {
    match serde_json::to_string_pretty(value) {
        Ok(text) => {
            print(text);
            ExitCode::from(exit::OK)
        }
        Err(error) => exit::end(exit::FAILED, error),
    }
}

fn lines() -> ExitCode {
    let width = KEYS.iter().map(|key| key.path.len()).max().unwrap_or(0);
    for key in KEYS {
        let when = if key.live { " (reload)" } else { "" };
        print(format_args!("{:width$}  {} [{}]{when}", key.path, key.summary, key.default));
    }
    ExitCode::from(exit::OK)
}

fn show(args: &ShowArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let config: ConfigView = client.get("/api/v1/config", &[])?;
        if output.is_json() {
            return Ok(output.json(&config)?);
        }
        let text = serde_yaml_ng::to_string(&config).map_err(std::io::Error::other)?;
        Ok(text.lines().try_for_each(|line| output.line(printable(line)))?)
    })
}
