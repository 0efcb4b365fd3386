// Leave-one-out scores of rows of numbers. Compiled once per instruction level (NAIVELY_LEVEL names it).
#include "common/matrix_rows.hpp"
#include "common/subtraction.hpp"
#include "common/vectors.hpp"
#include "leave_one_out/leave_one_out.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr double HALF_LOG_TWO_PI = 0.91893853320467274178;

// A product of many positive numbers: exponents are summed separately, so that it neither overflows nor underflows.
class ScaledProduct {
    using Bits __attribute__((vector_size(LANES * sizeof(uint64_t)))) = uint64_t;
    Vec digits_ = all(1.0);
    Bits exponents_{};
    uint64_t factors_ = 0;

  public:
    void times(Vec factor) {
        Bits raw = std::bit_cast<Bits>(factor);
        exponents_ += raw >> 52;
        digits_ *= std::bit_cast<Vec>((raw & 0x000fffffffffffff) | 0x3ff0000000000000);
        if (++factors_ % 512 == 0) {  // more digits could overflow
            Vec so_far = digits_;
            digits_ = all(1.0);
            times(so_far);
        }
    }
    Vec log() const {
        // A whole number below 2^52, put into the low bits of 2^52, is that number as a double, plus 2^52.
        Vec exponent =
            std::bit_cast<Vec>(exponents_ | 0x4330000000000000) - all(0x1p52) - all(1023.0 * double(factors_));
        return log_of_one_plus(digits_ - all(1.0)) + exponent * all(LOG2_LOW) + exponent * all(LOG2_HIGH);
    }
};

// log Γ((ν + 1) / 2) - log Γ(ν / 2) - ½ log(ν π): by its series, in which no large logarithms cancel.
inline double series(double half) {
    double part = 1 / half, square = part * part, sum = 691.0 / 180224;
    for (double c : {-31.0 / 18432, 17.0 / 14336, -1.0 / 640, 1.0 / 192, -1.0 / 8}) sum = sum * square + c;
    return sum * part - HALF_LOG_TWO_PI;
}

constexpr double SERIES_FROM = 12;  // from here on the series is exact

double student_log_constant(double freedom) {
    double half = freedom / 2, up = half, ratio = 1;
    if (!(half > 0)) return NOT_A_NUMBER;
    while (up < SERIES_FROM) {  // Γ(x + 1) = x Γ(x)
        ratio *= up / (up + 0.5);
        up += 1;
    }
    return up == half ? series(half) : series(up) + 0.5 * std::log(up / half) + std::log(ratio);
}

inline Vec student_log_constant(Vec freedom) {
    Vec half = freedom * all(0.5);
    if (any(~Mask(half >= all(SERIES_FROM))))
        return Vec{student_log_constant(freedom[0]), student_log_constant(freedom[1]), student_log_constant(freedom[2]),
                   student_log_constant(freedom[3])};
    Vec part = all(1.0) / half, square = part * part, sum = all(691.0 / 180224);
    for (double c : {-31.0 / 18432, 17.0 / 14336, -1.0 / 640, 1.0 / 192, -1.0 / 8}) sum = sum * square + all(c);
    return sum * part - all(HALF_LOG_TWO_PI);
}

// One class of one column as it was counted, and the sums over all other classes that have numbers.
struct ClassMoments {
    double n, mean, ssd, rounding, inverse, log_constant;
    double others, others_n, others_mean, others_ssd;
};

// What follows from the weight alone when a row is removed from a class; a row in each lane.
struct WithoutRows {
    Vec n, inverse_n;           // the weight that remains, and 1 over it
    Vec inverse, log_constant;  // see ClassNumbers
    Vec seen, rows;             // how many classes still have numbers; 1 over how many numbers they have
};

// The numbers of a class in one column.
struct ClassNumbers {
    Vec n, mean, ssd;
    Vec rounding;      // how much of the mean may be rounding: all of it where there are no numbers
    Vec inverse;       // 1 over the divisor of the squares
    Vec log_constant;  // term of the log density
};

// The distance of a mean from a center; 0 where rounding alone may explain it, or there are no numbers.
inline Vec gap_of(const ClassNumbers& group, Vec center) {
    Vec gap = group.mean - center;
    return choose(absolute(gap) > group.rounding, gap, all(0.0));
}

// The prior of a class: center and its weight, variance, and the variance of the whole column.
struct Prior {
    Vec center, weight, variance, spread;
};

// One column of some rows, all of the same class: x, and the numbers that remain when each of them is removed.
struct Column {
    Vec x;
    ClassNumbers left;
    Prior prior;
};

template <Estimate estimate>
class LeaveOneOutDensities {
  public:
    LeaveOneOutDensities(const NumberMoments& numbers, size_t columns, const LabeledRows& rows)
        : prior_rows_(numbers.prior_rows),
          epsilon_(numbers.epsilon),
          classes_(rows.n_classes),
          moments_(columns * classes_) {
        for (size_t j = 0; j < columns; ++j) count(numbers, j * classes_);
        if (rows.weights) return;
        for (const ClassMoments& moments : moments_) without_one_.push_back(after_removal(moments, all(1.0)));
    }

    Column column(size_t j, size_t own, Vec x, Vec w) const {
        const ClassMoments* moments = moments_.data() + j * classes_;
        WithoutRows rest = without_one_.empty() ? after_removal(moments[own], w) : without_one_[j * classes_ + own];
        ClassNumbers left = without(moments[own], rest, x, w);
        return {x, left, prior_of(moments, own, rest, left)};
    }

    // The log density of the rows, which are of class own, in class k, as if none of them had been counted.
    Vec log_density(const std::vector<Column>& columns, size_t own, size_t k) const {
        Vec sum{};
        ScaledProduct scales;  // log p(x) = sum - ½ log(scales)
        const ClassMoments* moments = moments_.data() + k;
        for (const Column& column : columns) {
            add(k == own ? column.left : group(*moments), column, sum, scales);
            moments += classes_;
        }
        return sum - all(0.5) * scales.log();
    }

  private:
    static ClassNumbers group(const ClassMoments& c) {
        return {all(c.n), all(c.mean), all(c.ssd), all(c.rounding), all(c.inverse), all(c.log_constant)};
    }
    double added_rows() const { return estimate == Estimate::map ? prior_rows_ + 3 : prior_rows_; }

    WithoutRows after_removal(const ClassMoments& own, Vec w) const {
        WithoutRows rest;
        rest.n = subtract(all(own.n), w);
        Mask some = Mask(rest.n > all(0.0));
        rest.inverse_n = all(1.0) / choose(some, rest.n, all(1.0));
        rest.inverse = estimate == Estimate::mle ? rest.inverse_n : all(1.0) / (rest.n + all(added_rows()));
        rest.log_constant =
            estimate == Estimate::bayes ? student_log_constant(rest.n + all(prior_rows_)) : all(-HALF_LOG_TWO_PI);
        rest.seen = larger(all(own.others) + choose(some, all(1.0), all(0.0)), all(1.0));
        rest.rows = all(1.0) / larger(all(own.others_n) + rest.n, all(1e-300));
        return rest;
    }

    // The numbers of the rows' own class without each of them. Where x is missing, all of it is NaN.
    static ClassNumbers without(const ClassMoments& own, const WithoutRows& rest, Vec x, Vec w) {
        Mask some = Mask(rest.n > all(0.0));
        Vec gap = x - all(own.mean), more = w * all(own.n) * rest.inverse_n;
        ClassNumbers left{rest.n, {}, {}, {}, rest.inverse, rest.log_constant};
        left.mean = choose(some, all(own.mean) - w * gap * rest.inverse_n, all(0.0));
        left.rounding =
            choose(some, larger(all(own.rounding), all(MEAN_ROUNDING) * absolute(left.mean)), all(INFINITE));
        left.mean = choose(absolute(left.mean) <= left.rounding, all(0.0), left.mean);
        left.ssd = all(own.ssd) - more * gap * gap;
        Vec rounding = all(SUM_ROUNDING * own.ssd) + more * absolute(gap) * all(2 * own.rounding);
        rounding = larger(rounding, left.n * left.rounding * left.rounding);
        left.ssd = choose(some & Mask(left.ssd > rounding), left.ssd, all(0.0));
        return left;
    }

    Prior prior_of(const ClassMoments* moments, size_t own, const WithoutRows& rest, const ClassNumbers& left) const {
        Prior prior;
        prior.center = (all(moments[own].others_mean) + left.mean) / rest.seen;
        Vec gap = gap_of(left, prior.center), between = gap * gap;
        auto add_others = [&](size_t first, size_t last) {
            for (size_t k = first; k < last; ++k) {
                Vec other = gap_of(group(moments[k]), prior.center);
                between += other * other;
            }
        };
        add_others(0, own);
        add_others(own + 1, classes_);
        between /= rest.seen;
        Vec within = (all(moments[own].others_ssd) + left.ssd) * rest.rows;
        prior.variance = choose(within > all(0.0), within, between);
        prior.spread = within + between;
        Vec trust = prior.variance / prior.spread;  // where no class has a variance, one half
        trust = choose(within > all(0.0), trust, choose(between > all(0.0), all(0.5), all(1.0)));
        prior.weight = larger(all(prior_rows_) * trust, all(LEAST_RELATIVE_VARIANCE));
        return prior;
    }

    void add(const ClassNumbers& group, const Column& column, Vec& sum, ScaledProduct& scales) const {
        const Prior& prior = column.prior;
        Vec middle, scale;
        if constexpr (estimate == Estimate::mle) {
            Mask seen = Mask(group.n > all(0.0));
            middle = choose(seen, group.mean, prior.center);
            scale = choose(seen, group.ssd * group.inverse, prior.spread) + all(epsilon_);
        } else {
            Vec inverse_n = all(1.0) / (prior.weight + group.n), gap = gap_of(group, prior.center),
                pull = group.n * inverse_n;
            middle = prior.center + gap * pull;
            Vec squares = all(prior_rows_) * prior.variance + group.ssd + gap * gap * (prior.weight * pull);
            scale = squares * group.inverse;
            if constexpr (estimate == Estimate::bayes) scale += scale * inverse_n;
            scale += all(epsilon_);
        }
        // A column of one value contributes nothing; else no class is narrower than rounding allows.
        Mask informative = Mask(prior.spread + scale > all(0.0));
        scale = smaller(larger(scale, larger(all(LEAST_RELATIVE_VARIANCE) * prior.spread, all(LEAST_VARIANCE))),
                        all(LARGEST_VARIANCE));
        Vec gap = column.x - middle, by = estimate == Estimate::bayes ? group.inverse : all(0.5);
        Vec distance = smaller(all(LARGEST_VARIANCE), gap * gap * by / scale);  // NaN stays NaN
        informative &= Mask(distance == distance);
        scales.times(choose(informative, scale, all(1.0)));
        if constexpr (estimate == Estimate::bayes)
            distance =
                (group.n + all(prior_rows_ + 1)) * all(0.5) * log_of_one_plus(choose(informative, distance, all(0.0)));
        sum += choose(informative, group.log_constant - distance, all(0.0));
    }

    void count(const NumberMoments& numbers, size_t first) {
        for (size_t k = 0; k < classes_; ++k) {
            size_t at = first + k;
            double n = numbers.n[at], divisor = estimate == Estimate::mle ? (n > 0 ? n : 1.0) : n + added_rows();
            double log_constant =
                estimate == Estimate::bayes ? student_log_constant(n + prior_rows_) : -HALF_LOG_TWO_PI;
            double rounding = n > 0 ? numbers.rounding[at] : INFINITE;
            moments_[at] = {n, numbers.mean[at], numbers.ssd[at], rounding, 1 / divisor, log_constant, 0, 0, 0, 0};
        }
        // Sums over the others from both ends: subtracting one's own from the whole would lose digits.
        auto run_through = [&](size_t begin, size_t end, ptrdiff_t step) {
            ClassMoments sum{};
            for (size_t k = begin; k != end; k += step) {
                ClassMoments& c = moments_[first + k];
                c.others += sum.others, c.others_n += sum.others_n, c.others_mean += sum.others_mean,
                    c.others_ssd += sum.others_ssd;
                sum.others += c.n > 0, sum.others_n += c.n, sum.others_mean += c.n > 0 ? c.mean : 0.0,
                    sum.others_ssd += c.ssd;
            }
        };
        run_through(0, classes_, 1);
        run_through(classes_ - 1, size_t(-1), -1);
    }

    double prior_rows_, epsilon_;
    size_t classes_;
    std::vector<ClassMoments> moments_;     // [column][class]
    std::vector<WithoutRows> without_one_;  // the same for rows that weigh one
};

// Rows in the order of their classes, in lanes of one class each; the last of a class is repeated in unused lanes.
class ClassLanes {
  public:
    ClassLanes(const LabeledRows& rows, size_t begin, size_t end) {
        std::vector<size_t> next(rows.n_classes + 1, 0), last(rows.n_classes, begin);
        for (size_t row = begin; row < end; ++row)
            ++next[size_t(rows.classes[row]) + 1], last[size_t(rows.classes[row])] = row;
        for (size_t k = 0; k < rows.n_classes; ++k) next[k + 1] = next[k] + (next[k + 1] + LANES - 1) / LANES * LANES;
        rows_.resize(next.back());
        for (size_t k = 0; k < rows.n_classes; ++k)
            std::fill(rows_.begin() + ptrdiff_t(next[k]), rows_.begin() + ptrdiff_t(next[k + 1]), last[k]);
        for (size_t row = begin; row < end; ++row)
            places_.push_back(next[size_t(rows.classes[row])]++), rows_[places_.back()] = row;
    }
    size_t size() const { return rows_.size() / LANES; }
    const size_t* operator[](size_t group) const { return rows_.data() + group * LANES; }

    // All numbers of the rows, [group][column][lane]; 0 in unused lanes.
    template <class LineOf>
    std::vector<double> numbers(const Matrix& x, LineOf& line_of, size_t begin) const {
        std::vector<double> cells(rows_.size() * x.columns);
        for (size_t i = 0; i < places_.size(); ++i) {
            auto line = line_of(begin + i);
            double* to = cells.data() + places_[i] / LANES * x.columns * LANES + places_[i] % LANES;
            for (size_t j = 0; j < x.columns; ++j) to[j * LANES] = double(line[j]);
        }
        return cells;
    }

  private:
    std::vector<size_t> rows_, places_;  // the row in each lane; the lane of each row
};

template <Estimate estimate>
size_t leave_one_out_with(const Matrix& x, const LabeledRows& rows, const NumberMoments& numbers, double* out,
                          const Run& run) {
    const LeaveOneOutDensities<estimate> densities(numbers, x.columns, rows);
    return with_numbers(x, 1, [&](auto lines) {
        return first_refused(x.rows, x.columns * rows.n_classes, run, [&](size_t begin, size_t end) {
            auto line_of = lines;
            ClassLanes lanes(rows, begin, end);
            std::vector<double> cells = lanes.numbers(x, line_of, begin);
            std::vector<Column> columns(x.columns);
            size_t refused = NO_ROW;
            for (size_t group = 0; group < lanes.size(); ++group) {
                const size_t* row = lanes[group];
                size_t own = size_t(rows.classes[row[0]]), used = 1;
                while (used < LANES && row[used] != row[used - 1]) ++used;
                Vec w = all(1.0);
                for (size_t r = 0; rows.weights && r < LANES; ++r) w[r] = rows.weights[row[r]];
                Mask infinite{};
                for (size_t j = 0; j < x.columns; ++j) {
                    Vec v = load(cells.data() + (group * x.columns + j) * LANES);
                    infinite |= not_finite(v) & Mask(v == v);
                    columns[j] = densities.column(j, own, v, w);
                }
                for (size_t r = 0; any(infinite) && r < used; ++r)
                    if (infinite[r]) refused = std::min(refused, row[r]);
                for (size_t k = 0; k < rows.n_classes; ++k) {
                    Vec log_density = densities.log_density(columns, own, k);
                    for (size_t r = 0; r < used; ++r) out[row[r] * rows.n_classes + k] += log_density[r];
                }
            }
            return refused;
        });
    });
}

}  // namespace

size_t leave_one_out_numbers(const Matrix& x, const LabeledRows& rows, const NumberMoments& numbers, double* out,
                             const Run& run) {
    if (numbers.estimate == Estimate::mle) return leave_one_out_with<Estimate::mle>(x, rows, numbers, out, run);
    if (numbers.estimate == Estimate::map) return leave_one_out_with<Estimate::map>(x, rows, numbers, out, run);
    return leave_one_out_with<Estimate::bayes>(x, rows, numbers, out, run);
}

}  // namespace naively::NAIVELY_LEVEL
