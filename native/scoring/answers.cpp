// Scores in, answers out. Compiled once per instruction level.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

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
struct HighestScore {
    Vec score = all(MINUS_INFINITY);
    Mask at{};
    void update(Vec v, size_t from) {
        Mask better = Mask(v > score);
        at = better ? Mask{} + int64_t(from) : at;
        score = choose(better, v, score);
    }
    double top() const { return largest(score); }
    int64_t first() const {
        // Without a branch: which lane it is cannot be predicted.
        Mask found = Mask(score == all(top())) ? at + Mask{0, 1, 2, 3} : Mask{} + INT64_MAX;
        return std::min(std::min(found[0], found[1]), std::min(found[2], found[3]));
    }
};

int64_t first_largest(const double* scores, size_t n) { return std::max_element(scores, scores + n) - scores; }

// Scores minus their log-sum-exp, or the probabilities themselves.
void normalize(double* score, size_t width, double top, bool logarithms) {
    // Relative to the largest, so that the sum lies between 1 and the number of classes: no under- or overflow.
    Vec total{};
    for (size_t c = 0; c < width; c += LANES) {
        Vec below = load(score + c) - all(top), probability = exponential(below);
        total += probability;
        store(score + c, logarithms ? below : probability);
    }
    double whole = sum(total), scale = 1.0 / whole, log_whole = logarithms ? std::log(whole) : 0.0;
    for (size_t c = 0; c < width; c += LANES) {
        Vec v = load(score + c);
        store(score + c, logarithms ? v - all(log_whole) : v * all(scale));
    }
}

// The probabilities of some classes, mixed with their floors.
inline Vec above_floor(Vec p, size_t c, const AnswerRequest& request) {
    return p * all(request.above_floor) + load(request.floor + c);
}

// Probabilities mixed with their floors; logarithms of them if wanted.
void raise_to_floor(double* p, const AnswerRequest& request, bool logarithms) {
    for (size_t c = 0; c < request.width; c += LANES) store(p + c, above_floor(load(p + c), c, request));
    if (!logarithms) return;
    for (size_t c = 0; c < request.classes; ++c) p[c] = std::log(p[c]);
}

// The predicted class where probabilities have floors: of classes that are all but equal, these may decide.
int64_t first_above_floor(double* scores, double top, const AnswerRequest& request) {
    normalize(scores, request.width, top, false);
    raise_to_floor(scores, request, false);
    return first_largest(scores, request.classes);
}

}  // namespace

namespace {

// The predicted class of each row, where only the prior excludes classes: C vectors of classes that stay in registers.
template <int C>
size_t choose_classes(const double* scores, size_t begin, size_t end, const AnswerRequest& request) {
    Vec excluded[C];
    for (int c = 0; c < C; ++c) excluded[c] = load(request.excluded + c * LANES);
    for (size_t row = begin; row < end; ++row, scores += C * LANES) {
        HighestScore highest;
        Mask bad{};
        for (int c = 0; c < C; ++c) {
            Vec v = load(scores + c * LANES);
            bad |= not_finite(v);
            highest.update(v + excluded[c], c * LANES);
        }
        if (any(bad)) return row;
        int64_t code =
            highest.top() == MINUS_INFINITY ? first_largest(request.fallback, request.classes) : highest.first();
        static_cast<int64_t*>(request.out)[row] = request.labels ? request.labels[code] : code;
    }
    return NO_ROW;
}

inline void write(double* to, Vec v) { store(to, v); }
inline void write(float* to, Vec v) {
    using Half __attribute__((vector_size(LANES * sizeof(float)))) = float;
    Half h = __builtin_convertvector(v, Half);
    std::memcpy(to, &h, sizeof h);
}

// exp(x) for many numbers x <= 0, some of them at once: each takes many steps that wait for one another.
void exponentials(double* x, size_t n) {
    constexpr size_t TOGETHER = 4, step = sizeof(Longest) / sizeof(double);
    size_t i = 0;
    for (; i + TOGETHER * step <= n; i += TOGETHER * step) {
        Longest v[TOGETHER];
        for (size_t t = 0; t < TOGETHER; ++t) v[t] = load_as<Longest>(x + i + t * step);
        exponential(v);
        for (size_t t = 0; t < TOGETHER; ++t) store_as(x + i + t * step, v[t]);
    }
    for (; i < n; i += LANES) store(x + i, exponential(load(x + i)));
}

// Subtracts the highest score of each row from all of its scores, where only the prior excludes classes. Returns the
// first row whose scores are not finite numbers; lists those rows that exclude every class.
template <int C>
size_t subtract_highest(double* scores, size_t begin, size_t end, const AnswerRequest& request,
                        std::vector<size_t>& all_excluded) {
    Vec excluded[C];
    for (int c = 0; c < C; ++c) excluded[c] = load(request.excluded + c * LANES);
    for (size_t row = begin; row < end; ++row, scores += C * LANES) {
        Vec v[C], highest = all(MINUS_INFINITY);
        Mask bad{};
        for (int c = 0; c < C; ++c) {
            v[c] = load(scores + c * LANES);
            bad |= not_finite(v[c]);
            v[c] += excluded[c];
            highest = larger(v[c], highest);
        }
        if (any(bad)) return row;
        double top = largest(highest);
        if (top == MINUS_INFINITY) all_excluded.push_back(row);
        for (int c = 0; c < C; ++c) store(scores + c * LANES, v[c] - all(top));
    }
    return NO_ROW;
}

// The probabilities of rows, where only the prior excludes classes.
template <int C, class T>
size_t write_posteriors(double* scores, size_t begin, size_t end, const AnswerRequest& request) {
    size_t classes = request.classes;
    std::vector<size_t> all_excluded;
    size_t refused = subtract_highest<C>(scores, begin, end, request, all_excluded);
    if (refused != NO_ROW) return refused;
    exponentials(scores, (end - begin) * C * LANES);
    T* out = static_cast<T*>(request.out) + begin * classes;
    for (size_t row = begin; row < end; ++row, scores += C * LANES, out += classes) {
        Vec total{};
        for (int c = 0; c < C; ++c) total += load(scores + c * LANES);
        Vec scale = all(1.0 / sum(total));
        Vec p[C];
        for (int c = 0; c < C; ++c) {
            p[c] = load(scores + c * LANES) * scale;
            if (request.floor) p[c] = above_floor(p[c], size_t(c) * LANES, request);
        }
        // The lanes beyond the last class are written over by the next rows, if there are such in this block.
        if ((end - row) * classes >= C * LANES) {
            for (int c = 0; c < C; ++c) write(out + c * LANES, p[c]);
        } else {
            double last[C * LANES];
            for (int c = 0; c < C; ++c) store(last + c * LANES, p[c]);
            for (size_t c = 0; c < classes; ++c) out[c] = T(last[c]);
        }
    }
    for (size_t row : all_excluded)
        for (size_t c = 0; c < classes; ++c)
            static_cast<T*>(request.out)[row * classes + c] = T(std::exp(request.fallback[c]));
    return NO_ROW;
}

template <int C>
size_t write_posteriors(double* scores, size_t begin, size_t end, const AnswerRequest& request) {
    return request.type == Type::f32 ? write_posteriors<C, float>(scores, begin, end, request)
                                     : write_posteriors<C, double>(scores, begin, end, request);
}

}  // namespace

size_t write_answers(double* scores, const double* exclusion, size_t begin, size_t end, const AnswerRequest& request) {
    size_t width = request.width;
    if (request.answer == Answer::choice && !exclusion && !request.floor) {  // unrolled for few classes
        if (width == LANES) return choose_classes<1>(scores, begin, end, request);
        if (width == 2 * LANES) return choose_classes<2>(scores, begin, end, request);
        if (width == 3 * LANES) return choose_classes<3>(scores, begin, end, request);
    }
    if (request.answer == Answer::posterior && !exclusion) {
        if (width == LANES) return write_posteriors<1>(scores, begin, end, request);
        if (width == 2 * LANES) return write_posteriors<2>(scores, begin, end, request);
        if (width == 3 * LANES) return write_posteriors<3>(scores, begin, end, request);
    }
    for (size_t row = begin; row < end; ++row, scores += width, exclusion += exclusion ? width : 0) {
        HighestScore highest;
        Mask bad{};
        for (size_t c = 0; c < width; c += LANES) {
            Vec v = load(scores + c);
            bad |= not_finite(v);
            v += load(request.excluded + c);
            if (exclusion) {
                Vec rule = load(exclusion + c);
                bad |= not_finite(rule);
                v = choose(rule > all(0.5), all(MINUS_INFINITY), v);
            }
            if (request.answer != Answer::choice || request.floor) store(scores + c, v);
            highest.update(v, c);
        }
        if (any(bad)) return row;
        double top = highest.top();
        bool all_excluded = top == MINUS_INFINITY;  // every class is excluded: the row decides nothing
        if (request.answer == Answer::choice) {
            int64_t code = all_excluded    ? first_largest(request.fallback, request.classes)
                           : request.floor ? first_above_floor(scores, top, request)
                                           : highest.first();
            static_cast<int64_t*>(request.out)[row] = request.labels ? request.labels[code] : code;
            continue;
        }
        if (request.answer != Answer::log_joint) {
            bool logarithms = request.answer == Answer::log_posterior;
            if (all_excluded) {
                for (size_t c = 0; c < request.classes; ++c)
                    scores[c] = logarithms ? request.fallback[c] : std::exp(request.fallback[c]);
            } else {
                normalize(scores, width, top, logarithms && !request.floor);
                if (request.floor) raise_to_floor(scores, request, logarithms);
            }
        }
        request.type == Type::f32 ? write<float>(scores, request.classes, request.out, row)
                                  : write<double>(scores, request.classes, request.out, row);
    }
    return NO_ROW;
}

}  // namespace naively::NAIVELY_LEVEL
