"""The tokeniser once more, in plain Python: slow, and easy to check against its description."""

from __future__ import annotations

import importlib.util
import re
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path

from naively import _kernels

# Characters of Chinese and Japanese, where they count as letters at all.
CJK = (
    *((0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303C), (0x3041, 0x30FF), (0x31F0, 0x31FF)),
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x1AFF0, 0x1AFFF)),
    *((0x1B000, 0x1B16F), (0x20000, 0x3FFFF)),
)
CURRENT = unicodedata.unidata_version == _kernels.UNICODE_VERSION


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


MAKE = importlib.util.spec_from_file_location("make", Path(__file__).parents[1] / "native" / "unicode" / "generate.py")
assert MAKE is not None
assert MAKE.loader is not None
TABLE = importlib.util.module_from_spec(MAKE)
MAKE.loader.exec_module(TABLE)
SELECTORS = frozenset(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
TONES, TAGS = "\U0001f3fb-\U0001f3ff", "\U000e0020-\U000e007f"
KEYCAP = re.compile("[0-9#*]\ufe0f?\u20e3")
FLAG = re.compile("[\U0001f1e6-\U0001f1ff]{1,2}")
JOINERS = re.compile("[\u200c\u200d]+")
STACKERS, AM = "\u1039\u17d2\u1a60", "\u0e33\u0eb3"


def is_cluster(c: str) -> bool:
    return c.isalnum() and c in TABLE.UNSPACED_SIGNS


def is_picture(text: str, at: int, *, joined: bool = False) -> bool:
    """Tell whether an emoji begins here, or the next part of one."""
    c, then = text[at : at + 1], text[at + 1 : at + 2]
    if not c or ord(c) < 0x80:
        return False
    if c in TABLE.EMOJI_SIGNS and not c.isalnum():
        return True
    if is_mark(c) or c.isspace() or JOINERS.match(c) or (is_word(c) and c != "ℹ") or ord(c) > 0x3299:
        return False
    return then == "\ufe0f" or (joined and c in "↔↕")


def modifiers(text: str, at: int) -> tuple[str, int]:
    """Return what goes with the part of an emoji before it, without selectors, and where it ends."""
    begin = at
    while at < len(text) and (is_mark(text[at]) or re.match(f"[{TONES}{TAGS}]", text[at])):
        at += 1
    return "".join(c for c in text[begin:at] if c not in SELECTORS), at


def picture(text: str, at: int) -> tuple[str, int]:
    """Return the emoji that begins here and where it ends; nothing, if there is none."""
    if flag := FLAG.match(text, at):
        return flag[0] if len(flag[0]) == 2 else "", flag.end()
    if KEYCAP.match(text, at):
        more, end = modifiers(text, at + 1)
        return text[at] + more, end
    if not is_picture(text, at):
        return "", at
    more, end = modifiers(text, at + 1)
    token = text[at] + more
    while text[end : end + 1] == "\u200d" and is_picture(text, end + 1, joined=True):
        more, then = modifiers(text, end + 2)
        token, end = token + text[end : end + 2] + more, then
    return token, end


def unicode_parts(text: str, pairs: bool) -> list[list[str]]:
    """Return words and emoji, each as a list with "" before it, and runs without spaces as lists of clusters."""

    def unspaced(c: str) -> bool:
        return pairs and (is_cjk(c) or is_cluster(c))

    def joiners(at: int, run: bool) -> int:
        end = found.end() if (found := JOINERS.match(text, at)) else at
        behind = text[end : end + 1]
        belongs = behind and (is_mark(behind) or (is_word(behind) and unspaced(behind) == run))
        return end if belongs else at

    def word(at: int) -> tuple[str, int]:
        begin = at
        while at < len(text):
            keycap = text[at] in "0123456789" and KEYCAP.match(text, at)
            if not keycap and ((is_word(text[at]) and not unspaced(text[at])) or (is_mark(text[at]) and at > begin)):
                at += 1
            elif at > begin and joiners(at, False) > at:
                at = joiners(at, False)
            else:
                break
        return "".join(c for c in text[begin:at] if c not in SELECTORS), at

    def cluster(at: int) -> tuple[str, int]:
        begin, stacks = at, False
        at += 1
        while at < len(text) and not is_cjk(text[at]):
            if is_mark(text[at]):
                stacks = text[at] in STACKERS
                at += 1
            elif is_cluster(text[at]) and (stacks or text[at] in AM):
                stacks = False
                at += 1
            elif joiners(at, True) > at:
                at = joiners(at, True)
            else:
                break
        return "".join(c for c in text[begin:at] if c not in SELECTORS), at

    parts: list[list[str]] = []
    at = 0
    while at < len(text):
        if unspaced(text[at]):
            parts.append([])
            while at < len(text) and unspaced(text[at]):
                token, at = cluster(at)
                parts[-1].append(token)
            continue
        token, end = picture(text, at)
        if end == at:
            token, end = word(at)
            if len(JOINERS.sub("", token)) < 2:
                token = ""
        parts += [["", token]] if token else []
        at = max(end, at + 1)
    return parts


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


def grams(sequence: list[str], ngram_range: tuple[int, int], between: str) -> list[str]:
    least, most = ngram_range
    return [between.join(sequence[i : i + n]) for n in range(least, most + 1) for i in range(len(sequence) - n + 1)]


def tokens_of_words(
    text: str, ngram_range: tuple[int, int], cjk: str, marks: bool, stop_words: tuple[str, ...]
) -> list[str]:
    parts = [part for run in runs_of(text, marks) for part in parts_of(run, cjk == "pairs")]
    parts = [part for part in parts if part[0] != "" or len(part[1]) > 1]
    return joined(parts, ngram_range, stop_words)


def joined(parts: list[list[str]], ngram_range: tuple[int, int], stop_words: tuple[str, ...]) -> list[str]:
    """Return the tokens of words, each with "" before it, and of runs without spaces."""
    found: list[str] = []
    sequence: list[str] = []
    for part in parts:
        if part[0] == "":
            sequence += [part[1]] if part[1] not in stop_words else []
            continue
        found += grams(sequence, ngram_range, " ")
        sequence = []
        found += [token for token in [*part, *map("".join, pairwise(part))] if token not in stop_words]
    return found + grams(sequence, ngram_range, " ")


def tokens_inside(text: str, ngram_range: tuple[int, int]) -> list[str]:
    found = []
    for word in (f" {word} " for word in text.split()):
        for n in range(ngram_range[0], ngram_range[1] + 1):
            found += grams([*word], (n, n), "") if n < len(word) else [word]
            if n >= len(word):
                break
    return found


def tokens_of(
    text: str,
    *,
    unit: str = "words",
    ngram_range: tuple[int, int] = (1, 1),
    lowercase: bool = True,
    cjk: str = "pairs",
    marks: bool = False,
    rules: str = "python",
    stop_words: tuple[str, ...] = (),
) -> Counter[str]:
    """Return how often each token is in a text."""
    text = text.lower() if lowercase else text
    if unit == "words" and rules == "unicode":
        return Counter(joined(unicode_parts(text, cjk == "pairs"), ngram_range, stop_words))
    if unit == "words":
        return Counter(tokens_of_words(text, ngram_range, cjk, marks, stop_words))
    if unit == "inside":
        return Counter(tokens_inside(text, ngram_range))
    return Counter(grams([*re.sub(r"\s\s+", " ", text)], ngram_range, ""))


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
