// Rows counted class by class, for tables too large for the cache: the line of one class stays in it.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "common/threads.hpp"
#include "kernels.hpp"

// In the namespace of the instruction level: a function compiled for one must never be taken for another's.
namespace naively::NAIVELY_LEVEL {

// Some rows in the order of their classes.
struct RowsByClass {
    std::vector<uint32_t> rows;  // counted from the first of them
    std::vector<size_t> ends;    // of each class
    RowsByClass(const LabeledRows& of, size_t begin, size_t end) : rows(end - begin), ends(of.n_classes, 0) {
        for (size_t row = begin; row < end; ++row) ++ends[of.classes[row]];
        size_t before = 0;
        for (size_t& at : ends) before += std::exchange(at, before);
        for (size_t row = begin; row < end; ++row) rows[ends[of.classes[row]]++] = uint32_t(row - begin);
    }
    size_t start(size_t k) const { return k ? ends[k - 1] : 0; }
};

// A part of the rows of a class, with a line of its own. How many parts a class has follows from the data alone.
struct ClassPart {
    size_t of_class, part, parts;
    std::vector<double> line;
};

inline std::vector<ClassPart> class_parts(const LabeledRows& rows, size_t n_rows, size_t width) {
    std::vector<size_t> of_class(rows.n_classes, 0);
    for (size_t row = 0; row < n_rows; ++row) ++of_class[rows.classes[row]];
    size_t most = std::clamp<size_t>(TABLE_BYTES / (std::max<size_t>(width, 1) * sizeof(double)), 1, PIECES);
    std::vector<ClassPart> parts_of_classes;
    for (size_t k = 0; k < rows.n_classes; ++k)
        if (of_class[k])
            for (size_t parts = 1 + (most - 1) * of_class[k] / n_rows, part = 0; part < parts; ++part)
                parts_of_classes.push_back({k, part, parts, {}});
    // The largest first, so that no thread is left with a large one at the end.
    std::stable_sort(parts_of_classes.begin(), parts_of_classes.end(), [&](const ClassPart& a, const ClassPart& b) {
        return of_class[a.of_class] / a.parts > of_class[b.of_class] / b.parts;
    });
    return parts_of_classes;
}

// As sum_pieces, for a table [class][width]: fill(first, last, line_of) counts the rows listed from first to last, each
// into the line of its class.
template <class Check, class Fill>
size_t sum_by_class(const LabeledRows& rows, size_t n_rows, size_t cells_per_row, size_t width, double* total,
                    const Run& run, Check&& check, Fill&& fill) {
    size_t per_row = std::max<size_t>(cells_per_row, 1), cells = n_rows * per_row;
    if (counted_directly(cells, rows.n_classes * width)) {
        size_t refused = check();
        if (refused != NO_ROW) return refused;
        std::vector<size_t> all(n_rows);
        for (size_t row = 0; row < n_rows; ++row) all[row] = row;
        fill(all.data(), all.data() + n_rows, [&](size_t row) { return total + size_t(rows.classes[row]) * width; });
        return NO_ROW;
    }
    auto parts_of_classes = class_parts(rows, n_rows, width);
    size_t round = std::min<size_t>(std::max<size_t>(4 * CELLS_PER_ROUND / per_row, 1), UINT32_MAX);
    std::atomic<bool> may_refuse{false};
    for (size_t begin = 0; begin < n_rows; begin += round) {
        if (begin && run.interrupted()) throw Interrupted();
        RowsByClass by_class(rows, begin, std::min(n_rows, begin + round));
        run_pieces(parts_of_classes.size(), cells, run, [&](size_t s) {
            auto& [k, part, parts, line] = parts_of_classes[s];
            size_t first = by_class.start(k), size = by_class.ends[k] - first;
            std::vector<size_t> listed;
            for (size_t i = size * part / parts; i < size * (part + 1) / parts; ++i)
                listed.push_back(begin + by_class.rows[first + i]);
            if (listed.empty()) return;
            // Each round on its own: sums of sums round less than one long sum.
            std::vector<double> sums(width, 0.0);
            if (!fill(listed.data(), listed.data() + listed.size(), [&](size_t) { return sums.data(); }))
                may_refuse = true;
            if (line.empty()) return line.swap(sums);
            for (size_t j = 0; j < width; ++j) line[j] += sums[j];
        });
    }
    if (size_t refused = may_refuse ? check() : NO_ROW; refused != NO_ROW) return refused;
    if (run.interrupted()) throw Interrupted();  // the last moment at which nothing is changed yet
    std::stable_sort(parts_of_classes.begin(), parts_of_classes.end(),
                     [](const ClassPart& a, const ClassPart& b) { return a.part < b.part; });
    for (const auto& class_part : parts_of_classes)
        for (size_t j = 0; j < class_part.line.size(); ++j)
            total[class_part.of_class * width + j] += class_part.line[j];
    return NO_ROW;
}

}  // namespace naively::NAIVELY_LEVEL
