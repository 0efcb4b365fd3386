// Log-odds of words by the number of documents that hold them: of any word, of rare ones, and of frequent ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/vectors.hpp"
#include "leave_one_out/leave_one_out.hpp"

namespace naively::NAIVELY_LEVEL {

// A word of at most so many documents is rare: most classes have none of them, and there the log-odds follow from
// their number alone.
constexpr size_t RARE = 64;

// The log-odds of words for every class, by the documents of each that hold the word. By chance a class would have its
// proportion of them. `own` is the log-ratio of the class's documents to that; `others` the log-ratio of what chance
// gives all other classes to what they have, times its standard deviation over the classes.
class WordLogOdds {
  public:
    explicit WordLogOdds(const WordCounts& counts)
        : counts_(counts),
          width_((counts.classes + LANES - 1) / LANES * LANES),
          own_(width_),
          others_(width_),
          documents_(width_) {}

    size_t width() const { return width_; }
    const double* own() const { return own_.data(); }
    const double* others() const { return others_.data(); }
    // The documents of a word, [class], to be filled before it is computed; they are zeros after it was.
    double* documents() { return documents_.data(); }

    // The log-odds by the documents, all of them, and the proportion of each class, padded with zeros.
    void compute(double total, const double* proportion) {
        Vec squares = all(0.0), sums = all(0.0), lambda = all(counts_.pseudo_count), t = all(total);
        for (size_t k = 0; k < width_; k += LANES) {
            Vec n = load(documents_.data() + k), expected = t * load(proportion + k);
            store(own_.data() + k, logarithm((n + lambda) / (expected + lambda)));
            Vec rest = larger(t - n, all(0.0)), chance = larger(t - expected, all(0.0));
            Vec other = logarithm((chance + lambda) / (rest + lambda));  // 0 where the lanes are padding
            store(others_.data() + k, other);
            sums += other, squares += other * other;
            store(documents_.data() + k, all(0.0));
        }
        double classes = double(counts_.classes), mean = sum(sums) / classes,
               variance = sum(squares) / classes - mean * mean;
        Vec spread = all(std::sqrt(std::max(variance, 0.0)));
        for (size_t k = 0; k < width_; k += LANES) store(others_.data() + k, load(others_.data() + k) * spread);
    }

  private:
    const WordCounts& counts_;
    size_t width_;
    std::vector<double> own_, others_, documents_;
};

// Logarithms of whole numbers and the pseudo-count.
class WholeLogarithms {
  public:
    WholeLogarithms(double pseudo_count, const WordCounts& counts) : pseudo_count_(pseudo_count) {
        double most = counts.words ? *std::max_element(counts.totals, counts.totals + counts.words) : 0.0;
        logs_.resize(std::max(RARE, size_t(std::min(most, double(MOST)))) + 1);
        for (size_t n = 0; n < logs_.size(); ++n) logs_[n] = std::log(double(n) + pseudo_count);
    }
    double operator[](size_t n) const { return logs_[n]; }
    // The same of a whole number that may be large.
    double of(double n) const { return n < double(logs_.size()) ? logs_[size_t(n)] : std::log(n + pseudo_count_); }

  private:
    static constexpr size_t MOST = size_t{1} << 16;
    double pseudo_count_;
    std::vector<double> logs_;
};

// The log-odds of a rare word in classes that none of its documents is of, under some proportions of the classes; they
// are computed when a word of so many documents comes.
class RareLogOdds {
  public:
    RareLogOdds(const WordCounts& counts, const WholeLogarithms& logs, size_t width)
        : counts_(counts),
          logs_(logs),
          width_(width),
          known_(RARE + 1),
          own_((RARE + 1) * width),
          others_((RARE + 1) * width),
          sums_(RARE + 1),
          squares_(RARE + 1) {}

    void begin(const double* proportion) {
        proportion_ = proportion;
        std::fill(known_.begin(), known_.end(), uint8_t{0});
    }
    const double* own(size_t total) const { return own_.data() + total * width_; }
    const double* others(size_t total) const { return others_.data() + total * width_; }
    double sum_of(size_t total) const { return sums_[total]; }
    double squares_of(size_t total) const { return squares_[total]; }

    void know(size_t total) {
        if (known_[total]) return;
        known_[total] = 1;
        Vec lambda = all(counts_.pseudo_count), t = all(double(total)), none = all(logs_[0]), every = all(logs_[total]);
        double all_sums = 0, all_squares = 0;
        double *own = own_.data() + total * width_, *others = others_.data() + total * width_;
        for (size_t k = 0; k < width_; k += LANES) {
            Vec expected = t * load(proportion_ + k), chance = larger(t - expected, all(0.0));
            store(own + k, none - logarithm(expected + lambda));
            store(others + k, logarithm(chance + lambda) - every);
        }
        for (size_t k = 0; k < counts_.classes; ++k) all_sums += others[k], all_squares += others[k] * others[k];
        sums_[total] = all_sums, squares_[total] = all_squares;
    }

  private:
    const WordCounts& counts_;
    const WholeLogarithms& logs_;
    size_t width_;
    const double* proportion_ = nullptr;
    std::vector<uint8_t> known_;
    std::vector<double> own_, others_, sums_, squares_;
};

// log(1 + x) for |x| << 1: what is left out is below x⁴ / 4.
inline Vec log_near_one(Vec x) { return x * (all(1.0) + x * (x * all(1.0 / 3) - all(0.5))); }

// The log-odds of words that are not rare, one document less than all of them, under the proportions of all documents:
// of each line, `own`, `others`, and by how much the logarithms of chance move with the proportion of the class.
class FrequentLogOdds {
  public:
    FrequentLogOdds(const WordCounts& counts, const std::vector<double>& proportions, size_t width)
        : width_(width), lines_(counts.words, NONE) {
        size_t size = 0;
        for (size_t word = 0; word < counts.words; ++word)
            if (counts.totals[word] > double(RARE) + 1) lines_[word] = uint32_t(size++);
        table_.resize(size * 4 * width);
        std::vector<double> documents(width);
        for (size_t word = 0; word < counts.words; ++word)
            if (lines_[word] != NONE) fill(counts, word, proportions.data() + counts.group[word] * width, documents);
    }

    // The line of a word: own, others and two slopes, each of the width; null if the word is rare.
    const double* line(size_t word) const {
        return lines_[word] == NONE ? nullptr : table_.data() + size_t(lines_[word]) * 4 * width_;
    }

  private:
    static constexpr uint32_t NONE = ~uint32_t{0};

    void fill(const WordCounts& counts, size_t word, const double* proportion, std::vector<double>& documents) {
        double* to = table_.data() + size_t(lines_[word]) * 4 * width_;
        std::fill(documents.begin(), documents.end(), 0.0);
        for (auto i = counts.starts[word]; i < counts.starts[word + 1]; ++i)
            documents[size_t(counts.classes_of[i])] = counts.documents[i];
        Vec lambda = all(counts.pseudo_count), t = all(counts.totals[word] - 1);
        for (size_t k = 0; k < width_; k += LANES) {
            Vec n = load(documents.data() + k), expected = t * load(proportion + k);
            Vec rest = larger(t - n, all(0.0)), chance = larger(t - expected, all(0.0));
            store(to + k, logarithm((n + lambda) / (expected + lambda)));
            store(to + width_ + k, logarithm((chance + lambda) / (rest + lambda)));
            store(to + 2 * width_ + k, t / (expected + lambda));
            store(to + 3 * width_ + k, t / (chance + lambda));
        }
    }

    size_t width_;
    std::vector<uint32_t> lines_;
    std::vector<double> table_;
};

}  // namespace naively::NAIVELY_LEVEL
