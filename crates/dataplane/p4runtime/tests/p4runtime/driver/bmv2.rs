//! BMv2's simple_switch_grpc under the driver: the cases that need no frames on ports.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use causeway_p4runtime::client::CopySession;
use causeway_switch::driver::{Link, Outcome, Program, Request, WriteError};

use crate::driver::behaviour;
use crate::driver::bmv2_tools;
use crate::driver::subjects::{CPU, Subject};
use crate::driver::world::Driver;

/// A switch of BMv2 with `hip4`, empty.
struct Bmv2 {
    driver: Driver,
    process: Child,
}

impl Bmv2 {
    fn start(json: &Path) -> Self {
        let (grpc, thrift) = (free_port(), free_port());
        let mut command = Command::new("simple_switch_grpc");
        command.args(["--no-p4", "--device-id", "1", "--log-console", "--log-level", "warn"]);
        if has_option("--thrift-port") {
            command.args(["--thrift-port", &thrift.port().to_string()]);
        }
        command.args(["--", "--grpc-server-addr", &grpc.to_string(), "--cpu-port", &CPU.to_string()]);
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut driver = Driver::connect(grpc, |options| {
            options.device_config = Some(json.to_owned());
            options.copies = vec![CopySession { session: 1, port: CPU.into() }];
        });
        assert_eq!(driver.link(), Link::Up { emptied: true });
        Self { driver, process }
    }
}

impl Drop for Bmv2 {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}

impl Subject for Bmv2 {
    fn ask(&mut self, request: Request) -> Outcome {
        self.driver.ask(request)
    }

    fn receive(&mut self, _: u16, _: &[u8]) {
        unreachable!("it has no ports here");
    }

    fn sent(&mut self) -> Option<(u16, Vec<u8>)> {
        None
    }

    fn packet(&mut self) -> Vec<u8> {
        self.driver.packet()
    }

    /// It refuses the entry without a reason.
    fn means_full(&self, error: &WriteError, table: &str, _: usize) -> bool {
        matches!(error, WriteError::Refused { table: named, .. } if named == table)
    }

    fn program(&self) -> Program {
        self.driver.driver.program().clone()
    }
}

/// An address without a listener.
fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn has_option(option: &str) -> bool {
    let help = Command::new("simple_switch_grpc").arg("--help").output().unwrap();
    (String::from_utf8_lossy(&help.stdout) + String::from_utf8_lossy(&help.stderr)).contains(option)
}

// Input:  batches, modifications, a full table, entries of every kind, and an ARP frame by packet-out, on BMv2.
// Output: as on the model.
#[test]
fn bmv2_does_the_same() {
    if let Some(tool) = bmv2_tools::missing() {
        eprintln!("SKIPPED p4runtime::bmv2_does_the_same: needs {tool} (not on PATH)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let json = bmv2_tools::compile(folder.path(), "HIP4");
    for case in behaviour::WITHOUT_PORTS {
        case(&mut Bmv2::start(&json));
    }
}
