//! Attacks on a running UPF: what an unassociated peer, a hostile SMF, a host on N3, a UE and a host of the data
//! network can send, while a good SMF and a good UE use the same UPF.
//!
//! A run creates and removes all network namespaces that it uses. The UPF is a separate process. Each attack has checks
//! of effects that must not occur; after each of them the good SMF's requests must be accepted and the good UE's
//! packets must pass in both directions. The loss and the latency of the good ones during the attack are the result,
//! not a condition: they depend on the host.
//!
//! ```no_run
//! use std::time::Duration;
//! use causeway_adversary::{ATTACKS, Options, run};
//!
//! let options = Options {
//!     program: "target/release/causeway".into(),
//!     out: "target/adversary".into(),
//!     length: Duration::from_secs(2),
//!     seed: 1,
//! };
//! let round = run(ATTACKS, &options, |line| eprintln!("{line}"))?;
//! assert_eq!(round.failures().count(), 0);
//! # Ok::<(), causeway_lab::LabError>(())
//! ```

#![forbid(unsafe_code)]

mod attacks;
mod environment;
mod host;
mod legitimate_traffic;
mod message;
mod packet;
mod result;

use std::path::PathBuf;
use std::time::Duration;

use causeway_lab::LabError;
use causeway_lab::cleanup::Cleanup;

pub use attacks::ATTACKS;
use environment::{Environment, Run};
pub use result::{Outcome, RunResult, Stalls};

/// One attack.
#[derive(Clone, Copy)]
pub struct Attack {
    /// Its name: the party it comes from, then what it tries.
    pub name: &'static str,
    /// What is sent, and what must not come of it.
    pub about: &'static str,
    /// Sends for the time that the context gives.
    run: fn(&mut Environment, &mut Context) -> Result<(), LabError>,
}

/// How a run is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// The UPF: a program that takes `run --config FILE`.
    pub program: PathBuf,
    /// Where its configuration and log go.
    pub out: PathBuf,
    /// How long each attack sends.
    pub length: Duration,
    /// The same seed sends the same octets.
    pub seed: u64,
}

/// What an attack is given, and what it has found.
struct Context {
    random: fastrand::Rng,
    until: std::time::Instant,
    sent: u64,
    failures: Vec<String>,
}

impl Context {
    /// There is time left to send more.
    fn has_time_left(&self) -> bool {
        std::time::Instant::now() < self.until
    }

    /// Notes what must be so, and is not.
    fn check(&mut self, what: &str, held: bool) {
        if !held && !self.failures.iter().any(|failure| failure == what) {
            self.failures.push(what.into());
        }
    }
}

/// Plays the attacks one after the other against one UPF, and against a new one after an attack that did harm. `tell`
/// hears a line for each.
///
/// # Errors
/// [`LabError`] when namespaces or the UPF cannot be started. What an attack achieves is no error but in the result.
pub fn run(attacks: &[Attack], options: &Options, tell: impl Fn(&str)) -> Result<RunResult, LabError> {
    let mut round = RunResult::default();
    let mut left = attacks.iter();
    while left.len() > 0 {
        // Namespaces and the UPF go with the guard.
        let cleanup = Cleanup::default();
        let _guard = cleanup.guard();
        let mut run = Run::start(options, &cleanup)?;
        let harmed = left.by_ref().try_for_each(|attack| {
            let outcome = run.play(attack, options).map_err(Some)?;
            tell(&outcome.line());
            let harmless = outcome.failures.is_empty();
            round.outcomes.push(outcome);
            if harmless { Ok(()) } else { Err(None) }
        });
        match harmed {
            Ok(()) => run.stop(&mut round)?,
            Err(Some(error)) => return Err(error),
            Err(None) => {}
        }
    }
    Ok(round)
}
