// Splits rows into stratified folds as they arrive: each class evenly, and all folds of about the same size.
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"

using namespace nb::literals;

namespace naively {
namespace {

using Keys = nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Totals = nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Folds = nb::ndarray<int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A pseudo-random number that follows from another (splitmix64).
uint64_t mixed_bits(uint64_t x) {
    x *= 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

struct StratifiedFolds {
    const uint64_t* keys;             // of each class
    int64_t *fold_rows, *class_rows;  // rows of each fold, and of each class
    uint8_t* used;                    // [class][fold]: whether the block of the class that is open has a row there
    size_t folds;

    // Of the folds without a row of this block, the one of the fewest rows; chance decides between equals.
    int32_t fold_of(int32_t k) {
        uint8_t* taken = used + size_t(k) * folds;
        uint64_t block = uint64_t(class_rows[k]) / folds, key = mixed_bits(keys[k] + block), least = 0;
        int32_t best = -1;
        for (size_t fold = 0; fold < folds; ++fold) {
            if (taken[fold] || (best >= 0 && fold_rows[fold] > fold_rows[best])) continue;
            uint64_t chance = mixed_bits(key + fold);
            if (best < 0 || fold_rows[fold] < fold_rows[best] || chance < least) best = int32_t(fold), least = chance;
        }
        taken[best] = 1, ++fold_rows[best], ++class_rows[k];
        if (uint64_t(class_rows[k]) % folds == 0) std::fill(taken, taken + folds, uint8_t(0));
        return best;
    }
};

void assign_folds(Classes classes, Weights weights, Keys keys, Totals fold_rows, Totals class_rows, Flags used,
                  Folds out) {
    size_t rows = classes.shape(0), folds = fold_rows.shape(0);
    require(folds > 0 && used.shape(1) == folds, "There must be a place for each fold, and at least one.");
    require(keys.shape(0) == class_rows.shape(0) && used.shape(0) == class_rows.shape(0),
            "There must be a key and a line for each class.");
    require(out.shape(0) == rows, "There must be a fold for each row.");
    for (size_t k = 0; k < class_rows.shape(0); ++k) {
        size_t open = std::count(used.data() + k * folds, used.data() + (k + 1) * folds, uint8_t(1));
        require(class_rows(k) >= 0 && size_t(class_rows(k)) % folds == open,
                "The open blocks do not fit the rows of the classes.");
    }
    LabeledRows view = labeled_rows(classes, weights, rows, class_rows.shape(0));
    StratifiedFolds folds_of_rows{keys.data(), fold_rows.data(), class_rows.data(), used.data(), folds};
    without_gil(1, [&](const Run& run) {
        for (size_t row = 0; row < rows; ++row) {
            if (row % (1 << 20) == 0 && run.interrupted()) throw Interrupted();
            out.data()[row] = view.weights && !(view.weights[row] > 0) ? -1 : folds_of_rows.fold_of(view.classes[row]);
        }
    });
}

}  // namespace

void bind_folds(nb::module_& m) {
    m.def("assign_folds", &assign_folds, "classes"_a.noconvert(), "weights"_a.noconvert().none(), "keys"_a.noconvert(),
          "fold_rows"_a.noconvert(), "class_rows"_a.noconvert(), "used"_a.noconvert(), "out"_a.noconvert(),
          "Split rows into stratified folds; rows of weight 0 get -1. Earlier rows are taken into account.");
}

}  // namespace naively
