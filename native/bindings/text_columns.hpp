// Columns of text in Python's memory: buffers and views of Arrow, and strings.
#pragma once

#include <nanobind/stl/unique_ptr.h>

#include "bindings/arrays.hpp"
#include "common/bytes.hpp"
#include "text/texts.hpp"

namespace naively {

using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// What all have in common: which rows are missing, and the number of the first row, for messages.
struct ColumnOfTexts : Texts {
    std::optional<Bytes> valid;
    size_t skipped = 0;
    int64_t first = 0;

    void take(size_t size, std::optional<Bytes> bits, size_t skip) {
        require(!bits || bits->shape(0) * 8 >= size + skip, "There must be a bit for each row.");
        rows = size, valid = std::move(bits), skipped = skip;
    }

    bool missing(size_t row) const { return valid && !(valid->data()[(row + skipped) / 8] >> (row + skipped) % 8 & 1); }

    // Refuses what is no text before anything is read.
    void check(int threads) {
        if (checked) return;
        InvalidText invalid;
        without_gil(threads, [&](const Run& run) { invalid = TextReader::first_invalid_text(*this, run); });
        if (invalid.row == NO_ROW) return void(checked = true);
        std::string row = "Row " + std::to_string(first + int64_t(invalid.row));
        if (invalid.too_long)
            refuse(row + " holds a text of " + std::to_string(invalid.byte) + " bytes; split texts of 2 GiB or more.");
        refuse(row + " is no valid UTF-8: byte " + std::to_string(invalid.byte) +
               " cannot be read. Decode the texts by the encoding that they are in, e.g. bytes.decode('latin-1').");
    }
};

// Texts one after another in one buffer; text i lies between starts[i] and starts[i + 1].
struct BufferTexts : ColumnOfTexts {
    AnyVector starts;
    Bytes data;
    bool wide;

    BufferTexts(AnyVector from, Bytes bytes, std::optional<Bytes> bits, size_t skip) : starts(from), data(bytes) {
        Type type = type_of(starts);
        require(starts.shape(0) > 0 && (type == Type::i32 || type == Type::i64), "The starts do not fit.");
        wide = type == Type::i64;
        take(starts.shape(0) - 1, std::move(bits), skip);
        int64_t before = start(0);
        bool good = before >= 0;
        for (size_t row = 1; row <= rows; ++row) good &= before <= start(row), before = start(row);
        require(good && size_t(before) <= data.shape(0), "A text lies outside its buffer.");
    }

    int64_t start(size_t row) const {
        return wide ? static_cast<const int64_t*>(starts.data())[row] : static_cast<const int32_t*>(starts.data())[row];
    }

    std::string_view operator[](size_t row) const override {
        if (missing(row)) return {};
        return {as_text(data.data()) + start(row), size_t(start(row + 1) - start(row))};
    }
    size_t bytes() const override { return size_t(start(rows) - start(0)) + 16 * rows; }
};

// Texts as views of 16 bytes: the length, then the text itself if it has up to 12 bytes, else where it lies.
struct ViewTexts : ColumnOfTexts {
    Bytes views;
    std::vector<Bytes> buffers;
    size_t all = 0;

    ViewTexts(Bytes from, std::vector<Bytes> parts, std::optional<Bytes> bits, size_t skip)
        : views(from), buffers(std::move(parts)) {
        require(views.shape(0) % 16 == 0, "A view has 16 bytes.");
        take(views.shape(0) / 16, std::move(bits), skip);
        for (size_t row = 0; row < rows; ++row) {
            if (missing(row)) continue;
            auto [size, head, part, start] = view(row);
            (void)head;
            bool good = size >= 0 && (size <= 12 || (part >= 0 && size_t(part) < buffers.size() && start >= 0 &&
                                                     size_t(start) + size_t(size) <= buffers[part].shape(0)));
            require(good, "A text lies outside its buffer.");
            all += size_t(size) + 16;
        }
    }

    struct View {
        int32_t size, head, part, start;
    };
    View view(size_t row) const {
        View found{};
        std::memcpy(&found, views.data() + 16 * row, 16);
        return found;
    }

    std::string_view operator[](size_t row) const override {
        if (missing(row)) return {};
        auto [size, head, part, start] = view(row);
        (void)head;
        const uint8_t* from = size <= 12 ? views.data() + 16 * row + 4 : buffers[part].data() + start;
        return {as_text(from), size_t(size)};
    }
    size_t bytes() const override { return all; }
};

// A few strings of Python. Those beyond ASCII cache their UTF-8 from then on, so many texts should come as buffers.
struct StringTexts : ColumnOfTexts {
    std::vector<std::string_view> views;
    std::vector<nb::object> kept;
    size_t all = 0;

    explicit StringTexts(nb::list texts) {
        surrogates = true;
        for (nb::handle text : texts) {
            if (text.is_none()) {
                views.emplace_back();
                continue;
            }
            if (!PyUnicode_Check(text.ptr())) throw nb::type_error("Expected strings.");
            kept.push_back(nb::borrow(text));
            views.push_back(view(text));
            all += views.back().size() + 16;
        }
        take(views.size(), {}, 0);
        checked = true;
        for (auto text : views) checked &= text.size() < TEXT_BYTES_END;  // if not, the check says so
    }

    std::string_view view(nb::handle text) {
        Py_ssize_t size = 0;
        if (const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) return {bytes, size_t(size)};
        PyErr_Clear();  // halves of surrogate pairs
        nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
        if (!bytes.is_valid()) throw nb::python_error();
        kept.push_back(bytes);
        return {PyBytes_AsString(bytes.ptr()), size_t(PyBytes_Size(bytes.ptr()))};
    }

    std::string_view operator[](size_t row) const override { return views[row]; }
    size_t bytes() const override { return all; }
};

}  // namespace naively
