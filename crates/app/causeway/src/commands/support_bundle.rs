//! `causeway support-bundle`: the state of a UPF and of its host for support, in one file.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use causeway_upf::config::{Config, Overrides};
use causeway_upf::doctor::examine;
use causeway_upf::management::views::{ConfigView, TimedEvent};
use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use serde_json::Value;
use tar::{Builder, Header};

use crate::client::Client;
use crate::exit;
use crate::management::{CommandError, ConnectionArgs, file_name};
use crate::output::timestamp;

/// The configuration of an installed package.
const INSTALLED: &str = "/etc/causeway/upf.yaml";

/// The unit of systemd whose log is taken.
const UNIT: &str = "causeway";

/// The properties of the unit that are taken. Its environment is not among them.
const SERVICE: &str = "ActiveState,SubState,Result,NRestarts,MainPID,ActiveEnterTimestamp,ExecMainStatus,MemoryCurrent,MemoryMax,\
                       LimitNOFILE";

/// The lines of the log that are taken.
const LOG_LINES: &str = "2000";

/// The name of the log.
const LOG: &str = "log.txt";

/// The sessions that are taken.
const SESSIONS: u32 = 100;

/// The options of `causeway support-bundle`.
#[derive(Args)]
pub(crate) struct SupportBundleArgs {
    /// File to write, a tar archive compressed by gzip, which is overwritten; by default causeway-support-TIME.tar.gz in this folder
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Leave IMSIs and other User IDs as they are; otherwise they are masked
    #[arg(long)]
    with_user_ids: bool,

    /// Listen to events for so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(0..=600))]
    events: u64,

    /// Configuration file to examine this host for, if the UPF does not answer; by default /etc/causeway/upf.yaml
    #[arg(short, long, value_name = "FILE", env = "CAUSEWAY_CONFIG")]
    config: Option<PathBuf>,

    #[command(flatten)]
    connection: ConnectionArgs,
}

pub(super) fn run(args: &SupportBundleArgs) -> ExitCode {
    match collect(args) {
        Ok(()) => ExitCode::from(exit::OK),
        Err(error) => exit::end(exit::FAILED, error),
    }
}

fn collect(args: &SupportBundleArgs) -> Result<(), CommandError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let path = args.output.clone().unwrap_or_else(|| default_name(now));
    let of_file = |source| CommandError::File { file: file_name(&path), source };
    let mut bundle = Bundle::create(&path, now, args.with_user_ids).map_err(of_file)?;
    let client = args.connection.client()?;
    from_upf(&client, args, &mut bundle).map_err(of_file)?;
    from_host(&mut bundle).map_err(of_file)?;
    let missing = bundle.missing.len();
    bundle.finish().map_err(of_file)?;
    let ids = if args.with_user_ids { "User IDs are in it" } else { "User IDs are masked" };
    exit::note(format_args!("{}: {ids}; no keys, tokens or user packets", path.display()));
    match missing {
        0 => {}
        1 => exit::note("1 part is missing; `missing.txt` in it says why"),
        _ => exit::note(format_args!("{missing} parts are missing; `missing.txt` in it says why")),
    }
    Ok(())
}

/// A name with the time, of which no character needs quoting.
fn default_name(now: Duration) -> PathBuf {
    let time: String =
        timestamp(now.as_secs_f64()).chars().filter(char::is_ascii_alphanumeric).take(15).collect();
    format!("causeway-support-{time}.tar.gz").into()
}

/// Asks the UPF. What it does not answer is missing.
fn from_upf(client: &Client, args: &SupportBundleArgs, bundle: &mut Bundle) -> io::Result<()> {
    exit::note("asking the UPF");
    let config = client.get::<ConfigView>("/api/v1/config", &[]);
    let is_there = config.is_ok();
    match config {
        Ok(config) => {
            let text = without_credentials(&config.to_yaml());
            bundle.add("config.yaml", &text)?;
            examine_host(Config::parse(None, &text, &Overrides::default()), bundle)?;
        }
        Err(error) => {
            bundle.missing("config.yaml", &error);
            let file =
                args.config.clone().or_else(|| Path::new(INSTALLED).exists().then(|| INSTALLED.into()));
            examine_host(Config::load(file.as_deref(), &Overrides::default()), bundle)?;
        }
    }
    let sessions = [("limit", SESSIONS.to_string())];
    for (name, path, parameters) in [
        ("status.json", "/api/v1/status", &[][..]),
        ("associations.json", "/api/v1/associations", &[]),
        ("peers.json", "/api/v1/peers", &[]),
        ("pools.json", "/api/v1/pools", &[]),
        ("workers.json", "/api/v1/workers", &[]),
        ("interfaces.json", "/api/v1/interfaces", &[]),
        ("drops.json", "/api/v1/drops", &[]),
        ("placement.json", "/api/v1/placement", &[]),
        ("sessions.json", "/api/v1/sessions", &sessions),
    ] {
        match client.get::<Value>(path, parameters) {
            Ok(value) => bundle.add_json(name, value)?,
            Err(error) => bundle.missing(name, &error),
        }
    }
    match client.text("/metrics") {
        Ok(text) => bundle.add("metrics.txt", &text)?,
        Err(error) => bundle.missing("metrics.txt", &error),
    }
    if is_there && args.events > 0 {
        exit::note(format_args!("listening to events for {} s", args.events));
        match events(client, Duration::from_secs(args.events)) {
            Ok(events) => bundle.add_json("events.json", serde_json::to_value(events)?)?,
            Err(error) => bundle.missing("events.json", &error),
        }
    }
    Ok(())
}

/// The events of this time.
fn events(client: &Client, duration: Duration) -> Result<Vec<TimedEvent>, CommandError> {
    let mut events = client.stream::<TimedEvent>("/api/v1/events", &[])?;
    let (end, mut all) = (Instant::now() + duration, Vec::new());
    while let Some(event) = events.next_until(end)? {
        all.push(event);
    }
    Ok(all)
}

fn examine_host<E: std::fmt::Display>(config: Result<Config, E>, bundle: &mut Bundle) -> io::Result<()> {
    match config {
        Ok(config) => bundle.add_json("doctor.json", serde_json::to_value(examine(&config.upf))?),
        Err(error) => {
            bundle.missing("doctor.json", &error);
            Ok(())
        }
    }
}

/// Asks the host.
fn from_host(bundle: &mut Bundle) -> io::Result<()> {
    exit::note("reading the log and the state of this host");
    let of_programs: [(&str, &[&str]); 8] = [
        ("host/kernel.txt", &["uname", "-a"]),
        ("host/addresses.txt", &["ip", "-d", "-s", "address"]),
        ("host/routes.txt", &["ip", "route", "show", "table", "all"]),
        ("host/routes6.txt", &["ip", "-6", "route", "show", "table", "all"]),
        ("host/rules.txt", &["ip", "rule"]),
        ("host/sockets.txt", &["ss", "-lunp"]),
        ("host/service.txt", &["systemctl", "show", UNIT, "--no-pager", "--property", SERVICE]),
        (LOG, &["journalctl", "--unit", UNIT, "--lines", LOG_LINES, "--no-pager", "--output", "short-iso"]),
    ];
    for (name, words) in of_programs {
        match output_of(words) {
            Ok(text) if name == LOG => bundle.add_log(&text)?,
            Ok(text) => bundle.add(name, &text)?,
            Err(error) => bundle.missing(name, &error),
        }
    }
    for (name, path) in [
        ("host/release.txt", "/etc/os-release"),
        ("host/memory.txt", "/proc/meminfo"),
        ("host/cores.txt", "/proc/cpuinfo"),
        ("host/udp.txt", "/proc/net/snmp"),
        ("host/receive-buffer.txt", "/proc/sys/net/core/rmem_max"),
        ("host/forwarding.txt", "/proc/sys/net/ipv4/ip_forward"),
    ] {
        match std::fs::read(path) {
            Ok(octets) => bundle.add(name, &String::from_utf8_lossy(&octets))?,
            Err(error) => bundle.missing(name, &error),
        }
    }
    Ok(())
}

fn output_of(words: &[&str]) -> Result<String, String> {
    let (program, arguments) = words.split_first().ok_or("no program")?;
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The text of a configuration without the credentials of URLs: between `//` and `@`.
fn without_credentials(text: &str) -> String {
    let line = |line: &str| match line.split_once("://") {
        Some((before, rest)) => {
            let end = rest.find(['/', '?', '#', '"', '\'', ' ']).unwrap_or(rest.len());
            let (authority, behind) = rest.split_at(end);
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            let behind = if behind.contains('?') { "/REMOVED" } else { behind };
            format!("{before}://{host}{behind}\n")
        }
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The archive while it is written.
struct Bundle {
    archive: Builder<GzEncoder<File>>,
    folder: String,
    time: u64,
    with_user_ids: bool,
    missing: Vec<String>,
}

impl Bundle {
    /// Only the user may read the file, which replaces one of that name.
    fn create(path: &Path, now: Duration, with_user_ids: bool) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        let name = path.file_name().map_or_else(|| "causeway-support".into(), |name| name.to_string_lossy());
        let folder =
            name.trim_end_matches(".gz").trim_end_matches(".tar").trim_end_matches(".tgz").to_owned();
        let archive = Builder::new(GzEncoder::new(file, Compression::default()));
        let mut bundle = Self { archive, folder, time: now.as_secs(), with_user_ids, missing: Vec::new() };
        let ids = if with_user_ids { "as they are" } else { "masked" };
        bundle.add(
            "README.txt",
            &format!(
                "Collected by causeway {} ({}) at {}.\nUser IDs (IMSI and others) are {ids}. Keys, tokens and user packets are never \
                 collected.\n",
                env!("CARGO_PKG_VERSION"),
                if cfg!(debug_assertions) { "debug" } else { "release" },
                timestamp(now.as_secs_f64()),
            ),
        )?;
        Ok(bundle)
    }

    /// Adds a text.
    fn add(&mut self, name: &str, text: &str) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(self.time);
        let path = format!("{}/{name}", self.folder);
        self.archive.append_data(&mut header, path, text.as_bytes())
    }

    fn add_log(&mut self, text: &str) -> io::Result<()> {
        if self.with_user_ids { self.add(LOG, text) } else { self.add(LOG, &masked_text(text)) }
    }

    fn add_json(&mut self, name: &str, mut value: Value) -> io::Result<()> {
        if !self.with_user_ids {
            mask_users(&mut value);
        }
        let mut text = pretty(&value)?;
        text.push('\n');
        self.add(name, &text)
    }

    fn missing(&mut self, name: &str, why: &impl std::fmt::Display) {
        self.missing.push(format!("{name}: {why}").replace('\n', " ") + "\n");
    }

    fn finish(mut self) -> io::Result<()> {
        let missing = self.missing.concat();
        if !missing.is_empty() {
            self.add("missing.txt", &missing)?;
        }
        self.archive.into_inner()?.finish()?.flush()
    }
}

fn pretty(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(value)?)
}

/// Masks the identities of users, which the API has under `user`.
fn mask_users(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "user" { mask_all(value) } else { mask_users(value) }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask_users),
        _ => {}
    }
}

fn mask_all(value: &mut Value) {
    match value {
        Value::String(text) => *text = masked_identity(text),
        Value::Object(fields) => fields.values_mut().for_each(mask_all),
        Value::Array(items) => items.iter_mut().for_each(mask_all),
        _ => {}
    }
}

/// Of digits the first five stay, which are the network of an IMSI; of other texts nothing does.
fn masked_identity(text: &str) -> String {
    let is_number = text.bytes().all(|octet| octet.is_ascii_digit());
    let shown = if is_number { text.get(..5).unwrap_or_default() } else { "" };
    format!("{shown}{}", "*".repeat(text.chars().count() - shown.len()))
}

/// The text with numbers of 14 to 16 digits masked: the lengths of IMSIs and IMEIs.
fn masked_text(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let others = rest.bytes().skip(digits).take_while(|octet| !octet.is_ascii_digit()).count();
        let (number, behind) = rest.split_at(digits);
        let is_part = masked.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
        match (14..=16).contains(&digits) && !is_part {
            true => masked.push_str(&masked_identity(number)),
            false => masked.push_str(number),
        }
        let (between, next) = behind.split_at(others);
        masked.push_str(between);
        rest = next;
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  identities of a user in JSON and in text, beside numbers of other lengths, decimals and hexadecimal numbers.
    // Output: identities are masked, of IMSIs all but the network; the others stay.
    #[test]
    fn identities_are_masked() {
        let mut value = serde_json::json!({"sessions": [
            {"seid": "0x123456789012345", "user": {"imsi": "001010000000001", "nai": "ue@realm.example", "gpsi": null}},
        ]});
        mask_users(&mut value);
        let user = &value["sessions"][0]["user"];
        assert_eq!(user["imsi"], "00101**********");
        assert_eq!(user["nai"], "****************");
        assert_eq!(value["sessions"][0]["seid"], "0x123456789012345");
        let line = "imsi-001010000000001 (ü) 1700000000123 0x001010000000001 0.001010000000001";
        assert_eq!(
            masked_text(line),
            "imsi-00101********** (ü) 1700000000123 0x001010000000001 0.001010000000001"
        );
    }

    // Input:  URLs with a user and a password, with a query, and without either.
    // Output: what may be a secret is gone.
    #[test]
    fn urls_lose_their_credentials() {
        let text = "  redirect: https://user:secret@portal.example/a\n  redirect: http://portal.example/?token=secret\n\
                    subnet: 10.45.0.0/16\n";
        assert_eq!(
            without_credentials(text),
            "  redirect: https://portal.example/a\n  redirect: http://portal.example/REMOVED\nsubnet: 10.45.0.0/16\n"
        );
    }
}
