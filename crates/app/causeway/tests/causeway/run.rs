//! `causeway run` as a service manager sees it: log lines, signals, exit codes.

use std::fs::DirEntry;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use crate::common::{PATIENCE, Running, file, loopback};

// Input:  SIGTERM to a daemon that runs; SIGINT to another.
// Output: it has said where it is, in one line each; it says what it did, and exits with 0.
#[test]
fn a_signal_stops_it_with_0() {
    for signal in ["TERM", "INT"] {
        let at = loopback();
        let mut running = Running::start(&["-c", file(at, "info").to_str().unwrap()]);
        running.until("INFO causeway 0.1.0, configuration ");
        running.until(&format!("N3 on {at}:2152 over UDP with "));
        running.until("data plane `fastpath`: ");
        running.until("packet thread on any core, sleeps while idle");
        running.until(&format!("N4 on {at}:8805, Node ID {at}"));
        running.until(&format!("metrics on http://{at}:9098/metrics"));
        running.until("ready");
        running.signal(signal);
        running.until("a second signal stops immediately");
        running.until("stopped: received 0 packets on N3");
        assert_eq!(running.child.wait().unwrap().code(), Some(0));
    }
}

// Input:  a daemon with three packet threads, each of which has a socket of N4 and one of N3.
// Output: one line of the log says which interfaces are accepted on N4, and one on N3.
#[test]
fn accepted_interfaces_are_logged_once() {
    let at = loopback();
    let path = file(at, "info");
    let text = std::fs::read_to_string(&path).unwrap().replace("200ms", "200ms, accelerate: true");
    std::fs::write(&path, text + "  workers: {count: 3}\n").unwrap();
    let mut running = Running::start(&["--config", path.to_str().unwrap()]);
    running.until("ready");
    for socket in [format!("N4 on {at}:8805 accepts"), format!("N3 on {at}:2152 accepts")] {
        let lines = running.seen.iter().filter(|line| line.contains(&socket)).count();
        assert_eq!(lines, 1, "{socket}: {:#?}", running.seen);
    }
}

// Input:  a file whose log level changes, and SIGHUP; then one whose allow-list and UE pool change; then a wrong one.
// Output: the new level holds; the allow-list holds, the pool is named as waiting for a restart; the error names the line,
//         and the daemon goes on.
#[test]
fn sighup_reloads_the_configuration() {
    let at = loopback();
    let path = file(at, "info");
    let mut running = Running::start(&["--config", path.to_str().unwrap()]);
    running.until("ready");
    file(at, "debug");
    running.signal("HUP");
    running.until("log level is debug");
    let text = std::fs::read_to_string(&path).unwrap();
    let changed =
        text.replace("  pfcp:", "  ue_address_quarantine: 5m\n  qos: {averaging_window: 9ms}\n  pfcp:");
    assert_ne!(text, changed);
    std::fs::write(&path, changed).unwrap();
    running.signal("HUP");
    running.until("changed: upf.ue_address_quarantine");
    running.until("changed, in force after a restart: upf.qos.averaging_window");
    std::fs::write(&path, "logger: {level: loud}").unwrap();
    running.signal("HUP");
    running.until("the configuration in force stays: ");
    running.signal("HUP");
    running.until(":1: logger.level: `loud` is not one of");
    running.signal("TERM");
    running.until("stopped:");
}

// Input:  over the management API, a log level, one that does not exist, a reload of a changed file and of a wrong one.
// Output: each is carried out and confirmed, or refused with what is wrong; the log says the same.
#[test]
fn the_management_api_reloads_and_sets_the_log_level() {
    let at = loopback();
    let path = file(at, "info");
    let mut running = Running::start(&["--config", path.to_str().unwrap()]);
    running.until("ready");
    let ask = |method: &str, path: &str, body: &str| -> (String, serde_json::Value) {
        let mut stream = TcpStream::connect((at, 9098)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), serde_json::from_str(body).unwrap())
    };
    let (status, _) = ask("PUT", "/api/v1/log-level", r#"{"level": "debug"}"#);
    assert_eq!(status, "HTTP/1.1 200 OK");
    running.until("log level is debug");
    for wrong in [r#"{"level": "loud"}"#, "{", r#"{"niveau": "debug"}"#] {
        let (status, problem) = ask("PUT", "/api/v1/log-level", wrong);
        assert!(status.starts_with("HTTP/1.1 400"), "{wrong}: {status} {problem}");
    }
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("  pfcp:", "  ue_address_quarantine: 5m\n  max_sessions: 7\n  pfcp:"))
        .unwrap();
    let (status, reloaded) = ask("POST", "/api/v1/reload", "");
    assert_eq!(status, "HTTP/1.1 200 OK", "{reloaded}");
    assert_eq!(reloaded["applied"], serde_json::json!(["upf.ue_address_quarantine"]));
    assert_eq!(reloaded["at_restart"], serde_json::json!(["upf.max_sessions"]));
    running.until("log level is info; changed: upf.ue_address_quarantine");
    std::fs::write(&path, text.replace("  pfcp:", "  quarantine: 5m\n  pfcp:")).unwrap();
    let (status, problem) = ask("POST", "/api/v1/reload", "");
    assert!(status.starts_with("HTTP/1.1 422"), "{status}");
    assert!(problem["detail"].as_str().unwrap().contains(":3: upf.quarantine: unknown key"), "{problem}");
    running.signal("TERM");
    running.until("stopped:");
}

// Input:  --log-format json.
// Output: every line is a JSON object with level and message.
#[test]
fn json_logs_are_one_object_a_line() {
    let at = loopback();
    let mut running = Running::start(&["-c", file(at, "info").to_str().unwrap(), "--log-format", "json"]);
    let line = running.until("Node ID");
    let object: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(object["level"], "INFO");
    assert_eq!(object["message"], format!("N4 on {at}:8805, Node ID {at}"));
    running.until("ready");
    running.signal("TERM");
    running.until("stopped:");
}

// Input:  a port that another process holds.
// Output: one error line with the key and the cure; exit code 1.
#[test]
fn a_failure_at_start_exits_with_1() {
    let at = loopback();
    let _taken = UdpSocket::bind((at, 8805)).unwrap();
    let output: Output = Command::new(env!("CARGO_BIN_EXE_causeway"))
        .args(["run", "-c", file(at, "error").to_str().unwrap()])
        .output()
        .unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    let expected = format!(
        "ERROR upf.pfcp.server[0]: cannot listen on {at}:8805: address in use: is another PFCP process \
         running? see `ss -ulnp sport = :8805`\n"
    );
    assert!(log.ends_with(&expected) && log.lines().count() == 1, "{log}");
    assert_eq!(output.status.code(), Some(1));
}

/// A configuration with a pool on a TUN device.
fn file_with_pool(level: &str) -> PathBuf {
    let path = file(loopback(), level);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("session: []", "session: [{subnet: 10.45.0.0/16}]")).unwrap();
    path
}

// Input:  a TUN device asked for by a user without privileges.
// Output: one error line that names the capability; exit code 1.
#[test]
fn a_missing_privilege_is_named() {
    let path = file_with_pool("error");
    // A user namespace that maps nobody to root has no capability outside of itself.
    let output = Command::new("unshare")
        .args(["--user", "--", env!("CARGO_BIN_EXE_causeway"), "run", "-c", path.to_str().unwrap()])
        .output();
    let Ok(output) = output else {
        return eprintln!("SKIPPED a_missing_privilege_is_named: there is no unshare");
    };
    let log = String::from_utf8(output.stderr).unwrap();
    if log.contains("unshare: ") {
        return eprintln!(
            "SKIPPED a_missing_privilege_is_named: user namespaces are not permitted here: {log}"
        );
    }
    assert!(log.contains("ERROR upf.session[0].dev: "), "{log}");
    assert!(log.contains("CAP_NET_ADMIN") || log.contains("/dev/net/tun"), "{log}");
    assert_eq!(output.status.code(), Some(1));
}

// Input:  a TUN device for a pool, where /dev has none, as in a container or without the driver.
// Output: one error line that names the device, the driver and the option of a container; exit code 1.
#[test]
fn a_missing_device_is_named() {
    const NAME: &str = "a_missing_device_is_named";
    let inside = |script: &str| {
        let script = format!("mount -t tmpfs none /dev && ip link set lo up && {script}");
        Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "--net", "--", "sh", "-c", &script])
            .output()
    };
    if !inside("true").is_ok_and(|output| output.status.success()) {
        return eprintln!("SKIPPED {NAME}: needs netns (mount namespaces are not permitted here)");
    }
    let path = file_with_pool("error");
    let run = format!("exec {} run -c {}", env!("CARGO_BIN_EXE_causeway"), path.display());
    let output = inside(&run).unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    let expected = "ERROR upf.session[0].dev: /dev/net/tun is missing: load the driver with `modprobe tun`, or \
                    pass the device to the container (--device /dev/net/tun)\n";
    assert!(log.ends_with(expected) && log.lines().count() == 1, "{log}");
    assert_eq!(output.status.code(), Some(1));
}

// Input:  a TUN device for a pool, on a machine that does not forward IPv4, and on one that does.
// Output: the first log says that UEs reach nothing beyond the machine, and the command that changes it; the second does
//         not.
#[test]
fn what_keeps_ues_from_the_data_network_is_logged() {
    const NAME: &str = "what_keeps_ues_from_the_data_network_is_logged";
    let inside = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "--", "sh", "-c", script]);
        command
    };
    let possible =
        inside("ip tuntap add dev try mode tun && echo 0 > /proc/sys/net/ipv4/ip_forward").output();
    if !possible.is_ok_and(|output| output.status.success()) {
        return eprintln!(
            "SKIPPED {NAME}: needs netns (network namespaces or TUN devices are not permitted here)"
        );
    }
    for forward in [0, 1] {
        let path = file_with_pool("info");
        let mut running = Running::of(&mut inside(&format!(
            "ip link set lo up && echo {forward} > /proc/sys/net/ipv4/ip_forward && exec {} run -c {}",
            env!("CARGO_BIN_EXE_causeway"),
            path.display()
        )));
        running.until("ready");
        let advice = "this machine does not forward IPv4: UEs reach it, but nothing beyond it; \
                      to change that: sysctl -w net.ipv4.ip_forward=1";
        let logged = running.seen.iter().any(|line| line.contains(advice));
        assert_eq!(logged, forward == 0, "{:#?}", running.seen);
        running.signal("TERM");
        assert_eq!(running.child.wait().unwrap().code(), Some(0));
    }
}

// Input:  a process that is stopped for a second and a half, as a hypervisor or a busy machine might do.
// Output: the log says for how long it did not run, and so do the metrics.
#[test]
fn a_pause_is_logged_and_measured() {
    let at = loopback();
    let mut running = Running::start(&["-c", file(at, "info").to_str().unwrap()]);
    running.until("ready");
    running.signal("STOP");
    std::thread::sleep(Duration::from_millis(1500));
    running.signal("CONT");
    running.until("this process did not run for ");
    let mut stream = TcpStream::connect((at, 9098)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {at}\r\n\r\n").unwrap();
    let mut body = String::new();
    stream.read_to_string(&mut body).unwrap();
    for (series, least) in [
        ("causeway_control_pause_seconds_max ", 1.0),
        ("causeway_control_pauses_total ", 1.0),
        ("causeway_worker_pause_seconds_max{worker=\"0\"} ", 1.0),
        ("causeway_worker_pauses_total{worker=\"0\"} ", 1.0),
    ] {
        let value = body.lines().find_map(|line| line.strip_prefix(series)).expect(series);
        assert!(value.parse::<f64>().unwrap() >= least, "{series}{value}");
    }
}

// Input:  a service manager that wants to hear twice a second that the daemon is alive; SIGTERM.
// Output: it hears that the daemon is ready, again and again that it is alive, and that it stops.
#[test]
fn the_service_manager_is_told() {
    let at = loopback();
    let path = file(at, "info");
    let socket = path.with_extension("notify");
    let _ = std::fs::remove_file(&socket);
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    command.args(["run", "-c", path.to_str().unwrap()]);
    command.env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "500000");
    let running = Running::of(&mut command);
    let hear = || {
        let mut octets = [0; 64];
        let len = manager.recv(&mut octets).expect("to be told in time");
        String::from_utf8(octets[..len].to_vec()).unwrap()
    };
    assert_eq!(hear(), "READY=1");
    for _ in 0..4 {
        assert_eq!(hear(), "WATCHDOG=1");
    }
    running.signal("TERM");
    while hear() != "STOPPING=1" {}
    std::fs::remove_file(&socket).unwrap();
}

/// The thread of that name, which it gives itself when it begins to run.
fn thread_of(process: u32, name: &str) -> Pid {
    let is_it = |thread: &DirEntry| {
        std::fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm.trim() == name)
    };
    let start = Instant::now();
    loop {
        let mut threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap().map(Result::unwrap);
        if let Some(thread) = threads.find(is_it) {
            return Pid::from_raw(thread.file_name().to_str().unwrap().parse().unwrap());
        }
        assert!(start.elapsed() < PATIENCE, "there is no thread `{name}`");
        std::thread::sleep(Duration::from_millis(5));
    }
}

// Input:  a service manager that wants to hear once a second that the daemon is alive; the control thread is stopped by the kernel,
//         alone, and goes on later; then a packet thread.
// Output: the manager hears nothing for as long as one of them stands still, though all other threads go on, and hears that the
//         daemon is alive once it goes on.
#[test]
fn the_service_manager_hears_nothing_while_a_thread_stands_still() {
    let at = loopback();
    let path = file(at, "info");
    let socket = path.with_extension("watchdog");
    let _ = std::fs::remove_file(&socket);
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    command.args(["run", "-c", path.to_str().unwrap()]);
    command.env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "1000000");
    let mut running = Running::of(&mut command);
    running.until("ready");
    // The rest of what was told until now.
    let heard = || {
        manager.set_nonblocking(true).unwrap();
        let heard = std::iter::from_fn(|| manager.recv(&mut [0; 64]).ok()).count();
        manager.set_nonblocking(false).unwrap();
        heard
    };
    for (name, called) in [("control", "control thread"), ("packets-0", "packet thread 0")] {
        let thread = thread_of(running.child.id(), name);
        if let Err(error) = ptrace::seize(thread, ptrace::Options::empty()) {
            let test = "the_service_manager_hears_nothing_while_a_thread_stands_still";
            return eprintln!("SKIPPED {test}: needs ptrace ({error})");
        }
        ptrace::interrupt(thread).unwrap();
        // After half a second, then each time that it is twice as long.
        (0..3).for_each(|_| drop(running.until(&format!("{called} has not responded for "))));
        heard();
        // For as long again: five times the manager would have been told.
        running.until(&format!("{called} has not responded for "));
        assert_eq!(heard(), 0, "{name}");
        waitpid(thread, Some(WaitPidFlag::__WALL)).unwrap();
        ptrace::detach(thread, None).unwrap();
        running.until(&format!("{called} resumed after a pause of "));
        let mut octets = [0; 64];
        let len = manager.recv(&mut octets).expect("to be told in time");
        assert_eq!(&octets[..len], b"WATCHDOG=1");
    }
    running.signal("TERM");
    running.until("stopped:");
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
    std::fs::remove_file(&socket).unwrap();
}

// Input:  a FIFO that nobody writes in the place of each file of a switch.
// Output: it is refused at once, with what it is; exit code 1.
#[cfg(feature = "p4runtime")]
#[test]
fn a_fifo_does_not_hang_a_start_with_a_switch() {
    let at = loopback();
    let path = file(at, "info");
    let fifo = path.with_extension("switch");
    let _ = std::fs::remove_file(&fifo);
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let text = std::fs::read_to_string(&path).unwrap();
    let p4info = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../p4/p4info/hip4.bmv2.txtpb");
    let fifo_text = fifo.to_str().unwrap();
    for files in [format!("p4info: {fifo_text}"), format!("p4info: {p4info}, device_config: {fifo_text}")] {
        let route = |of| {
            format!(
                "{{to: 0.0.0.0/0, of: {of}, port: 1, mac: '02:00:00:00:00:01', next_hop: '02:00:00:00:00:02'}}"
            )
        };
        let routes = format!("[{}, {}]", route("tunnels"), route("network"));
        let switch =
            format!("  dataplane: switch\n  switch: {{address: '{at}:1', {files}, route: {routes}}}\n");
        std::fs::write(&path, format!("{text}{switch}")).unwrap();
        let mut running = Running::start(&["-c", path.to_str().unwrap()]);
        running.until("a FIFO, not a file: give a regular file");
        assert_eq!(running.child.wait().unwrap().code(), Some(1));
    }
    std::fs::remove_file(&fifo).unwrap();
}

// Input:  a FIFO that nobody writes, a device without end, a directory, and a file of 64 MiB, each as the configuration.
// Output: each is refused at once, with what it is; exit code 2.
#[test]
fn only_a_file_of_some_size_is_a_configuration() {
    let at = loopback();
    let path = file(at, "info");
    let fifo = path.with_extension("fifo");
    let _ = std::fs::remove_file(&fifo);
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let large = path.with_extension("large");
    std::fs::File::create(&large).unwrap().set_len(64 << 20).unwrap();
    let dir = path.parent().unwrap();
    for (config, says) in [
        (fifo.as_path(), "a FIFO, not a file: give a regular file"),
        ("/dev/zero".as_ref(), "a device, not a file: give a regular file"),
        (dir, "a directory, not a file: give a regular file"),
        (large.as_path(), "this is not a configuration file"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
        let mut running = Running::of(command.args(["run", "-c", config.to_str().unwrap()]));
        running.until(says);
        assert_eq!(running.child.wait().unwrap().code(), Some(2));
    }
    std::fs::remove_file(large).unwrap();
}

// Input:  a configuration that becomes a FIFO; SIGHUP, then SIGTERM.
// Output: the log says what it found; the daemon ends as ever.
#[test]
fn a_fifo_does_not_hang_a_reload() {
    let at = loopback();
    let path = file(at, "info");
    let mut running = Running::start(&["-c", path.to_str().unwrap()]);
    running.until("ready");
    std::fs::remove_file(&path).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    running.signal("HUP");
    running.until("a FIFO, not a file");
    running.signal("TERM");
    running.until("stopped:");
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
    std::fs::remove_file(&path).unwrap();
}
