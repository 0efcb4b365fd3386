// The readers of text, as the extension module takes them in.
#pragma once

#include <nanobind/nanobind.h>

namespace naively {

void bind_words(nanobind::module_& m);

}  // namespace naively
