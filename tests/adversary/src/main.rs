//! The command line of the attack suite. `tests/adversary/run` builds and starts it.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use causeway_adversary::{ATTACKS, Attack, Options, RunResult, run};
use causeway_upf::config::{Config, ConfigErrors, Level, Origin, Overrides};
use causeway_upf::logging::{self, LogControl};
use causeway_upf::service::{self, Owner};
use clap::{Parser, Subcommand};

/// Attacks a UPF in separate network namespaces, while a good SMF and a good UE use it.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// Time for which each attack sends, in seconds.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Repeat all attacks with new seeds for this time, in minutes.
    #[arg(long)]
    minutes: Option<u64>,
    /// Seed of the first round; the same seed sends the same octets.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only attacks whose name contains one of these.
    #[arg(long, num_args = 1..)]
    only: Vec<String>,
    /// List all attacks with their descriptions.
    #[arg(long)]
    list: bool,
    /// The UPF to attack, a program that takes `run --config FILE`; by default the one from the same build.
    #[arg(long)]
    program: Option<PathBuf>,
    /// A folder for configuration, log and result.
    #[arg(long, default_value = "target/adversary")]
    out: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Run as the attacked UPF.
    #[command(hide = true)]
    Run {
        #[arg(long)]
        config: PathBuf,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.command {
        Some(Command::Run { config }) => upf(config).map(|()| true),
        None if cli.list => {
            list();
            Ok(true)
        }
        None => attack(&cli),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn upf(file: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::load(Some(file), &Overrides::default())?;
    let logs = logging::init(&config.logger)?;
    service::run(&config, &mut Process { file, logs })?;
    Ok(())
}

/// The process of the UPF, as the owner of the daemon.
struct Process<'a> {
    file: &'a Path,
    logs: LogControl,
}

impl Owner for Process<'_> {
    fn load(&mut self) -> Result<Config, ConfigErrors> {
        Config::load(Some(self.file), &Overrides::default())
    }

    fn origin(&self, key: &str) -> Origin {
        Config::origin(Some(self.file), &Overrides::default(), key)
    }

    fn set_log_level(&mut self, level: Level) {
        self.logs.set_level(level);
    }
}

#[expect(clippy::print_stdout, reason = "the list is what was asked for")]
fn list() {
    for Attack { name, about, .. } in ATTACKS {
        println!("{name:36} {about}");
    }
}

#[expect(clippy::print_stdout, reason = "the result is what was asked for")]
fn attack(cli: &Cli) -> Result<bool, Box<dyn std::error::Error>> {
    let wanted = |attack: &&Attack| {
        cli.only.is_empty() || cli.only.iter().any(|part| attack.name.contains(part.as_str()))
    };
    let mut attacks: Vec<_> = ATTACKS.iter().filter(wanted).copied().collect();
    if attacks.is_empty() {
        return Err(format!("no attack has {:?} in its name; --list shows all", cli.only).into());
    }
    let program = cli.program.clone().map_or_else(std::env::current_exe, Ok)?;
    let (start, mut seed, mut sum) = (Instant::now(), cli.seed, RunResult::default());
    loop {
        let length = Duration::try_from_secs_f64(cli.seconds)?;
        let options = Options { program: program.clone(), out: cli.out.clone(), length, seed };
        let round = run(&attacks, &options, |line| eprintln!("{line}"))?;
        for failure in round.failures() {
            println!("FAILED {failure} (seed {seed})");
        }
        sum.add(round);
        std::fs::write(cli.out.join("adversary.json"), serde_json::to_vec_pretty(&sum.json())?)?;
        let minutes = cli.minutes.unwrap_or(0);
        if start.elapsed() >= Duration::from_secs(minutes * 60) {
            println!("{}", sum.table());
            return Ok(sum.failures().count() == 0);
        }
        seed += 1;
        // Each attack comes first once: on a new UPF, and with nothing before it.
        attacks.rotate_left(1);
    }
}
