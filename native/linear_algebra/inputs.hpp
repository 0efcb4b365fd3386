// What the kernels of linear algebra read.
#pragma once

#include <cstddef>

namespace naively {

// Matrices of one size and any layout; steps are counted in elements.
template <class T>
struct Matrices {
    const T* data;
    size_t count, rows, columns;
    ptrdiff_t step, row_step, column_step;
};

}  // namespace naively
