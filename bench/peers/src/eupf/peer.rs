//! eUPF's program with its sessions, run by `BPF_PROG_TEST_RUN`.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use aya::maps::{Array, HashMap, ProgramArray};
use aya::programs::{ProgramFd, TestRun, TestRunOptions, Xdp};
use aya::{Ebpf, EbpfLoader};
use causeway_bench::kit::{CpuTimer, Progress};

use super::code::{ETHERNET, TUNNEL, Traffic, driver, shift_program};
use super::{PeerError, elf, records};

const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);
const NETWORK: (Ipv4Addr, u8) = (Ipv4Addr::new(198, 51, 100, 0), 24);
const FIRST_UE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const FIRST_TEID: u32 = 0x1000_0001;
const QFI: u8 = 9;
/// The user's IP packet.
const USER: i32 = 64;
/// Repetitions in one system call.
pub(super) const REPEAT: u32 = 4096;

const PROGRAM: &str = "upf_ip_entrypoint_func";
const UPLINK: &str = "drive_uplink";
const UPLINK_BASE: &str = "drive_uplink_base";
const DOWNLINK: &str = "drive_downlink";
const DOWNLINK_BASE: &str = "drive_downlink_base";
const TRIM: &str = "trim";
const GROW: &str = "grow";

/// The program under test, and those that drive it.
pub(super) struct Peer {
    upf: Ebpf,
    drivers: Ebpf,
}

/// Which way packets go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Uplink,
    Downlink,
}

impl Peer {
    /// Loads the program with room for so many sessions, and sets them up.
    pub(super) fn load(object: &Path, sessions: u32, progress: &mut Progress) -> Result<Self, PeerError> {
        let mut upf = load_upf(object, sessions)?;
        fill(&mut upf, sessions, progress)?;
        let sessions = sessions as i32;
        let uplink = uplink(sessions);
        let downlink = downlink(sessions);
        let object = elf::object(&[
            (UPLINK, driver(&uplink, 0)),
            (UPLINK_BASE, driver(&uplink, 1)),
            (DOWNLINK, driver(&downlink, 0)),
            (DOWNLINK_BASE, driver(&downlink, 2)),
            (TRIM, shift_program(TUNNEL)),
            (GROW, shift_program(-TUNNEL)),
        ])?;
        let mut drivers = Ebpf::load(&object)?;
        let trim = loaded(&mut drivers, TRIM)?;
        let grow = loaded(&mut drivers, GROW)?;
        for name in [UPLINK, UPLINK_BASE, DOWNLINK, DOWNLINK_BASE] {
            loaded(&mut drivers, name)?;
        }
        let program = loaded(&mut upf, PROGRAM)?;
        let map = drivers.map_mut(elf::PROGRAMS).ok_or(PeerError::NoMap(elf::PROGRAMS))?;
        let mut programs = ProgramArray::try_from(map)?;
        for (index, program) in [program, trim, grow].iter().enumerate() {
            programs.set(index as u32, program, 0)?;
        }
        Ok(Self { upf, drivers })
    }

    /// Runs the program on random packets. Returns what one of them took, the driver included.
    pub(super) fn run(&self, way: Way) -> Result<Duration, PeerError> {
        self.drive(if way == Way::Uplink { UPLINK } else { DOWNLINK })
    }

    /// The same with the program that only moves the start of packets.
    pub(super) fn run_base(&self, way: Way) -> Result<Duration, PeerError> {
        self.drive(if way == Way::Uplink { UPLINK_BASE } else { DOWNLINK_BASE })
    }

    /// Packets of both directions that URRs have counted: what got as far as being forwarded.
    pub(super) fn urr_packet_count(&self, sessions: u32) -> Result<(u64, u64), PeerError> {
        let map = self.upf.map("urr_map").ok_or(PeerError::NoMap("urr_map"))?;
        let urrs: Array<_, [u64; 2]> = Array::try_from(map)?;
        let (mut uplink, mut downlink) = (0, 0);
        for session in 0..sessions {
            // URR 0 is the second one of every session, so that it counts all of them again.
            let [ul, dl] = if session == 0 { [0, 0] } else { urrs.get(&session, 0)? };
            uplink += ul;
            downlink += dl;
        }
        Ok((uplink, downlink))
    }

    fn drive(&self, name: &'static str) -> Result<Duration, PeerError> {
        let program = self.drivers.program(name).ok_or(PeerError::NoProgram(name))?;
        let program: &Xdp = program.try_into()?;
        let frame = [0; 256];
        let options = TestRunOptions { data_in: Some(&frame), repeat: REPEAT, ..TestRunOptions::default() };
        let timer = CpuTimer::start();
        program.test_run(options)?;
        Ok(timer.elapsed())
    }
}

fn load_upf(path: &Path, sessions: u32) -> Result<Ebpf, PeerError> {
    let mut object = std::fs::read(path).map_err(|source| PeerError::Read { path: path.into(), source })?;
    rename_section(&mut object);
    let addresses: [u8; 8] = [N3.octets(), N3.octets()].concat().try_into().unwrap_or_default();
    let two = sessions.saturating_mul(2).max(1024);
    let mut loader = EbpfLoader::new();
    loader.override_global("global_config", &addresses, true);
    for (map, entries) in [
        ("pdr_map_teid_ip4", two),
        ("pdr_map_downlink_ip4", two),
        ("pdr_map_downlink_ip6", 1),
        ("far_map", two),
        ("qer_map", sessions),
        ("urr_map", two),
    ] {
        loader.map_max_entries(map, entries);
    }
    // The object asks for one of its maps to be pinned: in a folder of our own, which a running eUPF does not know.
    let pins = Path::new("/sys/fs/bpf").join(format!("causeway-peers-{}", std::process::id()));
    let folder = |source| PeerError::Pins { path: pins.clone(), source };
    std::fs::create_dir(&pins).map_err(folder)?;
    let loaded = loader.default_map_pin_directory(&pins).load(&object);
    std::fs::remove_dir_all(&pins).map_err(folder)?;
    Ok(loaded?)
}

/// The section is `xdp/upf_ip_entrypoint`, which is a name for one loader alone: the part from the slash on is cut off,
/// wherever the name stands.
fn rename_section(object: &mut [u8]) {
    const OLD: &[u8] = b"xdp/upf_ip_entrypoint\0";
    let places: Vec<_> = (0..object.len()).filter(|at| object[*at..].starts_with(OLD)).collect();
    for at in places {
        object[at + 3] = 0;
    }
}

/// As our own sessions: a PDR with an SDF filter and a FAR for each direction, a QER, a URR.
fn fill(upf: &mut Ebpf, sessions: u32, progress: &mut Progress) -> Result<(), PeerError> {
    let map = |name: &'static str| PeerError::NoMap(name);
    let mut maps = upf.maps_disjoint_mut(["pdr_map_teid_ip4", "pdr_map_downlink_ip4", "far_map", "qer_map"]);
    let [tunnels, ues, fars, qers] = &mut maps;
    let tunnels = tunnels.take().ok_or(map("pdr_map_teid_ip4"))?;
    let ues = ues.take().ok_or(map("pdr_map_downlink_ip4"))?;
    let fars = fars.take().ok_or(map("far_map"))?;
    let qers = qers.take().ok_or(map("qer_map"))?;
    let mut tunnels: HashMap<_, u32, [u8; 208]> = HashMap::try_from(tunnels)?;
    let mut ues: HashMap<_, [u8; 4], [u8; 208]> = HashMap::try_from(ues)?;
    let mut fars: Array<_, [u8; 16]> = Array::try_from(fars)?;
    let mut qers: Array<_, [u8; 32]> = Array::try_from(qers)?;
    for session in 0..sessions {
        let ue = Ipv4Addr::from(u32::from(FIRST_UE) + session);
        let (up, down) = (session * 2, session * 2 + 1);
        tunnels.insert(FIRST_TEID + session, records::pdr(session, up, NETWORK, true), 0)?;
        ues.insert(ue.octets(), records::pdr(session, down, NETWORK, false), 0)?;
        fars.set(up, records::to_network(), 0)?;
        fars.set(down, records::to_tunnel(0x4000_0000 + session, GNB), 0)?;
        qers.set(session, records::qer(QFI), 0)?;
        if session % 1024 == 0 {
            progress.set_progress(session.into(), sessions.into());
        }
    }
    Ok(())
}

fn loaded(object: &mut Ebpf, name: &'static str) -> Result<ProgramFd, PeerError> {
    let program = object.program_mut(name).ok_or(PeerError::NoProgram(name))?;
    let program: &mut Xdp = program.try_into()?;
    program.load()?;
    let clone = program.fd()?.try_clone();
    clone.map_err(|source| PeerError::Read { path: name.into(), source })
}

/// From the gNB, to the server.
fn uplink(sessions: i32) -> Traffic {
    let tunnelled = TUNNEL + USER;
    let mut headers = ethernet();
    headers.extend(ipv4(tunnelled, GNB, N3));
    headers.extend([0x08, 0x68, 0x08, 0x68]);
    headers.extend(((tunnelled - 20) as u16).to_be_bytes());
    headers.extend([0, 0]);
    headers.extend([0x34, 0xff]);
    headers.extend(((USER + 8) as u16).to_be_bytes());
    let number_at = headers.len() as i16;
    headers.extend([0, 0, 0, 0, 0, 0, 0, 0x85, 1, 0x10, QFI, 0]);
    headers.extend(user(FIRST_UE, SERVER, (40_000, 8000)));
    Traffic { headers, length: ETHERNET + tunnelled, number_at, first: FIRST_TEID as i32, sessions }
}

/// From the server, to the UE.
fn downlink(sessions: i32) -> Traffic {
    let mut headers = ethernet();
    headers.extend(user(SERVER, FIRST_UE, (8000, 40_000)));
    let first = u32::from(FIRST_UE) as i32;
    Traffic { headers, length: ETHERNET + USER, number_at: ETHERNET as i16 + 16, first, sessions }
}

fn ethernet() -> Vec<u8> {
    vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]
}

fn user(src: Ipv4Addr, dst: Ipv4Addr, ports: (u16, u16)) -> Vec<u8> {
    let mut headers = ipv4(USER, src, dst);
    headers.extend(ports.0.to_be_bytes());
    headers.extend(ports.1.to_be_bytes());
    headers.extend(((USER - 20) as u16).to_be_bytes());
    headers.extend([0, 0]);
    headers
}

/// Without a checksum, which the program does not look at.
fn ipv4(length: i32, src: Ipv4Addr, dst: Ipv4Addr) -> Vec<u8> {
    let mut header = vec![0x45, 0];
    header.extend((length as u16).to_be_bytes());
    header.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    header.extend(src.octets());
    header.extend(dst.octets());
    header
}
