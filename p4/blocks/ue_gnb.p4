// The tables of UEs and gNBs of Singh's thesis (section 2.3.3): which tunnel a packet to a UE gets. A UE's address is looked up in the tenant that the
// packet came from, so the same address in two tenants is two UEs.
//
// UE_METHOD 1: the UE's entry has the TEID and the address of the gNB. UE_METHOD 2: it has the TEID and the number of the gNB, whose address a second
// table has, which may be asked later.
//
// Two more are not the thesis'. A row for each pool of a tenant says what to add to an address to have the UE's number, as in profile `direct`. UE_METHOD 3: the
// UE's entry stands at its number, without a key. UE_METHOD 5: the number is the key, of 21 bits; so the UEs' numbers may have gaps.
//
// GNB_BITS is the width of a gNB's number, TENANT_BITS that of a tenant's, 0 where there are none. UES is the size of the table; for method 3 it is
// 163,840 for each of UE_PIECES: 65,536, 65,536 and 32,768 entries are what one stage of Tofino 1 holds.

#ifndef UE_METHOD
#define UE_METHOD 2
#endif
#ifndef GNB_BITS
#define GNB_BITS 13
#endif
#ifndef TENANT_BITS
#define TENANT_BITS 8
#endif

// Where the tunnel is written to, and what says that there is one.
#ifndef UE_OUT
#define UE_OUT meta
#define UE_FOUND DOWNLINK_OF_TENANT
#endif

#if TENANT_BITS > 0
#define UE_TENANT_KEY meta.tenant : exact @name("tenant");
#else
#define UE_TENANT_KEY
#endif

control UeTunnels(inout headers_t hdr, inout metadata_t meta) {
#if UE_METHOD == 1
    action set_tunnel(bit<32> teid, bit<32> tunnel) {
        UE_OUT.teid_out = teid;
        UE_OUT.tunnel = tunnel;
        UE_FOUND
    }
#define SET_TUNNEL set_tunnel
#else
    action set_gnb(bit<32> teid, bit<GNB_BITS> gnb) {
        UE_OUT.teid_out = teid;
        UE_OUT.gnb = gnb;
        UE_FOUND
    }
#define SET_TUNNEL set_gnb
#endif

#if UE_METHOD <= 2
    @id(28)
    table ue_tunnels {
        key = {
            UE_TENANT_KEY
            hdr.inner_ipv4.dst : exact @name("ue_address");
        }
        actions = { SET_TUNNEL; @defaultonly NoAction; }
        const default_action = NoAction();
        size = UES;
    }

    apply {
        ue_tunnels.apply();
    }
#else
    action set_number(bit<32> offset) {
        meta.ue = hdr.inner_ipv4.dst + offset;
        meta.has_number = 1;
    }

    @id(30)
    table ue_numbers {
        key = {
            UE_TENANT_KEY
            hdr.inner_ipv4.dst : ternary @name("ue_address");
        }
        actions = { set_number; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 512;
    }

#if UE_METHOD == 5
    @id(28)
    table ue_tunnels {
        key = { meta.ue[20:0] : exact @name("number"); }
        actions = { SET_TUNNEL; @defaultonly NoAction; }
        const default_action = NoAction();
        size = UES;
    }

    apply {
        ue_numbers.apply();
        if (meta.has_number == 1) {
            ue_tunnels.apply();
        }
    }
#else
// An entry that was never written says gNB 0, which has no address. A stage's pieces are two of 65,536 numbers, and behind those of all stages half a one.
#define UES_BY_NUMBER(name_, bits_) \
    @use_hash_action(1) \
    table name_ { \
        key = { meta.ue[bits_ - 1:0] : exact @name("number"); } \
        actions = { set_gnb; } \
        const default_action = set_gnb(0, 0); \
        size = 1 << bits_; \
    }
#define UES_OF_STAGE(number) \
    UES_BY_NUMBER(ue_first_##number, 16) \
    UES_BY_NUMBER(ue_second_##number, 16) \
    UES_BY_NUMBER(ue_half_##number, 15)
// Each number is in one piece: so the tables exclude each other, and may stand in one stage.
#define FIND_IN_STAGE(number) \
    else if (meta.ue[20:16] == 2 * number) { ue_first_##number.apply(); } \
    else if (meta.ue[20:16] == 2 * number + 1) { ue_second_##number.apply(); } \
    else if (meta.ue[20:15] == 48 + number) { ue_half_##number.apply(); }

#if UE_PIECES > 0
    UES_OF_STAGE(0)
#endif
#if UE_PIECES > 1
    UES_OF_STAGE(1)
#endif
#if UE_PIECES > 2
    UES_OF_STAGE(2)
#endif
#if UE_PIECES > 3
    UES_OF_STAGE(3)
#endif
#if UE_PIECES > 4
    UES_OF_STAGE(4)
#endif
#if UE_PIECES > 5
    UES_OF_STAGE(5)
#endif
#if UE_PIECES > 6
    UES_OF_STAGE(6)
#endif
#if UE_PIECES > 7
    UES_OF_STAGE(7)
#endif
#if UE_PIECES > 8
    UES_OF_STAGE(8)
#endif
#if UE_PIECES > 9
    UES_OF_STAGE(9)
#endif
#if UE_PIECES > 10
    UES_OF_STAGE(10)
#endif
#if UE_PIECES > 11
    UES_OF_STAGE(11)
#endif

    apply {
        ue_numbers.apply();
        if (meta.has_number == 0) {}
#if UE_PIECES > 0
        FIND_IN_STAGE(0)
#endif
#if UE_PIECES > 1
        FIND_IN_STAGE(1)
#endif
#if UE_PIECES > 2
        FIND_IN_STAGE(2)
#endif
#if UE_PIECES > 3
        FIND_IN_STAGE(3)
#endif
#if UE_PIECES > 4
        FIND_IN_STAGE(4)
#endif
#if UE_PIECES > 5
        FIND_IN_STAGE(5)
#endif
#if UE_PIECES > 6
        FIND_IN_STAGE(6)
#endif
#if UE_PIECES > 7
        FIND_IN_STAGE(7)
#endif
#if UE_PIECES > 8
        FIND_IN_STAGE(8)
#endif
#if UE_PIECES > 9
        FIND_IN_STAGE(9)
#endif
#if UE_PIECES > 10
        FIND_IN_STAGE(10)
#endif
#if UE_PIECES > 11
        FIND_IN_STAGE(11)
#endif
    }
#endif
#endif
}

#if UE_METHOD != 1
control GnbAddresses(in bit<GNB_BITS> gnb, inout bit<32> address) {
    action set_address(bit<32> tunnel) {
        address = tunnel;
    }

    @id(29)
    table gnb_addresses {
        key = { gnb : exact @name("gnb"); }
        actions = { set_address; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 1 << GNB_BITS;
    }

    apply {
        gnb_addresses.apply();
    }
}
#endif
