// The hash of the tables of texts.
#pragma once

#include <cstdint>

namespace naively {

// Both halves of the product of two numbers, folded: every bit of the result depends on all bits.
inline uint64_t mix_bits(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): __extension__ allows no `using`
    Wide product = Wide(a ^ 0x9e3779b97f4a7c15) * (b ^ 0xe7037ed1a0b428db);
    return uint64_t(product) ^ uint64_t(product >> 64);
}

}  // namespace naively
