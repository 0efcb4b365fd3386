// Scores of products of directions with each other. Compiled once per instruction level.
#include <algorithm>
#include <vector>

#include "common/matrix_rows.hpp"
#include "common/vectors.hpp"
#include "scoring/scoring.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

constexpr size_t TILE = QuadraticForm::TILE;
constexpr size_t GROUP = 2 * LANES;  // rows that are scored at once

// The directions of some rows by groups of rows, [group][direction][row of the group], filled up with zeros.
class DirectionGroups {
  public:
    DirectionGroups(const QuadraticForm& form, const Matrix& codes, const int64_t* offsets, size_t begin, size_t end)
        : padded_((form.size + TILE - 1) / TILE * TILE), rows_(end - begin) {
        cells_.assign((rows_ + GROUP - 1) / GROUP * GROUP * padded_, 0.0);
        std::vector<double> line(form.size);
        with_codes(codes, [&](auto line_of) {
            for (size_t row = 0; row < rows_; ++row) {
                std::fill(line.begin(), line.end(), 0.0);
                const double* numbers = form.numbers + (begin + row) * form.width;
                for (size_t i = 0; i < form.width; ++i)
                    if (numbers[i] != 0.0) add(line, form.of_numbers + i * form.size, numbers[i]);
                auto of_row = line_of(begin + row);
                for (size_t j = 0; j < codes.columns; ++j) {
                    auto code = uint64_t(int64_t(of_row[j]));  // a negative one is large
                    if (code < uint64_t(offsets[j + 1] - offsets[j]))
                        add(line, form.of_codes + (size_t(offsets[j]) + size_t(code)) * form.size, 1.0);
                }
                double* to = cells_.data() + row / GROUP * GROUP * padded_ + row % GROUP;
                for (size_t i = 0; i < form.size; ++i) to[i * GROUP] = line[i];
            }
        });
    }
    size_t padded() const { return padded_; }
    const double* group(size_t first_row) const { return cells_.data() + first_row * padded_; }

  private:
    static void add(std::vector<double>& to, const double* from, double times) {
        for (size_t i = 0; i < to.size(); ++i) to[i] += times * from[i];
    }

    size_t padded_, rows_;
    std::vector<double> cells_;
};

// Σ x_i Σ_j≤i square_ij x_j for V vectors of rows. Every row takes the same steps, however many stand beside it.
template <int V>
void quadratic_form(const double* x, size_t padded, const double* squares, double* out) {
    Vec total[V] = {};
    for (size_t tile = 0; tile < padded; tile += TILE) {
        Vec sums[TILE][V] = {};
        for (size_t j = 0; j < tile + TILE; ++j, squares += TILE) {
            Vec other[V];
            for (int v = 0; v < V; ++v) other[v] = load(x + j * GROUP + v * LANES);
            for (size_t i = 0; i < TILE; ++i)
                for (int v = 0; v < V; ++v) sums[i][v] += all(squares[i]) * other[v];
        }
        for (size_t i = 0; i < TILE; ++i)
            for (int v = 0; v < V; ++v) total[v] += load(x + (tile + i) * GROUP + v * LANES) * sums[i][v];
    }
    for (int v = 0; v < V; ++v) store(out + v * LANES, total[v]);
}

}  // namespace

// The forms of all classes add up to 0: so that of the last class is what is missing.
void score_quadratic(const QuadraticForm& form, const Matrix& codes, const int64_t* offsets, size_t width, size_t begin,
                     size_t end, double* scores) {
    DirectionGroups x(form, codes, offsets, begin, end);
    size_t rows = end - begin, cells = form.cells_per_class(form.size);
    double found[GROUP];
    for (size_t c = 0; c + 1 < form.classes; ++c) {
        const double* squares = form.squares + c * cells;
        for (size_t first = 0; first < rows; first += GROUP) {
            size_t some = std::min(GROUP, rows - first);
            if (some > LANES)
                quadratic_form<2>(x.group(first), x.padded(), squares, found);
            else
                quadratic_form<1>(x.group(first), x.padded(), squares, found);
            for (size_t row = 0; row < some; ++row) {
                double* to = scores + (first + row) * width;
                to[c] += found[row];
                to[form.classes - 1] -= found[row];
            }
        }
    }
}

}  // namespace naively::NAIVELY_LEVEL
