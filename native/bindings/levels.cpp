// The instruction level that kernels run at.
#include "bindings/levels.hpp"

#include <atomic>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"

using namespace nb::literals;

namespace naively {

namespace {

// Instruction levels this machine can run, best first.
const std::vector<const Kernels*>& levels() {
    static const std::vector<const Kernels*> found = [] {
        std::vector<const Kernels*> all;
#if defined(NAIVELY_HAS_AVX512)
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
            all.push_back(&avx512::kernels);
#endif
#if defined(NAIVELY_HAS_AVX2)
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
            all.push_back(&avx2::kernels);
#endif
        all.push_back(&baseline::kernels);
        return all;
    }();
    return found;
}

// Read by kernels that run without the GIL while use_level may write it. Relaxed is enough: the tables are constants
// that are there before any thread is, so nothing else has to become visible with the pointer.
std::atomic<const Kernels*> chosen{nullptr};
std::vector<std::string> level_names() {
    std::vector<std::string> names;
    for (auto level : levels()) names.emplace_back(level->level);
    return names;
}

void use_level(const std::string& name) {
    for (auto level : levels())
        if (name == level->level) return chosen.store(level, std::memory_order_relaxed);
    throw nb::value_error(
        ("This machine cannot run the instruction level '" + name + "'; levels() lists those it can.").c_str());
}

}  // namespace

const Kernels& kernels() {
    const Kernels* level = chosen.load(std::memory_order_relaxed);
    return level ? *level : *levels().front();
}

void bind_levels(nb::module_& m) {
    m.def("levels", &level_names, "Instruction levels that this machine can run, best first.");
    m.def("use_level", &use_level, "name"_a, "Run the kernels of this instruction level from now on.");
}

}  // namespace naively
