// The table of one instruction level's functions. Compiled once per instruction level (NAIVELY_LEVEL names it).
#include "kernels.hpp"

#include "counting/counting.hpp"
#include "cross_fitting/cross_fitting.hpp"
#include "fitting/fitting.hpp"
#include "leave_one_out/leave_one_out.hpp"
#include "linear_algebra/linear_algebra.hpp"
#include "scoring/scoring.hpp"

namespace naively::NAIVELY_LEVEL {

#define NAIVELY_TEXT(name) #name
#define NAIVELY_NAME(name) NAIVELY_TEXT(name)
extern const Kernels kernels;
const Kernels kernels{
    NAIVELY_NAME(NAIVELY_LEVEL),
    count_codes,
    count_dense,
    count_sparse,
    count_moments,
    ranges,
    hash_numbers,
    hash_codes,
    bin_numbers,
    lay_out,
    gather_numbers,
    count_products,
    mirror_products,
    score_codes,
    score_interactions,
    score_dense,
    score_sparse,
    score_normal,
    score_student,
    score_quadratic,
    add_pair_scores,
    write_answers,
    cross_values,
    cross_pairs,
    cross_normal,
    leave_one_out_codes,
    leave_one_out_numbers,
    word_weights,
    cross_words,
    fit_coefficients,
    fit_word_offsets,
    score_word_offsets,
    term_scores,
    fit_term_weights,
    multiply,
    multiply,
    multiply_vector,
    multiply_vector,
    factor_cholesky,
    solve_cholesky,
    find_eigenvectors,
    factor_lu,
};

}  // namespace naively::NAIVELY_LEVEL
