//! The restrictions of `packaging/causeway.service`: how far they go, and that the UPF works under them.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use causeway_adversary::{ATTACKS, Options, run};
use causeway_lab::LabError;
use causeway_lab::cleanup::Cleanup;
use causeway_lab::netns::{Namespace, Veth, VethEnd, connect};
use causeway_lab::process::Daemon;
use causeway_upf::chain::coordinate;
use causeway_upf::config::COORDINATOR_PORT;
use tempfile::TempDir;

/// Longer than a busy machine takes for any step.
const PATIENCE: Duration = Duration::from_secs(60);
const N3: Ipv4Addr = Ipv4Addr::new(10, 30, 0, 1);
/// The service address of a chain.
const SERVICE: Ipv4Addr = Ipv4Addr::new(10, 30, 0, 5);
const GNB: Ipv4Addr = Ipv4Addr::new(10, 30, 0, 9);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder that any user may read.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

// Input:  the unit alone, and with each drop-in.
// Output: `systemd-analyze security` rates it no worse than this.
#[test]
fn the_unit_gives_away_little() {
    let packaging = repository().join("packaging");
    for (drop_in, most) in
        [(None, 1.8), (Some("af_xdp.conf"), 2.3), (Some("tpacket.conf"), 2.1), (Some("chain.conf"), 2.1)]
    {
        let folder = folder();
        let unit = folder.path().join("causeway.service");
        fs::copy(packaging.join("causeway.service"), &unit).unwrap();
        if let Some(name) = drop_in {
            let drop_ins = folder.path().join("causeway.service.d");
            fs::create_dir(&drop_ins).unwrap();
            fs::copy(packaging.join("causeway.service.d").join(name), drop_ins.join(name)).unwrap();
        }
        let analysis = Command::new("systemd-analyze")
            .args(["security", "--no-pager", "--offline=true"])
            .arg(&unit)
            .output();
        let Ok(analysis) = analysis else {
            return eprintln!("SKIPPED the_unit_gives_away_little: needs systemd-analyze (there is none)");
        };
        let text = String::from_utf8_lossy(&analysis.stdout);
        let exposure =
            text.lines().find_map(|line| line.split_once("Overall exposure level")?.1.split(' ').nth(3));
        let exposure: f64 = exposure.unwrap_or_else(|| panic!("{analysis:?}")).parse().unwrap();
        assert!(exposure <= most, "{drop_in:?}: {exposure}\n{text}");
    }
}

/// A program that starts the UPF under the restrictions of the unit and a drop-in. [`None`] where they cannot be had, which is said.
fn restricted(test: &str, folder: &TempDir, drop_in: Option<&str>) -> Option<PathBuf> {
    let tool = repository().join("scripts/as-service");
    let probe = Command::new(&tool).arg("/bin/true").output();
    if !probe.as_ref().is_ok_and(|probe| probe.status.success()) {
        let said = probe.map(|probe| String::from_utf8_lossy(&probe.stderr).into_owned());
        let last = said.as_ref().map_or("", |said| said.lines().last().unwrap_or_default());
        eprintln!("SKIPPED {test}: needs root (and Python, systemd-analyze and libseccomp: {last})");
        return None;
    }
    let with = drop_in.map_or(String::new(), |name| format!("--with {name}"));
    let (tool, upf) = (tool.display(), env!("CARGO_BIN_EXE_causeway-adversary"));
    let program = folder.path().join("upf");
    fs::write(&program, format!("#!/bin/sh\nexec '{tool}' {with} '{upf}' \"$@\"\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    Some(program)
}

// Input:  each attack for a moment, against a UPF in its default modes that is restricted as the unit says.
// Output: it withstands all of them: sessions, framed routes, user traffic in both directions, the management server and
//         the end need nothing that the unit denies.
#[test]
fn the_upf_needs_nothing_that_the_unit_denies() {
    let folder = folder();
    let Some(program) = restricted("the_upf_needs_nothing_that_the_unit_denies", &folder, None) else {
        return;
    };
    let options =
        Options { program, out: folder.path().join("out"), length: Duration::from_millis(100), seed: 1 };
    let round = run(ATTACKS, &options, |line| eprintln!("{line}")).unwrap();
    let failures: Vec<_> = round.failures().collect();
    assert!(failures.is_empty(), "{failures:#?}");
    let log = fs::read_to_string(folder.path().join("out/upf.log")).unwrap();
    assert!(!log.contains("permi") && !log.contains("accept_local"), "{log}");
}

// Input:  the other modes, and the primary of a chain, each restricted as the unit and the drop-in of that name say; a GTP-U Echo Request.
// Output: each is ready, complains of nothing, answers, and ends with status 0.
#[test]
fn each_mode_needs_nothing_that_its_drop_in_denies() {
    let pool = "subnet: 10.45.0.0/16, gateway: 10.45.0.1";
    let udp = format!("gtpu: {{server: [{{address: {N3}}}]}}");
    let on = |mode: &str| format!("gtpu: {{mode: {mode}, server: [{{dev: n3}}]}}");
    for (drop_in, keys) in [
        (
            None,
            format!(
                "{udp}\n  session: [{{{pool}}}, {{subnet: '2001:db8:45::/48', gateway: '2001:db8:45::1', dnn: six, dev: six}}]\n  \
                 ethernet: [{{dnn: lan, dev: lan, bridge: bridge}}]\n  workers: {{pin: '0'}}"
            ),
        ),
        (Some("tpacket"), format!("{}\n  session: [{{{pool}}}]", on("tpacket"))),
        (
            Some("af_xdp"),
            format!("{}\n  session: [{{subnet: 10.45.0.0/16, mode: af_xdp, dev: n6}}]", on("af_xdp")),
        ),
        (
            Some("chain"),
            format!(
                "gtpu: {{server: [{{address: {SERVICE}}}]}}\n  session: [{{{pool}}}]\n  \
                 chain: {{member: 1, listen: 127.0.0.1, peer: 127.0.0.2, coordinator: 127.0.0.1, address: {SERVICE}, dev: n3, timeout: 20s}}"
            ),
        ),
    ] {
        let folder = folder();
        let test = "each_mode_needs_nothing_that_its_drop_in_denies";
        let Some(program) = restricted(test, &folder, drop_in) else { return };
        let cleanup = Cleanup::default();
        let _guard = cleanup.guard();
        let upf = Namespace::create("service", &cleanup).unwrap();
        let gnb = Namespace::create("far", &cleanup).unwrap();
        let cable = |device, near, far| {
            let a = VethEnd { namespace: &upf, device, address: near };
            connect(Veth {
                a,
                b: VethEnd { namespace: &gnb, device, address: far },
                prefix: 24,
                joined: true,
            })
        };
        cable("n3", N3, GNB).unwrap();
        cable("n6", Ipv4Addr::new(10, 60, 0, 1), Ipv4Addr::new(10, 60, 0, 9)).unwrap();
        upf.ip("link add bridge type bridge").unwrap();
        // Only the operator's to do; without it the UPF says so.
        for (key, value) in [
            ("net/ipv4/ip_forward", "1"),
            ("net/ipv6/conf/all/forwarding", "1"),
            ("net/ipv6/conf/all/disable_ipv6", "0"),
            ("net/ipv6/conf/default/disable_ipv6", "0"),
        ] {
            upf.sysctl(key, value).unwrap();
        }
        upf.sysctl("net/ipv4/conf/n3/forwarding", "0").unwrap();
        let config = folder.path().join("upf.yaml");
        let at = if drop_in == Some("chain") { SERVICE } else { N3 };
        let n4 = if at == SERVICE { SERVICE } else { Ipv4Addr::new(127, 0, 0, 7) };
        let pfcp = format!("pfcp: {{allow: 127.0.0.1, server: [{{address: {n4}}}]}}");
        fs::write(&config, format!("upf:\n  {pfcp}\n  {keys}\n")).unwrap();
        if at == SERVICE {
            let (there, file) = (upf.clone(), folder.path().join("coordinator"));
            let coordinator = SocketAddr::from((Ipv4Addr::LOCALHOST, COORDINATOR_PORT));
            // Until the end of the test.
            thread::spawn(move || {
                there.enter(|| {
                    let _ = coordinate(coordinator, &file, Duration::from_secs(20));
                    Ok(())
                })
            });
        }
        let log = folder.path().join("upf.log");
        let args = ["run".into(), "--config".into(), config.into()];
        let daemon = Daemon::start(&upf, &program, &args, &log, &cleanup).unwrap();
        let start = Instant::now();
        let text = || fs::read_to_string(&log).unwrap();
        while !text().contains("INFO ready") {
            let ended = daemon.exited().unwrap();
            assert!(ended.is_none() && start.elapsed() < PATIENCE, "{drop_in:?}: {ended:?}\n{}", text());
            thread::sleep(Duration::from_millis(10));
        }
        let socket = gnb.enter(|| UdpSocket::bind((GNB, 2152)).map_err(LabError::io("gNB"))).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let request = [0x32, 1, 0, 4, 0, 0, 0, 0, 0, 7, 0, 0];
        let mut answer = [0; 64];
        loop {
            socket.send_to(&request, SocketAddrV4::new(at, 2152)).unwrap();
            if socket.recv(&mut answer).is_ok() && (at != SERVICE || text().contains("announced on n3")) {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "{drop_in:?}: no answer\n{}", text());
        }
        assert_eq!((answer[1], &answer[8..10]), (2, &[0, 7][..]));
        let status = daemon.stop(PATIENCE).unwrap();
        assert!(
            status.success() && !text().contains("WARN") && !text().contains("ERROR"),
            "{drop_in:?}: {status}\n{}",
            text()
        );
    }
}
