// Registers whose cells are two words of 32 bits, for TNA on Tofino 1. The rules of `target.p4` hold for them.

#ifndef CAUSEWAY_WORD_PAIRS
#define CAUSEWAY_WORD_PAIRS

struct word_pair_t {
    bit<32> first;
    bit<32> second;
}

#define WORD_PAIRS(name, size, index) Register<word_pair_t, index>(size) name;
#define WORD_PAIR_ACTION(array, name, index, body) \
    RegisterAction<word_pair_t, index, bit<32>>(array) name = { \
        void apply(inout word_pair_t cell, out bit<32> result) { body } \
    };
// A hash of several fields.
#define HASH_CRC32_OF_ALL(name, result, ...) result = name.get({ __VA_ARGS__ });

#endif
