// The kernels of one instruction level that fit.
#pragma once

#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

double offset_loss(const CellRows&, const PaddedTable& offsets, double* slope, const Run&);
void fit_offsets(const CellRows&, size_t width, const OffsetPenalty&, const double* steps, const Descent&,
                 double* parameters, const Run&);
size_t fit_word_offsets(const WordOffsetRows&, const WordOffsetFitting&, float* table, float* residuals, const Run&);
void score_word_offsets(const WordOffsetRows&, size_t rows, const float* table, float* out, const Run&);
void term_scores(const TermRows&, const double* v, double* out, const Run&);
void fit_term_weights(const TermRows&, const WeightPenalty&, double enough, bool curve_is_known, double* curve,
                      double* parameters, const Run&);

}  // namespace naively::NAIVELY_LEVEL
