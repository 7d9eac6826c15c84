//! BMv2 under the daemon: simple_switch_grpc in a network namespace, with a TAP device on each port.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::tap::{TapOptions, TapPort};
use causeway_ports::{Port, wait};
use causeway_upf::Daemon;
use causeway_upf::config::P4Switch;

use crate::common::loopback;
use crate::common::namespace::in_namespace;
use crate::common::smf::Smf;
use crate::switch::bmv2_tools;
use crate::switch::thrift::{PATIENCE, Thrift, Value};
use crate::switch::{N3, N6, Switch, UPF, carry_and_buffer, configuration_for};

const CPU: u16 = 510;
const GRPC: &str = "127.0.0.1:9559";
const THRIFT: u16 = 9090;

/// BMv2 with nothing on it.
struct Bmv2 {
    taps: Vec<(u16, TapPort)>,
    process: Child,
}

impl Bmv2 {
    fn start() -> Self {
        let device = |port: u16| format!("bm{port}");
        let open = |port: u16| {
            let options = TapOptions { device: device(port), bridge: None, mtu: Some(2000) };
            (port, TapPort::open(&options.device, &options).unwrap())
        };
        let taps = [N3, N6].map(open).into();
        let interfaces =
            [N3, N6].iter().flat_map(|port| ["-i".to_owned(), format!("{port}@{}", device(*port))]);
        let process = Command::new("simple_switch_grpc")
            .args(interfaces)
            .args(["--no-p4", "--device-id", "1", "--thrift-port", &THRIFT.to_string()])
            .args(["--log-console", "--log-level", "warn"])
            .args([
                "--",
                "--priority-queues",
                "8",
                "--grpc-server-addr",
                GRPC,
                "--cpu-port",
                &CPU.to_string(),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { taps, process }
    }

    /// Tells it our GTP-U address, once it has its program. P4Runtime cannot: it does not serve value sets.
    fn learn_address(&mut self) {
        let mut thrift = Thrift::connect(THRIFT, || matches!(self.process.try_wait(), Ok(None)));
        let value = Value::Text(UPF.octets().to_vec());
        let arguments = vec![Value::I32(0), Value::text("UpfParser.local_ipv4"), value];
        thrift.call("standard:bm_parse_vset_add", arguments);
    }
}

impl Drop for Bmv2 {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}

impl Switch for Bmv2 {
    fn put(&mut self, port: u16, frame: &[u8]) {
        let (_, tap) = self.taps.iter_mut().find(|(number, _)| *number == port).unwrap();
        assert_eq!(tap.send(&[Frame { meta: Meta::Ethernet, data: frame }]).unwrap(), 1);
    }

    fn next(&mut self) -> (u16, Vec<u8>) {
        let end = Instant::now() + PATIENCE;
        let mut batch = Batch::new();
        while Instant::now() < end {
            let ports: Vec<&dyn Port> = self.taps.iter().map(|(_, tap)| tap as &dyn Port).collect();
            wait(ports, None, Some(Duration::from_secs(1))).unwrap();
            for (number, tap) in &mut self.taps {
                tap.receive(&mut batch).unwrap();
                // What is not IPv4 is the kernel's own.
                let sent = batch.frames().map(|frame| frame.data.to_vec());
                if let Some(sent) = sent.into_iter().find(|frame| frame.get(12..14) == Some(&[8, 0])) {
                    return (*number, sent);
                }
            }
        }
        panic!("nothing leaves");
    }
}

// Input:  the story of the model, on BMv2: the daemon loads the program.
// Output: the same packets, reports and volumes.
#[test]
fn the_daemon_drives_bmv2() {
    const NAME: &str = "switch::bmv2::the_daemon_drives_bmv2";
    if let Some(tool) = bmv2_tools::missing() {
        eprintln!("SKIPPED {NAME}: needs {tool} (not on PATH)");
        return;
    }
    in_namespace(NAME, || {
        let folder = tempfile::tempdir().unwrap();
        let json = bmv2_tools::compile(folder.path(), "HIP4");
        let address: SocketAddr = GRPC.parse().unwrap();
        let mut switch = Bmv2::start();
        let mut config = configuration_for(address);
        config.upf.switch = P4Switch {
            device_config: Some(json),
            copy_session: Some(1),
            counts_as_received: true,
            ..config.upf.switch
        };
        let daemon = Daemon::start(&config).unwrap();
        let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
        smf.associate();
        let start = Instant::now();
        let another = Ipv4Addr::new(10, 45, 3, 1);
        while !smf.try_establish(another).is_accepted() {
            assert!(start.elapsed() < PATIENCE, "no session on BMv2");
        }
        switch.learn_address();
        assert_eq!(carry_and_buffer(&mut switch, &mut smf), Some((100, 400)));
    });
}
