// The extension module: arrays in, checks, one call of the kernels of the best instruction level, GIL released.
#include "bindings/bindings.hpp"

namespace nb = nanobind;

NB_MODULE(_kernels, m) {
    m.doc() =
        "Counting and scoring loops. Arrays given for results are filled in place; a count or an answer returns the\n"
        "first row that it refuses, or -1. A call that refuses a row has changed no counts.";
    // A program that is stopped by Ctrl-C leaves objects behind; that needs no warning.
    nb::set_leak_warnings(false);

    naively::bind_levels(m);
    naively::bind_labels(m);
    naively::bind_counting(m);
    naively::bind_leave_one_out(m);
    naively::bind_scoring(m);
    naively::bind_text_codes(m);
    naively::bind_text_reader(m);
    naively::bind_folds(m);
}
