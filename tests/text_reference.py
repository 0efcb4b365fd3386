"""The tokeniser once more, in plain Python: slow, and easy to check against its description."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from itertools import pairwise

from naively import _kernels

# Characters of Chinese and Japanese, where they count as letters at all.
CJK = (
    *((0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303C), (0x3041, 0x30FF), (0x31F0, 0x31FF)),
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x1AFF0, 0x1AFFF)),
    *((0x1B000, 0x1B16F), (0x20000, 0x3FFFF)),
)
CURRENT = unicodedata.unidata_version == _kernels.UNICODE


def comparable(text: str) -> bool:
    """Tell whether this Python and the table agree on all characters by right.

    Where their versions of Unicode differ, only characters of Unicode 3.2 are compared: Python knows which they are.
    """
    return CURRENT or all(unicodedata.ucd_3_2_0.category(c) != "Cn" for c in text)


def is_word(c: str) -> bool:
    return c.isalnum() or c == "_"


def is_cjk(c: str) -> bool:
    return c.isalnum() and any(low <= ord(c) <= high for low, high in CJK)


def is_mark(c: str) -> bool:
    return unicodedata.category(c).startswith("M")


def runs_of(text: str, marks: bool) -> list[str]:
    """Return the longest runs of letters, each with the marks behind it if these count."""
    runs, run = [], ""
    for c in text:
        if is_word(c) or (run and marks and is_mark(c)):
            run += c
        else:
            runs.append(run)
            run = ""
    return [run for run in [*runs, run] if run]


def parts_of(run: str, pairs: bool) -> list[list[str]]:
    """Return the words and the runs of CJK of one run of letters: a word is a list of its own, with None before it."""
    if not pairs:
        return [["", run]]
    parts: list[list[str]] = []
    for c in run:
        if is_cjk(c):
            if not parts or parts[-1][0] == "":
                parts.append([])
            parts[-1].append(c)
        elif is_mark(c) and not is_word(c):
            parts[-1][-1] += c
        elif not parts or parts[-1][0] != "":
            parts.append(["", c])
        else:
            parts[-1][1] += c
    return parts


def grams(sequence: list[str], ngrams: tuple[int, int], between: str) -> list[str]:
    least, most = ngrams
    return [between.join(sequence[i : i + n]) for n in range(least, most + 1) for i in range(len(sequence) - n + 1)]


def tokens_of_words(
    text: str, ngrams: tuple[int, int], cjk: str, marks: bool, stop_words: tuple[str, ...]
) -> list[str]:
    found: list[str] = []
    sequence: list[str] = []
    for run in runs_of(text, marks):
        for part in parts_of(run, cjk == "pairs"):
            if part[0] == "":
                if len(part[1]) > 1 and part[1] not in stop_words:
                    sequence.append(part[1])
                continue
            found += grams(sequence, ngrams, " ")
            sequence = []
            found += [token for token in [*part, *map("".join, pairwise(part))] if token not in stop_words]
    return found + grams(sequence, ngrams, " ")


def tokens_inside(text: str, ngrams: tuple[int, int]) -> list[str]:
    found = []
    for word in (f" {word} " for word in text.split()):
        for n in range(ngrams[0], ngrams[1] + 1):
            found += grams([*word], (n, n), "") if n < len(word) else [word]
            if n >= len(word):
                break
    return found


def tokens_of(
    text: str,
    *,
    unit: str = "words",
    ngrams: tuple[int, int] = (1, 1),
    lowercase: bool = True,
    cjk: str = "pairs",
    marks: bool = False,
    stop_words: tuple[str, ...] = (),
) -> Counter[str]:
    """Return how often each token is in a text."""
    text = text.lower() if lowercase else text
    if unit == "words":
        return Counter(tokens_of_words(text, ngrams, cjk, marks, stop_words))
    if unit == "inside":
        return Counter(tokens_inside(text, ngrams))
    return Counter(grams([*re.sub(r"\s\s+", " ", text)], ngrams, ""))


def column_of(token: str, width: int, *, sequence: bool = True) -> int:
    """Return the column that a token gets by its hash."""
    hashes = []
    for word in token.split(" ") if sequence else [token]:
        hashes.append(0xCBF29CE484222325)
        for byte in word.encode("utf-8", "surrogatepass"):
            hashes[-1] = (hashes[-1] ^ byte) * 0x100000001B3 % 2**64
    whole = hashes[0]
    for last in hashes[1:]:
        whole = (whole * 0x100000001B3 % 2**64) ^ last
    return (whole ^ whole >> 32) % width
