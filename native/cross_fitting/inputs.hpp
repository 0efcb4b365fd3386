// What the kernels of cross-fitting read: rows that are scored by counts without their fold.
#pragma once

#include <cstddef>
#include <cstdint>

namespace naively {

// Rows in the order of their folds, with the class and the weight that each was counted with. The rows of a test lie in
// no counts at all: what is fitted to the other rows can be measured on them.
struct FoldedRows {
    size_t rows, classes, folds;
    const int32_t* labels;
    const double* weights;
    const int64_t* bounds;  // where each fold begins: folds + 1 of them
    size_t test, test_end;  // the rows of the test; the same where there is none

    size_t first(size_t fold) const { return size_t(bounds[fold]); }
    bool tests(size_t fold) const { return first(fold) >= test && first(fold + 1) <= test_end; }
};

// Pairs of columns of codes; the counts of pairs of codes are products of features, before which comes one that is 1.
struct PairColumns {
    const int64_t *first, *second;
    size_t size;
    const int64_t* offsets;  // of the codes of each column
    const double* products;  // [class][feature][feature]
    size_t features;
    double pseudo_count;

    size_t codes_of(int64_t column) const { return size_t(offsets[column + 1] - offsets[column]); }
    const double* counts(size_t pair, size_t k) const {
        return products + (k * features + size_t(offsets[first[pair]] + 1)) * features +
               size_t(offsets[second[pair]] + 1);
    }
};

// Numbers of rows, and what was counted of them: a covariance for each class, or one for all.
struct NormalRows {
    const double* x;  // [row][number]
    size_t size;
    const double* n;         // [class]
    const double* sums;      // [class][number]
    const double* products;  // [class][number][number]; of all classes together, [number][number], if not by_class
    bool by_class;
    const uint8_t* gaps;  // whether a number is missing, as x; null if none is
};

// How a covariance is shrunk: by alpha towards that within all classes, and by a ridge.
struct Shrinkage {
    double alpha, ridge;
};

// The number of documents of each class that hold a word: of word i, those between starts[i] and starts[i + 1], each
// with its class; and of all classes. The group of each word; how many words the documents of a class hold in all,
// [group][class]; and the pseudo-count of each word.
struct WordCounts {
    const int64_t* starts;
    const int32_t* classes_of;
    const double* documents;
    size_t words;
    const double* totals;
    const uint8_t* group;
    const double* class_words;
    size_t groups, classes;
    double pseudo_count;
};

// The distinct words of rows of text: those of row i lie between starts[i] and starts[i + 1].
struct WordRows {
    const int64_t* starts;
    const int32_t* words;
};

}  // namespace naively
