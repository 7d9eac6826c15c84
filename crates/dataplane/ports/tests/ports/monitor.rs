//! The monitor of links, on one end of a veth pair.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use causeway_ports::tpacket::LinkMonitor;

use crate::common::{RawSocket, Remote, in_namespace};

/// An Ethernet type that the kernel uses for nothing (IEEE 802 local experiments).
const EXPERIMENT: [u8; 2] = [0x88, 0xb5];

/// A broadcast frame with a number.
fn frame(number: u8) -> Vec<u8> {
    let mut octets = vec![0xff; 60];
    octets[12..14].copy_from_slice(&EXPERIMENT);
    octets[14] = number;
    octets
}

fn is_ours(octets: &[u8]) -> bool {
    octets.get(12..14) == Some(&EXPERIMENT)
}

/// The numbers of so many frames, as the monitor sees them.
fn numbers(monitor: &mut LinkMonitor, count: usize) -> Vec<u8> {
    let end = Instant::now() + Duration::from_secs(60);
    let mut seen = Vec::new();
    while seen.len() < count {
        assert!(Instant::now() < end, "{seen:?}");
        monitor.wait(Duration::from_millis(100));
        while let Some(frame) = monitor.read() {
            if is_ours(frame.data) {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                assert!(now.abs_diff(frame.time) < Duration::from_secs(60), "{:?}", frame.time);
                assert_eq!((frame.len, frame.data.len()), (60, 60));
                seen.push(frame.data[14]);
            }
        }
    }
    seen
}

// Input:  frames sent and received on a link, one while the monitor is paused; then many more than fit into a small ring.
// Output: those of both directions with time and length; not that of the pause; a number of lost frames, with which all are counted.
#[test]
fn a_monitor_sees_both_directions_and_counts_what_it_lacks() {
    in_namespace("a_monitor_sees_both_directions_and_counts_what_it_lacks", || {
        let remote = Remote::new();
        remote.connect(("here", &[]), ("there", &[]));
        let mut monitor = LinkMonitor::open(1 << 20).unwrap();
        let near = RawSocket::open("here");
        let far = remote.run(|| RawSocket::open("there"));
        near.send(&frame(1));
        far.send(&frame(2));
        assert_eq!(numbers(&mut monitor, 2), [1, 2]);

        monitor.pause(true).unwrap();
        near.send(&frame(3));
        monitor.pause(false).unwrap();
        near.send(&frame(4));
        assert_eq!(numbers(&mut monitor, 1), [4]);
        assert_eq!(monitor.lost(), 0);

        let mut small = LinkMonitor::open(1).unwrap();
        let sent = 20_000;
        (0..sent).for_each(|_| near.send(&frame(5)));
        let end = Instant::now() + Duration::from_secs(60);
        let mut seen = 0;
        while seen + small.lost() < sent {
            assert!(Instant::now() < end, "{seen} of {sent}");
            small.wait(Duration::from_millis(100));
            while let Some(frame) = small.read() {
                seen += u64::from(is_ours(frame.data));
            }
        }
        assert!(seen > 0 && small.lost() > 0, "{seen} seen, {} lost", small.lost());
    });
}
