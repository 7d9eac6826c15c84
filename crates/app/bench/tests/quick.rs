//! Every benchmark runs and measures something. How fast it is does not matter here.

use causeway_bench::{Arguments, BenchError, run};
use clap::{Args, Command, FromArgMatches};
use serde_json::Value;

fn arguments(line: &[&str]) -> Arguments {
    let command = Arguments::augment_args(Command::new("bench").no_binary_name(true));
    let matches = command.try_get_matches_from(line).unwrap();
    Arguments::from_arg_matches(&matches).unwrap()
}

/// The text and the JSON of a benchmark.
fn try_output(line: &[&str]) -> Result<(String, Value), BenchError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reports").join("report.json");
    let mut arguments = arguments(line);
    arguments.common.json = Some(path.clone());
    let mut text = Vec::new();
    run(&arguments, &mut text)?;
    let json = std::fs::read(path).unwrap();
    Ok((String::from_utf8(text).unwrap(), serde_json::from_slice(&json).unwrap()))
}

fn output(line: &[&str]) -> (String, Value) {
    try_output(line).unwrap()
}

/// The same of a benchmark that not every process may run: where it may not, that is said by name.
fn output_if_possible(test: &str, line: &[&str]) -> Option<(String, Value)> {
    match try_output(line) {
        Err(BenchError::Needs(what)) => {
            eprintln!("SKIPPED bench::{test}: needs root ({what})");
            None
        }
        output => Some(output.unwrap()),
    }
}

/// A column of a report.
fn column<'a>(report: &'a Value, name: &str) -> Vec<&'a Value> {
    let columns = report["columns"].as_array().unwrap();
    let index = columns.iter().position(|column| column["name"] == name).unwrap();
    report["rows"].as_array().unwrap().iter().map(|row| &row[index]).collect()
}

// Input:  `bench` without a name.
// Output: the benchmarks with their descriptions.
#[test]
fn benchmarks_are_listed() {
    let mut text = Vec::new();
    run(&arguments(&[]), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("pipeline           Packets through a data plane in memory"), "{text}");
    assert!(text.lines().all(|line| line.len() > 20), "{text}");
}

// Input:  every benchmark, as short as possible.
// Output: each has a table with rows, the host and the build, and the same in the JSON with as many cells as columns.
#[test]
fn all_benchmarks_run() {
    let (text, json) = output(&["all", "--quick"]);
    let reports = json.as_array().unwrap();
    assert!(!reports.is_empty());
    for report in reports {
        let columns = report["columns"].as_array().unwrap().len();
        let rows = report["rows"].as_array().unwrap();
        assert!(!rows.is_empty() || text.contains("SKIPPED"), "{report}");
        assert!(rows.iter().all(|row| row.as_array().unwrap().len() == columns), "{report}");
        assert!(text.contains(report["title"].as_str().unwrap()));
        for condition in ["processor", "kernel", "revision", "build", "date", "io"] {
            assert!(report["conditions"][condition].is_string(), "{condition}: {report}");
        }
    }
}

// Input:  X-PLANE over memory of this process, and the fast path, with packets of both directions.
// Output: none is lost; flows in external memory decide more than half of X-PLANE's packets, also of the first ones, and the fast path all of its.
#[test]
fn x_plane_has_rows_beside_the_fast_path() {
    let (_, json) = output(&["pipeline", "--quick", "--backend", "fastpath,xplane"]);
    let report = &json[0];
    assert_eq!(column(report, "backend"), ["fastpath", "fastpath", "xplane", "xplane"]);
    assert!(column(report, "loss").iter().all(|loss| **loss == 0), "{report}");
    let slow: Vec<f64> = column(report, "slow path").iter().map(|slow| slow.as_f64().unwrap()).collect();
    assert!(slow[..2] == [0.0, 0.0] && slow[2..].iter().all(|slow| *slow < 50.0), "{report}");
}

// Input:  both software data planes without a model of application classes, with one for which no session asks, and with one for which all do.
// Output: none lost a packet, and flow entries handle all of the fast path's, but for the first of a session that asks after a window without
//         any; each but the first has what it costs more. A file that is no model is an error that names the option.
#[test]
fn classes_cost_something_beside_off() {
    let (_, json) = output(&["pipeline", "--quick", "--direction=both", "--classes=off,unasked,asked"]);
    let report = &json[0];
    let classes = ["off", "unasked", "asked"];
    assert_eq!(column(report, "classes"), [classes, classes].concat());
    assert!(column(report, "loss").iter().all(|loss| **loss == 0), "{report}");
    let slow: Vec<f64> = column(report, "slow path")[..3].iter().map(|slow| slow.as_f64().unwrap()).collect();
    assert!(slow[..2] == [0.0, 0.0] && slow[2] < 5.0, "{report}");
    let more = column(report, "more");
    let is_first = |place: usize| place.is_multiple_of(3);
    assert!(more.iter().enumerate().all(|(place, more)| more.is_null() == is_first(place)), "{report}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.json");
    std::fs::write(&file, "{}").unwrap();
    let line = ["pipeline", "--quick", "--classes=asked", "--class-model", file.to_str().unwrap()];
    let error = try_output(&line).unwrap_err().to_string();
    assert!(error.starts_with("--class-model: "), "{error}");
}

// Input:  simple sessions to N4 with two data planes, and to a data plane that answers them itself.
// Output: each answers all four kinds of requests, in a time above zero; the ratio to N4 is one for N4 itself.
#[test]
fn simple_requests_are_answered_by_n4_and_by_the_data_plane() {
    let (_, report) = output(&["pfcp", "--simple", "--quick"]);
    let report = report.as_array().map_or(&report, |reports| &reports[0]);
    let (by, ratios) = (column(report, "answered by"), column(report, "times N4"));
    assert_eq!(by.len(), 12, "{report}");
    for who in ["N4, accepting", "N4, fastpath", "data plane"] {
        assert_eq!(by.iter().filter(|name| **name == who).count(), 4, "{report}");
    }
    assert!(column(report, "median").iter().all(|nanos| nanos.as_f64().unwrap() > 0.0), "{report}");
    assert!(by.iter().zip(ratios).all(|(by, ratio)| *by != "N4, accepting" || ratio.as_f64() == Some(1.0)));
}

// Input:  idle sessions on the fast path, alone and behind a switch, with all state in memory and with cold storage.
// Output: with cold storage most are there; first packets have a time in each row.
#[test]
fn idle_sessions_are_in_memory_or_in_a_file() {
    for plane in ["fastpath", "hybrid"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().display().to_string();
        let uncached = if plane == "fastpath" { "--uncached=true" } else { "--uncached=false" };
        let (_, json) = output(&["idle", "--quick", "--plane", plane, "--folder", &folder, uncached]);
        let (report, is_cold) = (&json[0], |count: &Value| count.as_u64().is_some_and(|count| count > 1500));
        assert_eq!(column(report, "state"), ["memory", "cold"]);
        let [in_memory, cold] = column(report, "in storage")[..] else { panic!("{report}") };
        assert!(in_memory.is_null() && is_cold(cold), "{report}");
        assert!(column(report, "first p50").iter().all(|micros| micros.as_f64().unwrap() > 0.0), "{report}");
    }
}

// Input:  both data planes with three PDRs of each direction, all rules, packets of all kinds, and rule changes.
// Output: each combination has a row with a time above zero, none lost a packet, and changes have a separate time.
#[test]
fn packets_get_through_every_shape() {
    let (_, json) = output(&[
        "pipeline",
        "--quick",
        "--pdrs=3",
        "--rules=full",
        "--direction=uplink,both",
        "--size=imix,1400",
        "--changes=0,100k",
    ]);
    let report = &json[0];
    assert_eq!(column(report, "backend").len(), 2 * 2 * 2 * 2);
    assert!(column(report, "median").iter().all(|nanos| nanos.as_f64().unwrap() > 0.0), "{report}");
    assert!(column(report, "loss").iter().all(|lost| lost.as_u64() == Some(0)), "{report}");
    let changed = column(report, "change").into_iter().filter(|nanos| nanos.is_number()).count();
    assert_eq!(
        changed,
        column(report, "changes").into_iter().filter(|rate| rate.as_u64() == Some(100_000)).count()
    );
}

// Input:  valid packets and floods of every kind, as short as possible.
// Output: flow entries forward all but a few of the valid ones; packets without a session and malformed ones are not forwarded; each
//         kind has a ratio to the valid ones of its direction.
#[test]
fn floods_are_measured_beside_good_packets() {
    let (_, json) = output(&["floods", "--quick"]);
    let report = &json[0];
    let kinds: Vec<_> = column(report, "packets").into_iter().filter_map(Value::as_str).collect();
    let forwarded: Vec<_> = column(report, "forwarded").into_iter().filter_map(Value::as_f64).collect();
    assert_eq!(kinds.len(), 39);
    for (kind, forwarded) in kinds.iter().zip(forwarded) {
        let passes = match *kind {
            "good" | "ECT(1) in the outer header" | "IPv4 options" | "neither TCP nor UDP" => 100.0,
            "ESP" | "IPv6, the UE's" => 100.0,
            // Optional extension headers pass; a fragment may wait for the others.
            "unknown extension header" | "fragment of 8 octets" | "later fragment, no ports" => continue,
            _ => 0.0,
        };
        assert_eq!(forwarded, passes, "{kind}: {report}");
    }
    assert!(column(report, "of good ones").iter().all(|ratio| ratio.as_f64().unwrap() > 0.0), "{report}");
}

// Input:  PFCP datagrams of every kind, as short as possible.
// Output: a row for each with a time above zero; no datagram of an unassociated peer has more than one response, and responses and unknown
//         messages have none; stored associations and requests stay within the limits of N4.
#[test]
fn unassociated_peers_are_measured_beside_the_smf() {
    let (text, json) = output(&["unassociated-peers", "--quick"]);
    assert!(column(&json[0], "median").iter().all(|nanos| nanos.as_f64().unwrap() > 0.0), "{text}");
    let answers = column(&json[0], "answers");
    for (kind, answers) in column(&json[0], "datagrams").iter().zip(answers) {
        let silent =
            ["response without a request", "message of unknown type"].contains(&kind.as_str().unwrap());
        let answered = if silent { answers.as_f64() == Some(0.0) } else { answers.as_f64() <= Some(1.0) };
        assert!(answered, "{kind}: {text}");
    }
    assert!(text.contains("there are 64 associations"), "{text}");
}

// Input:  one worker, and two in parallel, with a thousand sessions each.
// Output: a row for each for which the host has cores, without loss; two have a time each, and the other row is listed as skipped.
#[test]
fn workers_are_measured_at_once() {
    let (_, json) = output(&["workers", "--quick"]);
    let rows = column(&json[0], "workers").len();
    assert_eq!(rows == 2, std::thread::available_parallelism().unwrap().get() > 1);
    assert!(column(&json[0], "median").iter().all(|nanos| nanos.as_f64().is_some()));
    assert!(column(&json[0], "loss").iter().all(|lost| lost.as_u64() == Some(0)));
    assert_eq!(column(&json[0], "of the first row")[0].as_f64(), Some(1.0));
}

// Input:  filter sets and an index, as small as can be.
// Output: a time above zero for every comparison and lookup method; a lookup without its flow entry would be an error.
#[test]
fn parts_of_the_fast_path_are_measured_alone() {
    let (_, json) = output(&["filters", "--quick", "--rules=1,16", "--sets=3"]);
    assert!(column(&json[0], "median").iter().all(|nanos| nanos.as_f64().unwrap() >= 0.0));
    assert!(column(&json[0], "compare").iter().any(|name| *name == "portable"));
    let (_, json) = output(&["index", "--quick"]);
    assert!(column(&json[0], "median").iter().all(|nanos| nanos.as_f64().unwrap() > 0.0));
    assert!(column(&json[0], "found by").iter().any(|name| *name == "cuckoo"));
}

// Input:  a thousand rules of a switch's controller.
// Output: a time above zero for numbers and for counters.
#[test]
fn the_controller_of_a_switch_is_measured() {
    let (_, json) = output(&["switch", "--quick", "--rules=1k"]);
    assert_eq!(column(&json[0], "what"), ["number", "counter"]);
    assert!(column(&json[0], "median").iter().all(|nanos| nanos.as_f64().unwrap() > 0.0));
}

// Input:  a few packets through ports of every kind, in network namespaces.
// Output: all paths of the sockets and all kinds of N3 ports have a row; functions that the kernel lacks are listed.
#[test]
fn ports_are_measured_in_namespaces() {
    let Some((text, json)) = output_if_possible("ports_are_measured_in_namespaces", &["ports", "--quick"])
    else {
        return;
    };
    assert_eq!(column(&json[0], "path").len(), 8);
    assert!(column(&json[0], "median").iter().all(|nanos| nanos.as_f64().unwrap() > 0.0));
    let kinds = column(&json[1], "port").len() + text.matches("SKIPPED").count();
    assert_eq!(kinds, 4, "{text}");
}

// Input:  the daemon with each kind of ports between namespaces, three sessions, some packets in each direction.
// Output: each has a row for each direction, with rate, CPU time and latency; functions that the kernel lacks are listed.
#[test]
fn a_whole_upf_is_measured_in_namespaces() {
    let name = "a_whole_upf_is_measured_in_namespaces";
    let Some((text, json)) = output_if_possible(name, &["upf", "--quick"]) else { return };
    text.lines().filter(|line| line.contains("SKIPPED")).for_each(|line| eprintln!("{line}"));
    let ports = column(&json[0], "ports");
    assert_eq!(ports.iter().filter(|ports| **ports == "udp").count(), 2, "{text}");
    assert_eq!(ports.len() / 2 + text.matches("SKIPPED").count(), 4, "{text}");
    for figure in ["CPU", "p50", "p99.9"] {
        assert!(
            column(&json[0], figure).iter().all(|value| value.as_f64().unwrap() > 0.0),
            "{figure}: {text}"
        );
    }
}

// Input:  the daemon on UDP and TUN with two threads of a generator and a neighbour on the packet thread's core; 2,000 packets a
//         second.
// Output: a row for each kind of ports and direction with the offered and delivered rate, and the ratio to the best of them.
#[test]
fn what_gets_through_a_whole_upf_is_measured() {
    let name = "what_gets_through_a_whole_upf_is_measured";
    let line = ["overload", "--ports=udp,tpacket", "--neighbours=1", "--quick"];
    let Some((text, json)) = output_if_possible(name, &line) else { return };
    assert_eq!(column(&json[0], "load").len(), 4 - 2 * text.matches("SKIPPED").count(), "{text}");
    for figure in ["offered", "of best"] {
        let figures = column(&json[0], figure);
        assert!(figures.iter().all(|value| value.as_f64().is_some_and(|it| it > 0.0)), "{figure}: {text}");
    }
}

// Input:  the daemon in a namespace; a UE that floods, and another one beside; clients that trace and capture the former, and many slow ones.
// Output: a row for each, with packets of the UE beside that arrive; traces bring octets, no clients bring none.
#[test]
fn packets_beside_observers_are_measured() {
    let name = "packets_beside_observers_are_measured";
    let Some((text, json)) = output_if_possible(name, &["observers", "--quick"]) else { return };
    let clients = [
        "none",
        "a trace of the flood",
        "8 traces of the flood",
        "a capture of the flood",
        "1,000 event streams",
        "64 slow requests",
    ];
    assert_eq!(column(&json[0], "clients"), clients, "{text}");
    assert!(column(&json[0], "p50").iter().all(|value| value.as_f64().unwrap() > 0.0), "{text}");
    let received = column(&json[0], "received");
    assert_eq!(received[0], 0, "{text}");
    assert!(received[1].as_u64().unwrap() > 0 && received[2].as_u64().unwrap() > 0, "{text}");
}

// Input:  the daemon in a namespace; two SMFs establish sessions, those of one end together, are established again, and end when it
//         restarts; a third SMF and its UEs beside.
// Output: a row for each of these, with requests and packets of those beside; all of their requests are answered.
#[test]
fn pauses_of_a_whole_upf_are_measured() {
    let name = "pauses_of_a_whole_upf_are_measured";
    let Some((text, json)) = output_if_possible(name, &["pauses", "--sockets", "--quick"]) else { return };
    let phases =
        ["idle", "created", "created", "idle", "association released", "created again", "SMF restarted"];
    assert_eq!(column(&json[0], "phase"), phases, "{text}");
    assert_eq!(column(&json[0], "sessions"), [0, 1200, 2000, 2000, 1200, 2000, 1200], "{text}");
    for figure in ["requests", "packets"] {
        let counted: u64 = column(&json[0], figure).iter().map(|value| value.as_u64().unwrap()).sum();
        assert!(counted > 0, "{figure}: {text}");
    }
}

// Input:  the daemon in a namespace, and an SMF that sets sessions up, moves and ends them, with 10 and 100 requests in flight, with and
//         without packets of UEs. Then 50,000 simple requests in a second, for 40 ms and 1000 sessions. Then 50 requests at the sockets before the UPF
//         may run, again and again.
// Output: a row for each kind of request, number in flight and rate of packets, with rate and latency. At a rate half of the sessions are established at most, in
//         10 ms; sessions are handed over again, until the time is over. Of requests that waited none is lost.
#[test]
fn pfcp_requests_are_measured_over_sockets() {
    let name = "pfcp_requests_are_measured_over_sockets";
    let line = ["pfcp", "--sockets", "--sessions", "512", "--variant", "upf-teids", "--quick"];
    let Some((text, json)) = output_if_possible(name, &line) else { return };
    let in_flight = column(&json[0], "in flight");
    assert_eq!(in_flight.iter().filter(|count| **count == 10).count(), 8, "{text}");
    assert_eq!(in_flight.len(), 16, "{text}");
    let packets = column(&json[0], "packets");
    assert_eq!(packets.iter().filter(|count| **count == 0).count(), 8, "{text}");
    // Thousands in a second, which a busy host may not reach by far.
    assert!(column(&json[0], "rate").iter().all(|value| value.as_f64().is_some()), "{text}");
    for figure in ["p50", "p99"] {
        assert!(
            column(&json[0], figure).iter().all(|value| value.as_f64().unwrap() > 0.0),
            "{figure}: {text}"
        );
    }
    // Not in a test of its own: where a daemon runs is set for all threads of the process that are new.
    let line = ["pfcp", "--sockets", "--simple", "--rate=50k", "--traffic=0", "--quick"];
    let (text, json) = output(&[&line[..], &["--operation=establish,handover"]].concat());
    let measured: Vec<f64> =
        column(&json[0], "measured").iter().map(|value| value.as_f64().unwrap()).collect();
    assert_eq!(column(&json[0], "requests"), ["establish", "handover"].repeat(2), "{text}");
    assert!(measured.chunks(2).all(|rows| rows[0] >= 0.01 && rows[1] >= 0.04), "{text}");
    let line = ["pfcp", "--sockets", "--simple", "--queued=50", "--traffic=0", "--quick"];
    let Some((text, json)) = output_if_possible(name, &line) else { return };
    let operations = ["establish", "activate", "handover", "delete"];
    assert_eq!(column(&json[0], "requests"), operations.repeat(2), "{text}");
    assert!(column(&json[0], "lost").iter().all(|lost| **lost == 0), "{text}");
    assert!(column(&json[0], "rate").iter().all(|rate| rate.as_f64().unwrap() > 0.0), "{text}");
}

// Input:  the daemon with 200 sessions, some packets, handovers and rule changes, as short as possible.
// Output: each event has its rows; every change has a response and became visible, and no packet followed a replaced rule.
#[test]
fn events_of_a_whole_upf_are_measured() {
    let (text, json) = output(&["events", "--quick"]);
    let events = column(&json[0], "event");
    let (sockets, memory) = (["change", "rule visible"], ["change, in memory", "rule visible, in memory"]);
    assert_eq!(events, [&["report", "report", "handover"][..], &sockets, &memory].concat(), "{text}");
    assert!(column(&json[0], "missing").iter().all(|missing| **missing == 0), "{text}");
    let (p50, measured) = (column(&json[0], "p50"), column(&json[0], "measured"));
    for index in [3, 4, 5, 6] {
        assert_eq!(measured[index], 5, "{text}");
        assert!(p50[index].as_f64().unwrap() > 0.0, "{text}");
    }
    assert!(!text.contains("by the old rule"), "{text}");
}

// Input:  counts, sizes, times and cores out of range, and an unknown kind of packets.
// Output: an error with the option and its range.
#[test]
fn impossible_numbers_are_refused() {
    let refusal = |line: &[&str]| run(&arguments(line), &mut Vec::new()).unwrap_err().to_string();
    assert_eq!(refusal(&["pipeline", "--sessions=17M"]), "--sessions is 17M: from 1 to 16M");
    assert_eq!(refusal(&["index", "--entries=31"]), "--entries is 31: from 32 to 16777215");
    assert_eq!(refusal(&["filters", "--rules=65"]), "--rules is 65: from 1 to 64");
    assert_eq!(refusal(&["switch", "--rules=9M"]), "--rules is 9M: from 1 to 8M");
    assert_eq!(refusal(&["events", "--rate=0"]), "--rate is 0: from 1 to 1M");
    assert_eq!(refusal(&["upf", "--sessions=61k"]), "--sessions is 61k: from 1 to 60k");
    assert_eq!(refusal(&["ports", "--size=1401"]), "--size is 1401: from 64 to 1400");
    assert_eq!(refusal(&["pipeline", "--pdrs=0"]), "--pdrs is 0: from 1 to 100");
    assert_eq!(refusal(&["pipeline", "--quick", "--core=5000"]), "--core is 5k: from 0 to 1023");
    // An empty row would look like a measurement.
    assert_eq!(refusal(&["pipeline", "--time=0"]), "--time is 0: from 1 to 3600k");
    assert_eq!(refusal(&["pipeline", "--changes=2M"]), "--changes is 2M: from 0 to 1M");
    assert_eq!(refusal(&["workers", "--workers=0"]), "--workers is 0: from 1 to 1024");
    assert_eq!(refusal(&["index", "--turns=0"]), "--turns is 0: from 1 to 1M");
    assert_eq!(refusal(&["ports", "--chunks=0"]), "--chunks is 0: from 1 to 1M");
    assert_eq!(refusal(&["pfcp", "--requests=0"]), "--requests is 0: from 1 to 4M");
    assert_eq!(refusal(&["pfcp", "--sockets", "--window=0"]), "--window is 0: from 1 to 1k");
    assert_eq!(refusal(&["pfcp", "--sockets", "--simple", "--queued=6k"]), "--queued is 6k: from 1 to 5k");
    assert_eq!(refusal(&["pfcp", "--sockets", "--workers=65"]), "--workers is 65: from 1 to 64");
    assert_eq!(refusal(&["pfcp", "--sockets", "--time=0"]), "--time is 0: from 1 to 10k");
    assert_eq!(refusal(&["events", "--changes=0"]), "--changes is 0: from 1 to 1M");
    assert_eq!(refusal(&["unassociated-peers", "--datagrams=1"]), "--datagrams is 1: from 256 to 100M");
    let unknown = refusal(&["floods", "--kinds=good,nonsense"]);
    assert!(unknown.starts_with("--kinds: no kind of packets has \"nonsense\" in its name"), "{unknown}");
}
