// Log-odds of words: how much more often than by chance each occurs in a class, and how much more rarely in the others.
// Of all documents, and of each document left out. Compiled once per instruction level (NAIVELY_LEVEL names it).
#include <cmath>
#include <vector>

#include "common/subtraction.hpp"
#include "common/vectors.hpp"
#include "leave_one_out/leave_one_out.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Rows of a piece of work.
constexpr size_t ROWS_AT_ONCE = 64;

// The log-odds of one word for every class, by the documents of each that hold it. By chance a class would have its
// proportion of them. `own` is the log-ratio of the class's documents to that; `others` the log-ratio of what chance
// gives all other classes to what they have, times its standard deviation over the classes.
class WordLogOdds {
  public:
    WordLogOdds(const WordCounts& counts)
        : counts_(counts), own_(counts.documents.width), others_(counts.documents.width) {}

    const double* own() const { return own_.data(); }
    const double* others() const { return others_.data(); }

    // The word's documents [class], and the proportion of each class, both padded with zeros.
    void compute(const double* documents, double total, const double* proportion) {
        Vec squares = all(0.0), sums = all(0.0), lambda = all(counts_.pseudo_count), t = all(total);
        for (size_t k = 0; k < counts_.documents.width; k += LANES) {
            Vec n = load(documents + k), expected = t * load(proportion + k);
            store(own_.data() + k, logarithm((n + lambda) / (expected + lambda)));
            Vec rest = larger(t - n, all(0.0)), chance = larger(t - expected, all(0.0));
            Vec other = logarithm((chance + lambda) / (rest + lambda));  // 0 where the lanes are padding
            store(others_.data() + k, other);
            sums += other, squares += other * other;
        }
        double mean = sum(sums) / double(counts_.classes),
               variance = sum(squares) / double(counts_.classes) - mean * mean;
        Vec spread = all(std::sqrt(std::max(variance, 0.0)));
        for (size_t k = 0; k < counts_.documents.width; k += LANES)
            store(others_.data() + k, load(others_.data() + k) * spread);
    }

  private:
    const WordCounts& counts_;
    std::vector<double> own_, others_;
};

// The proportions of the classes in each group of words, padded with zeros.
void class_proportions(const double* class_words, size_t groups, size_t classes, size_t width, double* proportions) {
    for (size_t g = 0; g < groups; ++g) {
        double whole = 0;
        for (size_t k = 0; k < classes; ++k) whole += class_words[g * classes + k];
        for (size_t k = 0; k < classes; ++k)
            proportions[g * width + k] = whole > 0 ? class_words[g * classes + k] / whole : 0.0;
    }
}

// What remains of a weight, never less than nothing.
inline double without(double before, double removed) { return std::max(subtract(before, removed), 0.0); }

// Calls work(class, weight) for each class that a row was counted for: its own, or those of a soft label.
template <class Work>
inline void each_class(const WordRows& x, const LabeledRows& rows, size_t row, double weight, Work&& work) {
    if (!x.proportions) return work(size_t(rows.classes[row]), weight);
    const double* proportions = x.proportions + row * rows.n_classes;
    for (size_t k = 0; k < rows.n_classes; ++k)
        if (proportions[k] > 0) work(k, weight * proportions[k]);
}

}  // namespace

void word_weights(const WordCounts& counts, const double* group_weights, double* out, const Run& run) {
    size_t width = counts.documents.width;
    std::vector<double> proportions(counts.groups * width);
    class_proportions(counts.class_words, counts.groups, counts.classes, width, proportions.data());
    size_t step = 4096, pieces = (counts.documents.lines + step - 1) / step;
    run_pieces(pieces, counts.documents.lines * width, run, [&](size_t piece) {
        WordLogOdds log_odds(counts);
        for (size_t word = piece * step; word < std::min(counts.documents.lines, (piece + 1) * step); ++word) {
            size_t g = counts.group[word];
            double* to = out + word * counts.classes;
            if (counts.totals[word] <= 0) continue;
            log_odds.compute(counts.documents.data + word * width, counts.totals[word], proportions.data() + g * width);
            for (size_t k = 0; k < counts.classes; ++k)
                to[k] = group_weights[2 * g] * log_odds.own()[k] + group_weights[2 * g + 1] * log_odds.others()[k];
        }
    });
}

void leave_one_out_words(const WordRows& x, const LabeledRows& rows, const WordCounts& counts, float* out,
                         const Run& run) {
    size_t width = counts.documents.width, classes = counts.classes, groups = counts.groups, n_rows = x.rows;
    size_t pieces = (n_rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    run_pieces(pieces, size_t(x.starts[n_rows]) * width, run, [&](size_t piece) {
        WordLogOdds log_odds(counts);
        std::vector<double> class_words(groups * classes), proportions(groups * width), documents(width),
            sums(2 * groups * classes);
        for (size_t row = piece * ROWS_AT_ONCE; row < std::min(n_rows, (piece + 1) * ROWS_AT_ONCE); ++row) {
            double w = rows.weights ? rows.weights[row] : 1.0, there = 0;
            std::copy(counts.class_words, counts.class_words + class_words.size(), class_words.begin());
            for (auto i = x.starts[row]; i < x.starts[row + 1]; ++i)
                each_class(x, rows, row, w,
                           [&](size_t k, double part) { class_words[counts.group[x.words[i]] * classes + k] -= part; });
            for (double& part : class_words) part = std::max(part, 0.0);
            class_proportions(class_words.data(), groups, classes, width, proportions.data());
            std::fill(sums.begin(), sums.end(), 0.0);
            for (auto i = x.starts[row]; i < x.starts[row + 1]; ++i) {
                size_t word = size_t(x.words[i]), g = counts.group[word];
                double total = without(counts.totals[word], w);
                if (total <= 0) continue;  // no other document holds it
                std::copy(counts.documents.data + word * width, counts.documents.data + (word + 1) * width,
                          documents.begin());
                each_class(x, rows, row, w, [&](size_t k, double part) { documents[k] = without(documents[k], part); });
                log_odds.compute(documents.data(), total, proportions.data() + g * width);
                double* to = sums.data() + 2 * g * classes;
                for (size_t k = 0; k < classes; ++k)
                    to[k] += log_odds.own()[k], to[classes + k] += log_odds.others()[k];
                there += 1;
            }
            double scale = 1 / std::sqrt(std::max(there, 1.0));
            for (size_t p = 0; p < 2 * groups * classes; ++p) out[p * n_rows + row] = float(scale * sums[p]);
        }
    });
}

}  // namespace naively::NAIVELY_LEVEL
