// Offsets of words by least log loss with a ridge: coordinate ascent in the dual problem, one row after the other.
// Compiled once per instruction level (NAIVELY_LEVEL names it).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "common/threads.hpp"
#include "common/vectors.hpp"
#include "fitting/fitting.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

using Line __attribute__((vector_size(LANES * sizeof(float)))) = float;

// Lines of tables are prefetched so many words ahead.
constexpr int64_t PREFETCH_DISTANCE = 12;
// Newton's method for the score of one row: steps at most, the farthest that a step goes, and the slope at which it
// ends. A row whose residual changes less than the last of these is not worth a look at its words.
constexpr int MOST_STEPS = 8;
constexpr float FARTHEST = 4.0f, FLAT = 1e-3f, LEAST_CHANGE = 1e-4f;
// Rows of a piece of work.
constexpr size_t ROWS_AT_ONCE = 256;

inline Line load_line(const float* from) {
    Line line;
    std::memcpy(&line, from, sizeof line);
    return line;
}
inline void store_line(float* to, Line line) { std::memcpy(to, &line, sizeof line); }

// sums = Σ of the lines of some words.
void sum_lines(const int32_t* words, int64_t size, const float* table, size_t width, float* sums) {
    for_vector_groups<8>(width, [&](auto count, size_t from) {
        constexpr int C = decltype(count)::value;
        Line found[C] = {};
        for (int64_t i = 0; i < size; ++i) {
            if (i + PREFETCH_DISTANCE < size) {
                const float* ahead = table + size_t(words[i + PREFETCH_DISTANCE]) * width + from;
                __builtin_prefetch(ahead);
                if constexpr (C > 4) __builtin_prefetch(ahead + 16);
            }
            const float* line = table + size_t(words[i]) * width + from;
            for (int c = 0; c < C; ++c) found[c] += load_line(line + c * LANES);
        }
        for (int c = 0; c < C; ++c) store_line(sums + from + c * LANES, found[c]);
    });
}

// The line of every word += its scale times a step.
void add_to_lines(const int32_t* words, int64_t size, const float* scales, const float* step, size_t width,
                  float* table) {
    for_vector_groups<8>(width, [&](auto count, size_t from) {
        constexpr int C = decltype(count)::value;
        Line by[C];
        for (int c = 0; c < C; ++c) by[c] = load_line(step + from + c * LANES);
        for (int64_t i = 0; i < size; ++i) {
            float* line = table + size_t(words[i]) * width + from;
            Line scale = Line{} + scales[words[i]];
            for (int c = 0; c < C; ++c) store_line(line + c * LANES, load_line(line + c * LANES) + scale * by[c]);
        }
    });
}

// The score of a row that lies nearest to what all other rows make of it, for its log loss: the z of least
// weight * loss(z) + |z - others|² / (2 variance), by Newton's method from where it is. Leaves the probabilities.
class RowScore {
  public:
    explicit RowScore(size_t classes) : p_(classes), move_(classes) {}

    const std::vector<float>& probabilities() const { return p_; }

    void solve(const float* target, const float* others, float variance, float* z) {
        size_t classes = p_.size();
        for (int step = 0; step < MOST_STEPS; ++step) {
            float most = *std::max_element(z, z + classes), whole = 0, slope = 0, curve = 0, largest = 0;
            for (size_t k = 0; k < classes; ++k) whole += p_[k] = std::exp(z[k] - most);
            for (size_t k = 0; k < classes; ++k) {
                p_[k] /= whole;
                move_[k] = variance * (p_[k] - target[k]) + (z[k] - others[k]);
                float own = p_[k] / (1 + variance * p_[k]);
                slope += own * move_[k], curve += own;
                largest = std::max(largest, std::abs(move_[k]));
            }
            if (!(largest > FLAT * std::max(1.0f, variance))) return;
            float shared = variance * slope / curve, farthest = 0;
            for (size_t k = 0; k < classes; ++k) {
                move_[k] = (move_[k] + shared * p_[k]) / (1 + variance * p_[k]);
                farthest = std::max(farthest, std::abs(move_[k]));
            }
            float length = farthest > FARTHEST ? FARTHEST / farthest : 1.0f;
            for (size_t k = 0; k < classes; ++k) z[k] -= length * move_[k];
        }
    }

  private:
    std::vector<float> p_, move_;
};

}  // namespace

size_t fit_word_offsets(const WordOffsetRows& x, const WordOffsetFitting& how, float* table, float* residuals,
                        const Run& run) {
    size_t classes = x.classes, width = x.width, passes = 0;
    std::vector<float> sums(width), z(classes), others(classes), step(width);
    RowScore score(classes);
    while (passes < how.passes) {
        double changes = 0;
        for (size_t i = 0; i < how.visits; ++i) {
            size_t row = size_t(how.visited[i]);
            const int32_t* words = x.words + x.starts[row];
            int64_t size = x.starts[row + 1] - x.starts[row];
            float length = x.lengths[row], variance = x.squares[row] / how.ridge, weight = x.weights[row];
            if (!size || !(variance > 0)) continue;
            sum_lines(words, size, table, width, sums.data());
            float* residual = residuals + row * width;
            for (size_t k = 0; k < classes; ++k) {
                z[k] = x.scores[row * classes + k] + length * sums[k];
                others[k] = z[k] - variance * residual[k];
            }
            const float* target = x.targets + row * classes;
            score.solve(target, others.data(), variance * weight, z.data());
            float change = 0;
            for (size_t k = 0; k < classes; ++k) {
                step[k] = weight * (target[k] - score.probabilities()[k]) - residual[k];
                change = std::max(change, std::abs(step[k]));
            }
            if (!(change > LEAST_CHANGE)) continue;
            changes += change;
            for (size_t k = 0; k < classes; ++k) {
                residual[k] += step[k];
                step[k] *= length / how.ridge;
            }
            add_to_lines(words, size, how.scales, step.data(), width, table);
        }
        ++passes;
        if (!(changes > how.tolerance * double(how.visits))) break;
        if (run.interrupted()) throw Interrupted();
    }
    return passes;
}

void score_word_offsets(const WordOffsetRows& x, size_t rows, const float* table, float* out, const Run& run) {
    size_t pieces = (rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    run_pieces(pieces, rows ? size_t(x.starts[rows]) * x.width : 0, run, [&](size_t piece) {
        std::vector<float> sums(x.width);
        for (size_t row = piece * ROWS_AT_ONCE; row < std::min(rows, (piece + 1) * ROWS_AT_ONCE); ++row) {
            sum_lines(x.words + x.starts[row], x.starts[row + 1] - x.starts[row], table, x.width, sums.data());
            for (size_t k = 0; k < x.classes; ++k) out[row * x.classes + k] = x.lengths[row] * sums[k];
        }
    });
}

}  // namespace naively::NAIVELY_LEVEL
