// The extension module: arrays in, checks, one call of the kernels of the best instruction level, GIL released.
#include "bindings/bindings.hpp"
#include "common/limits.hpp"

namespace nb = nanobind;

namespace {

// Limits that the Python package needs, too: it takes them from here.
void bind_limits(nb::module_& m) {
    m.attr("LARGEST_NUMBER") = naively::LARGEST_NUMBER;
    m.attr("LARGEST_COUNT") = naively::LARGEST_COUNT;
    m.attr("LARGEST_WEIGHT") = naively::LARGEST_WEIGHT;
    m.attr("SUM_ROUNDING") = naively::SUM_ROUNDING;
    m.attr("MEAN_ROUNDING") = naively::MEAN_ROUNDING;
    m.attr("LEAST_RELATIVE_VARIANCE") = naively::LEAST_RELATIVE_VARIANCE;
    m.attr("LEAST_VARIANCE") = naively::LEAST_VARIANCE;
    m.attr("LARGEST_VARIANCE") = naively::LARGEST_VARIANCE;
}

}  // namespace

NB_MODULE(_kernels, m) {
    m.doc() =
        "Counting and scoring loops. Arrays given for results are filled in place; a count or an answer returns the\n"
        "first row that it refuses, or -1. A call that refuses a row has changed no counts.";
    // A program that is stopped by Ctrl-C leaves objects behind; that needs no warning.
    nb::set_leak_warnings(false);

    bind_limits(m);
    naively::bind_levels(m);
    naively::bind_labels(m);
    naively::bind_counting(m);
    naively::bind_leave_one_out(m);
    naively::bind_cross_fitting(m);
    naively::bind_fitting(m);
    naively::bind_linear_algebra(m);
    naively::bind_scoring(m);
    naively::bind_text_codes(m);
    naively::bind_threads(m);
    naively::bind_text_reader(m);
    naively::bind_folds(m);
}
