// The same bytes as text and as numbers from 0 to 255.
#pragma once

#include <cstdint>
#include <string_view>

namespace naively {

// The only casts of pointers in the kernels. Both directions are defined: any object may be read as char or
// unsigned char, and UTF-8 needs the unsigned ones, Python's and the standard library's strings the others.
// NOLINTBEGIN(*-reinterpret-cast)
inline const uint8_t* as_bytes(std::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }
inline const char* as_text(const uint8_t* bytes) { return reinterpret_cast<const char*>(bytes); }
// NOLINTEND(*-reinterpret-cast)

}  // namespace naively
