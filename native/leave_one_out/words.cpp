// Log-odds of words: how much more often than by chance each occurs in a class, and how much more rarely in the others.
// Of all documents, and of each document left out. Compiled once per instruction level (NAIVELY_LEVEL names it).
#include <cmath>
#include <optional>
#include <vector>

#include "common/subtraction.hpp"
#include "common/vectors.hpp"
#include "leave_one_out/leave_one_out.hpp"
#include "leave_one_out/word_log_odds.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Rows, and words, of a piece of work.
constexpr size_t ROWS_AT_ONCE = 64, WORDS_AT_ONCE = 4096;
// Words are prefetched so many entries ahead.
constexpr int64_t PREFETCH_DISTANCE = 8;
// How far a proportion may move, relative to itself, for logarithms to be computed by their series: within 1e-9.
constexpr double NEAR = 5e-3;

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

bool is_whole(double x) { return x == std::floor(x); }

// Whether all documents weigh a whole number.
bool all_whole(const WordCounts& counts) {
    size_t cells = size_t(counts.starts[counts.words]);
    return std::all_of(counts.documents, counts.documents + cells, is_whole);
}

// The standard deviation over the classes, given the sum and the sum of squares.
double deviation(double sums, double squares, double classes) {
    double mean = sums / classes;
    return std::sqrt(std::max(squares / classes - mean * mean, 0.0));
}

}  // namespace

void word_weights(const WordCounts& counts, const double* group_weights, float* out, const Run& run) {
    size_t classes = counts.classes, width = (classes + LANES - 1) / LANES * LANES;
    std::vector<double> proportions(counts.groups * width);
    class_proportions(counts.class_words, counts.groups, classes, width, proportions.data());
    bool whole = all_whole(counts);
    WholeLogarithms logs(counts.pseudo_count, counts);
    size_t pieces = (counts.words + WORDS_AT_ONCE - 1) / WORDS_AT_ONCE;
    run_pieces(pieces, counts.words * width, run, [&](size_t piece) {
        WordLogOdds log_odds(counts);
        std::vector<double> line(classes);
        std::vector<RareLogOdds> rare(counts.groups, RareLogOdds(counts, logs, width));
        for (size_t g = 0; g < counts.groups; ++g) rare[g].begin(proportions.data() + g * width);
        for (size_t word = piece * WORDS_AT_ONCE; word < std::min(counts.words, (piece + 1) * WORDS_AT_ONCE); ++word) {
            size_t g = counts.group[word];
            float* to = out + word * classes;
            double total = counts.totals[word];
            double by_own = group_weights[2 * g], by_others = group_weights[2 * g + 1];
            if (total <= 0) continue;
            if (whole && total <= double(RARE)) {
                size_t t = size_t(total);
                rare[g].know(t);
                const double *own = rare[g].own(t), *others = rare[g].others(t);
                double sums = rare[g].sum_of(t), squares = rare[g].squares_of(t);
                for (auto i = counts.starts[word]; i < counts.starts[word + 1]; ++i) {
                    size_t n = size_t(counts.documents[i]);
                    double more = logs[t] - logs[t - n];
                    sums += more, squares += more * (2 * others[counts.classes_of[i]] + more);
                }
                by_others *= deviation(sums, squares, double(classes));
                for (size_t k = 0; k < classes; ++k) line[k] = by_own * own[k] + by_others * others[k];
                for (auto i = counts.starts[word]; i < counts.starts[word + 1]; ++i) {
                    size_t n = size_t(counts.documents[i]);
                    line[size_t(counts.classes_of[i])] +=
                        by_own * (logs[n] - logs[0]) + by_others * (logs[t] - logs[t - n]);
                }
                for (size_t k = 0; k < classes; ++k) to[k] = float(line[k]);
                continue;
            }
            for (auto i = counts.starts[word]; i < counts.starts[word + 1]; ++i)
                log_odds.documents()[counts.classes_of[i]] = counts.documents[i];
            log_odds.compute(total, proportions.data() + g * width);
            for (size_t k = 0; k < classes; ++k)
                to[k] = float(by_own * log_odds.own()[k] + by_others * log_odds.others()[k]);
        }
    });
}

namespace {

// The sums of the log-odds of the words of one row after the other, each left out of the counts.
class RowLeftOut {
  public:
    RowLeftOut(const WordRows& x, const LabeledRows& rows, const WordCounts& counts, const WholeLogarithms& logs,
               const FrequentLogOdds* frequent, const std::vector<double>& proportions)
        : x_(x),
          rows_(rows),
          counts_(counts),
          logs_(logs),
          frequent_(frequent),
          of_all_(proportions),
          log_odds_(counts),
          class_words_(counts.groups * counts.classes),
          proportions_(counts.groups * log_odds_.width()),
          sums_(2 * counts.groups * counts.classes),
          rare_(counts.groups, RareLogOdds(counts, logs, log_odds_.width())),
          met_(counts.groups * (RARE + 1)),
          spreads_(counts.groups * (RARE + 1)),
          moved_(counts.groups * log_odds_.width()),
          sums_of_frequent_(2 * counts.groups * log_odds_.width()),
          other_(log_odds_.width()) {}

    const std::vector<double>& sums() const { return sums_; }

    // Computes the sums of a row, and returns how many of its words another document holds.
    double compute(size_t row) {
        double w = rows_.weights ? rows_.weights[row] : 1.0, there = 0;
        size_t classes = counts_.classes;
        leave_out_class_words(row, w);
        std::fill(sums_.begin(), sums_.end(), 0.0);
        // A row that is one document of one class leaves whole numbers behind.
        bool by_number = frequent_ && w == 1.0 && !x_.proportions;
        for (auto i = x_.starts[row]; i < x_.starts[row + 1]; ++i) {
            if (i + PREFETCH_DISTANCE < x_.starts[row + 1]) {
                size_t ahead = size_t(x_.words[i + PREFETCH_DISTANCE]);
                __builtin_prefetch(counts_.starts + ahead);
                __builtin_prefetch(counts_.totals + ahead);
                auto cells = counts_.starts[x_.words[i + PREFETCH_DISTANCE / 2]];
                __builtin_prefetch(counts_.documents + cells);
                __builtin_prefetch(counts_.classes_of + cells);
            }
            size_t word = size_t(x_.words[i]), g = counts_.group[word];
            double total = without(counts_.totals[word], w);
            if (total <= 0) continue;  // no other document holds it
            there += 1;
            if (by_number && total <= double(RARE)) {
                add_rare(word, g, size_t(total), size_t(rows_.classes[row]));
                continue;
            }
            if (const double* line = by_number && near_ ? frequent_->line(word) : nullptr) {
                add_frequent(line, word, g, total, size_t(rows_.classes[row]));
                continue;
            }
            for (auto j = counts_.starts[word]; j < counts_.starts[word + 1]; ++j)
                log_odds_.documents()[counts_.classes_of[j]] = counts_.documents[j];
            each_class(x_, rows_, row, w, [&](size_t k, double part) {
                log_odds_.documents()[k] = without(log_odds_.documents()[k], part);
            });
            log_odds_.compute(total, proportions_.data() + g * log_odds_.width());
            double* to = sums_.data() + 2 * g * classes;
            for (size_t k = 0; k < classes; ++k) to[k] += log_odds_.own()[k], to[classes + k] += log_odds_.others()[k];
        }
        if (by_number) add_what_is_alike();
        if (by_number) add_sums_of_frequent();
        return there;
    }

  private:
    void leave_out_class_words(size_t row, double w) {
        size_t classes = counts_.classes;
        std::copy(counts_.class_words, counts_.class_words + class_words_.size(), class_words_.begin());
        for (auto i = x_.starts[row]; i < x_.starts[row + 1]; ++i)
            each_class(x_, rows_, row, w,
                       [&](size_t k, double part) { class_words_[counts_.group[x_.words[i]] * classes + k] -= part; });
        for (double& part : class_words_) part = std::max(part, 0.0);
        class_proportions(class_words_.data(), counts_.groups, classes, log_odds_.width(), proportions_.data());
        for (size_t g = 0; g < counts_.groups; ++g) rare_[g].begin(proportions_.data() + g * log_odds_.width());
        // Without a long row of a small class the proportions may lie too far away for the series of the logarithm.
        near_ = true;
        for (size_t i = 0; i < moved_.size(); ++i) {
            moved_[i] = proportions_[i] - of_all_[i];
            near_ = near_ && std::abs(moved_[i]) <= NEAR * std::min(of_all_[i], 1 - of_all_[i]);
        }
    }

    // Adds what a rare word has beside what all words of as many documents have; that is added once at the end.
    void add_rare(size_t word, size_t g, size_t total, size_t own_class) {
        RareLogOdds& rare = rare_[g];
        rare.know(total);
        const double* others = rare.others(total);
        size_t classes = counts_.classes, size = 0;
        double sums = rare.sum_of(total), squares = rare.squares_of(total);
        double *to_own = sums_.data() + 2 * g * classes, *to_others = to_own + classes;
        for (auto j = counts_.starts[word]; j < counts_.starts[word + 1]; ++j) {
            size_t k = size_t(counts_.classes_of[j]), n = size_t(counts_.documents[j]);
            n -= k == own_class && n > 0;
            if (!n) continue;
            double more = logs_[total] - logs_[total - n];
            sums += more, squares += more * (2 * others[k] + more);
            to_own[k] += logs_[n] - logs_[0];
            found_[size] = k, more_[size++] = more;
        }
        double spread = deviation(sums, squares, double(classes));
        for (size_t i = 0; i < size; ++i) to_others[found_[i]] += spread * more_[i];
        met_[g * (RARE + 1) + total] += 1.0, spreads_[g * (RARE + 1) + total] += spread;
    }

    void add_frequent(const double* line, size_t word, size_t g, double total, size_t own_class) {
        size_t width = log_odds_.width(), classes = counts_.classes;
        const double* moved = moved_.data() + g * width;
        double *to_own = sums_of_frequent_.data() + 2 * g * width, *to_others = to_own + width;
        Vec sums = all(0.0), squares = all(0.0);
        double n = 0;
        for (auto j = counts_.starts[word]; j < counts_.starts[word + 1]; ++j)
            if (size_t(counts_.classes_of[j]) == own_class) n = counts_.documents[j];
        double fewer = std::max(n - 1, 0.0), own_less = logs_.of(fewer) - logs_.of(n);
        double others_less = logs_.of(std::max(total - n, 0.0)) - logs_.of(std::max(total - fewer, 0.0));
        for (size_t k = 0; k < width; k += LANES) {
            Vec by = load(moved + k);
            Vec own = load(line + k) - log_near_one(by * load(line + 2 * width + k));
            Vec other = load(line + width + k) + log_near_one(-by * load(line + 3 * width + k));
            store(to_own + k, load(to_own + k) + own);
            store(other_.data() + k, other);
            sums += other, squares += other * other;
        }
        double before = other_[own_class], after = before + others_less;
        to_own[own_class] += own_less, other_[own_class] = after;
        double spread =
            deviation(sum(sums) + others_less, sum(squares) - before * before + after * after, double(classes));
        for (size_t k = 0; k < width; k += LANES)
            store(to_others + k, load(to_others + k) + all(spread) * load(other_.data() + k));
    }

    void add_sums_of_frequent() {
        size_t width = log_odds_.width(), classes = counts_.classes;
        for (size_t p = 0; p < 2 * counts_.groups; ++p)
            for (size_t k = 0; k < classes; ++k) sums_[p * classes + k] += sums_of_frequent_[p * width + k];
        std::fill(sums_of_frequent_.begin(), sums_of_frequent_.end(), 0.0);
    }

    void add_what_is_alike() {
        size_t classes = counts_.classes;
        for (size_t g = 0; g < counts_.groups; ++g)
            for (size_t total = 1; total <= RARE; ++total) {
                double &met = met_[g * (RARE + 1) + total], &spread = spreads_[g * (RARE + 1) + total];
                if (met == 0) continue;
                const double *own = rare_[g].own(total), *others = rare_[g].others(total);
                double* to = sums_.data() + 2 * g * classes;
                for (size_t k = 0; k < classes; ++k) to[k] += met * own[k], to[classes + k] += spread * others[k];
                met = spread = 0.0;
            }
    }

    const WordRows& x_;
    const LabeledRows& rows_;
    const WordCounts& counts_;
    const WholeLogarithms& logs_;
    const FrequentLogOdds* frequent_;  // null where documents do not weigh whole numbers
    const std::vector<double>& of_all_;
    bool near_ = false;
    WordLogOdds log_odds_;
    std::vector<double> class_words_, proportions_, sums_;
    std::vector<RareLogOdds> rare_;
    std::vector<double> met_, spreads_, moved_, sums_of_frequent_, other_;
    size_t found_[RARE + 1];  // a word of so many documents is of no more classes
    double more_[RARE + 1];
};

}  // namespace

void leave_one_out_words(const WordRows& x, const LabeledRows& rows, const WordCounts& counts, float* out,
                         const Run& run) {
    size_t n_rows = x.rows, pieces = (n_rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    WholeLogarithms logs(counts.pseudo_count, counts);
    size_t width = (counts.classes + LANES - 1) / LANES * LANES;
    std::vector<double> proportions(counts.groups * width);
    class_proportions(counts.class_words, counts.groups, counts.classes, width, proportions.data());
    std::optional<FrequentLogOdds> frequent;
    if (all_whole(counts)) frequent.emplace(counts, proportions, width);
    run_pieces(pieces, size_t(x.starts[n_rows]) * counts.classes, run, [&](size_t piece) {
        RowLeftOut left(x, rows, counts, logs, frequent ? &*frequent : nullptr, proportions);
        for (size_t row = piece * ROWS_AT_ONCE; row < std::min(n_rows, (piece + 1) * ROWS_AT_ONCE); ++row) {
            double scale = 1 / std::sqrt(std::max(left.compute(row), 1.0));
            for (size_t p = 0; p < left.sums().size(); ++p) out[p * n_rows + row] = float(scale * left.sums()[p]);
        }
    });
}

}  // namespace naively::NAIVELY_LEVEL
