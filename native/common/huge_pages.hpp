// Memory for large tables: in pages of two megabytes where the system has them, so that a new table does not cost a
// page fault for every four kilobytes.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace naively {

constexpr size_t HUGE_PAGE = size_t{1} << 21;

// To be freed by std::free.
inline void* allocate_huge(size_t bytes) {
    void* at = nullptr;
#if defined(__linux__)
    if (bytes >= 2 * HUGE_PAGE) {
        size_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        at = std::aligned_alloc(HUGE_PAGE, whole);
        if (at) madvise(at, whole, MADV_HUGEPAGE);  // a request: the system may decline
    } else
#endif
        at = std::malloc(bytes ? bytes : 1);
    if (!at) throw std::bad_alloc();
    return at;
}

template <class T>
struct HugePageAllocator {
    using value_type = T;
    HugePageAllocator() = default;
    template <class U>
    HugePageAllocator(const HugePageAllocator<U>&) {}
    T* allocate(size_t n) {
        if (n > size_t(-1) / sizeof(T)) throw std::bad_array_new_length();
        return static_cast<T*>(allocate_huge(n * sizeof(T)));
    }
    void deallocate(T* at, size_t) { std::free(at); }
    template <class U>
    bool operator==(const HugePageAllocator<U>&) const {
        return true;
    }
};

template <class T>
using HugeVector = std::vector<T, HugePageAllocator<T>>;

}  // namespace naively
