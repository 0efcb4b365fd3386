// The reader of texts, as Python calls it.
#include <mutex>
#include <shared_mutex>

#include <nanobind/stl/tuple.h>

#include "bindings/bindings.hpp"
#include "bindings/text_columns.hpp"

using namespace nb::literals;

namespace naively {

namespace {

using Numbers = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::object array_of(std::unique_ptr<T[]> numbers, size_t n) {
    nb::capsule owner(numbers.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(numbers.release(), {n}, owner));
}

template <class T>
nb::object array_of(std::vector<T>&& numbers) {
    auto kept = new std::vector<T>(std::move(numbers));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

CountWeight count_weight_of(const std::string& name) {
    require(name == "all" || name == "once" || name == "log", "Times are counted all, once or by their log.");
    return name == "all" ? CountWeight::all : name == "once" ? CountWeight::once : CountWeight::log;
}

ReaderSettings settings_of(const std::string& unit, bool lower, bool marks, bool pairs, int64_t least, int64_t most,
                           int64_t width, bool unicode) {
    require(unit == "words" || unit == "characters" || unit == "inside", "The unit is words, characters or inside.");
    require(least >= 1 && least <= most && most <= 256, "Sequences have between 1 and 256 words or characters.");
    require(width >= 0 && width < Vocabulary::HIDDEN, "The width lies between 0 and a thousand million.");
    Unit kind = unit == "words" ? Unit::words : unit == "characters" ? Unit::characters : Unit::inside_words;
    return {{kind, lower, marks, pairs, uint32_t(least), uint32_t(most), unicode}, uint32_t(width)};
}

// The tokens of rows, as they were read.
struct TokenRows {
    std::vector<RowsPiece> pieces;

    size_t size() const {
        size_t rows = 0;
        for (const RowsPiece& piece : pieces) rows += piece.ends.size();
        return rows;
    }

    size_t columns() const {
        size_t most = 0;
        for (const RowsPiece& piece : pieces)
            for (const TokenCount& entry : piece.entries) most = std::max(most, size_t(entry.number) + 1);
        return most;
    }

    nb::tuple matrix(std::optional<Numbers> columns, const std::string& times, int threads) {
        require(!columns || columns->shape(0) >= this->columns(), "There must be a column for each number.");
        bool whole = times != "log";
        bool all_kept = !columns || std::all_of(columns->data(), columns->data() + columns->shape(0),
                                                [](int32_t column) { return column >= 0; });
        CountMatrix made;
        without_gil(threads, [&](const Run& run) {
            made =
                count_matrix(pieces, columns ? columns->data() : nullptr, all_kept, count_weight_of(times), whole, run);
        });
        size_t size = size_t(made.starts.back());
        return nb::make_tuple(array_of(std::move(made.starts)), array_of(std::move(made.columns), size),
                              whole ? array_of(std::move(made.whole), size) : array_of(std::move(made.parts), size));
    }

    nb::tuple totals(size_t size) const {
        std::vector<int64_t> rows(size), times(size);
        naively::totals(pieces, size, rows.data(), times.data());
        return nb::make_tuple(array_of(std::move(rows)), array_of(std::move(times)));
    }

    nb::object unknown() const {
        std::vector<int64_t> all;
        for (const RowsPiece& piece : pieces) all.insert(all.end(), piece.unknown.begin(), piece.unknown.end());
        return array_of(std::move(all));
    }
};

// The sums of classes as two tables [class, number]; the line of code k is place[k], or k if no places are given.
nb::tuple tables_of(const ClassWords& sums, size_t classes, size_t columns, std::optional<std::vector<size_t>> place) {
    std::vector<const HugeVector<ClassWords::Sum>*> lines(classes, nullptr);
    for (size_t k = 0; k < std::min(place ? place->size() : classes, sums.lines.size()); ++k) {
        size_t to = place ? (*place)[k] : k;
        require(to < classes, "There is no such class.");
        lines[to] = &sums.lines[k];
    }
    auto room = [&] {
        return std::unique_ptr<double[], void (*)(void*)>(
            static_cast<double*>(allocate_huge(classes * columns * sizeof(double))), std::free);
    };
    auto times = room(), rows = room();
    for (size_t k = 0; k < classes; ++k) {
        double *t = times.get() + k * columns, *r = rows.get() + k * columns;
        size_t size = lines[k] ? std::min(columns, lines[k]->size()) : 0;
        for (size_t i = 0; i < size; ++i) t[i] = (*lines[k])[i].times, r[i] = (*lines[k])[i].rows;
        std::fill(t + size, t + columns, 0.0);
        std::fill(r + size, r + columns, 0.0);
    }
    auto array = [&](auto& all) {
        nb::capsule owner(all.get(), [](void* p) noexcept { std::free(p); });
        return nb::ndarray<nb::numpy, double, nb::ndim<2>>(all.release(), {classes, columns}, owner);
    };
    return nb::make_tuple(array(times), array(rows));
}

// The same sums as lists: where the cells of each number begin, and of each cell its class and both sums, in the order
// of classes. Cells of zero are left out.
nb::tuple cells_of(const ClassWords& sums, size_t classes, size_t columns, const std::vector<size_t>& place) {
    constexpr size_t STEP = 4096;  // lines are read side by side, so many numbers at a time
    std::vector<const HugeVector<ClassWords::Sum>*> lines(classes, nullptr);
    for (size_t k = 0; k < std::min(place.size(), sums.lines.size()); ++k) {
        require(place[k] < classes, "There is no such class.");
        lines[place[k]] = &sums.lines[k];
    }
    auto each_cell = [&](auto&& use) {
        for (size_t begin = 0; begin < columns; begin += STEP)
            for (size_t k = 0; k < classes; ++k) {
                if (!lines[k]) continue;
                for (size_t i = begin; i < std::min({begin + STEP, columns, lines[k]->size()}); ++i)
                    if (const auto& cell = (*lines[k])[i]; cell.times != 0 || cell.rows != 0) use(i, k, cell);
            }
    };
    std::unique_ptr<int64_t[]> starts(new int64_t[columns + 2]());
    each_cell([&](size_t i, size_t, const ClassWords::Sum&) { ++starts[i + 2]; });
    for (size_t i = 2; i < columns + 2; ++i) starts[i] += starts[i - 1];
    size_t size = size_t(starts[columns + 1]);
    std::unique_ptr<int32_t[]> codes(new int32_t[size]);
    std::unique_ptr<double[]> times(new double[size]), rows(new double[size]);
    each_cell([&](size_t i, size_t k, const ClassWords::Sum& cell) {
        size_t to = size_t(starts[i + 1]++);
        codes[to] = int32_t(k), times[to] = cell.times, rows[to] = cell.rows;
    });
    auto array = [&](auto& all, size_t length) {
        using Number = std::remove_reference_t<decltype(all[0])>;
        Number* data = all.release();
        nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<Number*>(p); });
        return nb::ndarray<nb::numpy, Number, nb::ndim<1>>(data, {length}, owner);
    };
    return nb::make_tuple(array(starts, columns + 1), array(codes, size), array(times, size), array(rows, size));
}

// Adds two such tables to the sums.
void add_tables(ClassWords& sums, ConstTable times, ConstTable rows) {
    size_t classes = times.shape(0), columns = times.shape(1);
    require(rows.shape(0) == classes && rows.shape(1) == columns, "Both tables must have the same size.");
    if (sums.lines.size() < classes) sums.lines.resize(classes);
    for (size_t k = 0; k < classes; ++k) {
        if (sums.lines[k].size() < columns) sums.lines[k].resize(columns);
        for (size_t i = 0; i < columns; ++i) {
            sums.lines[k][i].times += times.data()[k * columns + i];
            sums.lines[k][i].rows += rows.data()[k * columns + i];
        }
    }
}

using ScoreTable = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Any number of threads may read by the same vocabulary; one that learns is alone.
class PyTextReader {
  public:
    explicit PyTextReader(const ReaderSettings& settings) : words_{settings, {}} {}

    size_t size() {
        size_t columns = 0;
        locked(false, 1, [&](const Run&) { columns = words_.columns(); });
        return columns;
    }

    void stop(ColumnOfTexts& texts) {
        texts.check(1);
        for (size_t i = 0; i < texts.rows; ++i) words_.vocabulary.stop(texts[i]);
    }

    void name(ColumnOfTexts& texts, bool apart) {
        require(!words_.vocabulary.size() && !words_.vocabulary.hidden() && !words_.settings.hash_width,
                "Names are given to an empty vocabulary.");
        require(texts.rows < size_t(Vocabulary::MOST), "A thousand million names are too many.");
        texts.check(1);
        without_gil(1, [&](const Run&) { words_.name(texts, apart); });
    }

    void read(ColumnOfTexts& texts, TokenRows& rows, bool learn, int threads) {
        texts.check(threads);
        locked(learn, threads, [&](const Run& run) { words_.read(texts, learn, rows.pieces, run); });
    }

    void read_lists(Offsets starts, ColumnOfTexts& tokens, TokenRows& rows, bool learn, int threads) {
        tokens.check(threads);
        size_t size = starts.shape(0);
        require(size > 0 && starts(0) >= 0 && starts(size - 1) <= int64_t(tokens.rows),
                "The lists lie outside the tokens.");
        for (size_t i = 1; i < size; ++i) require(starts(i - 1) <= starts(i), "The lists overlap.");
        locked(learn, threads, [&](const Run& run) {
            words_.read(TokenLists{size - 1, starts.data(), tokens}, learn, rows.pieces, run);
        });
    }

    void count(ColumnOfTexts& texts, Classes classes, Weights weights, size_t n_classes, const std::string& times,
               bool learn, ClassWords& sums, int threads) {
        texts.check(threads);
        LabeledRows rows = labeled_rows(classes, weights, texts.rows, n_classes);
        CountWeight how = count_weight_of(times);
        locked(learn, threads, [&](const Run& run) { words_.count(texts, rows, how, learn, sums, run); });
    }

    void add(const TokenRows& read, Classes classes, Weights weights, size_t n_classes, const std::string& times,
             ClassWords& sums, int threads) {
        LabeledRows rows = labeled_rows(classes, weights, read.size(), n_classes);
        CountWeight how = count_weight_of(times);
        require(read.columns() <= size(), "These rows were read by another vocabulary.");
        locked(false, threads, [&](const Run& run) { words_.add(read.pieces, 0, rows, how, sums, run); });
    }

    void score(ColumnOfTexts& texts, const std::string& times, ScoreTable table, Table out,
               std::optional<ConstVector> lengths, std::optional<Vector> squares, int threads) {
        require(out.shape(0) == texts.rows && out.shape(1) == table.shape(1),
                "There must be a score for each row and class.");
        require(lengths.has_value() == squares.has_value(), "Lengths of words make squares of rows.");
        require(!lengths || (lengths->shape(0) == table.shape(0) && squares->shape(0) == texts.rows),
                "There must be a length for each word.");
        texts.check(threads);
        CountWeight how = count_weight_of(times);
        bool single = table.dtype() == nb::dtype<float>();
        require(single || table.dtype() == nb::dtype<double>(), "The table must be of float64 or float32.");
        require_aligned(table);
        TextReader::Scored to{single ? nullptr : static_cast<const double*>(table.data()),
                              single ? static_cast<const float*>(table.data()) : nullptr, table.shape(0),
                              table.shape(1), out.data()};
        if (lengths) to.lengths = lengths->data(), to.squares = squares->data();
        locked(false, threads, [&](const Run& run) { words_.score(texts, how, to, run); });
    }

    std::vector<std::tuple<int32_t, uint32_t, uint32_t>> spans(ColumnOfTexts& texts, size_t row) {
        require(row < texts.rows, "There is no such row.");
        texts.check(1);
        std::vector<std::tuple<int32_t, uint32_t, uint32_t>> found;
        locked(false, 1, [&](const Run&) {
            RowReader reader(words_.settings, words_.vocabulary, nullptr);
            for (auto [number, begin, end] : reader.spans(texts[row])) found.push_back({number, begin, end});
        });
        return found;
    }

    nb::object name_shapes(size_t first, size_t last) {
        std::unique_ptr<uint8_t[]> shapes(new uint8_t[last > first ? last - first : 0]);
        locked(false, 1, [&](const Run&) {
            require(first <= last && last <= words_.vocabulary.size(), "There are no such numbers.");
            words_.name_shapes(first, last, shapes.get());
        });
        uint8_t* data = shapes.release();
        nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<uint8_t*>(p); });
        return nb::cast(nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>(data, {last - first}, owner));
    }

    nb::tuple names(Numbers numbers) {
        size_t known = size();
        for (size_t i = 0; i < numbers.shape(0); ++i)
            require(numbers(i) >= 0 && size_t(numbers(i)) < known, "There is no such number.");
        std::vector<int64_t> ends(numbers.shape(0));
        std::string text;
        locked(false, 1, [&](const Run&) { words_.names(numbers.data(), ends.size(), text, ends.data()); });
        return nb::make_tuple(array_of(std::move(ends)), nb::bytes(text.data(), text.size()));
    }

    nb::object order() {
        std::vector<int32_t> numbers;
        locked(false, 1, [&](const Run&) { numbers = words_.order(); });
        return array_of(std::move(numbers));
    }

    size_t memory() const { return words_.vocabulary.memory(); }

  private:
    // The lock is taken without the GIL: the thread that holds the lock may be waiting for the GIL.
    template <class Work>
    void locked(bool alone, int threads, Work&& work) {
        without_gil(threads, [&](const Run& run) {
            if (alone) {
                std::unique_lock lock(mutex_);
                work(run);
            } else {
                std::shared_lock lock(mutex_);
                work(run);
            }
        });
    }

    TextReader words_;
    std::shared_mutex mutex_;
};

template <class Made, class... Arguments>
std::unique_ptr<ColumnOfTexts> column(int64_t first, bool surrogates, bool checked, Arguments&&... arguments) {
    auto made = std::make_unique<Made>(std::forward<Arguments>(arguments)...);
    made->first = first;
    made->surrogates |= surrogates;
    made->checked |= checked;
    return made;
}

void bind_rows(nb::module_& m) {
    nb::class_<ColumnOfTexts>(m, "TextColumn",
                              "Rows of text in memory. `first` is the number of the first row, for messages.")
        .def_static(
            "strings", [](nb::list texts, int64_t first) { return column<StringTexts>(first, true, false, texts); },
            "texts"_a, "first"_a = 0, "A few strings; None is missing.")
        .def_static(
            "buffer",
            [](AnyVector starts, Bytes data, std::optional<Bytes> valid, size_t skipped, int64_t first,
               bool surrogates) { return column<BufferTexts>(first, surrogates, false, starts, data, valid, skipped); },
            "starts"_a.noconvert(), "data"_a.noconvert(), "valid"_a.none(), "skipped"_a, "first"_a = 0,
            "surrogates"_a = false,
            "Texts in one buffer (Arrow's string), which must be UTF-8; halves of surrogate pairs are accepted if\n"
            "`surrogates`.")
        .def_static(
            "views",
            [](Bytes views, std::vector<Bytes> buffers, std::optional<Bytes> valid, size_t skipped, int64_t first) {
                return column<ViewTexts>(first, false, false, views, std::move(buffers), valid, skipped);
            },
            "views"_a.noconvert(), "buffers"_a, "valid"_a.none(), "skipped"_a, "first"_a = 0,
            "Views of texts (Arrow's string_view).")
        .def("__len__", [](const ColumnOfTexts& texts) { return texts.rows; })
        .def("check", &ColumnOfTexts::check, "threads"_a = 1, "Refuse what is not valid UTF-8.")
        .def_prop_ro(
            "bytes", [](const ColumnOfTexts& texts) { return texts.bytes(); }, "About how many bytes there are.");
    nb::class_<TokenRows>(m, "TokenRows", "The numbers of rows of text, as they were read.")
        .def(nb::init<>())
        .def("__len__", &TokenRows::size)
        .def("matrix", &TokenRows::matrix, "columns"_a.noconvert().none(), "times"_a = "all", "threads"_a = 1,
             "Starts, columns and counts of a sparse matrix (CSR), columns rising. Number i becomes columns[i], or is\n"
             "dropped if that is negative. The counts are int64, of times 'log' float64.")
        .def("totals", &TokenRows::totals, "size"_a, "In how many rows each number occurs, and how often in all.")
        .def("unknown", &TokenRows::unknown, "How many tokens of each row had no number.");
    nb::class_<ClassWords>(m, "ClassWords", "Sums of words for each class, which grow.")
        .def(nb::init<>())
        .def("add", &add_tables, "times"_a.noconvert(), "rows"_a.noconvert(), "Add such tables to the sums.")
        .def("tables", &tables_of, "classes"_a, "columns"_a, "place"_a = nb::none(),
             "The sums, and the rows that hold each number, both [class, number]; place says which line each "
             "code has.")
        .def("cells", &cells_of, "classes"_a, "columns"_a, "place"_a,
             "The same as lists: where the cells of each number begin, and their classes, sums and rows.");
}

}  // namespace

void bind_text_reader(nb::module_& m) {
    bind_rows(m);
    nb::class_<PyTextReader>(m, "TokenReader",
                             "Reads texts by a vocabulary that grows or stays as it is, or by a hash of fixed width.")
        .def(
            "__init__",
            [](PyTextReader* at, const std::string& unit, bool lower, bool marks, bool pairs, int64_t least,
               int64_t most, int64_t width, bool unicode) {
                new (at) PyTextReader(settings_of(unit, lower, marks, pairs, least, most, width, unicode));
            },
            "unit"_a = "words", "lower"_a = true, "marks"_a = false, "pairs"_a = true, "least"_a = 1, "most"_a = 1,
            "width"_a = 0, "unicode"_a = false)
        .def("__len__", &PyTextReader::size)
        .def("stop", &PyTextReader::stop, "texts"_a, "Skip these words everywhere.")
        .def("name", &PyTextReader::name, "texts"_a, "split"_a,
             "Give names the numbers 0, 1, …; if they are split, spaces separate their words.")
        .def("read", &PyTextReader::read, "texts"_a, "rows"_a, "learn"_a, "threads"_a = 1,
             "Read texts, and append their numbers to the rows.")
        .def("read_lists", &PyTextReader::read_lists, "starts"_a.noconvert(), "tokens"_a, "rows"_a, "learn"_a,
             "threads"_a = 1, "The same for lists of tokens; those of row i lie between starts[i] and starts[i + 1].")
        .def("count", &PyTextReader::count, "texts"_a, "classes"_a.noconvert(), "weights"_a.noconvert().none(),
             "n_classes"_a, "times"_a, "learn"_a, "sums"_a, "threads"_a = 1,
             "Read texts, and add each row to the sums of its class.")
        .def("add", &PyTextReader::add, "rows"_a, "classes"_a.noconvert(), "weights"_a.noconvert().none(),
             "n_classes"_a, "times"_a, "sums"_a, "threads"_a = 1, "The same for rows that were read before.")
        .def("score", &PyTextReader::score, "texts"_a, "times"_a, "table"_a.noconvert(), "out"_a.noconvert(),
             "lengths"_a.noconvert().none() = nb::none(), "squares"_a.noconvert().none() = nb::none(), "threads"_a = 1,
             "out[row, class] += table[number, class] for each token of a row; those beyond the table add nothing. "
             "With lengths,\n"
             "squares[row] += times² * lengths[number].")
        .def("spans", &PyTextReader::spans, "texts"_a, "row"_a = 0,
             "The tokens of one text that have a number: the number, and the bytes where each begins and ends.")
        .def("name_shapes", &PyTextReader::name_shapes, "first"_a, "last"_a,
             "Of names of some numbers: 1 if it has spaces, 2 if several characters, 4 if two of Chinese or Japanese.")
        .def("names", &PyTextReader::names, "numbers"_a.noconvert(),
             "The ends of names in one text, and that text as UTF-8.")
        .def("order", &PyTextReader::order, "All numbers, in the order of their names.")
        .def("memory", &PyTextReader::memory, "The bytes that the vocabulary takes.");
    m.attr("UNICODE_VERSION") = UNICODE_VERSION;
}

}  // namespace naively
