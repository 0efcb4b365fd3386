"""Write native/unicode/letters.hpp: what Python knows of every character, as the tokeniser needs it.

Run ``python native/unicode/make.py`` after a change of Unicode's version, which is that of the Python that runs it.
All facts are asked of Python itself: the table says what ``str.lower`` and ``re`` do, not what a file of Unicode says.
"""

from __future__ import annotations

import sys
import unicodedata
from itertools import groupby
from pathlib import Path

WORD, MARK, CJK, SPACE, CASED, IGNORED = (1 << bit for bit in range(6))
DOTTED_I, SIGMA = 0x130, 0x3A3  # the only capital that becomes two characters, the only one that looks around itself
OURS = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "HIRAGANA",
    "KATAKANA",
    "HENTAIGANA",
    "HALFWIDTH KATAKANA",
)
ALSO = "\u3005\u3006\u3007\u303b\u303c"  # signs that stand among them: repeat, close, zero, repeat downwards, masu
HEAD = """\
// Made by native/unicode/make.py from Unicode {version}; do not edit. Each number is where a kind of characters begins
// (the upper 24 bits) and which kind it is (the lower 8).
#pragma once

#include <cstdint>

namespace naively {{

constexpr const char* UNICODE_VERSION = "{version}";

// What may be true of a character. Ignored ones are passed over in the search for a cased one beside a capital sigma.
enum : uint8_t {{ WORD = 1, MARK = 2, CJK = 4, SPACE = 8, CASED = 16, IGNORED = 32 }};

struct Letter {{
    int32_t lower;  // how far away the small letter is
    uint8_t is;
}};

constexpr Letter KINDS[] = {{
{kinds}
}};

constexpr uint32_t RUNS[] = {{
{runs}
}};

}}  // namespace naively
"""


def kind_of(code: int) -> tuple[int, int]:
    """Return how far away a character's small letter is, and what is true of it."""
    sign = chr(code)
    lower = sign.lower()
    if code == DOTTED_I:
        return 0, facts(sign)
    if len(lower) != 1 or facts(lower) & 15 != facts(sign) & 15:
        raise ValueError(
            f"The small letter of U+{code:04X} is another kind of character: the tokeniser must learn of it."
        )
    return ord(lower) - code, facts(sign)


def facts(sign: str) -> int:
    """Return what is true of a character, as flags."""
    is_cjk = sign.isalnum() and (sign in ALSO or unicodedata.name(sign, "").startswith(OURS))
    cased = (sign + "Σ").lower()[-1] == "ς"
    ignored = not cased and ("A" + sign + "Σ").lower()[-1] == "ς"
    return (
        WORD * (sign.isalnum() or sign == "_")
        | MARK * (unicodedata.category(sign)[0] == "M")
        | CJK * is_cjk
        | SPACE * sign.isspace()
        | CASED * cased
        | IGNORED * ignored
    )


def wrapped(items: list[str]) -> str:
    """Return items in lines of up to 120 characters."""
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > 120:
            lines.append(line)
            line = "   "
        line += f" {item},"
    return "\n".join([*lines, line])


def main() -> None:
    """Write the table beside this script."""
    kinds: dict[tuple[int, int], int] = {}
    runs = []
    for kind, group in groupby(range(sys.maxunicode + 1), key=kind_of):
        runs.append(next(group) << 8 | kinds.setdefault(kind, len(kinds)))
    if len(kinds) > 256:
        raise ValueError(f"{len(kinds)} kinds of characters do not fit into a byte.")
    text = HEAD.format(
        version=unicodedata.unidata_version,
        kinds=wrapped([f"{{{lower}, {flags}}}" for lower, flags in kinds]),
        runs=wrapped([f"{run:#x}" for run in runs]),
    )
    (Path(__file__).parent / "letters.hpp").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
