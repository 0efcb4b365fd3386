// Codes of some rows, column by column.
#pragma once

#include <algorithm>
#include <vector>

#include "common/matrix_rows.hpp"

// In the namespace of the instruction level: a function compiled for one must never be taken for another's.
namespace naively::NAIVELY_LEVEL {

// Codes column by column. A missing value is the code after the last, so that pairs are counted without a branch.
class CodeColumns {
  public:
    CodeColumns(const Matrix& x, const int64_t* offsets, size_t begin, size_t end) : rows_(end - begin) {
        codes_.resize(x.columns * rows_);
        with_codes(x, [&](auto lines) {
            for (size_t row = begin; row < end; ++row) {
                auto line = lines(row);
                for (size_t j = 0; j < x.columns; ++j) {
                    auto size = uint64_t(offsets[j + 1] - offsets[j]), code = uint64_t(int64_t(line[j]));
                    codes_[j * rows_ + row - begin] = uint16_t(std::min(code, size));  // a negative one is large
                }
            }
        });
    }
    const uint16_t* column(size_t j) const { return codes_.data() + j * rows_; }

  private:
    size_t rows_;
    std::vector<uint16_t> codes_;
};

}  // namespace naively::NAIVELY_LEVEL
