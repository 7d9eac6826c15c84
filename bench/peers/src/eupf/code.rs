//! eBPF programs that drive another one, written as instructions.
//!
//! A driver makes a packet of a random session out of whatever the last repetition left, and calls the program under
//! test as its tail; so `BPF_PROG_TEST_RUN`, which does not restore the packet, can repeat it. The packet's cost is
//! that of the same driver before a program that only moves the start of the packet, as the one under test does.

/// Octets of the header that the outer tunnel adds: IPv4, UDP, GTP-U with a PDU Session Container.
pub(super) const TUNNEL: i32 = 44;
/// Octets of an Ethernet header.
pub(super) const ETHERNET: i32 = 14;

/// Functions of the kernel: `enum bpf_func_id`.
const RANDOM: i32 = 7;
const TAIL_CALL: i32 = 12;
const ADJUST_HEAD: i32 = 44;

const XDP_PASS: i32 = 2;

/// What a driver writes.
#[derive(Clone, Debug)]
pub(super) struct Traffic {
    /// The headers, from the Ethernet header on, a multiple of two octets.
    pub(super) headers: Vec<u8>,
    /// The length of the whole frame.
    pub(super) length: i32,
    /// Where the number of the session goes in, in network byte order.
    pub(super) number_at: i16,
    /// The number of the first session.
    pub(super) first: i32,
    /// How many sessions there are.
    pub(super) sessions: i32,
}

/// Instructions, and where the map of programs is named in them.
pub(super) struct Code {
    pub(super) octets: Vec<u8>,
    pub(super) map_at: Option<u64>,
}

#[derive(Default)]
struct Assembler(Vec<u8>);

impl Assembler {
    fn put(&mut self, code: u8, dst: u8, src: u8, offset: i16, immediate: i32) {
        self.0.extend([code, src << 4 | dst]);
        self.0.extend(offset.to_le_bytes());
        self.0.extend(immediate.to_le_bytes());
    }

    fn copy(&mut self, dst: u8, src: u8) {
        self.put(0xbf, dst, src, 0, 0);
    }

    fn set(&mut self, dst: u8, value: i32) {
        self.put(0xb7, dst, 0, 0, value);
    }

    fn load_word(&mut self, dst: u8, src: u8, offset: i16) {
        self.put(0x61, dst, src, offset, 0);
    }

    fn call(&mut self, helper: i32) {
        self.put(0x85, 0, 0, 0, helper);
    }

    fn exit(&mut self) {
        self.put(0x95, 0, 0, 0, 0);
    }

    fn store(&mut self, dst: u8, offset: i16, octets: &[u8]) {
        match *octets {
            [a, b, c, d] => self.put(0x62, dst, 0, offset, i32::from_le_bytes([a, b, c, d])),
            [a, b] => self.put(0x6a, dst, 0, offset, i32::from(u16::from_le_bytes([a, b]))),
            _ => {}
        }
    }
}

/// The driver; its tail is the program at `index` of the map.
pub(super) fn driver(traffic: &Traffic, index: i32) -> Code {
    let mut code = Assembler::default();
    code.copy(6, 1);
    code.load_word(7, 6, 0);
    code.load_word(3, 6, 4);
    code.copy(2, 3);
    code.put(0x1f, 2, 7, 0, 0); // r2 -= r7: the length now
    code.put(0x17, 2, 0, 0, traffic.length);
    code.put(0x15, 2, 0, 4, 0); // nothing to undo
    code.copy(1, 6);
    code.call(ADJUST_HEAD);
    code.load_word(7, 6, 0);
    code.load_word(3, 6, 4);
    code.copy(2, 7);
    code.put(0x07, 2, 0, 0, traffic.headers.len() as i32);
    let check = code.0.len();
    code.put(0x2d, 2, 3, 0, 0); // patched below: too short
    code.call(RANDOM);
    code.put(0x94, 0, 0, 0, traffic.sessions); // r0 %= sessions
    code.put(0x04, 0, 0, 0, traffic.first);
    code.put(0xdc, 0, 0, 0, 32); // network byte order
    for (index, octets) in traffic.headers.chunks(4).enumerate() {
        code.store(7, index as i16 * 4, octets);
    }
    code.put(0x63, 7, 0, traffic.number_at, 0);
    code.copy(1, 6);
    let map_at = code.0.len() as u64;
    code.put(0x18, 2, 0, 0, 0);
    code.put(0, 0, 0, 0, 0);
    code.set(3, index);
    code.call(TAIL_CALL);
    let end = code.0.len();
    code.set(0, 0);
    code.exit();
    let distance = ((end - check) / 8 - 1) as i16;
    code.0[check + 2..check + 4].copy_from_slice(&distance.to_le_bytes());
    Code { octets: code.0, map_at: Some(map_at) }
}

/// Moves the start of the packet, and lets it pass.
pub(super) fn shift_program(distance: i32) -> Code {
    let mut code = Assembler::default();
    code.set(2, distance);
    code.call(ADJUST_HEAD);
    code.set(0, XDP_PASS);
    code.exit();
    Code { octets: code.0, map_at: None }
}
