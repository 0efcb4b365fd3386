// Leave-one-out scores of rows of categories. Compiled once per instruction level (NAIVELY_LEVEL names it).
#include "common/matrix_rows.hpp"
#include "common/subtraction.hpp"
#include "common/vectors.hpp"
#include "leave_one_out/leave_one_out.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// The numbers of one column of categories, by name.
class CategoryColumn {
  public:
    CategoryColumn(const CategoryCounts& counts, size_t j)
        : numbers_(counts.columns + j * CategoryCounts::COLUMN_NUMBERS) {}
    double pseudo_count() const { return numbers_[0]; }        // of each value, or of all if they are proportional
    double n_values() const { return numbers_[1]; }            // with the place for unseen values
    double total_seen() const { return numbers_[2]; }          // the weight of all values together
    bool proportional() const { return numbers_[3] != 0; }     // pseudo-counts follow how common each value is
    bool has_unseen_line() const { return numbers_[4] != 0; }  // unseen values have a probability
    bool refuses_unseen() const { return numbers_[5] != 0; }   // a row with an unseen value is refused

  private:
    const double* numbers_;
};

// log(part / whole); all values are equally probable where nothing was counted.
inline double log_probability(double part, double whole, double size) {
    return whole > 0 ? std::log(std::max(part, 0.0)) - std::log(whole) : -std::log(size);
}

// P(value | the row's own class) without the row. Where all rows weigh one it is looked up in a table.
class OwnClassProbabilities {
  public:
    OwnClassProbabilities(const CategoryCounts& counts, size_t columns, const LabeledRows& rows, size_t n_rows)
        : counts_(counts), classes_(rows.n_classes) {
        if (rows.weights || n_rows * columns < counts.n.lines * classes_) return;  // fewer rows than cells of the table
        table_.resize(counts.n.lines * classes_);
        for (size_t j = 0; j < columns; ++j)
            for (size_t line = size_t(counts_.offsets[j]); line < size_t(counts_.offsets[j + 1]); ++line)
                for (size_t k = 0; k < classes_; ++k) table_[line * classes_ + k] = probability(j, line, k, 1.0);
    }
    // NaN if the row changes more than this probability, or if it is too small to be multiplied with others.
    double operator()(size_t j, size_t line, size_t k, double w) const {
        return table_.empty() ? probability(j, line, k, w) : table_[line * classes_ + k];
    }
    size_t last(size_t j) const { return size_t(counts_.offsets[j + 1]) - 1; }

  private:
    double probability(size_t j, size_t line, size_t k, double w) const {
        const CategoryColumn column(counts_, j);
        double n = subtract(counts_.n.data[line * counts_.n.width + k], w),
               total = subtract(counts_.totals[j * classes_ + k], w);
        double part = n + column.pseudo_count(), whole = total + column.n_values() * column.pseudo_count();
        bool usual = !column.proportional() && n >= 0 && w > 0 && line < last(j) && part > 1e-100 * whole && whole > 0;
        return usual && ((counts_.declared[line] != 0) || subtract(counts_.seen[line], w) != 0) ? part / whole
                                                                                                : NOT_A_NUMBER;
    }

    const CategoryCounts& counts_;
    size_t classes_;
    std::vector<double> table_;  // [line][class]
};

// The scores of one row that is left out. Most cells change the probability of the row's own class alone: these are
// multiplied, so that a row costs one logarithm. The scores of the other classes are lines of the table.
class LeftOutRow {
  public:
    LeftOutRow(const CategoryCounts& counts, const OwnClassProbabilities& own_class, size_t columns, size_t classes)
        : counts_(counts), own_(own_class), classes_(classes), lines_(columns), score_(counts.n.width) {}

    void start(size_t k, double w) {
        own_class_ = k, weight_ = w, size_ = 0, own_log_ = 0.0, product_ = 1.0;
        std::fill(score_.begin(), score_.end(), 0.0);
    }

    // Whether the row can have been counted with this code in column j.
    bool add(size_t j, size_t code) {
        size_t line = std::min(size_t(counts_.offsets[j]) + code, own_.last(j));
        double probability = own_(j, line, own_class_, weight_);
        if (probability != probability) return add_special(j, line);
        lines_[size_++] = uint32_t(line * counts_.n.width);
        product_ *= probability;
        if (product_ < 1e-150) own_log_ += std::log(product_), product_ = 1.0;
        return true;
    }

    const double* scores() {
        double own = score_[own_class_] + own_log_ + std::log(product_);
        for_vector_groups<6>(score_.size(), [&](auto count, size_t from) {
            add_table_lines<decltype(count)::value>(lines_.data(), size_, counts_.log_probabilities.data + from,
                                                    score_.data() + from);
        });
        score_[own_class_] = own;
        return score_.data();
    }

  private:
    bool add_special(size_t j, size_t line) {
        const CategoryColumn column(counts_, j);
        bool unseen = line == own_.last(j);
        if (unseen && (column.refuses_unseen() || weight_ > 0)) return false;
        if (weight_ == 0) {  // nothing of it was counted
            lines_[size_++] = uint32_t(line * counts_.n.width);
            own_log_ += counts_.log_probabilities.data[line * counts_.n.width + own_class_];
            return true;
        }
        double seen = subtract(counts_.seen[line], weight_),
               n = subtract(counts_.n.data[line * counts_.n.width + own_class_], weight_);
        bool vanishes =
            seen == 0 && !(counts_.declared[line] != 0);  // seen in this row alone, and not declared: unseen without it
        if (n < 0 || (vanishes && column.refuses_unseen())) return false;
        if (vanishes && !column.has_unseen_line()) return true;  // it contributes nothing
        add_to_all(j, line, n, seen, vanishes);
        return true;
    }

    // A value that vanishes, or whose pseudo-count changes, changes the scores of every class.
    void add_to_all(size_t j, size_t line, double n, double seen, bool vanishes) {
        const CategoryColumn column(counts_, j);
        double before = counts_.seen[line] > 0 ? counts_.seen[line] : 1.0, now = vanishes ? 0.0 : seen > 0 ? seen : 1.0;
        double total_seen = column.total_seen() - before + now, size = column.n_values() - vanishes;
        double pseudo_count =
            column.pseudo_count() * (column.proportional() ? (vanishes ? 1.0 : now) / total_seen : 1.0);
        double more = column.pseudo_count() * (column.proportional() ? 1.0 : size);
        for (size_t k = 0; k < classes_; ++k) {
            double of_class = vanishes ? 0.0 : k == own_class_ ? n : counts_.n.data[line * counts_.n.width + k];
            double total = counts_.totals[j * classes_ + k];
            score_[k] += log_probability(of_class + pseudo_count,
                                         (k == own_class_ ? subtract(total, weight_) : total) + more, size);
        }
    }

    const CategoryCounts& counts_;
    const OwnClassProbabilities& own_;
    size_t classes_, own_class_ = 0, size_ = 0;
    double weight_ = 1.0, own_log_ = 0.0, product_ = 1.0;
    std::vector<uint32_t> lines_;  // where the lines of those cells begin that change the own class alone
    std::vector<double> score_;
};

}  // namespace

size_t leave_one_out_codes(const Matrix& x, const LabeledRows& rows, const CategoryCounts& counts, double* out,
                           const Run& run) {
    size_t classes = rows.n_classes;
    const OwnClassProbabilities own_class(counts, x.columns, rows, x.rows);
    return with_codes(x, [&](auto lines) {
        return first_refused(x.rows, x.columns * counts.n.width + 1, run, [&](size_t begin, size_t end) {
            auto line_of = lines;
            LeftOutRow row_scores(counts, own_class, x.columns, classes);
            for (size_t row = begin; row < end; ++row) {
                auto line = line_of(row);
                row_scores.start(size_t(rows.classes[row]), rows.weights ? rows.weights[row] : 1.0);
                for (size_t j = 0; j < x.columns; ++j)
                    if (!is_missing(line[j]) && !row_scores.add(j, size_t(line[j]))) return row;
                const double* score = row_scores.scores();
                for (size_t k = 0; k < classes; ++k) out[row * classes + k] += score[k];
            }
            return NO_ROW;
        });
    });
}

}  // namespace naively::NAIVELY_LEVEL
