// Codes of columns of text as Arrow lays them out.
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/text_columns.hpp"
#include "text/string_codes.hpp"

using namespace nb::literals;

namespace naively {

namespace {

using CodesOut = nb::ndarray<int32_t, nb::ndim<1>, nb::device::cpu>;

// A text, and the end of the memory that may be read.
struct Text {
    std::string_view text;
    const char* readable_to;
};

class TextCodes {
  public:
    void add(const std::vector<std::string>& texts, const std::vector<int32_t>& codes) {
        require(texts.size() == codes.size(), "There must be a code for each text.");
        for (size_t i = 0; i < texts.size(); ++i) {
            require(codes[i] != Dictionary::NONE, "No code may be the least of all numbers.");
            words_.add(texts[i], codes[i]);
        }
    }

    // Texts one after another in one buffer; text i lies between starts[i] and starts[i + 1].
    std::vector<int64_t> encode(AnyVector starts, Bytes data, std::optional<Bytes> valid, size_t skipped,
                                int32_t missing, int32_t unseen, CodesOut out) {
        Type type = type_of(starts);
        require(starts.shape(0) == out.shape(0) + 1 && (type == Type::i32 || type == Type::i64),
                "The starts do not fit.");
        auto run = [&](auto kind) {
            auto start = static_cast<const decltype(kind)*>(starts.data());
            auto bytes = as_text(data.data());
            size_t size = data.shape(0);
            auto text_of = [=](size_t row) -> Text {
                if (start[row] < 0 || start[row] > start[row + 1] || size_t(start[row + 1]) > size)
                    throw nb::value_error(OUTSIDE);
                return {{bytes + start[row], size_t(start[row + 1] - start[row])}, bytes + size};
            };
            return filled(text_of, valid, skipped, missing, unseen, out);
        };
        return type == Type::i32 ? run(int32_t{}) : run(int64_t{});
    }

    // Texts as views of 16 bytes: the length, then the text itself if it has up to 12 bytes, else where it lies.
    std::vector<int64_t> encode_views(Bytes views, const std::vector<Bytes>& buffers, std::optional<Bytes> valid,
                                      size_t skipped, int32_t missing, int32_t unseen, CodesOut out) {
        require(views.shape(0) == 16 * out.shape(0), "There must be a view for each row.");
        auto first = as_text(views.data());
        auto text_of = [&](size_t row) -> Text {
            const char* view = first + 16 * row;
            int32_t where[4] = {};
            std::memcpy(where, view, 16);
            if (where[0] >= 0 && where[0] <= 12) return {{view + 4, size_t(where[0])}, first + views.shape(0)};
            if (where[0] < 0 || where[2] < 0 || size_t(where[2]) >= buffers.size() || where[3] < 0 ||
                size_t(where[3]) + size_t(where[0]) > buffers[where[2]].shape(0))
                throw nb::value_error(OUTSIDE);
            auto bytes = as_text(buffers[where[2]].data());
            return {{bytes + where[3], size_t(where[0])}, bytes + buffers[where[2]].shape(0)};
        };
        return filled(text_of, valid, skipped, missing, unseen, out);
    }

  private:
    static constexpr const char* OUTSIDE = "A text lies outside its buffer.";

    // Fills in the code of each row. With `unseen` NONE, new texts get new codes, from `next_` on; returned are
    // the rows in which they occur first.
    template <class TextOf>
    std::vector<int64_t> filled(TextOf&& text_of, const std::optional<Bytes>& valid, size_t skipped, int32_t missing,
                                int32_t unseen, CodesOut& out) {
        size_t rows = out.shape(0);
        const uint8_t* bits = valid ? valid->data() : nullptr;
        require(!valid || valid->shape(0) * 8 >= rows + skipped, "There must be a bit for each row.");
        int32_t* to = out.data();
        ptrdiff_t step = out.stride(0);
        std::vector<int64_t> seen;
        nb::gil_scoped_release no_gil;
        for (size_t row = 0; row < rows; ++row, to += step) {
            if (bits && !(bits[(row + skipped) / 8] >> (row + skipped) % 8 & 1)) {
                *to = missing;
                continue;
            }
            auto [text, readable_to] = text_of(row);
            int32_t code = words_.find(text, readable_to);
            if (code == Dictionary::NONE) {
                code = unseen;
                if (unseen == Dictionary::NONE) {
                    words_.add(text, code = next_++);
                    seen.push_back(int64_t(row));
                }
            }
            *to = code;
        }
        return seen;
    }

  public:
    int32_t next_ = 0;  // the code of the next new text

  private:
    Dictionary words_;
};

}  // namespace

void bind_text_codes(nb::module_& m) {
    nb::class_<TextCodes>(m, "TextCodes", "Codes of texts, by a dictionary that grows or stays as it is.")
        .def(nb::init<>())
        .def("add", &TextCodes::add, "texts"_a, "codes"_a, "Give texts their codes; those that have one keep it.")
        .def_rw("next", &TextCodes::next_, "The code of the next new text.")
        .def("encode", &TextCodes::encode, "starts"_a.noconvert(), "data"_a.noconvert(), "valid"_a.none(), "skipped"_a,
             "missing"_a, "unseen"_a, "out"_a.noconvert(),
             "Fill in the code of each row of texts in one buffer (Arrow's string). With unseen NEW_CODE, new texts "
             "get\n"
             "new codes; returned are the rows in which they occur first.")
        .def("encode_views", &TextCodes::encode_views, "views"_a.noconvert(), "buffers"_a, "valid"_a.none(),
             "skipped"_a, "missing"_a, "unseen"_a, "out"_a.noconvert(),
             "The same for views of texts (Arrow's string_view).");
    m.attr("NEW_CODE") = Dictionary::NONE;
}

}  // namespace naively
