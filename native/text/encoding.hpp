// Columns of texts in, codes out: several columns at once, on several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/views.hpp"
#include "text/string_codes.hpp"

namespace naively {

// The codes of texts, by a dictionary that grows or stays as it is.
struct GrowingDictionary {
    Dictionary words;
    int32_t next = 0;      // the code of the next new text
    bool settled = false;  // whether few texts were new of late
};

// Texts as Arrow lays them out: one after another in one buffer, or as views of 16 bytes, which hold the length and
// then the text itself if it has up to 12 bytes, else where it lies.
struct ArrowTexts {
    const void* starts = nullptr;  // text i lies between starts[i] and starts[i + 1]
    bool wide = false;             // whether the starts have 64 bits
    const char* data = nullptr;
    size_t size = 0;  // of the buffer, or of all views
    bool views = false;
    std::vector<std::pair<const char*, size_t>> buffers;  // what the views look at
    const uint8_t* bits = nullptr;                        // which rows hold a text; null: all of them
    size_t skipped = 0;                                   // bits before that of the first row
};

// A column whose rows get their codes: those of the dictionary, one for missing texts, one for unseen ones. With
// `unseen` NONE, new texts get new codes.
struct EncodedColumn {
    GrowingDictionary* dictionary;
    ArrowTexts texts;
    size_t rows;
    int32_t missing, unseen;
    int32_t* out;
    ptrdiff_t step;
    std::vector<int64_t> first_rows;  // in which new texts occur first
    int64_t named_missing = 0;        // rows with a text that has the code of missing ones
};

// Fills in the codes of all columns. Their dictionaries are different ones. Codes do not depend on the threads: new
// texts are numbered as they come. Must not be interrupted: a dictionary would know texts that nobody was told of.
void encode_columns(std::vector<EncodedColumn>& columns, int threads);

}  // namespace naively
