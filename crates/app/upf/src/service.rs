//! The daemon as a service of the operating system: signals.

use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use thiserror::Error;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Interval, interval};
use tracing::{info, warn};

use crate::chain::{ANNOUNCEMENTS, APART, ChainHead, ChainMember, ServiceAddresses};
use crate::config::{Config, ConfigError, ConfigErrors, Level, Origin, Problem, Reloaded, Upf};
use crate::daemon::Daemon;
use crate::error::{ReloadError, RunError, StartError};
use crate::open::{ManagementControl, first_missing};
use crate::owner::{OwnerRequest, OwnerRequests, Totals};
use crate::sd_notify::SdNotifier;

/// A failure of the service.
#[derive(Debug, Error)]
pub enum ServiceError {
    /// The signal handlers cannot be installed.
    #[error("cannot listen to signals: {0}")]
    Signals(io::Error),
    /// The daemon could not start.
    #[error(transparent)]
    Start(StartError),
    /// The daemon ended with an error.
    #[error(transparent)]
    Run(RunError),
}

/// The owner of the daemon: it knows the file of the configuration, and owns the logs of the process.
pub trait Owner {
    /// Reads the configuration, as at the start.
    ///
    /// # Errors
    /// Its errors; the daemon keeps the configuration in force.
    fn load(&mut self) -> Result<Config, ConfigErrors>;

    /// The file and line of a key of that configuration.
    fn origin(&self, key: &str) -> Origin;

    /// Sets the level of the logs.
    fn set_log_level(&mut self, level: Level);

    /// The daemon has started: in a chain each time that this process becomes the primary.
    fn started(&mut self) {}
}

/// Waits until the interfaces and addresses of a configuration are there, starts the daemon and waits for its end.
///
/// SIGTERM and SIGINT stop it gracefully, a second one immediately; SIGHUP reloads the configuration, as the management API
/// does. SIGUSR1 and SIGUSR2, which would end the process by default, are ignored with a line in the log: some tools send
/// them to have a log file reopened, and this log is standard error.
///
/// A signal that comes while it waits for an interface ends it without a start.
///
/// A member of a chain runs the daemon while it is the primary. Otherwise it keeps the records. A signal ends the primary without a release of
/// its associations while there is a standby, which goes on.
///
/// # Errors
/// The failure that prevented the start, or that ended the daemon without a signal. A member that cannot be the primary ends, so that the other
/// one is.
pub fn run(config: &Config, owner: &mut impl Owner) -> Result<Totals, ServiceError> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(ServiceError::Signals)?;
    // Before the start, so that no signal is lost after the daemon has reported its start.
    let mut signals = {
        let _context = runtime.enter();
        Signals::listen().map_err(ServiceError::Signals)?
    };
    let notifier = SdNotifier::from_env();
    if runtime.block_on(wait_for_interfaces(&config.upf, &mut signals, &notifier)).is_break() {
        return Ok(Totals::default());
    }
    match ChainMember::of(config).map_err(ServiceError::Start)? {
        Some(member) => runtime.block_on(run_in_chain(config, member, (&mut signals, &notifier), owner)),
        None => {
            let daemon = start(config, None, owner)?;
            notifier.notify("READY=1");
            runtime.block_on(until_end(daemon, &mut signals, &notifier, owner)).map_err(ServiceError::Run)
        }
    }
}

fn start(config: &Config, head: Option<ChainHead>, owner: &mut impl Owner) -> Result<Daemon, ServiceError> {
    let daemon = Daemon::start_or_continue(config, head).map_err(ServiceError::Start)?;
    owner.started();
    Ok(daemon)
}

async fn run_in_chain(
    config: &Config,
    mut member: ChainMember,
    (signals, notifier): (&mut Signals, &SdNotifier),
    owner: &mut impl Owner,
) -> Result<Totals, ServiceError> {
    // A standby is a service that works.
    notifier.notify("READY=1");
    let mut kept = KeptConfig { start: config.upf.clone(), config: config.clone() };
    loop {
        notifier.notify("STATUS=not the primary of the chain");
        if until_primary(&mut member, &mut kept, (&mut *signals, notifier), owner).await.is_break() {
            return Ok(Totals::default());
        }
        let Some(head) = member.head() else { continue };
        notifier.notify("STATUS=primary of the chain");
        match be_primary(&mut kept, &mut member, head, (&mut *signals, notifier), owner).await? {
            Some(totals) => return Ok(totals),
            None => member.stopped(),
        }
    }
}

/// The configuration of a member of a chain, with which it starts the daemon when it is the primary.
struct KeptConfig {
    /// That of the start of the process.
    start: Upf,
    /// That of the last reload.
    config: Config,
}

/// Waits until this member is the primary. `Break`: a signal ended it.
async fn until_primary(
    member: &mut ChainMember,
    kept: &mut KeptConfig,
    (signals, notifier): (&mut Signals, &SdNotifier),
    owner: &mut impl Owner,
) -> ControlFlow<()> {
    let Signals { terminate, interrupt, hang_up, user: [user1, user2] } = signals;
    let mut alive = notifier.watchdog().map(|patience| interval(patience / 3));
    loop {
        tokio::select! {
            () = member.primary() => return ControlFlow::Continue(()),
            () = next(&mut alive) => notifier.alive(member.unresponsive()),
            _ = hang_up.recv() => {
                notifier.notify("RELOADING=1");
                // Its errors are in the log.
                let _ = reload_for_later(kept, owner);
                notifier.notify("READY=1");
            }
            _ = user1.recv() => ignored("SIGUSR1"),
            _ = user2.recv() => ignored("SIGUSR2"),
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    info!("stopping; this member is not the primary of the chain");
    notifier.notify("STOPPING=1");
    ControlFlow::Break(())
}

/// Runs the daemon of the primary. `None`: the member is not the primary any more.
async fn be_primary(
    kept: &mut KeptConfig,
    member: &mut ChainMember,
    head: ChainHead,
    (signals, notifier): (&mut Signals, &SdNotifier),
    owner: &mut impl Owner,
) -> Result<Option<Totals>, ServiceError> {
    let since = head.since;
    let mut daemon = start(&kept.config, Some(head), owner)?;
    let (restored, in_force) = (daemon.restored(), daemon.in_force());
    let chain = kept.config.upf.chain.clone();
    let addresses = async move {
        restored.await;
        // Only now packets arrive: each finds its session.
        let addresses = match ServiceAddresses::take(&chain) {
            Ok(addresses) => addresses,
            Err(source) => return StartError::Port { key: "upf.chain.address".into(), source },
        };
        info!("chain: the service addresses are here after {} ms", since.elapsed().as_millis());
        for _ in 0..ANNOUNCEMENTS {
            addresses.announce();
            tokio::time::sleep(APART).await;
        }
        std::future::pending().await
    };
    let view = member.view();
    let has_standby = || view.status().members.len() > 1;
    let end = tokio::select! {
        end = until_end_in_chain(daemon, signals, notifier, owner, has_standby) => {
            end.map(Some).map_err(ServiceError::Run)
        }
        // Dropping the daemon stops it, and the addresses go after it.
        () = member.replaced() => Ok(None),
        error = addresses => Err(ServiceError::Start(error)),
    };
    kept.config.upf = Upf::clone(&in_force.borrow());
    end
}

/// How often the host is asked for what is missing.
const LOOK: Duration = Duration::from_millis(100);

/// How much longer the service manager is asked to wait for the start at each look, in microseconds.
const EXTENSION: &str = "EXTEND_TIMEOUT_USEC=10000000";

/// Waits for interfaces and addresses of the configuration that are not there, at most for `upf.interface_timeout`. Then opening them
/// says what is wrong. `Break`: a signal ended it.
async fn wait_for_interfaces(upf: &Upf, signals: &mut Signals, notifier: &SdNotifier) -> ControlFlow<()> {
    let limit = upf.interface_timeout;
    let (begin, mut looks, mut told) = (Instant::now(), interval(LOOK), None);
    while let Some(missing) = first_missing(upf).filter(|_| begin.elapsed() < limit) {
        if told.as_ref() != Some(&missing) {
            let left = limit.saturating_sub(begin.elapsed());
            warn!("waiting for {missing}, at most {:.1} s more (upf.interface_timeout)", left.as_secs_f64());
            notifier.notify(&format!("STATUS=waiting for {missing}"));
            told = Some(missing);
        }
        notifier.notify(EXTENSION);
        tokio::select! {
            _ = looks.tick() => {}
            _ = signals.terminate.recv() => return ControlFlow::Break(()),
            _ = signals.interrupt.recv() => return ControlFlow::Break(()),
        }
    }
    if told.is_some() && first_missing(upf).is_none() {
        info!("all interfaces and addresses are there after {:.1} s", begin.elapsed().as_secs_f64());
        notifier.notify("STATUS=");
    }
    ControlFlow::Continue(())
}

/// The signals that the daemon handles.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    user: [Signal; 2],
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            user: [signal(SignalKind::user_defined1())?, signal(SignalKind::user_defined2())?],
        })
    }
}

async fn until_end(
    daemon: Daemon,
    signals: &mut Signals,
    notifier: &SdNotifier,
    owner: &mut impl Owner,
) -> Result<Totals, RunError> {
    until_end_in_chain(daemon, signals, notifier, owner, || false).await
}

/// `is_continued`: another member of the chain goes on with the sessions.
async fn until_end_in_chain(
    mut daemon: Daemon,
    signals: &mut Signals,
    notifier: &SdNotifier,
    owner: &mut impl Owner,
    is_continued: impl Fn() -> bool,
) -> Result<Totals, RunError> {
    let Signals { terminate, interrupt, hang_up, user: [user1, user2] } = signals;
    let mut requests = daemon.owner_requests();
    let mut stopping = false;
    let mut alive = notifier.watchdog().map(|patience| interval(patience / 3));
    loop {
        tokio::select! {
            end = daemon.ended() => return end,
            () = next(&mut alive) => {
                notifier.alive(daemon.longest_unresponsive());
                continue;
            }
            _ = hang_up.recv() => {
                notifier.notify("RELOADING=1");
                // Its errors are in the log.
                let _ = reload(&daemon, owner).await;
                notifier.notify("READY=1");
                continue;
            }
            request = next_request(&mut requests) => {
                match request {
                    // A client that has left needs no response.
                    OwnerRequest::Reload { reply } => drop(reply.send(reload(&daemon, owner).await)),
                    OwnerRequest::LogLevel { level, reply } => {
                        owner.set_log_level(level);
                        info!("log level is {}", level.word());
                        let _ = reply.send(());
                    }
                }
                continue;
            }
            _ = user1.recv() => {
                ignored("SIGUSR1");
                continue;
            }
            _ = user2.recv() => {
                ignored("SIGUSR2");
                continue;
            }
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        if is_continued() {
            info!("stopping; the standby of the chain goes on");
            daemon.stop_now();
        } else if stopping {
            warn!("second signal: stopping immediately");
            daemon.stop_now();
        } else {
            info!("stopping; a second signal stops immediately");
            daemon.stop();
        }
        stopping = true;
        notifier.notify("STOPPING=1");
    }
}

/// Reads the configuration and applies the keys that a running UPF follows, all or none.
async fn reload(daemon: &Daemon, owner: &mut impl Owner) -> Result<Reloaded, ConfigErrors> {
    let loaded = async {
        let config = owner.load()?;
        match daemon.reload(config.upf).await {
            Ok(reloaded) => Ok((config.logger.level, reloaded)),
            Err(ReloadError::Ended) => Ok((config.logger.level, Reloaded::default())),
            Err(ReloadError::Refused { key, why }) => Err(refused(owner, &key, why)),
        }
    };
    let loaded = loaded.await;
    finish_reload(loaded, owner, "")
}

/// As [`reload`] at a member of a chain that is not the primary: its daemon starts with the result.
fn reload_for_later(kept: &mut KeptConfig, owner: &mut impl Owner) -> Result<Reloaded, ConfigErrors> {
    let KeptConfig { start, config } = kept;
    let loaded = owner.load().and_then(|loaded| {
        let next = config.upf.with_live_keys(&loaded.upf, start);
        if let Err((key, why)) = ManagementControl::prepare(&next.management) {
            return Err(refused(owner, key, why.to_string()));
        }
        let reloaded = Reloaded::new(&config.upf, &next, &loaded.upf);
        config.upf = next;
        Ok((loaded.logger.level, reloaded))
    });
    finish_reload(loaded, owner, " when this member is the primary")
}

fn refused(owner: &impl Owner, key: &str, why: String) -> ConfigErrors {
    let (origin, problem) = (owner.origin(key), Problem::NotInForce(why));
    ConfigErrors(vec![ConfigError { origin, key: key.to_owned(), problem }])
}

/// Says what became of a reload. `when`: what has changed is in force then.
fn finish_reload(
    loaded: Result<(Level, Reloaded), ConfigErrors>,
    owner: &mut impl Owner,
    when: &str,
) -> Result<Reloaded, ConfigErrors> {
    let (level, reloaded) = loaded.inspect_err(|errors| {
        for error in &errors.0 {
            warn!("the configuration in force stays: {error}");
        }
    })?;
    owner.set_log_level(level);
    let applied = if reloaded.applied.is_empty() { "no key".into() } else { reloaded.applied.join(", ") };
    info!("configuration reloaded: log level is {}; changed{when}: {applied}", level.word());
    if !reloaded.at_restart.is_empty() {
        warn!("changed, in force after a restart: {}", reloaded.at_restart.join(", "));
    }
    Ok(reloaded)
}

/// The next request of an operator; without end, if there are none.
async fn next_request(requests: &mut Option<OwnerRequests>) -> OwnerRequest {
    match requests {
        Some(requests) => requests.next().await,
        None => std::future::pending().await,
    }
}

fn ignored(signal: &str) {
    info!(
        "{signal} is ignored: the log is standard error, without a file to reopen; SIGHUP reloads the configuration"
    );
}

/// Waits until the time; without end, if there is none.
async fn next(interval: &mut Option<Interval>) {
    match interval {
        Some(interval) => drop(interval.tick().await),
        None => std::future::pending().await,
    }
}
