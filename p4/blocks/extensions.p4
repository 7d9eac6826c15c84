// Parser states for GTP-U extension headers (TS 29.281 clause 5.2): the PDU Session Container, of up to 16 octets, and up to one
// other header before and one behind it that an endpoint need not understand. Included by parser.p4.
//
// Each header begins with its length in units of four octets and ends with the type of the next one. Types from 0x80 on ask the
// endpoint to understand them.

state gtpu_extended {
    pkt.extract(hdr.gtpu_options);
    transition select(hdr.gtpu_options.next_extension) {
        0: user_packet;
        EXTENSION_PDU_SESSION_CONTAINER: container;
        0 &&& 0x80: before;
        default: unsupported_extension;
    }
}

// PASS_OVER(name, bits, next): goes over so many bits, then to the state that reads the type of the next header.
#define PASS_OVER(name, bits, next) state name { pkt.advance(bits); transition next; }

state before {
    bit<8> units = pkt.lookahead<bit<8>>();
    transition select(units) {
        0: malformed_gtpu;
        1: before_1;
        2: before_2;
        3: before_3;
        4: before_4;
        default: unsupported_extension;
    }
}
PASS_OVER(before_1, 24, before_end)
PASS_OVER(before_2, 56, before_end)
PASS_OVER(before_3, 88, before_end)
PASS_OVER(before_4, 120, before_end)

state before_end {
    bit<8> following = pkt.lookahead<bit<8>>();
    pkt.advance(8);
    transition select(following) {
        0: user_packet;
        EXTENSION_PDU_SESSION_CONTAINER: container;
        default: unsupported_extension;
    }
}

state container {
    pkt.extract(hdr.psc);
    meta.qfi_in = hdr.psc.qfi;
    meta.qfi_out = hdr.psc.qfi;
    transition select(hdr.psc.length) {
        0: malformed_gtpu;
        1: container_end;
        2: container_2;
        3: container_3;
        4: container_4;
        default: unsupported_extension;
    }
}
PASS_OVER(container_2, 32, container_end)
PASS_OVER(container_3, 64, container_end)
PASS_OVER(container_4, 96, container_end)

state container_end {
    bit<8> following = pkt.lookahead<bit<8>>();
    pkt.advance(8);
    transition select(following) {
        0: user_packet;
        // Two containers contradict each other.
        EXTENSION_PDU_SESSION_CONTAINER: malformed_gtpu;
        0 &&& 0x80: behind;
        default: unsupported_extension;
    }
}

state behind {
    bit<8> units = pkt.lookahead<bit<8>>();
    transition select(units) {
        0: malformed_gtpu;
        1: behind_1;
        2: behind_2;
        3: behind_3;
        4: behind_4;
        default: unsupported_extension;
    }
}
PASS_OVER(behind_1, 24, behind_end)
PASS_OVER(behind_2, 56, behind_end)
PASS_OVER(behind_3, 88, behind_end)
PASS_OVER(behind_4, 120, behind_end)

state behind_end {
    bit<8> following = pkt.lookahead<bit<8>>();
    pkt.advance(8);
    transition select(following) {
        0: user_packet;
        default: unsupported_extension;
    }
}
