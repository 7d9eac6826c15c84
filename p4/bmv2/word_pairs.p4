// Registers whose cells are two words of 32 bits, for v1model.

#ifndef CAUSEWAY_WORD_PAIRS
#define CAUSEWAY_WORD_PAIRS

struct word_pair_t {
    bit<32> first;
    bit<32> second;
}

#define WORD_PAIRS(name, size, index) register<bit<64>>(size) name;
#define WORD_PAIR_ACTION(array, name, index, body) \
    action name(in index at, out bit<32> result) { \
        word_pair_t cell; \
        bit<64> word; \
        array.read(word, (bit<32>)at); \
        cell.first = word[63:32]; \
        cell.second = word[31:0]; \
        result = 0; \
        body \
        array.write((bit<32>)at, cell.first ++ cell.second); \
    }
// A hash of several fields.
#define HASH_CRC32_OF_ALL(name, result, ...) \
    hash(result, HashAlgorithm.crc32, (bit<32>)0, { __VA_ARGS__ }, (bit<64>)0x100000000);

#endif
