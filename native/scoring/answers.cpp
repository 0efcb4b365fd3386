// Scores in, answers out. Compiled once per instruction level.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/vectors.hpp"
#include "scoring/scoring.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

constexpr double MINUS_INFINITY = -std::numeric_limits<double>::infinity();

template <class T>
void write(const double* from, size_t n, void* to, size_t row) {
    T* out = static_cast<T*>(to) + row * n;
    for (size_t c = 0; c < n; ++c) out[c] = T(from[c]);
}

// The highest of the scores seen so far in each lane, and the first class that had it.
struct Highest {
    Vec score = all(MINUS_INFINITY);
    Mask at{};
    void see(Vec v, size_t from) {
        Mask better = Mask(v > score);
        at = better ? Mask{} + int64_t(from) : at;
        score = choose(better, v, score);
    }
    double top() const { return largest(score); }
    int64_t first() const {
        // Without a branch: which lane it is nobody can foresee.
        Mask found = Mask(score == all(top())) ? at + Mask{0, 1, 2, 3} : Mask{} + INT64_MAX;
        return std::min(std::min(found[0], found[1]), std::min(found[2], found[3]));
    }
};

int64_t first_largest(const double* scores, size_t n) { return std::max_element(scores, scores + n) - scores; }

// Scores minus their log-sum-exp, or the shares themselves.
void normalise(double* score, size_t width, double top, bool logarithms) {
    // Relative to the largest, so that the sum lies between 1 and the number of classes: no under- or overflow.
    Vec total{};
    for (size_t c = 0; c < width; c += LANES) {
        Vec below = load(score + c) - all(top), share = exponential(below);
        total += share;
        store(score + c, logarithms ? below : share);
    }
    double whole = sum(total), scale = 1.0 / whole, log_whole = logarithms ? std::log(whole) : 0.0;
    for (size_t c = 0; c < width; c += LANES) {
        Vec v = load(score + c);
        store(score + c, logarithms ? v - all(log_whole) : v * all(scale));
    }
}

}  // namespace

namespace {

// The choice of each row, where nothing but the prior rules classes out: C vectors of classes that stay in registers.
template <int C>
size_t choose_classes(const double* scores, size_t begin, size_t end, const Finish& how) {
    Vec closed[C];
    for (int c = 0; c < C; ++c) closed[c] = load(how.closed + c * LANES);
    for (size_t row = begin; row < end; ++row, scores += C * LANES) {
        Highest highest;
        Mask bad{};
        for (int c = 0; c < C; ++c) {
            Vec v = load(scores + c * LANES);
            bad |= not_finite(v);
            highest.see(v + closed[c], c * LANES);
        }
        if (any(bad)) return row;
        int64_t code = highest.top() == MINUS_INFINITY ? first_largest(how.fallback, how.classes) : highest.first();
        static_cast<int64_t*>(how.out)[row] = how.labels ? how.labels[code] : code;
    }
    return NO_ROW;
}

}  // namespace

size_t finish(double* scores, const double* against, size_t begin, size_t end, const Finish& how) {
    size_t width = how.width;
    if (how.answer == Answer::choice && !against) {  // unrolled for few classes
        if (width == LANES) return choose_classes<1>(scores, begin, end, how);
        if (width == 2 * LANES) return choose_classes<2>(scores, begin, end, how);
        if (width == 3 * LANES) return choose_classes<3>(scores, begin, end, how);
    }
    for (size_t row = begin; row < end; ++row, scores += width, against += against ? width : 0) {
        Highest highest;
        Mask bad{};
        for (size_t c = 0; c < width; c += LANES) {
            Vec v = load(scores + c);
            bad |= not_finite(v);
            v += load(how.closed + c);
            if (against) {
                Vec rule = load(against + c);
                bad |= not_finite(rule);
                v = choose(rule > all(0.5), all(MINUS_INFINITY), v);
            }
            if (how.answer != Answer::choice) store(scores + c, v);
            highest.see(v, c);
        }
        if (any(bad)) return row;
        double top = highest.top();
        bool ruled_out = top == MINUS_INFINITY;  // everywhere: nothing was learned from the row
        if (how.answer == Answer::choice) {
            int64_t code = ruled_out ? first_largest(how.fallback, how.classes) : highest.first();
            static_cast<int64_t*>(how.out)[row] = how.labels ? how.labels[code] : code;
            continue;
        }
        if (how.answer != Answer::log_joint) {
            bool logarithms = how.answer == Answer::log_posterior;
            if (ruled_out) {
                for (size_t c = 0; c < how.classes; ++c)
                    scores[c] = logarithms ? how.fallback[c] : std::exp(how.fallback[c]);
            } else {
                normalise(scores, width, top, logarithms);
            }
        }
        how.type == Type::f32 ? write<float>(scores, how.classes, how.out, row)
                              : write<double>(scores, how.classes, how.out, row);
    }
    return NO_ROW;
}

}  // namespace naively::NAIVELY_LEVEL
