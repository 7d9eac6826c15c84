//! A UPF that runs in a namespace, and the SMF that is associated with it.

use std::any::Any;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use causeway_bench::kit::Threads;
use causeway_bench::namespaces::BenchNamespaces;
use causeway_bench::upf::{Cores, Field, GATEWAY, POOL, Ports, Running, Setting, UPF_N3, UPF_N4};
use causeway_lab::LabError;
use causeway_lab::process::Daemon;
use causeway_lab::smf::BulkSmf;

use super::PeerError;

/// The TUN device of Open5GS, which it finds by this name.
const TUN: &str = "ogstun";

/// Open5GS's UPF as a program.
pub(super) struct Program {
    path: PathBuf,
    /// As it says itself.
    pub(super) version: String,
}

impl Program {
    /// The one that is named, or the one in PATH.
    pub(super) fn find(named: Option<&Path>) -> Option<Self> {
        let in_path = || {
            let folders = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&folders)
                .map(|folder| folder.join("open5gs-upfd"))
                .find(|path| path.is_file())
        };
        let path = named.map(Path::to_path_buf).or_else(in_path)?;
        // One that does not start is as good as none.
        let output = Command::new(&path).arg("-v").output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = said.lines().find(|line| line.contains("Open5GS")).unwrap_or("of unknown version");
        Some(Self { version: version.trim().trim_start_matches("Open5GS ").to_owned(), path })
    }
}

/// A running UPF with its topology.
pub(super) struct UpfSide {
    pub(super) name: &'static str,
    pub(super) threads: Threads,
    pub(super) smf: BulkSmf,
    pub(super) field: Field,
    /// Dropped, the UPF stops.
    _upf: Box<dyn Any>,
}

impl UpfSide {
    /// Starts Open5GS's UPF.
    ///
    /// # Errors
    /// [`PeerError::NotResponding`] with its last words.
    pub(super) fn open5gs(
        program: &Program,
        sessions: u32,
        cores: Cores,
        nets: &BenchNamespaces,
    ) -> Result<Self, PeerError> {
        let field = Field::build(nets, cores.others)?;
        field.upf.ip(format!(
            "tuntap add name {TUN} mode tun\naddress add {GATEWAY}/16 dev {TUN}\nlink set {TUN} mtu 1400 up"
        ))?;
        let folder = Folder::make()?;
        let config = folder.0.join("upf.yaml");
        std::fs::write(&config, configuration(sessions))
            .map_err(LabError::io(config.display().to_string()))?;
        let arguments = [OsString::from("-c"), config.into_os_string()];
        let log = folder.0.join("upf.log");
        let daemon = Daemon::start(&field.upf, &program.path, &arguments, &log, nets.cleanup())?;
        let smf = match field.associate() {
            Ok(smf) => smf,
            Err(causeway_bench::BenchError::Lab(error)) => {
                return Err(PeerError::NotResponding { error, said: daemon.last_output_lines(5) });
            }
            Err(error) => return Err(error.into()),
        };
        let threads = Threads::of_process(daemon.id())?;
        threads.pin(cores.packets)?;
        let stopped = StopOnDrop(daemon, folder);
        Ok(Self { name: "Open5GS", threads, smf, field, _upf: Box::new(stopped) })
    }

    /// Starts our daemon, with UDP sockets on N3 and a TUN device on N6. `accelerate`: its packet thread answers PFCP.
    ///
    /// # Errors
    /// [`PeerError::Bench`] with what it cannot open.
    pub(super) fn causeway(
        accelerate: bool,
        sessions: u32,
        cores: Cores,
        nets: &BenchNamespaces,
    ) -> Result<Self, PeerError> {
        let field = Field::build(nets, cores.others)?;
        let setting = Setting { ports: Ports::Udp, sessions, busy_poll: false, accelerate };
        let name = if accelerate { "Causeway, accelerate" } else { "Causeway" };
        let running = Running::start(&field, setting, cores)?;
        let threads = running.all.clone();
        threads.pin(cores.packets)?;
        Ok(Self { name, threads, smf: field.associate()?, field, _upf: Box::new(running) })
    }
}

/// Ends the program and removes its files.
struct StopOnDrop(Daemon, #[expect(dead_code, reason = "it is there to be dropped")] Folder);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        // The clean-up at the end makes sure of it.
        let _ = self.0.stop(std::time::Duration::from_secs(5));
    }
}

/// A folder for configuration and log.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Self, LabError> {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("causeway-peers-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).map_err(LabError::io(path.display().to_string()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is two small files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// As Open5GS's own example, with the addresses of the field.
fn configuration(sessions: u32) -> String {
    format!(
        "logger:\n  level: error\nglobal:\n  max:\n    ue: {}\nupf:\n  pfcp:\n    server:\n      - address: {UPF_N4}\n  \
         gtpu:\n    server:\n      - address: {UPF_N3}\n  session:\n    - subnet: {POOL}\n      gateway: {GATEWAY}\n      \
         dev: {TUN}\n",
        sessions.max(1024)
    )
}
