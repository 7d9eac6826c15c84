//! The namespaces, the attacked UPF, the legitimate parties, and the places of the attackers.
//!
//! ```text
//!   good UE ── gnb1 ──────┐ N3            N6
//!   hostile UE ── gnb2 ───┴───── upf ────────── dn, also used by attackers
//!                                 │ N4
//!        good SMF, hostile SMF, unassociated peer (one link, an address each)
//! ```

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use causeway_lab::LabError;
use causeway_lab::cleanup::Cleanup;
use causeway_lab::metrics::Metrics;
use causeway_lab::process::Daemon;
use causeway_lab::ran::{Bearer, GnbId, GnbSite, Ran, UeId, UeSite};
use causeway_lab::smf::{Downlink, Session, SessionPlan, Smf};
use causeway_lab::timeline::Timeline;
use causeway_lab::topology::{DN, GNBS, POOL, POOL_GATEWAY, SMF, Topology, UPF_N3, UPF_N4, UPF_N6};
use causeway_types::{Bitrate, DualIp, FTeid, NetworkInstance, Qfi, Seid, Teid};

use crate::host::{Host, RawHost};
use crate::legitimate_traffic::{Traffic, TrafficEnd};
use crate::message::{self, DNN};
use crate::result::{Outcome, RunResult, Stalls};
use crate::{Attack, Context, Options};

/// The SMF that attacks with an association of its own.
pub(crate) const HOSTILE_SMF: Ipv4Addr = Ipv4Addr::new(10, 40, 0, 3);
/// A host on N4 that has no association.
pub(crate) const PEER: Ipv4Addr = Ipv4Addr::new(10, 40, 0, 4);
/// The UE whose packets are counted.
pub(crate) const VICTIM: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
/// The UE that attacks.
pub(crate) const HOSTILE_UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 3);
/// The downlink tunnel of the hostile UE, at the second gNB.
pub(crate) const HOSTILE_TEID: u32 = 0x666;
/// Where the management server listens.
pub(crate) const MANAGEMENT: u16 = 9098;
/// The port of PFCP.
pub(crate) const PFCP: u16 = 8805;
/// The port of GTP-U.
pub(crate) const GTPU: u16 = 2152;

/// What the UPF may take to start or to end.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Above this an attack has made the log grow too much, in octets.
const LOG_BOUND: u64 = 1 << 20;
/// More octets than ever pass.
const UNREACHED_OCTETS: u64 = 1 << 40;
const UE_MTU: u32 = 1400;

/// What an attack meets.
pub(crate) struct Environment {
    pub(crate) topology: Topology,
    /// The second gNB's socket: a host on N3, and the hostile UE behind it.
    pub(crate) n3: Host,
    /// A host of the data network that writes its packets itself.
    pub(crate) dn: RawHost,
    /// The good UE's session.
    pub(crate) victim: Session,
    /// Its downlink tunnel, at the first gNB.
    pub(crate) victim_downlink: FTeid,
    /// The hostile UE's session.
    pub(crate) hostile: Session,
}

impl Environment {
    /// A PFCP socket of an attacker with this address on N4.
    pub(crate) fn n4(&self, from: Ipv4Addr) -> Result<Host, LabError> {
        let (from, to) = (SocketAddrV4::new(from, PFCP), SocketAddrV4::new(UPF_N4, PFCP));
        Host::open(&self.topology.smf, from, to)
    }

    /// The hostile SMF, with an association.
    pub(crate) fn hostile_smf(&self, random: &mut fastrand::Rng) -> Result<Host, LabError> {
        let mut smf = self.n4(HOSTILE_SMF)?;
        // It restarts with each attack.
        let setup = message::setup(causeway_pfcp::NodeId::Ip(HOSTILE_SMF.into()), random.u32(1 << 31..));
        match smf.cause(setup, None) {
            Some(cause) if cause.is_accepted() => Ok(smf),
            answer => Err(LabError::Peer(format!("the second SMF is not accepted: {answer:?}"))),
        }
    }

    /// Sends a user packet in the hostile UE's tunnel.
    pub(crate) fn send_as_ue(&self, packet: &[u8]) {
        self.n3.send(&crate::packet::g_pdu(self.hostile.uplink.teid, packet));
    }

    /// The metrics of the UPF, fetched on its own machine.
    pub(crate) fn metrics(&self) -> Result<Metrics, LabError> {
        Metrics::fetch(&self.topology.upf, SocketAddr::from((UPF_N4, MANAGEMENT)))
    }

    /// The device by which the UPF's kernel sends packets to an address.
    pub(crate) fn device_to(&self, address: Ipv4Addr) -> Result<String, LabError> {
        let address = address.to_string();
        let args = ["-n", self.topology.upf.name(), "route", "get", &address];
        let output = Command::new("ip").args(args).output().map_err(LabError::io("ip route get"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut words = text.split_whitespace().skip_while(|word| *word != "dev");
        Ok(words.nth(1).unwrap_or("none").into())
    }
}

/// A UPF with the good ones and a scene for attackers.
pub(crate) struct Run {
    scene: Environment,
    smf: Smf,
    traffic: Traffic,
    ran: Arc<Ran>,
    upf: Daemon,
    log: std::path::PathBuf,
}

impl Run {
    pub(crate) fn start(options: &Options, cleanup: &Cleanup) -> Result<Self, LabError> {
        std::fs::create_dir_all(&options.out).map_err(LabError::io(options.out.display().to_string()))?;
        let topology = Topology::build(cleanup)?;
        for address in [HOSTILE_SMF, PEER] {
            topology.smf.ip(format!("address add {address}/24 dev n4"))?;
        }
        // The data network knows the way to all of the UPF's addresses.
        for address in [UPF_N3, UPF_N4] {
            topology.dn.ip(format!("route add {address} via {UPF_N6}"))?;
        }
        let gnb = GnbSite { namespace: &topology.gnbs[0], address: GNBS[0] }.open()?;
        let ue =
            UeSite { namespace: &topology.ue, device: "ue1", address: Some(VICTIM), mtu: UE_MTU, table: 1 };
        let ran = Arc::new(Ran::start(vec![gnb], vec![ue.open()?], Timeline::default())?);
        let (from, to) = (SocketAddrV4::new(GNBS[1], GTPU), SocketAddrV4::new(UPF_N3, GTPU));
        let n3 = Host::open(&topology.gnbs[1], from, to)?;
        let dn = RawHost::open(&topology.dn)?;
        let address = SocketAddrV4::new(VICTIM, 7001);
        let at_ue = TrafficEnd { namespace: &topology.ue, device: Some("ue1"), address };
        let at_dn =
            TrafficEnd { namespace: &topology.dn, device: None, address: SocketAddrV4::new(DN, 7000) };
        let traffic = Traffic::open(&at_ue, &at_dn)?;
        let smf = Smf::open(&topology.smf, SMF, UPF_N4, Timeline::default())?;
        let (config, log) = (options.out.join("upf.yaml"), options.out.join("upf.log"));
        std::fs::write(&config, configuration()).map_err(LabError::io("upf.yaml"))?;
        let args = ["run".into(), "--config".into(), config.into()];
        let upf = Daemon::start(&topology.upf, &options.program, &args, &log, cleanup)?;
        wait_for(&smf, &upf)?;
        smf.associate()?;
        let victim = smf.establish(&plan(VICTIM)?)?;
        let bearer = Bearer { uplink: victim.uplink, qfi: qfi()? };
        let no_gnb = || LabError::Missing("gNB".into());
        let victim_downlink = ran.connect(UeId(0), GnbId(0), bearer).ok_or_else(no_gnb)?;
        smf.set_downlink(&victim, Downlink::Forward(victim_downlink))?;
        let hostile = smf.establish(&plan(HOSTILE_UE)?)?;
        let to_hostile = FTeid { teid: teid(HOSTILE_TEID)?, addr: DualIp::from(IpAddr::V4(GNBS[1])) };
        smf.set_downlink(&hostile, Downlink::Forward(to_hostile))?;
        let scene = Environment { topology, n3, dn, victim, victim_downlink, hostile };
        Ok(Self { scene, smf, traffic, ran, upf, log })
    }

    /// Plays one attack with the good ones beside, and looks at what is left.
    pub(crate) fn play(&mut self, attack: &Attack, options: &Options) -> Result<Outcome, LabError> {
        let seed =
            attack.name.bytes().fold(options.seed, |seed, octet| seed.rotate_left(7) ^ u64::from(octet));
        let mut context = Context {
            random: fastrand::Rng::with_seed(seed),
            until: Instant::now() + options.length,
            sent: 0,
            failures: Vec::new(),
        };
        let (log_before, pauses_before) = (self.log_octets(), self.pauses());
        let Self { scene, smf, traffic, .. } = self;
        let victim = scene.victim;
        let (seen, result) = traffic.during(smf, &victim, || (attack.run)(scene, &mut context));
        let alive = self.upf.exited()?.is_none();
        context.check(&format!("the UPF runs; its last lines: {}", self.upf.last_output_lines(3)), alive);
        if alive {
            if let Err(error) = result {
                context.check(&format!("the attack can be made: {error}"), false);
            }
            if let Err(what) = self.traffic.works(&self.smf, &victim) {
                context.check(&format!("the good ones are served: {what}"), false);
            }
        }
        if let Some(refusal) = seen.refusals.first() {
            context.check(&format!("no request of the good SMF is refused: {refusal}"), false);
        }
        let log = self.log_octets().saturating_sub(log_before);
        context.check(&format!("the log grows by less than {LOG_BOUND} octets, not {log}"), log < LOG_BOUND);
        let pauses_after = if alive { self.pauses() } else { Ok(Pauses::default()) };
        let stalls = pauses_before.and_then(|before| Ok(pauses_after?.since(&before)));
        if let Err(error) = &stalls {
            context.check(&format!("the metrics can be read: {error}"), false);
        }
        Ok(Outcome {
            name: attack.name,
            sent: context.sent,
            packets: seen.packets,
            lost: seen.lost,
            latencies: seen.latencies,
            unanswered: seen.unanswered,
            log,
            stalls: stalls.unwrap_or_default(),
            alive,
            failures: context.failures,
        })
    }

    /// Looks at the counters, then ends the UPF as an operator would.
    pub(crate) fn stop(self, round: &mut RunResult) -> Result<(), LabError> {
        let Self { scene, smf, traffic, ran, upf, .. } = self;
        let mut check = |what: String, held: bool| {
            if !held {
                round.at_end.push(what);
            }
        };
        let sessions =
            wait_until_stable(|| scene.metrics().map(|metrics| metrics.sum(SESSIONS, &[])), |&n| n == 2.0)?;
        check(format!("only the two sessions of the good SMF are there, not {sessions}"), sessions == 2.0);
        let balance =
            wait_until_stable(|| scene.metrics().map(|metrics| balance(&metrics)), |&left| left == 0.0)?;
        check(format!("every packet is in exactly one counter, but for {balance}"), balance == 0.0);
        for session in [scene.victim, scene.hostile] {
            let ended = smf.delete(&session);
            check(format!("the good SMF ends its session: {ended:?}"), ended.is_ok());
        }
        drop((traffic, smf, ran));
        let status = upf.stop(TIMEOUT)?;
        check(
            format!("the UPF ends with status 0, not {status}; {}", upf.last_output_lines(3)),
            status.success(),
        );
        Ok(())
    }

    fn pauses(&self) -> Result<Pauses, LabError> {
        self.scene.metrics().map(|metrics| Pauses::of(&metrics))
    }

    fn log_octets(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |file| file.len())
    }
}

/// Pauses of the control thread, and of all packet threads: how many, and the longest in seconds.
#[derive(Clone, Copy, Default)]
struct Pauses([(f64, f64); 2]);

impl Pauses {
    fn of(metrics: &Metrics) -> Self {
        Self(["control", "worker"].map(|threads| {
            let longest = format!("causeway_{threads}_pause_seconds_max");
            let longest = metrics.iter().filter(|(series, _)| series.starts_with(&longest));
            let count = metrics.sum(&format!("causeway_{threads}_pauses_total"), &[]);
            (count, longest.map(|(_, seconds)| seconds).fold(0.0, f64::max))
        }))
    }

    /// Those that were not there before.
    fn since(self, before: &Self) -> [Stalls; 2] {
        let [control, packets] = [0, 1].map(|at| {
            let ((count, longest), (count_before, longest_before)) = (self.0[at], before.0[at]);
            let is_new = longest > longest_before;
            Stalls {
                count: (count - count_before) as u64,
                longest: is_new.then(|| Duration::from_secs_f64(longest)),
            }
        });
        [control, packets]
    }
}

const SESSIONS: &str = "fivegs_upffunction_upf_sessionnbr";

/// Packets received that are in no counter of what became of them, or in two (negative).
fn balance(metrics: &Metrics) -> f64 {
    let sum = |name| metrics.sum(name, &[]);
    sum("causeway_received_packets_total")
        - sum("causeway_forwarded_packets_total")
        - sum("causeway_consumed_packets_total")
        - sum("causeway_drop_total")
        - sum("causeway_buffered_packets")
}

/// Reads a value until it is as it should be, for a while. Returns the last one.
fn wait_until_stable<T>(
    read: impl Fn() -> Result<T, LabError>,
    enough: impl Fn(&T) -> bool,
) -> Result<T, LabError> {
    let start = Instant::now();
    loop {
        let value = read()?;
        if enough(&value) || start.elapsed() > TIMEOUT {
            return Ok(value);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Sends heartbeats until one is answered.
fn wait_for(smf: &Smf, upf: &Daemon) -> Result<(), LabError> {
    let start = Instant::now();
    loop {
        match smf.probe(Duration::from_millis(50)) {
            Ok(()) => return Ok(()),
            Err(error) if start.elapsed() >= TIMEOUT => return Err(error),
            Err(_) => {}
        }
        if let Some(status) = upf.exited()? {
            return Err(LabError::Peer(format!("the UPF ended: {status}. {}", upf.last_output_lines(3))));
        }
    }
}

fn plan(ue: Ipv4Addr) -> Result<SessionPlan, LabError> {
    let mbr = Bitrate::from_kbps(10_000_000).ok_or(LabError::Missing("a legal MBR".into()))?;
    Ok(SessionPlan {
        ue: ue.into(),
        dnn: NetworkInstance::new(DNN),
        qfi: qfi()?,
        mbr,
        volume_threshold: UNREACHED_OCTETS,
    })
}

fn qfi() -> Result<Qfi, LabError> {
    Qfi::new(9).ok_or(LabError::Missing("a legal QFI".into()))
}

pub(crate) fn teid(value: u32) -> Result<Teid, LabError> {
    Teid::new(value).ok_or(LabError::Missing("a legal TEID".into()))
}

/// A SEID that is most likely unused.
pub(crate) fn any_seid(random: &mut fastrand::Rng) -> Seid {
    Seid(random.u64(1..))
}

/// The address of N3 is one of the loopback device, so the interfaces of N3 have to be named.
fn configuration() -> String {
    format!(
        "logger: {{level: info}}
upf:
  pfcp: {{server: [{{address: {UPF_N4}}}]}}
  gtpu: {{server: [{{address: {UPF_N3}}}], accept_from: 'n3-gnb1, n3-gnb2'}}
  session: [{{subnet: {POOL}, gateway: {POOL_GATEWAY}, dnn: {DNN}, dev: cw-{DNN}, mtu: {UE_MTU}}}]
  metrics: {{server: [{{address: {UPF_N4}, port: {MANAGEMENT}}}]}}
"
    )
}
