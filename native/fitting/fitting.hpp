// The kernels of one instruction level that fit.
#pragma once

#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

double fit_coefficients(const CoefficientRows&, const CoefficientTable*, size_t count, size_t cycles, double enough,
                        const Run&);
size_t fit_word_offsets(const WordOffsetRows&, const WordOffsetFitting&, float* table, float* residuals, const Run&);
void score_word_offsets(const WordOffsetRows&, size_t rows, const float* table, float* out, const Run&);
void term_scores(const TermRows&, const double* v, double* out, const Run&);
void fit_term_weights(const TermRows&, const WeightPenalty&, double enough, bool curve_is_known, double* curve,
                      double* parameters, const Run&);

}  // namespace naively::NAIVELY_LEVEL
