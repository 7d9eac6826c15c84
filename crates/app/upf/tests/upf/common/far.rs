//! Hosts in network namespaces of their own.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::mpsc::channel;

use super::PATIENCE;
use super::namespace::ip;

/// Joins `dev` with an address to an interface in a new namespace, where `commands` are run, and opens a socket there.
pub fn far_end(
    dev: &str,
    address: &str,
    commands: &'static [&'static str],
    at: (Ipv4Addr, u16),
) -> UdpSocket {
    far_ends(dev, address, commands, vec![at]).remove(0)
}

/// The same with several sockets.
pub fn far_ends(
    dev: &str,
    address: &str,
    commands: &'static [&'static str],
    at: Vec<(Ipv4Addr, u16)>,
) -> Vec<UdpSocket> {
    let ((tell, told), (go, gone)) = (channel(), channel::<()>());
    let there = std::thread::spawn(move || {
        // SAFETY: only the network namespace of this thread changes; no descriptor table is split.
        #[allow(unsafe_code)]
        unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }.unwrap();
        tell.send(rustix::thread::gettid()).unwrap();
        gone.recv().unwrap();
        commands.iter().for_each(|command| ip(command));
        let bound = |at| {
            let socket = UdpSocket::bind(at).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket
        };
        at.into_iter().map(bound).collect()
    });
    let thread = told.recv().unwrap().as_raw_nonzero();
    ip(&format!(
        "link add {dev} numrxqueues 2 numtxqueues 2 type veth peer name far numrxqueues 2 numtxqueues 2"
    ));
    ip(&format!("link set far netns {thread}"));
    ip(&format!("address add {address} dev {dev}"));
    ip(&format!("link set {dev} up"));
    go.send(()).unwrap();
    there.join().unwrap()
}
