// Codes of columns of text as Arrow lays them out.
#include <nanobind/stl/pair.h>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/text_columns.hpp"
#include "text/encoding.hpp"

using namespace nb::literals;

namespace naively {

namespace {

using CodesOut = nb::ndarray<int32_t, nb::ndim<1>, nb::device::cpu>;

class TextCodes {
  public:
    void add(const std::vector<std::string>& texts, const std::vector<int32_t>& codes) {
        require(texts.size() == codes.size(), "There must be a code for each text.");
        for (size_t i = 0; i < texts.size(); ++i) {
            require(codes[i] != Dictionary::NONE, "No code may be the least of all numbers.");
            dictionary.words.add(texts[i], codes[i]);
        }
    }

    GrowingDictionary dictionary;
};

// A column of texts that is to be encoded; holds on to the arrays of Python.
struct TextTask {
    EncodedColumn column;
    nb::object codes;
    std::vector<nb::ndarray<>> arrays;

    TextTask(nb::object of, std::optional<Bytes> valid, size_t skipped, int32_t missing, int32_t unseen, CodesOut out)
        : codes(of) {
        require(!valid || valid->shape(0) * 8 >= out.shape(0) + skipped, "There must be a bit for each row.");
        column.dictionary = &nb::cast<TextCodes&>(of).dictionary;
        column.rows = out.shape(0);
        column.missing = missing, column.unseen = unseen;
        column.out = out.data(), column.step = out.stride(0);
        column.texts.bits = valid ? valid->data() : nullptr;
        column.texts.skipped = skipped;
        arrays.emplace_back(out);
        if (valid) arrays.emplace_back(*valid);
    }
};

TextTask plain_texts(nb::object codes, AnyVector starts, Bytes data, std::optional<Bytes> valid, size_t skipped,
                     int32_t missing, int32_t unseen, CodesOut out) {
    Type type = type_of(starts);
    require(starts.shape(0) == out.shape(0) + 1 && (type == Type::i32 || type == Type::i64), "The starts do not fit.");
    TextTask task(codes, valid, skipped, missing, unseen, out);
    ArrowTexts& texts = task.column.texts;
    texts.starts = starts.data(), texts.wide = type == Type::i64;
    texts.data = as_text(data.data()), texts.size = data.shape(0);
    task.arrays.emplace_back(starts), task.arrays.emplace_back(data);
    return task;
}

TextTask viewed_texts(nb::object codes, Bytes views, const std::vector<Bytes>& buffers, std::optional<Bytes> valid,
                      size_t skipped, int32_t missing, int32_t unseen, CodesOut out) {
    require(views.shape(0) == 16 * out.shape(0), "There must be a view for each row.");
    TextTask task(codes, valid, skipped, missing, unseen, out);
    ArrowTexts& texts = task.column.texts;
    texts.views = true;
    texts.data = as_text(views.data()), texts.size = views.shape(0);
    task.arrays.emplace_back(views);
    for (const Bytes& buffer : buffers) {
        texts.buffers.emplace_back(as_text(buffer.data()), buffer.shape(0));
        task.arrays.emplace_back(buffer);
    }
    return task;
}

// For each column, the rows in which new texts occur first, and in how many rows a text has the code of missing ones.
std::vector<std::pair<std::vector<int64_t>, int64_t>> encode_texts(const std::vector<TextTask*>& tasks, int threads) {
    std::vector<EncodedColumn> columns;
    for (TextTask* task : tasks) {
        for (const auto& other : columns)
            require(other.dictionary != task->column.dictionary, "Two columns must not share a dictionary.");
        columns.push_back(task->column);
    }
    try {
        nb::gil_scoped_release no_gil;
        encode_columns(columns, threads);
    } catch (const std::invalid_argument& error) {
        throw nb::value_error(error.what());
    }
    std::vector<std::pair<std::vector<int64_t>, int64_t>> found;
    for (auto& column : columns) found.emplace_back(std::move(column.first_rows), column.named_missing);
    return found;
}

}  // namespace

void bind_text_codes(nb::module_& m) {
    nb::class_<TextCodes>(m, "TextCodes", "Codes of texts, by a dictionary that grows or stays as it is.")
        .def(nb::init<>())
        .def("add", &TextCodes::add, "texts"_a, "codes"_a, "Give texts their codes; those that have one keep it.")
        .def_prop_rw(
            "next", [](const TextCodes& of) { return of.dictionary.next; },
            [](TextCodes& of, int32_t next) { of.dictionary.next = next; }, "The code of the next new text.");
    nb::class_<TextTask>(m, "TextTask", "A column of texts that is to be encoded.");
    m.def("plain_texts", &plain_texts, "codes"_a, "starts"_a.noconvert(), "data"_a.noconvert(), "valid"_a.none(),
          "skipped"_a, "missing"_a, "unseen"_a, "out"_a.noconvert(),
          "A column of texts in one buffer (Arrow's string), whose codes are to be filled in. With unseen NEW_CODE, "
          "new texts get\nnew codes.");
    m.def("viewed_texts", &viewed_texts, "codes"_a, "views"_a.noconvert(), "buffers"_a, "valid"_a.none(), "skipped"_a,
          "missing"_a, "unseen"_a, "out"_a.noconvert(), "The same for views of texts (Arrow's string_view).");
    m.def("encode_texts", &encode_texts, "tasks"_a, "threads"_a,
          "Fill in the codes of columns of texts. Returned are, for each, the rows in which new texts occur first, and "
          "in "
          "how many rows\na text has the code of missing ones.");
    m.attr("NEW_CODE") = Dictionary::NONE;
}

}  // namespace naively
