// Policing of a bit rate for each session, without the control plane: a register, since a data plane cannot set up a meter.
//
// A session has one word in each direction, the time up to which its rate is used up. A packet adds its own time at that rate, its step, and is dropped,
// adding nothing, if the word is ahead of the clock by POLICE_BURST. What it is less than that is credit. A stateful ALU of Tofino 1
// cannot take the later of word and clock and add a step as well, for it adds no two fields of a packet. So one packet of eight, drawn at random, renews
// the word instead: it is brought forward to the clock, and nothing is added. The control plane makes steps 8/7 of a packet's time for that.
// What a session may have beyond POLICE_BURST after a pause are the packets before the next draw: seven in the mean.
//
// Times have 32 bits and wrap. A word that is ahead of the clock by POLICE_FAR or more lags behind it: a step is 0.1 s at most. So a session that had a
// pause of more than 18 minutes has one chance in 8,000 to be in debt, for less than that.
//
// A packet comes with the header `police_h`: `hdr.police`. `police_words` has a cell for each session, POLICE_BITS the bits of an index.

#ifndef CAUSEWAY_POLICE
#define CAUSEWAY_POLICE

// Units of 256 ns: 20 ms of credit; 0.13 s.
#define POLICE_BURST 78125
#define POLICE_FAR 524288
// Packets that are not policed, and those of each direction.
#define POLICE_NONE 0
#define POLICE_UPLINK 1
#define POLICE_DOWNLINK 2

// In front of a packet on its way to this block.
header police_h {
    bit<8> kind;
    bit<16> draw;
    // The index of its session.
    bit<32> index;
    bit<32> clock;
    // What the packet takes at its rate.
    bit<32> step;
}

// The words of one direction.
control PoliceWords(inout police_h police, inout bit<32> is_over)(bit<8> kind) {
    REGISTER(police_words, SIZE_POLICE, bit<POLICE_BITS>, bit<32>)

    REGISTER_ACTION(police_words, charge_word, bit<POLICE_BITS>, bit<32>,
        if (cell - police.clock >= POLICE_BURST && cell - police.clock < POLICE_FAR) {
            result = 1;
        } else {
            result = 0;
            cell = cell + police.step;
        }
    )

    REGISTER_ACTION(police_words, renew_word, bit<POLICE_BITS>, bit<32>,
        if (cell - police.clock >= POLICE_BURST && cell - police.clock < POLICE_FAR) {
            result = 1;
        } else {
            result = 0;
        }
        if (cell - police.clock >= POLICE_FAR) {
            cell = police.clock;
        }
    )

    @hidden
    action charge() {
        REGISTER_EXECUTE(charge_word, police.index[POLICE_BITS - 1:0], is_over)
    }

    @hidden
    action renew() {
        REGISTER_EXECUTE(renew_word, police.index[POLICE_BITS - 1:0], is_over)
    }

    @hidden
    table charging {
        key = {
            police.kind : ternary;
            police.draw : ternary;
        }
        actions = { charge; renew; NoAction; }
        const default_action = NoAction();
        const entries = {
            (kind, 0 &&& 7) : renew();
            (kind, _) : charge();
        }
        size = 2;
    }

    apply {
        charging.apply();
    }
}

// Whether a packet is over the rate of its session: 1, or 0.
control Police(inout police_h police, inout bit<32> is_over) {
    PoliceWords(POLICE_UPLINK) uplink;
    PoliceWords(POLICE_DOWNLINK) downlink;

    apply {
        uplink.apply(police, is_over);
        downlink.apply(police, is_over);
    }
}

#endif
