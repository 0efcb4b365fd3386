// Rows scored as if they had never been counted. Compiled once per instruction level (NAIVELY_LEVEL names it).
#include "leaving.hpp"

#include <algorithm>
#include <atomic>

#include "parallel.hpp"
#include "rows.hpp"
#include "vectors.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Rows that a thread takes at once.
constexpr size_t PIECE = 2048;

// Calls work(begin, end) for pieces of the rows; each returns the first row it refuses. The first of all is returned.
template <class Work>
size_t first_refused(size_t rows, size_t cells_per_row, const Run& run, Work&& work) {
    std::vector<size_t> refused((rows + PIECE - 1) / PIECE, NO_ROW);
    share_out(refused.size(), rows * cells_per_row, run, [&](size_t piece) {
        refused[piece] = work(piece * PIECE, std::min(rows, (piece + 1) * PIECE));
    });
    return refused.empty() ? NO_ROW : *std::min_element(refused.begin(), refused.end());
}

// Numbers that differ by less than this share of their size differ by rounding alone; so do sums that are taken apart.
constexpr double GRAIN = 1e-14, RESIDUE = 1e-12;

// What is left of a sum; of fractions, what rounding alone can leave is nothing.
inline double take_away(double before, double taken) {
    double rest = before - taken;
    bool little = std::abs(rest) <= RESIDUE * std::abs(before);
    return little && !(before == std::floor(before) && taken == std::floor(taken)) ? 0.0 : rest;
}

// log(part / whole); all values are alike where nothing was met at all.
inline double log_share(double part, double whole, double size) {
    return whole > 0 ? std::log(std::max(part, 0.0)) - std::log(whole) : -std::log(size);
}

// What the cells of one row say once it is left out. Most change the row's own class alone: their shares are multiplied,
// so that a row costs one logarithm. The others' scores are lines of the table.
class LeftRow {
  public:
    LeftRow(const LabelCounts& labels, size_t columns, size_t classes) : of_(labels), classes_(classes), lines_(columns), score_(labels.n.width) {}

    void start(size_t k, double w) {
        k_ = k, w_ = w, size_ = 0, own_ = 0.0, product_ = 1.0;
        std::fill(score_.begin(), score_.end(), 0.0);
    }

    // Whether the row can have been counted with this code in column j.
    bool add(size_t j, size_t code) {
        const auto& column = of_.columns[j];
        size_t values = size_t(of_.offsets[j + 1] - of_.offsets[j]) - 1, line = size_t(of_.offsets[j]) + std::min(code, values);
        if (code >= values && (column.refusing || w_ > 0)) return false;
        if (w_ == 0) return unchanged(line);  // nothing of it was counted
        double n = take_away(of_.n.data[line * of_.n.width + k_], w_), total = take_away(of_.totals[j * classes_ + k_], w_);
        double met = take_away(of_.met[line], w_);
        bool gone = met == 0 && !of_.kept[line];  // met in this row alone, and not declared: unknown without it
        if (n < 0 || (gone && column.refusing)) return false;
        if (gone || column.shared) return add_to_all(j, line, n, total, met, gone);
        lines_[size_++] = uint32_t(line * of_.n.width);
        times(n + column.imagined, total + column.size * column.imagined, column.size);
        return true;
    }

    const double* scores() {
        double own = score_[k_] + own_ + std::log(product_);
        by_vectors<6>(score_.size(), [&](auto count, size_t from) {
            add_at<decltype(count)::value>(lines_.data(), size_, of_.logs.data + from, score_.data() + from);
        });
        score_[k_] = own;
        return score_.data();
    }

  private:
    bool unchanged(size_t line) {
        lines_[size_++] = uint32_t(line * of_.n.width);
        own_ += of_.logs.data[line * of_.n.width + k_];
        return true;
    }

    // The own class gets one more factor; tiny ones apart, lest the product underflows.
    void times(double part, double whole, double size) {
        double share = part / whole;
        if (!(share > 1e-100 && whole > 0)) {
            own_ += log_share(part, whole, size);
            return;
        }
        product_ *= share;
        if (product_ < 1e-150) own_ += std::log(product_), product_ = 1.0;
    }

    // A value that is gone, or whose share of the imagined rows changes, says something else about every class.
    bool add_to_all(size_t j, size_t line, double n, double total, double met, bool gone) {
        const auto& column = of_.columns[j];
        if (gone && !column.placed) return true;  // never met: it says nothing
        double before = of_.met[line] > 0 ? of_.met[line] : 1.0, now = gone ? 0.0 : met > 0 ? met : 1.0;
        double common = column.common - before + now, size = column.size - gone;
        double imagined = column.imagined * (column.shared ? (gone ? 1.0 : now) / common : 1.0);
        double more = column.imagined * (column.shared ? 1.0 : size);
        for (size_t k = 0; k < classes_; ++k) {
            double of_class = gone ? 0.0 : k == k_ ? n : of_.n.data[line * of_.n.width + k];
            score_[k] += log_share(of_class + imagined, (k == k_ ? total : of_.totals[j * classes_ + k]) + more, size);
        }
        return true;
    }

    const LabelCounts& of_;
    size_t classes_, k_ = 0, size_ = 0;
    double w_ = 1.0, own_ = 0.0, product_ = 1.0;
    std::vector<uint32_t> lines_;  // where the lines of those cells begin that change the own class alone
    std::vector<double> score_;
};

}  // namespace

size_t left_codes(const Matrix& x, const Rows& rows, const LabelCounts& labels, double* out, const Run& run) {
    size_t classes = rows.n_classes;
    return with_codes(x, [&](auto lines) {
        return first_refused(x.rows, x.columns * labels.n.width + 1, run, [&](size_t begin, size_t end) {
            auto line_of = lines;
            LeftRow left(labels, x.columns, classes);
            for (size_t row = begin; row < end; ++row) {
                auto line = line_of(row);
                left.start(size_t(rows.classes[row]), rows.weights ? rows.weights[row] : 1.0);
                for (size_t j = 0; j < x.columns; ++j)
                    if (!is_hole(line[j]) && !left.add(j, size_t(line[j]))) return row;
                const double* score = left.scores();
                for (size_t k = 0; k < classes; ++k) out[row * classes + k] += score[k];
            }
            return NO_ROW;
        });
    });
}

namespace {

// Below this share of a column's variance a class counts as this narrow; the least variance of all, and the largest.
constexpr double NARROWEST = 1e-18, LEAST = 1e-290, WIDEST = 1e300;
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
struct Product {
    Vec digits = all(1.0);
    Vec exponent{};
    void times(Vec factor) {
        typedef uint64_t Bits __attribute__((vector_size(LANES * sizeof(uint64_t))));
        Bits raw = std::bit_cast<Bits>(factor);
        // A whole number below 2^52, put behind the point of 2^52, is that number as a double, plus 2^52.
        exponent += std::bit_cast<Vec>((raw >> 52) | 0x4330000000000000) - all(0x1p52 + 1023);
        digits *= std::bit_cast<Vec>((raw & 0x000fffffffffffff) | 0x3ff0000000000000);
    }
    // To be called now and then: the digits of so many factors cannot overflow.
    static constexpr size_t FACTORS = 512;
    void settle() {
        Vec so_far = digits;
        digits = all(1.0);
        times(so_far);
    }
    Vec log() const { return log_of_one_plus(digits - all(1.0)) + exponent * all(LOG2_HIGH) + exponent * all(LOG2_LOW); }
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
    if (!(half > 0)) return std::numeric_limits<double>::quiet_NaN();
    for (; up < LARGE_HALF; up += 1) ratio *= up / (up + 0.5);  // Γ(x + 1) = x Γ(x)
    return up == half ? series(half) : series(up) + 0.5 * std::log(up / half) + std::log(ratio);
}

inline Vec student_level(Vec freedom) {
    Vec half = freedom * all(0.5);
    if (any(~Mask(half >= all(LARGE_HALF))))
        return Vec{student_level(freedom[0]), student_level(freedom[1]), student_level(freedom[2]), student_level(freedom[3])};
    Vec part = all(1.0) / half, square = part * part, sum = all(691.0 / 180224);
    for (double c : {-31.0 / 18432, 17.0 / 14336, -1.0 / 640, 1.0 / 192, -1.0 / 8}) sum = sum * square + all(c);
    return sum * part - all(HALF_LOG_TWO_PI);
}

// The numbers of a class in one column, and what follows from how many there are; a row in each lane.
struct Group {
    Vec n, mean, ssd, grain;
    Vec inverse;  // 1 over what divides the squares
    Vec level;    // of the logarithm of a Student-t density
};

inline Group either(Mask where, const Group& a, const Group& b) {
    return {choose(where, a.n, b.n),         choose(where, a.mean, b.mean),       choose(where, a.ssd, b.ssd),
            choose(where, a.grain, b.grain), choose(where, a.inverse, b.inverse), choose(where, a.level, b.level)};
}

// How far a mean lies from a centre; 0 where rounding alone may explain it, or nothing was met.
inline Vec gap_of(const Group& group, Vec centre) {
    Vec gap = group.mean - centre;
    return choose(Mask(group.n > all(0.0)) & Mask(size_of(gap) > group.grain), gap, all(0.0));
}

// What is believed of a class before its rows are seen.
struct Prior {
    Vec centre, centred, variance, spread;
};

// One class of one column as it was counted, and the sums over all other classes that have numbers.
struct Counted {
    double n, mean, ssd, grain, inverse, level;
    double others, others_n, others_mean, others_ssd;
};

template <Estimate how>
class Bells {
  public:
    Bells(const NumberCounts& numbers, size_t columns, size_t classes)
        : worth_(numbers.worth), epsilon_(numbers.epsilon), classes_(classes), counted_(columns * classes) {
        for (size_t j = 0; j < columns; ++j) count(numbers, j * classes);
    }

    // The group of each row's own class, without the row: x is taken out of it with its weight where it is there.
    Group without(const Counted* column, const size_t* own, Vec x, Vec w) const {
        auto each = [&](double Counted::*part) {
            return Vec{column[own[0]].*part, column[own[1]].*part, column[own[2]].*part, column[own[3]].*part};
        };
        Vec n = each(&Counted::n), mean = each(&Counted::mean), ssd = each(&Counted::ssd), grain = each(&Counted::grain);
        Mask there = Mask(x == x);
        Vec taken = choose(there, w, all(0.0)), gap = choose(there, x - mean, all(0.0));
        Group left;
        left.n = take_away(n, taken);
        Mask some = Mask(left.n > all(0.0));
        Vec share = all(1.0) / choose(some, left.n, all(1.0)), more = taken * n * share;
        left.mean = choose(some, mean - taken * gap * share, all(0.0));
        left.ssd = ssd - more * gap * gap;
        Vec rounding = all(RESIDUE) * ssd + all(2.0) * more * size_of(gap) * grain;
        left.grain = choose(some, larger(grain, all(GRAIN) * size_of(left.mean)), all(0.0));
        rounding = larger(rounding, left.n * left.grain * left.grain);
        left.ssd = choose(some & Mask(left.ssd > rounding), left.ssd, all(0.0));
        left.mean = choose(size_of(left.mean) > left.grain, left.mean, all(0.0));
        left.inverse = how == Estimate::mle ? share : all(1.0) / (left.n + all(divided()));
        left.level = how == Estimate::bayes ? student_level(left.n + all(worth_)) : all(-HALF_LOG_TWO_PI);
        return left;
    }

    Prior prior(const Counted* column, const size_t* own, const Vec owns, const Group& left) const {
        auto each = [&](double Counted::*part) {
            return Vec{column[own[0]].*part, column[own[1]].*part, column[own[2]].*part, column[own[3]].*part};
        };
        Vec some = choose(left.n > all(0.0), all(1.0), all(0.0));
        Vec met = larger(each(&Counted::others) + some, all(1.0));
        Prior prior;
        prior.centre = (each(&Counted::others_mean) + some * left.mean) / met;
        Vec gap = gap_of(left, prior.centre), between = gap * gap;
        for (size_t k = 0; k < classes_; ++k) {
            Vec other = gap_of(group(column[k]), prior.centre);
            between += choose(owns == all(double(k)), all(0.0), other * other);
        }
        between /= met;
        Vec within = (each(&Counted::others_ssd) + left.ssd) / larger(each(&Counted::others_n) + left.n, all(1e-300));
        prior.variance = choose(within > all(0.0), within, between);
        prior.spread = within + between;
        Mask wide = Mask(prior.variance > all(0.0));
        Vec trust = choose(wide, prior.variance, all(1.0)) / choose(wide, prior.variance + between, all(1.0));
        prior.centred = larger(all(worth_) * trust, all(NARROWEST));
        return prior;
    }

    // sum and scales += what x says about a class: log p(x) = sum - ½ log(scales).
    void add(const Group& group, const Prior& prior, Vec x, Vec& sum, Product& scales) const {
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
            if constexpr (how == Estimate::bayes) scale *= all(1.0) + share;
            scale += all(epsilon_);
        }
        // Not narrower than rounding allows; a column without any spread says nothing.
        Vec least = choose(Mask(prior.spread > all(0.0)) | Mask(scale > all(0.0)),
                           larger(all(NARROWEST) * prior.spread, all(LEAST)), all(0.0));
        scale = smaller(larger(scale, least), all(WIDEST));
        Mask silent = Mask(scale == all(0.0));
        Vec gap = x - middle, by = how == Estimate::bayes ? group.inverse : all(0.5);
        Vec far = smaller(all(WIDEST), gap * gap * by / choose(silent, all(1.0), scale));  // NaN stays NaN
        silent |= Mask(far != far);  // a hole
        scales.times(choose(silent, all(1.0), scale));
        if constexpr (how == Estimate::bayes)
            far = (group.n + all(worth_ + 1)) * all(0.5) * log_of_one_plus(choose(silent, all(0.0), far));
        sum += choose(silent, all(0.0), group.level - far);
    }

    const Counted* column(size_t j) const { return counted_.data() + j * classes_; }
    static Group group(const Counted& c) { return {all(c.n), all(c.mean), all(c.ssd), all(c.grain), all(c.inverse), all(c.level)}; }

  private:
    double divided() const { return how == Estimate::map ? worth_ + 3 : worth_; }

    void count(const NumberCounts& numbers, size_t first) {
        for (size_t k = 0; k < classes_; ++k) {
            size_t at = first + k;
            double n = numbers.n[at], divisor = how == Estimate::mle ? (n > 0 ? n : 1.0) : n + divided();
            double level = how == Estimate::bayes ? student_level(n + worth_) : -HALF_LOG_TWO_PI;
            counted_[at] = {n, numbers.mean[at], numbers.ssd[at], numbers.grain[at], 1 / divisor, level, 0, 0, 0, 0};
        }
        // Sums over the others from both ends: subtracting one's own from the whole would lose digits.
        auto run_through = [&](size_t begin, size_t end, ptrdiff_t step) {
            Counted sum{};
            for (size_t k = begin; k != end; k += step) {
                Counted& c = counted_[first + k];
                c.others += sum.others, c.others_n += sum.others_n, c.others_mean += sum.others_mean, c.others_ssd += sum.others_ssd;
                sum.others += c.n > 0, sum.others_n += c.n, sum.others_mean += c.n > 0 ? c.mean : 0.0, sum.others_ssd += c.ssd;
            }
        };
        run_through(0, classes_, 1);
        run_through(classes_ - 1, size_t(-1), -1);
    }

    double worth_, epsilon_;
    size_t classes_;
    std::vector<Counted> counted_;
};

// The sums of four rows: for each class what its columns say, and the product of their scales.
struct Sums {
    std::vector<Vec> terms;
    std::vector<Product> scales;
    explicit Sums(size_t classes) : terms(classes), scales(classes) {}
    void clear() {
        std::fill(terms.begin(), terms.end(), Vec{});
        std::fill(scales.begin(), scales.end(), Product{});
    }
};

template <Estimate how>
size_t leave_numbers(const Matrix& x, const Rows& rows, const NumberCounts& numbers, double* out, const Run& run) {
    size_t classes = rows.n_classes;
    const Bells<how> bells(numbers, x.columns, classes);
    return with_numbers(x, LANES, [&](auto lines) {
        return first_refused(x.rows, x.columns * classes, run, [&](size_t begin, size_t end) {
            auto line_of = lines;
            Sums sums(classes);
            for (size_t row = begin; row < end; row += LANES) {
                decltype(line_of(0)) line[LANES];
                size_t own[LANES], last = std::min(end, row + LANES) - 1;  // the last row fills the lanes that are left
                Vec w = all(1.0), owns{};
                for (size_t r = 0; r < LANES; ++r) {
                    size_t at = std::min(row + r, last);
                    line[r] = line_of(at), own[r] = size_t(rows.classes[at]), owns[r] = double(own[r]);
                    if (rows.weights) w[r] = rows.weights[at];
                }
                sums.clear();
                Mask infinite{};
                for (size_t j = 0; j < x.columns; ++j) {
                    Vec v{double(line[0][j]), double(line[1][j]), double(line[2][j]), double(line[3][j])};
                    infinite |= not_finite(v) & Mask(v == v);
                    const Counted* column = bells.column(j);
                    Group left = bells.without(column, own, v, w);
                    Prior prior = bells.prior(column, own, owns, left);
                    for (size_t k = 0; k < classes; ++k) {
                        Mask here = Mask(owns == all(double(k)));
                        Group group = bells.group(column[k]);
                        if (any(here))
                            bells.add(either(here, left, group), prior, v, sums.terms[k], sums.scales[k]);
                        else
                            bells.add(group, prior, v, sums.terms[k], sums.scales[k]);
                    }
                    if (j % Product::FACTORS == Product::FACTORS - 1)
                        for (Product& scale : sums.scales) scale.settle();
                }
                if (any(infinite))
                    for (size_t r = 0; r < LANES; ++r)
                        if (infinite[r]) return std::min(row + r, last);
                for (size_t k = 0; k < classes; ++k) {
                    Vec score = sums.terms[k] - all(0.5) * sums.scales[k].log();
                    for (size_t r = 0; row + r <= last; ++r) out[(row + r) * classes + k] += score[r];
                }
            }
            return NO_ROW;
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
