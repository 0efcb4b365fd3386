// Rows of labels scored as if they had never been counted. Compiled once per instruction level (NAIVELY_LEVEL names
// it).
#include "common/matrix_rows.hpp"
#include "common/vectors.hpp"
#include "leave_one_out/leave_one_out.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

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

// What a value's share of its row's own class is without the row. Where all rows weigh one it is looked up.
class OwnShares {
  public:
    OwnShares(const LabelCounts& labels, size_t columns, const Rows& rows, size_t n_rows)
        : of_(labels), classes_(rows.n_classes) {
        if (rows.weights || n_rows * columns < labels.n.lines * classes_) return;  // fewer rows than places to look up
        table_.resize(labels.n.lines * classes_);
        for (size_t j = 0; j < columns; ++j)
            for (size_t line = size_t(of_.offsets[j]); line < size_t(of_.offsets[j + 1]); ++line)
                for (size_t k = 0; k < classes_; ++k) table_[line * classes_ + k] = share(j, line, k, 1.0);
    }
    // No number if more changes than this share, or if it is too small to be multiplied with others.
    double operator()(size_t j, size_t line, size_t k, double w) const {
        return table_.empty() ? share(j, line, k, w) : table_[line * classes_ + k];
    }
    size_t last(size_t j) const { return size_t(of_.offsets[j + 1]) - 1; }

  private:
    double share(size_t j, size_t line, size_t k, double w) const {
        const auto& column = of_.columns[j];
        double n = take_away(of_.n.data[line * of_.n.width + k], w), total = take_away(of_.totals[j * classes_ + k], w);
        double part = n + column.imagined, whole = total + column.size * column.imagined;
        bool plain = !column.shared && n >= 0 && w > 0 && line < last(j) && part > 1e-100 * whole && whole > 0;
        return plain && (of_.kept[line] || take_away(of_.met[line], w) != 0) ? part / whole : NO_NUMBER;
    }

    const LabelCounts& of_;
    size_t classes_;
    std::vector<double> table_;  // [line][class]
};

// What the cells of one row say once it is left out. Most change the row's own class alone: their shares are
// multiplied, so that a row costs one logarithm. The others' scores are lines of the table.
class LeftRow {
  public:
    LeftRow(const LabelCounts& labels, const OwnShares& shares, size_t columns, size_t classes)
        : of_(labels), shares_(shares), classes_(classes), lines_(columns), score_(labels.n.width) {}

    void start(size_t k, double w) {
        k_ = k, w_ = w, size_ = 0, own_ = 0.0, product_ = 1.0;
        std::fill(score_.begin(), score_.end(), 0.0);
    }

    // Whether the row can have been counted with this code in column j.
    bool add(size_t j, size_t code) {
        size_t line = std::min(size_t(of_.offsets[j]) + code, shares_.last(j));
        double share = shares_(j, line, k_, w_);
        if (share != share) return add_with_care(j, line);
        lines_[size_++] = uint32_t(line * of_.n.width);
        product_ *= share;
        if (product_ < 1e-150) own_ += std::log(product_), product_ = 1.0;
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
    bool add_with_care(size_t j, size_t line) {
        const auto& column = of_.columns[j];
        bool never = line == shares_.last(j);
        if (never && (column.refusing || w_ > 0)) return false;
        if (w_ == 0) {  // nothing of it was counted
            lines_[size_++] = uint32_t(line * of_.n.width);
            own_ += of_.logs.data[line * of_.n.width + k_];
            return true;
        }
        double met = take_away(of_.met[line], w_), n = take_away(of_.n.data[line * of_.n.width + k_], w_);
        bool gone = met == 0 && !of_.kept[line];  // met in this row alone, and not declared: unknown without it
        if (n < 0 || (gone && column.refusing)) return false;
        if (gone && !column.placed) return true;  // it says nothing
        add_to_all(j, line, n, met, gone);
        return true;
    }

    // A value that is gone, or whose share of the imagined rows changes, says something else about every class.
    void add_to_all(size_t j, size_t line, double n, double met, bool gone) {
        const auto& column = of_.columns[j];
        double before = of_.met[line] > 0 ? of_.met[line] : 1.0, now = gone ? 0.0 : met > 0 ? met : 1.0;
        double common = column.common - before + now, size = column.size - gone;
        double imagined = column.imagined * (column.shared ? (gone ? 1.0 : now) / common : 1.0);
        double more = column.imagined * (column.shared ? 1.0 : size);
        for (size_t k = 0; k < classes_; ++k) {
            double of_class = gone ? 0.0 : k == k_ ? n : of_.n.data[line * of_.n.width + k];
            double total = of_.totals[j * classes_ + k];
            score_[k] += log_share(of_class + imagined, (k == k_ ? take_away(total, w_) : total) + more, size);
        }
    }

    const LabelCounts& of_;
    const OwnShares& shares_;
    size_t classes_, k_ = 0, size_ = 0;
    double w_ = 1.0, own_ = 0.0, product_ = 1.0;
    std::vector<uint32_t> lines_;  // where the lines of those cells begin that change the own class alone
    std::vector<double> score_;
};

}  // namespace

size_t left_codes(const Matrix& x, const Rows& rows, const LabelCounts& labels, double* out, const Run& run) {
    size_t classes = rows.n_classes;
    const OwnShares shares(labels, x.columns, rows, x.rows);
    return with_codes(x, [&](auto lines) {
        return first_refused(x.rows, x.columns * labels.n.width + 1, run, [&](size_t begin, size_t end) {
            auto line_of = lines;
            LeftRow left(labels, shares, x.columns, classes);
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

}  // namespace naively::NAIVELY_LEVEL
