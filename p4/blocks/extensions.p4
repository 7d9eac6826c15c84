// Parser states for GTP-U extension headers (TS 29.281 clause 5.2): the PDU Session Container, of up to 16 octets, and up to one
// other header before and one behind it that an endpoint need not understand. Included by parser.p4.
//
// Each header begins with its length in units of four octets and ends with the type of the next one. Types from 0x80 on ask the
// endpoint to understand them.
//
// A target that makes its copies for the CPU port from parsed headers keeps these octets (KEEP_EXTENSIONS); to others they are
// only passed over.

#ifdef KEEP_EXTENSIONS
#define PASS_OCTETS(name, bits) pkt.extract(hdr.name, bits);
#define PASS_TYPE(name) pkt.extract(hdr.name);
#else
#define PASS_OCTETS(name, bits) pkt.advance(bits);
#define PASS_TYPE(name) pkt.advance(8);
#endif

state gtpu_extended {
    pkt.extract(hdr.gtpu_options);
    transition select(hdr.gtpu_options.next_extension) {
        0: user_packet;
        EXTENSION_PDU_SESSION_CONTAINER: container;
        0 &&& 0x80: before;
        default: unsupported_extension;
    }
}

// Goes over so many bits, which may be kept as `header`, then to the state that reads the type of the next header.
#define PASS_OVER(name, header, bits, next) state name { PASS_OCTETS(header, bits) transition next; }

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
PASS_OVER(before_1, before, 24, before_end)
PASS_OVER(before_2, before, 56, before_end)
PASS_OVER(before_3, before, 88, before_end)
PASS_OVER(before_4, before, 120, before_end)

state before_end {
    bit<8> following = pkt.lookahead<bit<8>>();
    PASS_TYPE(before_next)
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
PASS_OVER(container_2, psc_rest, 32, container_end)
PASS_OVER(container_3, psc_rest, 64, container_end)
PASS_OVER(container_4, psc_rest, 96, container_end)

state container_end {
    bit<8> following = pkt.lookahead<bit<8>>();
    PASS_TYPE(psc_next)
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
PASS_OVER(behind_1, behind, 24, behind_end)
PASS_OVER(behind_2, behind, 56, behind_end)
PASS_OVER(behind_3, behind, 88, behind_end)
PASS_OVER(behind_4, behind, 120, behind_end)

state behind_end {
    bit<8> following = pkt.lookahead<bit<8>>();
    PASS_TYPE(behind_next)
    transition select(following) {
        0: user_packet;
        default: unsupported_extension;
    }
}
