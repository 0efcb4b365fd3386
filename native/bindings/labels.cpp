// Codes of labels.
#include <memory>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"

using namespace nb::literals;

namespace naively {

namespace {

nb::object owned(std::unique_ptr<int32_t[]> codes, size_t n) {
    nb::capsule owner(codes.get(), [](void* p) noexcept { delete[] static_cast<int32_t*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, int32_t, nb::ndim<1>>(codes.release(), {n}, owner));
}

// Whole-number labels as codes: the labels in order, and the index of each row's label. None if they lie too far apart.
template <class T>
nb::object encoded(const T* y, size_t n) {
    constexpr uint64_t FARTHEST = uint64_t{1} << 20;
    if (!n) return nb::none();
    T low = y[0], high = y[0];
    for (size_t i = 0; i < n; ++i) low = std::min(low, y[i]), high = std::max(high, y[i]);
    uint64_t least = uint64_t(int64_t(low)), span = uint64_t(int64_t(high)) - least;
    if (span >= FARTHEST) return nb::none();
    std::vector<int32_t> code(span + 1, -1);
    for (size_t i = 0; i < n; ++i) code[uint64_t(int64_t(y[i])) - least] = 0;
    auto labels = new std::vector<int64_t>();
    nb::capsule own_labels(labels, [](void* p) noexcept { delete static_cast<std::vector<int64_t>*>(p); });
    for (uint64_t i = 0; i <= span; ++i)
        if (code[i] == 0) code[i] = int32_t(labels->size()), labels->push_back(int64_t(least + i));
    std::unique_ptr<int32_t[]> codes(new int32_t[n]);
    for (size_t i = 0; i < n; ++i) codes[i] = code[uint64_t(int64_t(y[i])) - least];
    return nb::make_tuple(nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>(labels->data(), {labels->size()}, own_labels),
                          owned(std::move(codes), n));
}

// The index of each label among the known ones, which are sorted. None if one is not there.
nb::object find_labels(Labels known, Labels y) {
    require_aligned(known), require_aligned(y);
    size_t n = y.shape(0);
    std::unique_ptr<int32_t[]> codes(new int32_t[n]);
    const int64_t *first = known.data(), *last = first + known.shape(0);
    for (size_t i = 0; i < n; ++i) {
        const int64_t* found = std::lower_bound(first, last, y(i));
        if (found == last || *found != y(i)) return nb::none();
        codes[i] = int32_t(found - first);
    }
    return owned(std::move(codes), n);
}

nb::object encode_labels(AnyVector y) {
    switch (type_of(y)) {
        case Type::i64: return encoded(static_cast<const int64_t*>(y.data()), y.shape(0));
        case Type::i32: return encoded(static_cast<const int32_t*>(y.data()), y.shape(0));
        case Type::u8: return encoded(static_cast<const uint8_t*>(y.data()), y.shape(0));
        default: return nb::none();
    }
}

}  // namespace

void bind_labels(nb::module_& m) {
    m.def("encode_labels", &encode_labels, "y"_a,
          "Whole-number labels in order, and the code of each row; None if the labels lie too far apart.");
    m.def("find_labels", &find_labels, "known"_a.noconvert(), "y"_a.noconvert(),
          "The index of each label among the known ones, which are sorted; None if one is not among them.");
}

}  // namespace naively
