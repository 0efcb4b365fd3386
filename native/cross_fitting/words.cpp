// Log-odds of words: how much more often than by chance each occurs in a class, and how much more rarely in the others.
// Of all documents, and of rows by counts without their fold. Compiled once per instruction level.
#include <cmath>
#include <vector>

#include "common/subtraction.hpp"
#include "common/threads.hpp"
#include "common/vectors.hpp"
#include "cross_fitting/cross_fitting.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Rows, and words, of a piece of work.
constexpr size_t ROWS_AT_ONCE = 64, WORDS_AT_ONCE = 1024;

size_t padded_width(size_t classes) { return (classes + LANES - 1) / LANES * LANES; }

// The proportions of the classes in each group of words, padded with zeros.
std::vector<double> class_proportions(const double* class_words, const WordCounts& counts) {
    size_t classes = counts.classes, width = padded_width(classes);
    std::vector<double> proportions(counts.groups * width);
    for (size_t g = 0; g < counts.groups; ++g) {
        double whole = 0;
        for (size_t k = 0; k < classes; ++k) whole += std::max(class_words[g * classes + k], 0.0);
        for (size_t k = 0; k < classes; ++k)
            proportions[g * width + k] = whole > 0 ? std::max(class_words[g * classes + k], 0.0) / whole : 0.0;
    }
    return proportions;
}

// The log-odds of words for every class, by the documents of each that hold the word. By chance a class would have its
// proportion of them. `own` is the log-ratio of the class's documents to that; `others` the log-ratio of what chance
// gives all other classes to what they have, times its standard deviation over the classes.
class WordLogOdds {
  public:
    explicit WordLogOdds(const WordCounts& counts)
        : counts_(counts), width_(padded_width(counts.classes)), own_(width_), others_(width_), documents_(width_) {}

    const double* own() const { return own_.data(); }
    const double* others() const { return others_.data(); }

    // Computes them of a word, some documents [class] taken out of the counts, or none; false if no document is left.
    bool compute(size_t word, const double* removed, const std::vector<double>& proportions) {
        std::fill(documents_.begin(), documents_.end(), 0.0);
        for (auto i = counts_.starts[word]; i < counts_.starts[word + 1]; ++i)
            documents_[size_t(counts_.classes_of[i])] = counts_.documents[i];
        double total = 0.0;
        for (size_t k = 0; k < counts_.classes; ++k) {
            if (removed) documents_[k] = std::max(subtract(documents_[k], removed[k]), 0.0);
            total += documents_[k];
        }
        if (total <= 0.0) return false;
        const double* proportion = proportions.data() + counts_.group[word] * width_;
        Vec squares = all(0.0), sums = all(0.0), lambda = all(counts_.pseudo_count), t = all(total);
        for (size_t k = 0; k < width_; k += LANES) {
            Vec n = load(documents_.data() + k), expected = t * load(proportion + k);
            store(own_.data() + k, logarithm((n + lambda) / (expected + lambda)));
            Vec rest = larger(t - n, all(0.0)), chance = larger(t - expected, all(0.0));
            Vec other = logarithm((chance + lambda) / (rest + lambda));  // 0 where the lanes are padding
            store(others_.data() + k, other);
            sums += other, squares += other * other;
        }
        double classes = double(counts_.classes), mean = sum(sums) / classes,
               variance = sum(squares) / classes - mean * mean;
        Vec spread = all(std::sqrt(std::max(variance, 0.0)));
        for (size_t k = 0; k < width_; k += LANES) store(others_.data() + k, load(others_.data() + k) * spread);
        return true;
    }

  private:
    const WordCounts& counts_;
    size_t width_;
    std::vector<double> own_, others_, documents_;
};

// The words of a fold, the documents of it and of the test that hold them, and their log-odds without these.
class FoldWords {
  public:
    FoldWords(const WordRows& x, const FoldedRows& rows, const WordCounts& counts)
        : x_(x), rows_(rows), counts_(counts), place_of_(counts.words, -1) {}

    void begin(size_t fold, const Run& run) {
        for (int32_t word : words_) place_of_[word] = -1;
        words_.clear(), removed_.clear();
        size_t classes = counts_.classes, first = rows_.first(fold), last = rows_.first(fold + 1);
        for (int64_t i = x_.starts[first]; i < x_.starts[last]; ++i)
            if (place_of_[x_.words[i]] < 0)
                place_of_[x_.words[i]] = int32_t(words_.size()), words_.push_back(x_.words[i]);
        removed_.assign(words_.size() * classes, 0.0);
        std::vector<double> class_words(counts_.class_words, counts_.class_words + counts_.groups * classes);
        remove(first, last, class_words);
        if (!rows_.tests(fold)) remove(rows_.test, rows_.test_end, class_words);
        std::vector<double> proportions = class_proportions(class_words.data(), counts_);
        known_.assign(words_.size(), 0);
        lines_.resize(words_.size() * 2 * classes);
        size_t pieces = (words_.size() + WORDS_AT_ONCE - 1) / WORDS_AT_ONCE;
        run_pieces(pieces, words_.size() * classes * 4, run, [&](size_t piece) {
            WordLogOdds log_odds(counts_);
            for (size_t at = piece * WORDS_AT_ONCE; at < std::min(words_.size(), (piece + 1) * WORDS_AT_ONCE); ++at) {
                known_[at] = log_odds.compute(size_t(words_[at]), removed_.data() + at * classes, proportions);
                float* line = lines_.data() + at * 2 * classes;
                for (size_t k = 0; known_[at] && k < classes; ++k)
                    line[k] = float(log_odds.own()[k]), line[classes + k] = float(log_odds.others()[k]);
            }
        });
    }

    // The sums of the log-odds of the words of a row, [group and kind][class].
    void add(size_t row, float* sums, float& known) const {
        size_t classes = counts_.classes;
        for (int64_t i = x_.starts[row]; i < x_.starts[row + 1]; ++i) {
            auto at = size_t(place_of_[x_.words[i]]);
            if (!known_[at]) continue;
            known += 1;
            const float* line = lines_.data() + at * 2 * classes;
            float* to = sums + size_t(counts_.group[x_.words[i]]) * 2 * classes;
            for (size_t k = 0; k < 2 * classes; ++k) to[k] += line[k];
        }
    }

  private:
    void remove(size_t begin, size_t end, std::vector<double>& class_words) {
        for (size_t row = begin; row < end; ++row)
            for (int64_t i = x_.starts[row]; i < x_.starts[row + 1]; ++i) {
                auto word = size_t(x_.words[i]), k = size_t(rows_.labels[row]);
                class_words[counts_.group[word] * counts_.classes + k] -= rows_.weights[row];
                if (place_of_[word] >= 0) removed_[size_t(place_of_[word]) * counts_.classes + k] += rows_.weights[row];
            }
    }

    const WordRows& x_;
    const FoldedRows& rows_;
    const WordCounts& counts_;
    std::vector<int32_t> place_of_, words_;
    std::vector<double> removed_;
    std::vector<char> known_;
    std::vector<float> lines_;
};

}  // namespace

void word_weights(const WordCounts& counts, const double* group_weights, float* out, const Run& run) {
    std::vector<double> proportions = class_proportions(counts.class_words, counts);
    size_t classes = counts.classes, pieces = (counts.words + WORDS_AT_ONCE - 1) / WORDS_AT_ONCE;
    run_pieces(pieces, counts.words * classes * 4, run, [&](size_t piece) {
        WordLogOdds log_odds(counts);
        for (size_t word = piece * WORDS_AT_ONCE; word < std::min(counts.words, (piece + 1) * WORDS_AT_ONCE); ++word) {
            if (!log_odds.compute(word, nullptr, proportions)) continue;
            const double* by = group_weights + 2 * counts.group[word];
            for (size_t k = 0; k < classes; ++k)
                out[word * classes + k] = float(by[0] * log_odds.own()[k] + by[1] * log_odds.others()[k]);
        }
    });
}

void cross_words(const WordRows& x, const FoldedRows& rows, const WordCounts& counts, size_t folds, float* out,
                 const Run& run) {
    FoldWords words(x, rows, counts);
    size_t size = 2 * counts.groups * counts.classes;
    for (size_t fold = 0; fold < folds; ++fold) {
        words.begin(fold, run);
        size_t first = rows.first(fold), count = rows.first(fold + 1) - first;
        run_pieces((count + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, size_t(x.starts[first + count] - x.starts[first]) * size,
                   run, [&](size_t piece) {
                       std::vector<float> sums(size);
                       for (size_t i = piece * ROWS_AT_ONCE; i < std::min(count, (piece + 1) * ROWS_AT_ONCE); ++i) {
                           std::fill(sums.begin(), sums.end(), 0.0f);
                           float known = 0;
                           words.add(first + i, sums.data(), known);
                           float scale = 1 / std::sqrt(std::max(known, 1.0f));
                           for (size_t p = 0; p < size; ++p) out[p * rows.rows + first + i] = scale * sums[p];
                       }
                   });
    }
}

}  // namespace naively::NAIVELY_LEVEL
