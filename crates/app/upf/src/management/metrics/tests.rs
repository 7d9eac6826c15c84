use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use causeway_dataplane::SessionClasses;
use causeway_packet::gtpu::prefix;
use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::{Port, QosFlowPort};
use causeway_types::Teid;

use super::catalogue::ALL;
use super::definition::{Kind, Metric};
use super::*;

/// A GTP-U port that has received 116 octets of QFI 9, and sent as many of QFI 5.
fn counting_port() -> PortCounters {
    let octets = Arc::<QosFlowOctets>::default();
    let (near, mut far) = causeway_ports::memory::pair("n3", "gnb").unwrap();
    let mut port = QosFlowPort::new(near, Arc::clone(&octets));
    let user = |qfi| {
        let header = prefix::uplink(Teid::new(7).unwrap(), Qfi::from_low_bits(qfi), 100).unwrap();
        [&header[..], &[0x45; 100]].concat()
    };
    far.push(Meta::Ip, &user(9));
    port.receive(&mut Batch::new()).unwrap();
    port.send(&[Frame { meta: Meta::Ip, data: &user(5) }]).unwrap();
    PortCounters { name: "n3".into(), counters: Arc::clone(port.counters()), qos_flows: Some(octets) }
}

/// A daemon with one of everything that has labels.
fn exposition() -> Exposition {
    let n6 = PortCounters { name: "n6-\"x\"".into(), counters: Arc::default(), qos_flows: None };
    let ports = vec![n6, counting_port()];
    let mut snapshot =
        Snapshot { stages: vec![NamedCounter { name: "flow_table", value: 3 }], ..Snapshot::default() };
    snapshot.switch_events = vec![NamedCounter { name: "lost_frames", value: 2 }];
    snapshot.counters.gtpu_received.count(100);
    snapshot.counters.count_drop(DropReason::UnknownTeid);
    let sessions = vec![("other".into(), 4), ("game".into(), 2)];
    snapshot.classes = SessionClasses { sessions, changes: 9, unsaid: 1 };
    let other = Snapshot {
        handed: 7,
        classes: snapshot.classes.clone(),
        switch_events: snapshot.switch_events.clone(),
        ..Snapshot::default()
    };
    let workers = vec![snapshot, other];
    let latency =
        HistogramStatus { sum: 0.75, count: 3, buckets: vec![(0.25, 2), (0.5, 0), (f64::INFINITY, 1)] };
    let n4 = N4Status {
        networks: vec![NetworkStatus { dnn: "internet".into(), sessions: 5, qos_flows: 8 }],
        pools: vec![PoolStatus { dnn: "internet".into(), ip_version: 4, addresses: 65_534, used: 2 }],
        establishment: EstablishmentStatus { requests: 9, failures: vec![(75, 4)] },
        messages: vec![MessageCount {
            message_type: "heartbeat_request".into(),
            direction: "received",
            result: "ok".into(),
            count: 6,
        }],
        latencies: vec![("session_deletion_request".into(), latency)],
        refused_datagrams: [("N4", 0), ("N3", 4)],
        ..N4Status::default()
    };
    let pauses = (0..3).map(|_| Arc::default()).collect();
    Exposition::new(Time::from_secs(5), workers, ports, n4).with_pauses(pauses)
}

fn text(format: Format) -> String {
    exposition().text(format).unwrap()
}

// Input:  one GTP-U packet of 100 octets that was dropped, and sessions, requests and pools.
// Output: both formats have the same samples, among them the names of TS 28.552, and every other drop reason with value 0.
#[test]
fn every_figure_is_there_from_the_start() {
    for format in [Format::Prometheus, Format::OpenMetrics] {
        let text = text(format);
        for line in [
            "causeway_build_info{version=\"0.1.0\"} 1",
            "fivegs_ep_n3_gtp_indatapktn3upf 1",
            "fivegs_ep_n3_gtp_indataoctn3upf 100",
            "fivegs_ep_n3_gtp_outdatapktn3upf 0",
            "fivegs_upffunction_upf_sessionnbr 0",
            "fivegs_upffunction_upf_qosflows{dnn=\"internet\"} 8",
            "fivegs_ep_n3_gtp_indatavolumeqosleveln3upf{qfi=\"9\"} 116",
            "fivegs_ep_n3_gtp_outdatavolumeqosleveln3upf{qfi=\"5\"} 116",
            "fivegs_upffunction_sm_n4sessionestabreq 9",
            "fivegs_upffunction_sm_n4sessionestabfail{cause=\"75\"} 4",
            "pfcp_peers_active 0",
            "causeway_drop_total{reason=\"unknown_teid\"} 1",
            "process_start_time_seconds 5.0",
            "pfcp_associations 0",
            "causeway_buffered_packets 0",
            "causeway_stage_packets_total{stage=\"flow_table\"} 3",
            "causeway_stage_packets_total{stage=\"slow_path\"} 0",
            "causeway_application_class_sessions{class=\"game\"} 4",
            "causeway_application_class_sessions{class=\"other\"} 8",
            "causeway_application_class_changes_total 18",
            "causeway_application_class_changes_unsaid_total 2",
            "causeway_switch_events_total{event=\"lost_frames\"} 4",
            "causeway_refused_datagrams_total{interface=\"n4\"} 0",
            "causeway_refused_datagrams_total{interface=\"n3\"} 4",
            "causeway_worker_packets_total{worker=\"0\"} 1",
            "causeway_worker_handed_packets_total{worker=\"1\"} 7",
            "causeway_worker_sessions{worker=\"1\"} 0",
            "causeway_worker_turns_total{worker=\"1\",work=\"none\"} 0",
            "causeway_worker_cpu_seconds_total{worker=\"1\"} 0.0",
            "causeway_port_packets_total{port=\"n6-\\\"x\\\"\",event=\"tx_no_route\"} 0",
            "causeway_memory_needed_bytes 0",
            "causeway_memory_refusals_total 0",
            "causeway_port_calls_total{port=\"n6-\\\"x\\\"\",event=\"rx_calls\"} 0",
            "causeway_sessions{dnn=\"internet\"} 5",
            "causeway_ue_pool_addresses_used{dnn=\"internet\",ip=\"4\"} 2",
            "pfcp_request_duration_seconds_bucket{le=\"0.25\",message_type=\"session_deletion_request\"} 2",
            "pfcp_request_duration_seconds_bucket{le=\"0.5\",message_type=\"session_deletion_request\"} 2",
            "pfcp_request_duration_seconds_bucket{le=\"+Inf\",message_type=\"session_deletion_request\"} 3",
            "pfcp_request_duration_seconds_count{message_type=\"session_deletion_request\"} 3",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
        for reason in DropReason::ALL {
            assert!(text.contains(&format!("causeway_drop_total{{reason=\"{}\"}}", reason.label())));
        }
        assert_eq!(text.ends_with("# EOF\n"), format == Format::OpenMetrics);
    }
}

/// The type of each family, and the labels of its samples, as Prometheus text has them.
fn exported() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let text = text(Format::Prometheus);
    let mut families = BTreeMap::new();
    let mut last = String::new();
    for line in text.lines() {
        if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|it| it.split_once(' ')) {
            last = name.to_owned();
            let before = families.insert(last.clone(), (kind.to_owned(), BTreeSet::new()));
            assert_eq!(before, None, "{name} is described twice");
        } else if !line.starts_with('#') {
            let (_, labels) = families.get_mut(&last).unwrap();
            let inside = line.split_once('{').map_or("", |(_, rest)| rest.rsplit_once('}').unwrap().0);
            let names = inside.split("\",").filter_map(|label| label.split_once('=')).map(|(name, _)| name);
            labels.extend(names.filter(|name| *name != "le").map(str::to_owned));
        }
    }
    families
}

// Input:  the whole exposition, and the list of all metrics.
// Output: each metric of the list is exported with its type and labels, described once, before its samples; no other is.
#[test]
fn the_list_is_what_is_exported() {
    let listed = ALL.iter().map(|metric| {
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Named => "untyped",
            Kind::Gauge | Kind::Info => "gauge",
            Kind::Histogram => "histogram",
        };
        let labels = metric.labels.iter().map(|label| (*label).to_owned()).collect();
        (metric.sample_name(), (kind.to_owned(), labels))
    });
    assert_eq!(exported(), listed.collect());
}

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

fn row(metric: &Metric) -> String {
    let kind = match metric.kind {
        Kind::Counter | Kind::Named => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
        Kind::Info => "info",
    };
    let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
    let Metric { unit, help, .. } = metric;
    format!("| `{}` | {kind} | {unit} | {} | {help} |\n", metric.sample_name(), labels.join(", "))
}

// Input:  docs/monitoring.md.
// Output: its table is that of the list. With CAUSEWAY_RECORD=1 it is written anew.
#[test]
fn the_documentation_lists_every_metric() {
    const MARKS: [&str; 2] =
        ["<!-- metrics: written by CAUSEWAY_RECORD=1 cargo test -p causeway-upf -->\n", "<!-- end -->\n"];
    let path = repository().join("docs/monitoring.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(MARKS[0]).expect("the mark before the table");
    let (table, after) = rest.split_once(MARKS[1]).expect("the mark after the table");
    let rows: String = ALL.iter().map(|metric| row(metric)).collect();
    let expected = format!("\n| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n{rows}\n");
    if std::env::var_os("CAUSEWAY_RECORD").is_some() {
        fs::write(&path, [before, MARKS[0], &expected, MARKS[1], after].concat()).unwrap();
    } else {
        assert_eq!(table, expected, "CAUSEWAY_RECORD=1 writes it anew");
    }
}

/// The names of series in a PromQL expression, or in a text with such expressions.
fn series(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != ':');
    words.filter(|word| {
        ["causeway_", "pfcp_", "fivegs_", "process_"].iter().any(|prefix| word.starts_with(prefix))
    })
}

// Input:  the dashboard, the alert rules and their tests.
// Output: every series that they name is one that the daemon exports.
#[test]
fn dashboard_and_rules_use_what_is_exported() {
    let known: BTreeSet<String> = ALL
        .iter()
        .flat_map(|metric| {
            let name = metric.sample_name();
            match metric.kind {
                Kind::Histogram => ["_bucket", "_sum", "_count"].map(|part| format!("{name}{part}")).to_vec(),
                _ => vec![name],
            }
        })
        .collect();
    for file in ["dashboard.json", "alerts.yaml", "alerts_test.yaml"] {
        let text = fs::read_to_string(repository().join("packaging/monitoring").join(file)).unwrap();
        let used: BTreeSet<&str> = series(&text).collect();
        assert!(!used.is_empty(), "{file} names no series");
        let unknown: Vec<_> = used.iter().filter(|name| !known.contains(**name)).collect();
        assert!(unknown.is_empty(), "{file} names {unknown:?}");
    }
}

// Input:  the alert rules and docs/monitoring.md.
// Output: each alert has a severity, a summary, a description and a runbook, a test, and a row in the documentation.
#[test]
fn every_alert_says_what_to_do() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).unwrap();
    let rules: serde_json::Value =
        serde_yaml_ng::from_str(&read("packaging/monitoring/alerts.yaml")).unwrap();
    let (tests, page) = (read("packaging/monitoring/alerts_test.yaml"), read("docs/monitoring.md"));
    let groups = rules["groups"].as_array().unwrap();
    let alerts: Vec<_> = groups.iter().flat_map(|group| group["rules"].as_array().unwrap()).collect();
    assert!(alerts.len() > 10);
    for alert in alerts {
        let name = alert["alert"].as_str().unwrap();
        assert!(
            ["critical", "warning", "info"].contains(&alert["labels"]["severity"].as_str().unwrap()),
            "{name}"
        );
        for annotation in ["summary", "description", "runbook"] {
            assert!(
                alert["annotations"][annotation].as_str().is_some_and(|it| it.len() > 20),
                "{name} {annotation}"
            );
        }
        assert!(tests.contains(&format!("alertname: {name}\n")), "{name} has no test");
        assert!(page.contains(&format!("| `{name}` |")), "{name} is not in docs/monitoring.md");
    }
}

/// Runs promtool; `None`, with a line that says so: it is not installed.
fn promtool(test: &str, arguments: &[&str], input: &str) -> Option<(bool, String)> {
    use std::io::Write;
    let folder = repository().join("packaging/monitoring");
    let child = Command::new("promtool")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("SKIPPED upf::{test}: needs promtool (not on PATH)");
        return None;
    };
    // A tool that reads nothing closes its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    Some((output.status.success(), said.into_owned()))
}

// Input:  the whole exposition in Prometheus text.
// Output: `promtool check metrics` accepts it, and has nothing to remark.
#[test]
fn promtool_accepts_the_exposition() {
    let checked =
        promtool("promtool_accepts_the_exposition", &["check", "metrics"], &text(Format::Prometheus));
    if let Some((is_ok, said)) = checked {
        assert!(is_ok && said.is_empty(), "{said}");
    }
}

// Input:  the alert rules, and series over time for which each must fire, and must not.
// Output: promtool finds the rules well-formed, and each test as expected.
#[test]
fn promtool_tests_the_alerts() {
    for arguments in [["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"]] {
        if let Some((is_ok, said)) = promtool("promtool_tests_the_alerts", &arguments, "") {
            assert!(is_ok, "{said}");
        }
    }
}
