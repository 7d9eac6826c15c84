//! Frames of the CPU port and of other ports.

use causeway_switch::driver::{Reply, Request};

use crate::driver::subjects::each;

// Input:  an ARP frame on port 4; a frame from the controller for port 3, with the header of the CPU port.
// Output: the frame is sent to the controller with the header that has the reason and the port; the other is
//         transmitted on port 3 without it.
#[test]
fn packets_go_in_and_out() {
    each(|switch| {
        let mut arp = vec![0xff; 6];
        arp.extend([2, 0, 0, 0, 0, 8, 0x08, 0x06]);
        arp.resize(60, 1);
        switch.receive(4, &arp);
        let packet = switch.packet();
        assert_eq!(packet[..12], arp[..12]);
        assert_eq!(packet[12..24], [0x88, 0xb5, 6, 0, 0, 4, 0, 0, 0, 0, 0x08, 0x06]);
        assert_eq!(packet[24..], arp[14..]);

        let mut out = arp.clone();
        out.splice(12..14, [0x88, 0xb5, 3, 0, 0, 3, 0, 0, 0, 0, 0x08, 0x06]);
        assert_eq!(switch.ask(Request::PacketOut(out)), Ok(Reply::Done));
        assert_eq!(switch.sent(), Some((3, arp)));
    });
}
