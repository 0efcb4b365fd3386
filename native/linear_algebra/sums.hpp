// Vectors of any number type, and sums of products in an order that is the same at every instruction level.
#pragma once

#include <cstddef>
#include <cstring>

#include "kernels.hpp"

// In the namespace of the instruction level: a function compiled for one must never be taken for another's.
namespace naively::NAIVELY_LEVEL {

#if defined(__AVX512F__)
constexpr size_t REGISTER_BYTES = 64;
#elif defined(__AVX__)
constexpr size_t REGISTER_BYTES = 32;
#else
constexpr size_t REGISTER_BYTES = 16;
#endif

template <class T, size_t Lanes>
struct VectorOf {
    // NOLINTNEXTLINE(modernize-use-using): an attribute that depends on the type
    typedef T type __attribute__((vector_size(Lanes * sizeof(T))));
};
// As many numbers as one instruction takes.
template <class T>
using Register = typename VectorOf<T, REGISTER_BYTES / sizeof(T)>::type;

template <class V, class T>
inline V vector_at(const T* from) {
    V v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

// Sums that run side by side in one sum of products, at every level as many.
constexpr size_t PARTS = 16;
template <class T>
using PartialSums = typename VectorOf<T, PARTS>::type;

template <class T>
inline T whole(PartialSums<T> sums) {
    T parts[PARTS];
    std::memcpy(parts, &sums, sizeof parts);
    for (size_t width = PARTS / 2; width; width /= 2)
        for (size_t i = 0; i < width; ++i) parts[i] += parts[i + width];
    return parts[0];
}

// Σ a[i] * b[i].
template <class T>
inline T dot(const T* a, const T* b, size_t n) {
    PartialSums<T> sums{};
    size_t i = 0;
    for (; i + PARTS <= n; i += PARTS) sums += vector_at<PartialSums<T>>(a + i) * vector_at<PartialSums<T>>(b + i);
    if (i < n) {
        PartialSums<T> left{}, right{};
        std::memcpy(&left, a + i, (n - i) * sizeof(T));
        std::memcpy(&right, b + i, (n - i) * sizeof(T));
        sums += left * right;
    }
    return whole<T>(sums);
}

}  // namespace naively::NAIVELY_LEVEL
