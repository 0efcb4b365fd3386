// What each file adds to the extension module.
#pragma once

#include <nanobind/nanobind.h>

namespace naively {

void bind_levels(nanobind::module_& m);
void bind_labels(nanobind::module_& m);
void bind_counting(nanobind::module_& m);
void bind_leave_one_out(nanobind::module_& m);
void bind_cross_fitting(nanobind::module_& m);
void bind_fitting(nanobind::module_& m);
void bind_linear_algebra(nanobind::module_& m);
void bind_scoring(nanobind::module_& m);
void bind_text_codes(nanobind::module_& m);
void bind_threads(nanobind::module_& m);
void bind_text_reader(nanobind::module_& m);
void bind_folds(nanobind::module_& m);

}  // namespace naively
