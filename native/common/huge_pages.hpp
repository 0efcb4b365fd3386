// Memory for large tables: in pages of two megabytes where the system lends them, so that a new table does not cost a
// fault for every four kilobytes.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace naively {

constexpr size_t LARGE_PAGE = size_t{1} << 21;

// What is not needed any more goes back by std::free.
inline void* large_memory(size_t bytes) {
    void* at = nullptr;
#if defined(__linux__)
    if (bytes >= 2 * LARGE_PAGE) {
        size_t whole = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
        at = std::aligned_alloc(LARGE_PAGE, whole);
        if (at) madvise(at, whole, MADV_HUGEPAGE);  // a wish: it may be refused
    } else
#endif
        at = std::malloc(bytes ? bytes : 1);
    if (!at) throw std::bad_alloc();
    return at;
}

template <class T>
struct Large {
    using value_type = T;
    Large() = default;
    template <class U>
    Large(const Large<U>&) {}
    T* allocate(size_t n) {
        if (n > size_t(-1) / sizeof(T)) throw std::bad_array_new_length();
        return static_cast<T*>(large_memory(n * sizeof(T)));
    }
    void deallocate(T* at, size_t) { std::free(at); }
    template <class U>
    bool operator==(const Large<U>&) const {
        return true;
    }
};

template <class T>
using LargeVector = std::vector<T, Large<T>>;

}  // namespace naively
