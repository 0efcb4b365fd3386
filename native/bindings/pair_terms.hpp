// Terms of pairs of columns, with every size checked.
#pragma once

#include <vector>

#include "bindings/arrays.hpp"

namespace naively {

using Bins = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// They, and where their cells begin.
class CheckedPairTerms {
  public:
    CheckedPairTerms(size_t classes, const Offsets& offsets, const Bins& bins, const Labels& first,
                     const Labels& second, const Labels& level) {
        require(offsets.shape(0) > 0, "The offsets must begin with 0.");
        size_t columns = offsets.shape(0) - 1, size = first.shape(0);
        check_offsets(offsets, columns, bins.shape(1), 0);
        check_few_codes(offsets, columns);
        require(second.shape(0) == size && level.shape(0) == size,
                "There must be two columns and a level for each term.");
        for (size_t i = 0; i < bins.shape(0); ++i)
            for (size_t j = 0; j < columns; ++j)
                for (int64_t c = offsets(j); c < offsets(j + 1); ++c) {
                    int64_t before = c == offsets(j) ? -1 : int64_t(bins(i, size_t(c) - 1)), bin = bins(i, size_t(c));
                    require(bin == before + 1 || (bin == before && before >= 0), "Bins must rise from 0, one by one.");
                }
        terms = {first.data(),   second.data(), level.data(),  size,   classes,
                 offsets.data(), bins.data(),   bins.shape(1), nullptr};
        starts_.push_back(0);
        for (size_t p = 0; p < size; ++p) {
            for (int64_t column : {first(p), second(p)})
                require(column >= 0 && size_t(column) < columns && terms.column_size(column) > 0,
                        "A term names a column that is not there, or has no codes.");
            require(level(p) >= 0 && size_t(level(p)) < bins.shape(0), "A term names a level that is not there.");
            starts_.push_back(starts_.back() +
                              int64_t(classes * terms.bin_count(p, first(p)) * terms.bin_count(p, second(p))));
        }
        terms.starts = starts_.data();
    }

    size_t cells() const { return size_t(starts_.back()); }

    PairTerms terms;

  private:
    std::vector<int64_t> starts_;
};

}  // namespace naively
