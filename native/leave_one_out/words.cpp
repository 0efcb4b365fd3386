// What words say: how much more often than by chance each comes with a class, and how much more rarely with all others.
// Compiled once per instruction level (NAIVELY_LEVEL names it).
#include <cmath>
#include <vector>

#include "common/vectors.hpp"
#include "leave_one_out/leave_one_out.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Rows that a thread takes at a time.
constexpr size_t ROWS_AT_ONCE = 64;

// What one word says about every class, given in how many texts of each it was met. By chance a class would have its
// share of them. `own` is how much more often than that the class has the word, as a logarithm; `others` how much more
// rarely all others have it, times how far classes differ in that.
class Said {
  public:
    Said(const WordCounts& counts) : of_(counts), own_(counts.texts.width), others_(counts.texts.width) {}

    const double* own() const { return own_.data(); }
    const double* others() const { return others_.data(); }

    // The word's texts [class], and the share of each class, both padded with zeros.
    void look(const double* texts, double total, const double* share) {
        Vec squares = all(0.0), sums = all(0.0), lambda = all(of_.imagined), t = all(total);
        for (size_t k = 0; k < of_.texts.width; k += LANES) {
            Vec n = load(texts + k), expected = t * load(share + k);
            store(own_.data() + k, logarithm((n + lambda) / (expected + lambda)));
            Vec rest = larger(t - n, all(0.0)), chance = larger(t - expected, all(0.0));
            Vec other = logarithm((chance + lambda) / (rest + lambda));  // 0 where the lanes are padding
            store(others_.data() + k, other);
            sums += other, squares += other * other;
        }
        double mean = sum(sums) / double(of_.classes), variance = sum(squares) / double(of_.classes) - mean * mean;
        Vec spread = all(std::sqrt(std::max(variance, 0.0)));
        for (size_t k = 0; k < of_.texts.width; k += LANES)
            store(others_.data() + k, load(others_.data() + k) * spread);
    }

  private:
    const WordCounts& of_;
    std::vector<double> own_, others_;
};

// The shares of the classes in each group of words, padded with zeros.
void shares_of(const double* mass, size_t groups, size_t classes, size_t width, double* shares) {
    for (size_t g = 0; g < groups; ++g) {
        double whole = 0;
        for (size_t k = 0; k < classes; ++k) whole += mass[g * classes + k];
        for (size_t k = 0; k < classes; ++k) shares[g * width + k] = whole > 0 ? mass[g * classes + k] / whole : 0.0;
    }
}

inline double without(double before, double taken) {
    double rest = before - taken;
    return rest <= RESIDUE * before ? 0.0 : rest;
}

}  // namespace

void word_weights(const WordCounts& counts, const double* mix, double* out, const Run& run) {
    size_t width = counts.texts.width;
    std::vector<double> shares(counts.groups * width);
    shares_of(counts.mass, counts.groups, counts.classes, width, shares.data());
    size_t step = 4096, pieces = (counts.texts.lines + step - 1) / step;
    share_out(pieces, counts.texts.lines * width, run, [&](size_t piece) {
        Said said(counts);
        for (size_t word = piece * step; word < std::min(counts.texts.lines, (piece + 1) * step); ++word) {
            size_t g = counts.group[word];
            double* to = out + word * counts.classes;
            if (counts.totals[word] <= 0) continue;
            said.look(counts.texts.data + word * width, counts.totals[word], shares.data() + g * width);
            for (size_t k = 0; k < counts.classes; ++k)
                to[k] = mix[2 * g] * said.own()[k] + mix[2 * g + 1] * said.others()[k];
        }
    });
}

void left_words(const WordRows& x, const Rows& rows, const WordCounts& counts, float* out, const Run& run) {
    size_t width = counts.texts.width, classes = counts.classes, groups = counts.groups, n_rows = x.rows;
    size_t pieces = (n_rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    share_out(pieces, size_t(x.starts[n_rows]) * width, run, [&](size_t piece) {
        Said said(counts);
        std::vector<double> mass(groups * classes), shares(groups * width), texts(width), sums(2 * groups * classes);
        for (size_t row = piece * ROWS_AT_ONCE; row < std::min(n_rows, (piece + 1) * ROWS_AT_ONCE); ++row) {
            size_t own = size_t(rows.classes[row]);
            double w = rows.weights ? rows.weights[row] : 1.0, there = 0;
            std::copy(counts.mass, counts.mass + mass.size(), mass.begin());
            for (auto i = x.starts[row]; i < x.starts[row + 1]; ++i)
                mass[counts.group[x.words[i]] * classes + own] -= w;
            for (double& part : mass) part = std::max(part, 0.0);
            shares_of(mass.data(), groups, classes, width, shares.data());
            std::fill(sums.begin(), sums.end(), 0.0);
            for (auto i = x.starts[row]; i < x.starts[row + 1]; ++i) {
                size_t word = size_t(x.words[i]), g = counts.group[word];
                double total = without(counts.totals[word], w);
                if (total <= 0) continue;  // nobody else used it
                std::copy(counts.texts.data + word * width, counts.texts.data + (word + 1) * width, texts.begin());
                texts[own] = without(texts[own], w);
                said.look(texts.data(), total, shares.data() + g * width);
                double* to = sums.data() + 2 * g * classes;
                for (size_t k = 0; k < classes; ++k) to[k] += said.own()[k], to[classes + k] += said.others()[k];
                there += 1;
            }
            double scale = 1 / std::sqrt(std::max(there, 1.0));
            for (size_t p = 0; p < 2 * groups * classes; ++p) out[p * n_rows + row] = float(scale * sums[p]);
        }
    });
}

}  // namespace naively::NAIVELY_LEVEL
