//! Metrics as a monitoring system sees them: both text formats, a Prometheus that scrapes the daemon, and what the figures
//! say about sessions and requests.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::namespace::in_namespace;
use crate::common::smf::Smf;
use crate::common::{Gnb, Running, SERVER, UE, config, loopback, metric, packet, run, until};
use causeway_packet::gtpu::prefix;
use causeway_pfcp::{Cause, SessionDeletionRequest};
use causeway_types::{Qfi, Seid};
use causeway_upf::config::Metrics;
use causeway_upf::{Daemon, open};
use serde_json::Value;

/// Longer than Prometheus takes to start and to scrape twice on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where Prometheus listens by default.
const PROMETHEUS: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 9090);

/// The response to a GET request: head and body. `None`: nobody answers there.
fn get(at: SocketAddr, path: &str, accept: &str) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(at).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nAccept: {accept}\r\n\r\n").ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).ok()?;
    let (head, body) = response.split_once("\r\n\r\n")?;
    Some((head.to_ascii_lowercase(), body.to_owned()))
}

// Input:  a UPF that counts octets by QoS flow; a session with a flow of QFI 9, of which a packet arrives; the session is deleted.
// Output: one flow of the data network while the session lasts, and the octets of the packet under its QFI.
#[test]
fn qos_flows_and_their_octets_are_counted() {
    let upf = loopback();
    let mut counting = config(upf);
    counting.upf.metrics.qos_flows = true;
    let running = run(&counting, upf).unwrap();
    let (mut smf, gnb, qfi) = (Smf::new(loopback().into(), running.n4()), Gnb::new(), Qfi::new(9).unwrap());
    smf.associate();
    let session = smf.establish_flow(UE, qfi);
    let flows = "fivegs_upffunction_upf_qosflows{dnn=\"internet\"}";
    assert_eq!(running.metric(flows), 1.0);
    let user = packet(UE, SERVER, b"hello");
    let header = prefix::uplink(session.uplink.teid, qfi, user.len()).unwrap();
    gnb.send_raw(upf, &[&header[..], &user].concat());
    until("the packet is received", || running.metric("fivegs_ep_n3_gtp_indatapktn3upf") == 1.0);
    let octets = running.metric("fivegs_ep_n3_gtp_indatavolumeqosleveln3upf{qfi=\"9\"}");
    assert_eq!(octets, (header.len() + user.len()) as f64);
    smf.delete(session);
    until("the flow is gone", || running.metric(flows) == 0.0);
}

// Input:  a client that asks for OpenMetrics, as Prometheus does, and one that asks for anything.
// Output: OpenMetrics text, and Prometheus text, with the same samples of N4; each says its content type.
#[test]
fn the_accept_header_decides_the_format() {
    let upf = loopback();
    let running = run(&config(upf), upf).unwrap();
    let at = running.daemon.management_addresses()[0];
    let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    let (open_head, open) = get(at, "/metrics", prometheus).unwrap();
    let (plain_head, plain) = get(at, "/metrics", "*/*").unwrap();
    assert!(open_head.contains("content-type: application/openmetrics-text; version=1.0.0"), "{open_head}");
    assert!(plain_head.contains("content-type: text/plain; version=0.0.4"), "{plain_head}");
    assert!(open.ends_with("# EOF\n") && open.contains("# TYPE causeway_drop counter\n"));
    assert!(!plain.contains("# EOF") && plain.contains("# TYPE causeway_drop_total counter\n"));
    let of_n4 = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("pfcp_"));
        lines.map(str::to_owned).collect()
    };
    assert!(of_n4(&open).len() > 100 && of_n4(&open) == of_n4(&plain));
}

fn values<const N: usize>(running: &Running, series: [&str; N]) -> [f64; N] {
    series.map(|series| running.metric(series))
}

// Input:  an SMF establishes two sessions of the data network `internet`, is refused a third one for a loopback address, and
//         deletes one session, and one that does not exist.
// Output: the names of Open5GS, the sessions of the network, and the time of each request say so.
#[test]
fn figures_follow_the_requests_of_an_smf() {
    let upf = loopback();
    let running = run(&config(upf), upf).unwrap();
    let mut smf = Smf::new(loopback().into(), running.n4());
    smf.associate();
    let session = smf.establish();
    assert_eq!(smf.try_establish(Ipv4Addr::new(10, 45, 0, 3)), Cause::RequestAccepted);
    assert_eq!(smf.try_establish(Ipv4Addr::new(127, 0, 0, 1)), Cause::MandatoryIeIncorrect);
    let of_sessions = [
        "causeway_sessions{dnn=\"internet\"}",
        "causeway_sessions{dnn=\"other\"}",
        "pfcp_sessions",
        "fivegs_upffunction_upf_sessionnbr",
        "pfcp_peers_active",
    ];
    assert_eq!(values(&running, of_sessions), [2.0, 0.0, 2.0, 2.0, 1.0]);
    assert_eq!(values(&running, ["causeway_session_limit"]), [100_000.0]);
    let of_establishments =
        ["fivegs_upffunction_sm_n4sessionestabreq", "fivegs_upffunction_sm_n4sessionestabfail{cause=\"69\"}"];
    assert_eq!(values(&running, of_establishments), [3.0, 1.0]);
    smf.delete(session);
    smf.request(SessionDeletionRequest::default().into(), Some(Seid(99)));
    assert_eq!(values(&running, of_sessions), [1.0, 0.0, 1.0, 1.0, 1.0]);
    let measured = |message: &str| {
        let series =
            |part: &str| format!("pfcp_request_duration_seconds_{part}{{message_type=\"{message}\"}}");
        let (count, sum) = (running.metric(&series("count")), running.metric(&series("sum")));
        assert!((sum > 0.0) == (count > 0.0) && sum < PATIENCE.as_secs_f64(), "{message}: {sum} s");
        count
    };
    let counts = ["association_setup_request", "session_establishment_request", "session_deletion_request"];
    assert_eq!(counts.map(measured), [1.0, 3.0, 2.0]);
    assert_eq!(measured("session_modification_request"), 0.0);
}

// Input:  scrapes with one session, and with 400.
// Output: the same series: no label depends on sessions. Those of messages are left out, since an SMF on a busy machine may
//         repeat requests, which are a series of their own.
#[test]
fn sessions_add_no_series() {
    let upf = loopback();
    let running = run(&config(upf), upf).unwrap();
    let mut smf = Smf::new(loopback().into(), running.n4());
    smf.associate();
    let series = || -> Vec<String> {
        let (_, body) = running.fetch("/metrics");
        let lines = body.lines().filter(|line| !line.starts_with("pfcp_messages_total"));
        lines.filter_map(|line| line.rsplit_once(' ')).map(|(series, _)| series.to_owned()).collect()
    };
    assert_eq!(smf.establish_all(&[UE]), 1);
    let with_one = series();
    let ues: Vec<Ipv4Addr> = (0..400_u16).map(|n| Ipv4Addr::from(0x0a2d_0100 + u32::from(n))).collect();
    assert_eq!(smf.establish_all(&ues), 400);
    assert_eq!(running.metric("causeway_sessions{dnn=\"internet\"}"), 401.0);
    assert_eq!(series(), with_one);
}

// Input:  a daemon that serves packets and requests.
// Output: the processor time of its threads, and turns of the packet thread with and without packets.
#[test]
fn the_load_of_threads_is_measured() {
    let upf = loopback();
    let mut running = run(&config(upf), upf).unwrap();
    let (mut smf, gnb) = (Smf::new(loopback().into(), running.n4()), Gnb::new());
    smf.associate();
    let session = smf.establish();
    let up = packet(UE, SERVER, b"up");
    gnb.send(upf, session.uplink.teid, &up);
    crate::common::next(&mut running.server);
    assert!(running.metric("causeway_worker_turns_total{worker=\"0\",work=\"packets\"}") >= 1.0);
    assert!(running.metric("causeway_worker_turns_total{worker=\"0\",work=\"none\"}") >= 1.0);
    let worker = running.metric("causeway_worker_cpu_seconds_total{worker=\"0\"}");
    let control = running.metric("causeway_control_cpu_seconds_total");
    assert!(worker > 0.0 && control > 0.0, "{worker} {control}");
    running.metric("causeway_worker_cpu_wait_seconds_total{worker=\"0\"}");
}

/// A Prometheus that is killed in the end.
struct Prometheus {
    child: Child,
    folder: tempfile::TempDir,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn monitoring() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/monitoring")
}

impl Prometheus {
    /// Starts it with the configuration of packaging/monitoring, at shorter intervals. `None`: it is not installed.
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let config = fs::read_to_string(monitoring().join("prometheus.yml")).unwrap();
        let quick = config.replace("_interval: 15s", "_interval: 1s");
        assert_ne!(config, quick);
        fs::write(folder.path().join("prometheus.yml"), quick).unwrap();
        fs::copy(monitoring().join("alerts.yaml"), folder.path().join("alerts.yaml")).unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let child = Command::new("prometheus")
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        Some(Self { child: child.ok()?, folder })
    }

    /// The data of a response of its API; `None` while it does not answer, or reports an error.
    fn ask(&self, path: &str) -> Option<Value> {
        let (_, body) = get(PROMETHEUS.into(), path, "*/*")?;
        let mut response: Value = serde_json::from_str(&body).ok()?;
        (response["status"] == "success").then(|| response["data"].take())
    }

    fn query(&self, expression: &str) -> Option<Value> {
        let encoded: String = expression.bytes().map(|octet| format!("%{octet:02x}")).collect();
        Some(self.ask(&format!("/api/v1/query?query={encoded}"))?["result"].take())
    }

    /// Asks until the answer is `Some`.
    fn until<T>(&self, what: &str, ask: impl Fn() -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(answer) = ask() {
                return answer;
            }
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(start.elapsed() < PATIENCE, "{what}\n{}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The value of an expression that has one, once it has one.
    fn value(&self, expression: &str) -> f64 {
        self.until(expression, || self.query(expression)?[0]["value"][1].as_str()?.parse().ok())
    }
}

/// The expressions of all panels of the dashboard, as Grafana would send them.
fn dashboard_expressions() -> Vec<String> {
    let text = fs::read_to_string(monitoring().join("dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
    let filled = targets.map(|target| {
        let expression = target["expr"].as_str().unwrap();
        expression.replace("$instance", ".*").replace("$__rate_interval", "1m")
    });
    filled.collect()
}

// Input:  a daemon and a Prometheus with their default ports on one host; at first no SMF, then one with a session, then the
//         daemon ends.
// Output: both start. Prometheus scrapes the daemon and evaluates every rule without an error; the alert on missing SMFs waits
//         for its time, then is over; that on a missing UPF begins. Every expression of the dashboard is valid, and those of the
//         state have values.
#[test]
fn prometheus_scrapes_the_daemon_and_evaluates_the_rules() {
    const NAME: &str = "monitoring::prometheus_scrapes_the_daemon_and_evaluates_the_rules";
    in_namespace(NAME, || {
        let upf = loopback();
        let mut config = config(upf);
        config.upf.metrics = Metrics::default();
        let daemon = Daemon::start_with(&config, vec![open::gtpu_ports(&config).unwrap()]).unwrap();
        let Some(prometheus) = Prometheus::start() else {
            eprintln!("SKIPPED {NAME}: needs prometheus (not on PATH)");
            return;
        };
        assert_eq!(prometheus.value("up{job=\"causeway\"}"), 1.0);
        let state_of = |alert: &str| {
            let alerts = prometheus.ask("/api/v1/alerts")?;
            let mut alerts = alerts["alerts"].as_array()?.iter();
            let found = alerts.find(|known| known["labels"]["alertname"] == alert);
            Some(found.map(|known| known["state"].as_str().unwrap_or_default().to_owned()))
        };
        let waits = |alert| state_of(alert).filter(|state| state.as_deref() == Some("pending"));
        prometheus.until("no SMF: the alert waits", || waits("CausewayNoSmf"));

        let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
        smf.associate();
        prometheus.until("an SMF: the alert is over", || state_of("CausewayNoSmf").filter(Option::is_none));
        assert_eq!(metric(&daemon, "pfcp_associations"), 1.0);
        assert_eq!(prometheus.value("pfcp_peers_active"), 1.0);
        prometheus.value(
            "rate(pfcp_request_duration_seconds_count{message_type=\"association_setup_request\"}[1m])",
        );

        let rules = prometheus.until("all rules are evaluated", || {
            let rules = prometheus.ask("/api/v1/rules")?["groups"][0]["rules"].take();
            let known = rules.as_array()?.iter().all(|rule| rule["health"] != "unknown");
            known.then_some(rules)
        });
        for rule in rules.as_array().unwrap() {
            assert_eq!(rule["health"], "ok", "{rule}");
        }
        let expressions = dashboard_expressions();
        assert!(expressions.len() > 20);
        for expression in &expressions {
            assert!(prometheus.query(expression).is_some(), "{expression} is not valid");
        }
        assert!(expressions[..6].iter().all(|expression| prometheus.value(expression).is_finite()));

        daemon.stop_now();
        drop(daemon);
        prometheus.until("no UPF: the alert waits", || waits("CausewayDown"));
    });
}
