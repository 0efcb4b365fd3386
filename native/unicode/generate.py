"""Write native/unicode/characters.hpp: what Python knows of every character, as the tokeniser needs it.

Run ``python native/unicode/generate.py`` after a change of Unicode's version, which is that of the Python that runs it.
Facts are asked of Python itself, as far as it knows them: the table says what ``str.lower`` and ``re`` do, not what a
file of Unicode says. Which signs are emoji and which letters are written without spaces it does not know; that is
given here.
"""

from __future__ import annotations

import sys
import unicodedata
from itertools import groupby
from pathlib import Path

WORD, MARK, CJK, SPACE, CASED, IGNORED, EMOJI, CLUSTER = (1 << bit for bit in range(8))
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
# Emoji (UTS #51, Unicode 17): Extended_Pictographic of the blocks of pictures, from U+2600 on, the skin tones, and of
# other blocks what is drawn as a picture by default. All others, such as © and ↔, need a variation selector to be one.
PICTURES = """
231A-231B 23E9-23EC 23F0 23F3 25FD-25FE 2600-2604 260E 2611 2614-2615 2618 261D 2620 2622-2623 2626 262A 262E-262F
2638-263A 2640 2642 2648-2653 265F-2660 2663 2665-2666 2668 267B 267E-267F 2692-2697 2699 269B-269C 26A0-26A1 26A7
26AA-26AB 26B0-26B1 26BD-26BE 26C4-26C5 26C8 26CE-26CF 26D1 26D3-26D4 26E9-26EA 26F0-26F5 26F7-26FA 26FD 2702 2705
2708-270D 270F 2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 274C 274E 2753-2755 2757 2763-2764 2795-2797 27A1 27B0
27BF 2B1B-2B1C 2B50 2B55 1F004 1F02C-1F02F 1F094-1F09F 1F0AF-1F0B0 1F0C0 1F0CF-1F0D0 1F0F6-1F0FF 1F170-1F171
1F17E-1F17F 1F18E 1F191-1F19A 1F1AF-1F1E5 1F201-1F20F 1F21A 1F22F 1F232-1F23A 1F23C-1F23F 1F249-1F25F 1F266-1F321
1F324-1F393 1F396-1F397 1F399-1F39B 1F39E-1F3F0 1F3F3-1F3F5 1F3F7-1F4FD 1F4FF-1F53D 1F549-1F54E 1F550-1F567
1F56F-1F570 1F573-1F57A 1F587 1F58A-1F58D 1F590 1F595-1F596 1F5A4-1F5A5 1F5A8 1F5B1-1F5B2 1F5BC 1F5C2-1F5C4 1F5D1-1F5D3
1F5DC-1F5DE 1F5E1 1F5E3 1F5E8 1F5EF 1F5F3 1F5FA-1F64F 1F680-1F6C5 1F6CB-1F6D2 1F6D5-1F6E5 1F6E9 1F6EB-1F6F0 1F6F3-1F6FF
1F7DC-1F7F0 1F80C-1F80F 1F848-1F84F 1F85A-1F85F 1F888-1F88F 1F8AE-1F8AF 1F8BC-1F8BF 1F8C2-1F8CF 1F8D9-1F8FF 1F90C-1F93A
1F93C-1F945 1F947-1F9FF 1FA58-1FA5F 1FA6E-1FAFF 1FC00-1FFFD
"""
# Scripts of South East Asia that put no spaces between words (UAX #14, class SA): Thai, Lao, Burmese, Khmer, the Tai
# scripts and Ahom. Digits are not among them.
UNSPACED = """
0E01-0E3A 0E40-0E4E 0E81-0EBD 0EC0-0ECE 0EDC-0EDF 1000-103F 1050-108F 109A-109F 1780-17D3 17D7 17DC-17DD 1950-1974
1980-19C9 19DE-19DF 1A20-1A7C 1AA0-1AAD A9E0-A9EF A9FA-A9FE AA60-AADF 11700-1172B 1173A-1173B 1173F-11746
"""
HEAD = """\
// Made by native/unicode/generate.py from Unicode {version}; do not edit. Each number of
// RUNS is where a kind of characters begins (the upper 24 bits) and which kind it is (the lower 8).
#pragma once

#include <cstdint>

namespace naively {{

constexpr const char* UNICODE_VERSION = "{version}";

// What may be true of a character. Ignored ones are passed over in the search for a cased one beside a capital sigma.
// Clusters are of scripts without spaces, where a letter and its marks are one.
enum : uint8_t {{ WORD = 1, MARK = 2, CJK = 4, SPACE = 8, CASED = 16, IGNORED = 32, EMOJI = 64, CLUSTER = 128 }};

struct CharacterKind {{
    int32_t lower;  // the distance to the lowercase letter
    uint8_t is;
}};

// clang-format off: many numbers, as dense as this script writes them
constexpr CharacterKind KINDS[] = {{
{kinds}
}};

constexpr uint32_t RUNS[] = {{
{runs}
}};
// clang-format on

}}  // namespace naively
"""


def signs_of(ranges: str) -> frozenset[str]:
    """Return the characters of ranges such as 2600-2604."""
    bounds = ([int(end, 16) for end in part.split("-")] for part in ranges.split())
    return frozenset(chr(code) for ends in bounds for code in range(ends[0], ends[-1] + 1))


EMOJI_SIGNS, UNSPACED_SIGNS = signs_of(PICTURES), signs_of(UNSPACED)


def kind_of(code: int) -> tuple[int, int]:
    """Return how far away a character's small letter is, and what is true of it."""
    sign = chr(code)
    lower = sign.lower()
    if code == DOTTED_I:
        return 0, facts(sign)
    if len(lower) != 1 or facts(lower) & ~(CASED | IGNORED) != facts(sign) & ~(CASED | IGNORED):
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
        | EMOJI * (sign in EMOJI_SIGNS and not sign.isalnum())
        | CLUSTER * (sign in UNSPACED_SIGNS and sign.isalnum())
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
    (Path(__file__).parent / "characters.hpp").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
