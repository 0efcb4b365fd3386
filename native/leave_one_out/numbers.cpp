// Rows of numbers scored as if they had never been counted. Compiled once per instruction level (NAIVELY_LEVEL names
// it).
#include "common/matrix_rows.hpp"
#include "common/vectors.hpp"
#include "leave_one_out/leave_one_out.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Below this share of a column's variance a class counts as this narrow; the least variance of all, and the largest.
constexpr double NARROWEST = 1e-18, LEAST = 1e-290, WIDEST = 1e300, INFINITE = std::numeric_limits<double>::infinity();
constexpr double HALF_LOG_TWO_PI = 0.91893853320467274178;

inline Vec size_of(Vec v) { return choose(v < all(0.0), -v, v); }
// Whether numbers of 0 or more are whole: adding 2^52 leaves no room for a fraction.
inline Mask whole(Vec v) { return Mask(v >= all(0x1p52)) | Mask((v + all(0x1p52)) - all(0x1p52) == v); }

// What is left of a sum; of fractions, what rounding alone can leave is nothing.
inline Vec take_away(Vec before, Vec taken) {
    Vec rest = before - taken;
    Mask little = Mask(size_of(rest) <= all(RESIDUE) * size_of(before)) & ~(whole(before) & whole(taken));
    return choose(little, all(0.0), rest);
}

// A product of many positive numbers: exponents are added up apart, so that it neither over- nor underflows.
class Product {
    typedef uint64_t Bits __attribute__((vector_size(LANES * sizeof(uint64_t))));
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
        // A whole number below 2^52, put behind the point of 2^52, is that number as a double, plus 2^52.
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

constexpr double LARGE_HALF = 12;  // from here on the series is exact

double student_level(double freedom) {
    double half = freedom / 2, up = half, ratio = 1;
    if (!(half > 0)) return NO_NUMBER;
    for (; up < LARGE_HALF; up += 1) ratio *= up / (up + 0.5);  // Γ(x + 1) = x Γ(x)
    return up == half ? series(half) : series(up) + 0.5 * std::log(up / half) + std::log(ratio);
}

inline Vec student_level(Vec freedom) {
    Vec half = freedom * all(0.5);
    if (any(~Mask(half >= all(LARGE_HALF))))
        return Vec{student_level(freedom[0]), student_level(freedom[1]), student_level(freedom[2]),
                   student_level(freedom[3])};
    Vec part = all(1.0) / half, square = part * part, sum = all(691.0 / 180224);
    for (double c : {-31.0 / 18432, 17.0 / 14336, -1.0 / 640, 1.0 / 192, -1.0 / 8}) sum = sum * square + all(c);
    return sum * part - all(HALF_LOG_TWO_PI);
}

// One class of one column as it was counted, and the sums over all other classes that have numbers.
struct Counted {
    double n, mean, ssd, grain, inverse, level;
    double others, others_n, others_mean, others_ssd;
};

// What follows from the weight alone when rows are taken out of a class; a row in each lane.
struct Taken {
    Vec n, share;        // what is left, and 1 over it
    Vec inverse, level;  // see Group
    Vec met, rows;       // how many classes still have numbers; 1 over how many numbers they have
};

// The numbers of a class in one column.
struct Group {
    Vec n, mean, ssd;
    Vec grain;    // how much of the mean may be rounding: all of it where there are no numbers
    Vec inverse;  // 1 over what divides the squares
    Vec level;    // of the logarithm of the density
};

// How far a mean lies from a centre; 0 where rounding alone may explain it, or nothing was met.
inline Vec gap_of(const Group& group, Vec centre) {
    Vec gap = group.mean - centre;
    return choose(size_of(gap) > group.grain, gap, all(0.0));
}

// What is believed of a class before its rows are seen.
struct Prior {
    Vec centre, centred, variance, spread;
};

// One column of some rows, all of the same class: x, and what is left when each of them is taken out.
struct Column {
    Vec x;
    Group left;
    Prior prior;
};

template <Estimate how>
class Bells {
  public:
    Bells(const NumberCounts& numbers, size_t columns, const Rows& rows)
        : worth_(numbers.worth), epsilon_(numbers.epsilon), classes_(rows.n_classes), counted_(columns * classes_) {
        for (size_t j = 0; j < columns; ++j) count(numbers, j * classes_);
        if (rows.weights) return;
        for (const Counted& counted : counted_) taken_.push_back(take(counted, all(1.0)));
    }

    Column column(size_t j, size_t own, Vec x, Vec w) const {
        const Counted* counted = counted_.data() + j * classes_;
        Taken taken = taken_.empty() ? take(counted[own], w) : taken_[j * classes_ + own];
        Group left = without(counted[own], taken, x, w);
        return {x, left, prior_of(counted, own, taken, left)};
    }

    // What all columns say about a class, as if none of the rows, which are of class own, had been counted.
    Vec said(const std::vector<Column>& columns, size_t own, size_t k) const {
        Vec sum{};
        Product scales;  // log p(x) = sum - ½ log(scales)
        const Counted* counted = counted_.data() + k;
        for (const Column& column : columns) {
            add(k == own ? column.left : group(*counted), column, sum, scales);
            counted += classes_;
        }
        return sum - all(0.5) * scales.log();
    }

  private:
    static Group group(const Counted& c) {
        return {all(c.n), all(c.mean), all(c.ssd), all(c.grain), all(c.inverse), all(c.level)};
    }
    double divided() const { return how == Estimate::map ? worth_ + 3 : worth_; }

    Taken take(const Counted& own, Vec w) const {
        Taken taken;
        taken.n = take_away(all(own.n), w);
        Mask some = Mask(taken.n > all(0.0));
        taken.share = all(1.0) / choose(some, taken.n, all(1.0));
        taken.inverse = how == Estimate::mle ? taken.share : all(1.0) / (taken.n + all(divided()));
        taken.level = how == Estimate::bayes ? student_level(taken.n + all(worth_)) : all(-HALF_LOG_TWO_PI);
        taken.met = larger(all(own.others) + choose(some, all(1.0), all(0.0)), all(1.0));
        taken.rows = all(1.0) / larger(all(own.others_n) + taken.n, all(1e-300));
        return taken;
    }

    // The group of the rows' own class, without each of them. Where x is a hole nothing in it is a number.
    static Group without(const Counted& own, const Taken& taken, Vec x, Vec w) {
        Mask some = Mask(taken.n > all(0.0));
        Vec gap = x - all(own.mean), more = w * all(own.n) * taken.share;
        Group left{taken.n, {}, {}, {}, taken.inverse, taken.level};
        left.mean = choose(some, all(own.mean) - w * gap * taken.share, all(0.0));
        left.grain = choose(some, larger(all(own.grain), all(GRAIN) * size_of(left.mean)), all(INFINITE));
        left.mean = choose(size_of(left.mean) <= left.grain, all(0.0), left.mean);
        left.ssd = all(own.ssd) - more * gap * gap;
        Vec rounding = all(RESIDUE * own.ssd) + more * size_of(gap) * all(2 * own.grain);
        rounding = larger(rounding, left.n * left.grain * left.grain);
        left.ssd = choose(some & Mask(left.ssd > rounding), left.ssd, all(0.0));
        return left;
    }

    Prior prior_of(const Counted* counted, size_t own, const Taken& taken, const Group& left) const {
        Prior prior;
        prior.centre = (all(counted[own].others_mean) + left.mean) / taken.met;
        Vec gap = gap_of(left, prior.centre), between = gap * gap;
        auto add_others = [&](size_t first, size_t last) {
            for (size_t k = first; k < last; ++k) {
                Vec other = gap_of(group(counted[k]), prior.centre);
                between += other * other;
            }
        };
        add_others(0, own);
        add_others(own + 1, classes_);
        between /= taken.met;
        Vec within = (all(counted[own].others_ssd) + left.ssd) * taken.rows;
        prior.variance = choose(within > all(0.0), within, between);
        prior.spread = within + between;
        Vec trust = prior.variance / prior.spread;  // where nothing is within, all of it lies between: a half
        trust = choose(within > all(0.0), trust, choose(between > all(0.0), all(0.5), all(1.0)));
        prior.centred = larger(all(worth_) * trust, all(NARROWEST));
        return prior;
    }

    void add(const Group& group, const Column& column, Vec& sum, Product& scales) const {
        const Prior& prior = column.prior;
        Vec middle, scale;
        if constexpr (how == Estimate::mle) {
            Mask met = Mask(group.n > all(0.0));
            middle = choose(met, group.mean, prior.centre);
            scale = choose(met, group.ssd * group.inverse, prior.spread) + all(epsilon_);
        } else {
            Vec share = all(1.0) / (prior.centred + group.n), gap = gap_of(group, prior.centre), pull = group.n * share;
            middle = prior.centre + gap * pull;
            Vec squares = all(worth_) * prior.variance + group.ssd + gap * gap * (prior.centred * pull);
            scale = squares * group.inverse;
            if constexpr (how == Estimate::bayes) scale += scale * share;
            scale += all(epsilon_);
        }
        // A column without any spread says nothing; else no class is narrower than rounding allows.
        Mask speaks = Mask(prior.spread + scale > all(0.0));
        scale = smaller(larger(scale, larger(all(NARROWEST) * prior.spread, all(LEAST))), all(WIDEST));
        Vec gap = column.x - middle, by = how == Estimate::bayes ? group.inverse : all(0.5);
        Vec far = smaller(all(WIDEST), gap * gap * by / scale);  // what is no number stays none
        speaks &= Mask(far == far);
        scales.times(choose(speaks, scale, all(1.0)));
        if constexpr (how == Estimate::bayes)
            far = (group.n + all(worth_ + 1)) * all(0.5) * log_of_one_plus(choose(speaks, far, all(0.0)));
        sum += choose(speaks, group.level - far, all(0.0));
    }

    void count(const NumberCounts& numbers, size_t first) {
        for (size_t k = 0; k < classes_; ++k) {
            size_t at = first + k;
            double n = numbers.n[at], divisor = how == Estimate::mle ? (n > 0 ? n : 1.0) : n + divided();
            double level = how == Estimate::bayes ? student_level(n + worth_) : -HALF_LOG_TWO_PI;
            double grain = n > 0 ? numbers.grain[at] : INFINITE;
            counted_[at] = {n, numbers.mean[at], numbers.ssd[at], grain, 1 / divisor, level, 0, 0, 0, 0};
        }
        // Sums over the others from both ends: subtracting one's own from the whole would lose digits.
        auto run_through = [&](size_t begin, size_t end, ptrdiff_t step) {
            Counted sum{};
            for (size_t k = begin; k != end; k += step) {
                Counted& c = counted_[first + k];
                c.others += sum.others, c.others_n += sum.others_n, c.others_mean += sum.others_mean,
                    c.others_ssd += sum.others_ssd;
                sum.others += c.n > 0, sum.others_n += c.n, sum.others_mean += c.n > 0 ? c.mean : 0.0,
                    sum.others_ssd += c.ssd;
            }
        };
        run_through(0, classes_, 1);
        run_through(classes_ - 1, size_t(-1), -1);
    }

    double worth_, epsilon_;
    size_t classes_;
    std::vector<Counted> counted_;  // [column][class]
    std::vector<Taken> taken_;      // the same for rows that weigh one
};

// Rows in the order of their classes, in lanes of one class each; the last of a class is repeated in lanes that are
// left.
class Lanes {
  public:
    Lanes(const Rows& rows, size_t begin, size_t end) {
        std::vector<size_t> next(rows.n_classes + 1, 0), last(rows.n_classes, begin);
        for (size_t row = begin; row < end; ++row)
            ++next[size_t(rows.classes[row]) + 1], last[size_t(rows.classes[row])] = row;
        for (size_t k = 0; k < rows.n_classes; ++k) next[k + 1] = next[k] + (next[k + 1] + LANES - 1) / LANES * LANES;
        rows_.resize(next.back());
        for (size_t k = 0; k < rows.n_classes; ++k)
            std::fill(rows_.begin() + next[k], rows_.begin() + next[k + 1], last[k]);
        for (size_t row = begin; row < end; ++row)
            places_.push_back(next[size_t(rows.classes[row])]++), rows_[places_.back()] = row;
    }
    size_t size() const { return rows_.size() / LANES; }
    const size_t* operator[](size_t group) const { return rows_.data() + group * LANES; }

    // All numbers of the rows, [group][column][lane]; in lanes that are left, those of no row.
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

template <Estimate how>
size_t leave_numbers(const Matrix& x, const Rows& rows, const NumberCounts& numbers, double* out, const Run& run) {
    const Bells<how> bells(numbers, x.columns, rows);
    return with_numbers(x, 1, [&](auto lines) {
        return first_refused(x.rows, x.columns * rows.n_classes, run, [&](size_t begin, size_t end) {
            auto line_of = lines;
            Lanes lanes(rows, begin, end);
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
                    columns[j] = bells.column(j, own, v, w);
                }
                for (size_t r = 0; any(infinite) && r < used; ++r)
                    if (infinite[r]) refused = std::min(refused, row[r]);
                for (size_t k = 0; k < rows.n_classes; ++k) {
                    Vec said = bells.said(columns, own, k);
                    for (size_t r = 0; r < used; ++r) out[row[r] * rows.n_classes + k] += said[r];
                }
            }
            return refused;
        });
    });
}

}  // namespace

size_t left_numbers(const Matrix& x, const Rows& rows, const NumberCounts& numbers, double* out, const Run& run) {
    if (numbers.how == Estimate::mle) return leave_numbers<Estimate::mle>(x, rows, numbers, out, run);
    if (numbers.how == Estimate::map) return leave_numbers<Estimate::map>(x, rows, numbers, out, run);
    return leave_numbers<Estimate::bayes>(x, rows, numbers, out, run);
}

}  // namespace naively::NAIVELY_LEVEL
