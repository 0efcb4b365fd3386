// The kernels of the chosen instruction level.
#pragma once

#include "kernels.hpp"

namespace naively {

const Kernels& kernels();

}  // namespace naively
