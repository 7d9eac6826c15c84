//! The daemon as a process whose memory is limited.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use causeway_pfcp::Cause;

use crate::common::smf::{Smf, WINDOW};
use crate::common::{PATIENCE, Running, file, loopback};

/// A configuration with room for a million sessions, and further keys of `upf`.
fn configured(at: Ipv4Addr, keys: &str) -> PathBuf {
    let path = file(at, "info");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("upf:\n", &format!("upf:\n  max_sessions: 1000000\n{keys}"))).unwrap();
    path
}

/// A value of the metrics of a daemon.
fn metric(at: Ipv4Addr, series: &str) -> f64 {
    let mut stream = TcpStream::connect(SocketAddr::from((at, 9098))).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n").unwrap();
    let mut body = String::new();
    stream.read_to_string(&mut body).unwrap();
    let value = body.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("{series} is not in\n{body}")).parse().unwrap()
}

/// Octets that a process has in memory.
fn resident(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// The same once it is no more than so much, or after a while.
fn resident_after(pid: u32, expected: u64) -> u64 {
    let patience = Instant::now() + PATIENCE * 3;
    while resident(pid) > expected && Instant::now() < patience {
        thread::sleep(Duration::from_millis(100));
    }
    resident(pid)
}

// Input:  room for a million sessions under limits on address space that are too low for anything, and for the tables of so many; then none.
// Output: one error line that names the limit and what to do, and exit code 1; without a limit it runs.
#[test]
fn too_little_address_space_is_an_error() {
    let at = loopback();
    let path = configured(at, "");
    for kib in [300_000, 600_000, 1_500_000, 2_500_000] {
        let output: Output = Command::new("sh")
            .args(["-c", &format!("ulimit -v {kib}; exec \"$0\" run -c \"$1\" --log-level error")])
            .args([env!("CARGO_BIN_EXE_causeway"), path.to_str().unwrap()])
            .output()
            .unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{kib}: {log}");
        assert_eq!(log.lines().count(), 1, "{kib}: {log}");
        assert!(
            log.contains("ERROR cannot start: ") && log.contains("RLIMIT_AS, `ulimit -v`"),
            "{kib}: {log}"
        );
        assert!(log.contains("raise it"), "{kib}: {log}");
    }
    let mut running = Running::start(&["-c", path.to_str().unwrap()]);
    running.until("memory: ");
    running.until("ready");
    running.signal("TERM");
    running.until("stopped:");
}

// Input:  a limit of 96 MiB and an SMF that establishes until it is refused; then it changes sessions, ends some, and asks again.
// Output: the refusal is No resources available, and in log and metrics; the process has not gone beyond the limit. Changes and ends are
//         accepted meanwhile; then about as many sessions come as have ended.
#[test]
fn sessions_are_refused_before_the_memory_ends() {
    let at = loopback();
    let path = configured(at, "  memory: 96MiB\n");
    let mut running = Running::start(&["-c", path.to_str().unwrap()]);
    running.until("ready");
    let mut smf = Smf::associated(at);
    let (seids, refused) = smf.establish(100_000);
    assert_eq!(refused, Some(Cause::NoResourcesAvailable));
    assert!((1000..50_000).contains(&seids.len()), "{}", seids.len());
    running.until("(no resources available): ");
    assert!(resident(running.child.id()) < 96 << 20);
    assert!(metric(at, "causeway_memory_refusals_total") >= 1.0);
    let (needed, most) =
        (metric(at, "causeway_memory_needed_bytes"), metric(at, "causeway_memory_for_sessions_bytes"));
    assert!(needed <= most && needed > most * 0.9, "{needed} of {most}");
    let (first, others) = seids.split_at(500);
    assert!(others.iter().take(100).all(|seid| smf.modify(*seid).is_accepted()));
    smf.delete(first);
    let (again, refused) = smf.establish(1000);
    assert_eq!(refused, Some(Cause::NoResourcesAvailable));
    assert!((400..=510).contains(&again.len()), "{}", again.len());
    smf.delete(others);
    smf.delete(&again);
    assert!(metric(at, "causeway_memory_needed_bytes") < 1.0);
    running.signal("TERM");
    running.until("stopped:");
}

// Input:  a daemon without sessions; 100,000 sessions come and go; then answers are kept no longer.
// Output: of the memory that they took, at most a fifth is still with the process.
#[test]
fn memory_goes_back_with_the_sessions() {
    let at = loopback();
    let path = configured(at, "");
    let mut running = Running::start(&["-c", path.to_str().unwrap()]);
    running.until("ready");
    let pid = running.child.id();
    let mut smf = Smf::associated(at);
    // What is there once and for all.
    let (first, _) = smf.establish(200);
    smf.delete(&first);
    let idle = resident(pid);
    let (seids, refused) = smf.establish(100_000);
    assert_eq!((seids.len(), refused), (100_000, None));
    let full = resident(pid);
    smf.delete(&seids);
    let most = idle + (full - idle) / 5;
    let left = resident_after(pid, most);
    eprintln!("{idle} octets before, {full} with sessions, {left} left");
    assert!(left <= most, "{idle} before, {full} with sessions, {left} left");
    running.signal("TERM");
    running.until("stopped:");
}

/// A memory cgroup of its own, which goes with it.
struct Cgroup {
    directory: PathBuf,
    is_v2: bool,
}

impl Cgroup {
    /// With so much memory. `Err`: there is none to be had, and why.
    fn new(octets: u64) -> Result<Self, String> {
        let groups = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let name = format!("causeway-test-{}-{octets}", std::process::id());
        let v1 = groups.lines().find_map(|line| line.split_once(":memory:")).map(|(_, path)| path);
        let (parent, is_v2) = match v1 {
            Some(path) => (Path::new("/sys/fs/cgroup/memory").join(path.trim_start_matches('/')), false),
            None => (PathBuf::from("/sys/fs/cgroup"), true),
        };
        let directory = parent.join(name);
        fs::create_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let group = Self { directory, is_v2 };
        let file = if is_v2 { "memory.max" } else { "memory.limit_in_bytes" };
        let limited = fs::write(group.directory.join(file), octets.to_string());
        limited.map_err(|error| format!("{file}: {error}"))?;
        Ok(group)
    }

    fn procs(&self) -> PathBuf {
        self.directory.join("cgroup.procs")
    }

    /// How many processes the kernel has killed in it.
    fn killed(&self) -> u64 {
        let file = if self.is_v2 { "memory.events" } else { "memory.oom_control" };
        let text = fs::read_to_string(self.directory.join(file)).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.map_or(0, |count| count.trim().parse().unwrap())
    }

    /// Octets that were used at the same time, at most.
    fn most_used(&self) -> Option<u64> {
        let file = if self.is_v2 { "memory.peak" } else { "memory.max_usage_in_bytes" };
        fs::read_to_string(self.directory.join(file)).ok()?.trim().parse().ok()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // It is busy for a moment after its last process has ended.
        let patience = Instant::now() + PATIENCE;
        while fs::remove_dir(&self.directory).is_err() && Instant::now() < patience {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

// Input:  a cgroup of 200 MiB and an SMF that goes on establishing when it is refused.
// Output: the limit is found by itself; the kernel kills nobody, and the daemon answers all the time.
#[test]
fn a_cgroup_is_not_filled() {
    let group = match Cgroup::new(200 << 20) {
        Ok(group) => group,
        Err(why) => return eprintln!("SKIPPED causeway::a_cgroup_is_not_filled: needs root ({why})"),
    };
    let at = loopback();
    let path = configured(at, "");
    let mut command = Command::new("sh");
    command.args(["-c", "echo $$ > \"$2\"; exec \"$0\" run -c \"$1\""]);
    command.args([env!("CARGO_BIN_EXE_causeway"), path.to_str().unwrap()]).arg(group.procs());
    let mut running = Running::of(&mut command);
    let line = running.until("memory: ");
    assert!(line.contains("below 200MiB of ") && line.contains("causeway-test-"), "{line}");
    running.until("ready");
    let mut smf = Smf::associated(at);
    let (seids, refused) = smf.establish(1_000_000);
    assert_eq!(refused, Some(Cause::NoResourcesAvailable));
    for _ in 0..300 {
        assert_eq!(smf.establish(WINDOW).1, Some(Cause::NoResourcesAvailable));
    }
    assert!(smf.modify(seids[0]).is_accepted());
    eprintln!("{} sessions, {} octets at most", seids.len(), group.most_used().unwrap_or(0));
    assert_eq!((group.killed(), running.child.try_wait().unwrap()), (0, None));
    running.signal("TERM");
    running.until("stopped:");
    drop(running);
}

// Input:  a memory server in a cgroup of 64 MiB, with as much memory, and with half of it.
// Output: 1, with the limit and what it leaves; it starts. The kernel kills nobody.
#[test]
fn a_memory_server_keeps_below_its_cgroup() {
    let group = match Cgroup::new(64 << 20) {
        Ok(group) => group,
        Err(why) => {
            return eprintln!("SKIPPED causeway::a_memory_server_keeps_below_its_cgroup: needs root ({why})");
        }
    };
    let command = |size: &str| {
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo $$ > \"$2\"; exec \"$0\" memory-server --listen 127.0.0.1:0 --size \"$1\""]);
        command.args([env!("CARGO_BIN_EXE_causeway"), size]).arg(group.procs());
        command
    };
    let mut refused = Running::of(&mut command("64MiB"));
    let said = refused.until("there is no memory of 67108864 octets: ");
    assert!(said.contains("causeway-test-") && said.contains(" leaves "), "{said}");
    assert_eq!(refused.child.wait().unwrap().code(), Some(1));
    drop(refused);
    let mut running = Running::of(command("32MiB").stdout(Stdio::piped()));
    let mut line = String::new();
    BufReader::new(running.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("memory server ready"), "{line}");
    running.signal("TERM");
    running.until("stopped:");
    drop(running);
    assert_eq!(group.killed(), 0);
}
