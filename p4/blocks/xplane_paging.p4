// Profile `xplane` with XPLANE_WALK, ingress: packets for idle UEs wait in rings in external memory (X-PLANE sections 5.3 and 5.4; docs/xplane.md).
//
// The control plane gives an idle UE a paging ring (table `idle_ues`). Packets of the UE enter it while it is held, and as long as packets are in it; the first
// packet of an empty ring is copied to the software, which reports downlink data. A notification by the CPU port releases the ring: READ_AHEAD packets are
// read, each is looked up as a packet that comes, and when a lookup has ended the next packet is read. One that finds no entry takes the walk of its flow or joins
// it, and its lookup ends when it leaves that: so no more than READ_AHEAD packets of a paging ring are in rings of walks.
//
// A packet has its position in its tag, and leaves the ring when its lookup brings it back and its position is that of the first packet. What is not next is
// dropped: it is a second copy, or one in front of it was lost, and then it is still in the ring. So a release may begin again at any time, at the first packet:
// it is how the control plane mends what was lost, and one that is doubled changes nothing. A ring that is held again while packets leave keeps those whose
// lookups have not ended.
//
// Positions have 13 bits. An empty ring goes on a whole ring further: a copy of a packet of before is next at no time.

#ifndef CAUSEWAY_XPLANE_PAGING
#define CAUSEWAY_XPLANE_PAGING

#ifdef XPLANE_WALK

// In the cell of a ring: packets leave it.
const bit<32> RELEASED = 0x80000000;
const bit<32> POSITIONS = 0x1fff;
const bit<32> PAGING_RING = 1 << PAGING_RING_BITS;

typedef bit<PAGING_BITS> paging_index_t;
#define AT_PAGING meta.paging_ring[PAGING_BITS - 1:0]
// The packet was in a ring of a walk, in a paging ring, and found no place in the local state table there.
#define WAS_QUEUED meta.mark[0:0] == 1
#define WAS_PAGED meta.mark[1:1] == 1
#define HAS_NO_PLACE meta.mark[2:2] == 1

control Paging(inout xplane_headers_t hdr, inout xplane_metadata_t meta) {
    // Whether packets leave, and the position of the first one.
    REGISTER(pages, 1 << PAGING_BITS, paging_index_t, bit<32>)
    // The position behind the last one.
    REGISTER(ends, 1 << PAGING_BITS, paging_index_t, bit<32>)

    REGISTER_ACTION(pages, see_page, paging_index_t, bit<32>, result = cell;)
    REGISTER_ACTION(pages, release_page, paging_index_t, bit<32>, cell = cell | RELEASED; result = cell;)
    REGISTER_ACTION(pages, hold_page, paging_index_t, bit<32>, cell = cell & POSITIONS; result = cell;)
    REGISTER_ACTION(pages, empty_page, paging_index_t, bit<32>, cell = (cell + PAGING_RING) & POSITIONS; result = cell;)

    REGISTER_ACTION(pages, leave_page, paging_index_t, bit<32>,
        result = cell;
        if (cell == (RELEASED | meta.paging_position)) { cell = RELEASED | ((meta.paging_position + 1) & POSITIONS); }
    )

    // A packet enters if it is not to pass, and the ring is not full.
    REGISTER_ACTION(ends, enter, paging_index_t, bit<32>,
        result = cell;
        if (((cell - meta.paging_first) & POSITIONS) < PAGING_RING && ((meta.paging & RELEASED) == 0 || cell != meta.paging_first)) {
            cell = (cell + 1) & POSITIONS;
        }
    )

    REGISTER_ACTION(ends, see_end, paging_index_t, bit<32>, result = cell;)
    REGISTER_ACTION(ends, empty_end, paging_index_t, bit<32>, cell = meta.paging_first; result = cell;)

    action set_paging_ring(bit<32> ring) {
        meta.paging_ring = ring;
        meta.has_paging_ring = 1;
    }

    table idle_ues {
        key = {
            meta.key_kind : exact;
            meta.ue_word : exact;
            meta.ue_local : exact;
        }
        actions = { set_paging_ring; NoAction; }
        const default_action = NoAction();
        size = 1 << PAGING_BITS;
    }

    action split_page() {
        meta.paging_first = meta.paging & POSITIONS;
    }

    // Its lookup does not count: the packet is no more here, and its UE's entry in the local state table ends as with others.
    action pass_over() {
        meta.is_counted = 0;
        meta.is_forwarded = 0;
        meta.octets = 0;
    }

    apply {
        bool is_of_ring = meta.kind == KIND_USER || meta.kind == KIND_BUCKET || meta.kind == KIND_QUEUED;
        meta.paging_position = (bit<32>)meta.mark[15:3];
        if (meta.kind == KIND_NOTICE) {
            meta.paging_ring = (bit<32>)hdr.cpu.port;
        } else if (meta.kind == KIND_PAGED) {
            meta.paging_ring = (bit<32>)meta.pair[PAGING_BITS - 1:0];
        } else if (is_of_ring && meta.is_damaged == 0 && (meta.kind == KIND_USER || (meta.is_sound == 1 && WAS_PAGED))) {
            idle_ues.apply();
        }
        if (meta.kind == KIND_NOTICE) {
            if (meta.paging_ring >= 1 << PAGING_BITS || hdr.cpu.code == 0 || hdr.cpu.code > NOTICE_EMPTY) {
                meta.kind = KIND_OTHER;
                meta.outcome = OUTCOME_UNSUPPORTED;
            } else if (hdr.cpu.code == NOTICE_EMPTY) {
                REGISTER_EXECUTE(empty_page, AT_PAGING, meta.paging)
                split_page();
                REGISTER_EXECUTE(empty_end, AT_PAGING, meta.paging_end)
            } else {
                if (hdr.cpu.code == NOTICE_HOLD) {
                    REGISTER_EXECUTE(hold_page, AT_PAGING, meta.paging)
                } else {
                    REGISTER_EXECUTE(release_page, AT_PAGING, meta.paging)
                }
                split_page();
                REGISTER_EXECUTE(see_end, AT_PAGING, meta.paging_end)
            }
        } else if (meta.kind == KIND_USER && meta.has_paging_ring == 1) {
            REGISTER_EXECUTE(see_page, AT_PAGING, meta.paging)
            split_page();
            REGISTER_EXECUTE(enter, AT_PAGING, meta.paging_end)
            meta.paging_position = meta.paging_end;
            if ((meta.paging & RELEASED) == 0 || meta.paging_end != meta.paging_first) {
                meta.kind = KIND_ENTERS;
                if (((meta.paging_end - meta.paging_first) & POSITIONS) >= PAGING_RING) {
                    meta.is_paging_full = 1;
                }
            }
        } else if (meta.kind == KIND_PAGED && meta.is_sound == 1) {
            REGISTER_EXECUTE(see_page, AT_PAGING, meta.paging)
            // What it was before does not come from memory.
            meta.mark = (meta.mark & 0xfff8) | 2;
            if ((meta.paging & RELEASED) != 0) {
                meta.kind = KIND_USER;
            } else {
                meta.is_not_next = 1;
            }
        } else if (meta.has_paging_ring == 1 && meta.kind == KIND_BUCKET && !(WAS_QUEUED)) {
            REGISTER_EXECUTE(leave_page, AT_PAGING, meta.paging)
            split_page();
            REGISTER_EXECUTE(see_end, AT_PAGING, meta.paging_end)
            if (meta.paging == (RELEASED | meta.paging_position)) {
                meta.is_next = 1;
            }
        } else if (meta.has_paging_ring == 1) {
            REGISTER_EXECUTE(see_page, AT_PAGING, meta.paging)
            split_page();
            REGISTER_EXECUTE(see_end, AT_PAGING, meta.paging_end)
        }
        if (meta.kind == KIND_BUCKET && meta.is_sound == 1 && WAS_PAGED && !(WAS_QUEUED)) {
            if (meta.is_next == 0) {
                meta.is_not_next = 1;
                pass_over();
            } else if (HAS_NO_PLACE) {
                pass_over();
            }
        }
        meta.paging_waiting = (meta.paging_end - meta.paging_first) & POSITIONS;
    }
}

// Which packets of a ring are read: behind the walk, since the lookup of a packet that is in one has not ended.
control PagingReads(inout xplane_headers_t hdr, inout xplane_metadata_t meta) {
    // The position of the next packet to be read, and in front of it as many as are being looked up, that of packets whose lookup has ended.
    WORD_PAIRS(reads, 1 << PAGING_BITS, paging_index_t)

    WORD_PAIR_ACTION(reads, begin, paging_index_t,
        cell.second = meta.paging_first;
        cell.first = (meta.paging_first + meta.paging_reads) & POSITIONS;
    )

    // A packet that enters is read at once if all in front of it are.
    WORD_PAIR_ACTION(reads, arrive, paging_index_t,
        if (cell.first == meta.paging_position && ((cell.first - cell.second) & POSITIONS) < READ_AHEAD) {
            cell.first = (cell.first + 1) & POSITIONS;
            result = 1;
        }
    )

    // A lookup has ended. There may be more of them than of packets that were read since the ring was emptied.
    WORD_PAIR_ACTION(reads, next, paging_index_t,
        if (cell.second != cell.first) { cell.second = (cell.second + 1) & POSITIONS; }
        if (cell.first != meta.paging_end) { result = RELEASED | cell.first; cell.first = (cell.first + 1) & POSITIONS; }
    )

    apply {
        bit<32> read = 0;
        if (meta.kind == KIND_NOTICE) {
            if (hdr.cpu.code == NOTICE_RELEASE) {
                meta.paging_reads = meta.paging_waiting;
                if (meta.paging_reads > READ_AHEAD) {
                    meta.paging_reads = READ_AHEAD;
                }
            }
            meta.paging_position = meta.paging_first;
            REGISTER_EXECUTE(begin, AT_PAGING, read)
        } else if (meta.kind == KIND_ENTERS && meta.is_paging_full == 0 && (meta.paging & RELEASED) != 0) {
            REGISTER_EXECUTE(arrive, AT_PAGING, meta.paging_reads)
        } else if (meta.has_paging_ring == 1 && (meta.paging & RELEASED) != 0) {
            if ((meta.is_next == 1 && meta.walk_group == 0)
                || (WAS_QUEUED && WAS_PAGED && (meta.kind == KIND_BUCKET || (meta.kind == KIND_USER && meta.flights == 0)))) {
                REGISTER_EXECUTE(next, AT_PAGING, read)
                if (read != 0) {
                    meta.reads_next = 1;
                    meta.paging_position = read & POSITIONS;
                    meta.paging_reads = 1;
                }
            }
        }
    }
}

#endif

#endif
