// Codes of some rows, column by column.
#pragma once

#include <algorithm>
#include <vector>

#include "common/matrix_rows.hpp"
#include "common/threads.hpp"

// In the namespace of the instruction level: a function compiled for one must never be taken for another's.
namespace naively::NAIVELY_LEVEL {

// Codes column by column. A missing value is the code after the last, so that pairs are counted without a branch.
class CodeColumns {
  public:
    // Many rows, whose columns several threads may read.
    CodeColumns(const Matrix& x, const int64_t* offsets, size_t begin, size_t end, const Run& run)
        : rows_(end - begin) {
        if (x.row_step != 1 || x.type != Type::i32) {
            read_lines(x, offsets, begin, end);
            return;
        }
        codes_.resize(x.columns * rows_);
        run_pieces(x.columns, x.columns * rows_, run, [&](size_t j) {
            auto from = static_cast<const int32_t*>(x.data) + ptrdiff_t(j) * x.column_step + begin;
            auto size = uint32_t(offsets[j + 1] - offsets[j]);
            uint16_t* to = codes_.data() + j * rows_;
            for (size_t i = 0; i < rows_; ++i) to[i] = uint16_t(std::min(uint32_t(from[i]), size));
        });
    }
    CodeColumns(const Matrix& x, const int64_t* offsets, size_t begin, size_t end) : rows_(end - begin) {
        read_lines(x, offsets, begin, end);
    }
    const uint16_t* column(size_t j) const { return codes_.data() + j * rows_; }

  private:
    void read_lines(const Matrix& x, const int64_t* offsets, size_t begin, size_t end) {
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

    size_t rows_;
    std::vector<uint16_t> codes_;
};

}  // namespace naively::NAIVELY_LEVEL
