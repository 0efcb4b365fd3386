// Rows dealt out into folds, as the extension module takes them in.
#pragma once

#include <nanobind/nanobind.h>

namespace naively {

void bind_dealing(nanobind::module_& m);

}  // namespace naively
