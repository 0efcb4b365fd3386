r"""How a text becomes words, as regular expressions: what the compiled tokenizer does, for whoever reads a flat model.

They are those of JavaScript with the flag u, of PCRE and of Java: ``\p{L}`` is a letter, ``\p{N}`` a number, ``\p{M}``
a combining mark. All other characters stand for themselves.
"""

from __future__ import annotations

from .._types import JsonObject
from ..text.tokens import Tokens

# Chinese and Japanese: ideographs, hiragana, katakana, and signs that stand among them.
CJK = """
3005-3007 3021-3029 3031-3035 3038-303C 3041-30FF 31F0-31FF 3400-4DBF 4E00-9FFF F900-FAFF FF66-FF9F 1AFF0-1AFFF
1B000-1B16F 20000-323AF
"""
# Scripts of South East Asia that put no spaces between words, and emoji: as in native/unicode/generate.py.
UNSPACED = """
0E01-0E3A 0E40-0E4E 0E81-0EBD 0EC0-0ECE 0EDC-0EDF 1000-103F 1050-108F 109A-109F 1780-17D3 17D7 17DC-17DD 1950-1974
1980-19C9 19DE-19DF 1A20-1A7C 1AA0-1AAD A9E0-A9EF A9FA-A9FE AA60-AADF 11700-1172B 1173A-1173B 1173F-11746
"""
EMOJI = """
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
WORD = r"\p{L}\p{N}_"  # within brackets
MARK = r"[\p{M}]"
JOINER = "[\u200c\u200d]"
SELECTORS = "[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
STACKERS, AM = "\u1039\u17d2\u1a60", "\u0e33\u0eb3"  # signs that put the next letter below, and the vowel am
KEYCAP = "\ufe0f?\u20e3"
NOTHING = "(?!)"


def characters(ranges: str) -> str:
    """Return ranges such as 2600-2604 as they stand within the brackets of a regular expression."""
    bounds = (part.split("-") for part in ranges.split())
    return "".join("-".join(chr(int(code, 16)) for code in ends) for ends in bounds)


def token_rules(tokens: Tokens) -> JsonObject:
    """Return how a text is split: the fields of a column of texts."""
    rules: JsonObject = {"unit": tokens.unit, "lowercase": bool(tokens.lowercase), "ngrams": list(tokens.ngram_range)}
    if tokens.unit != "words":
        rules |= {"pattern": NOTHING, "cluster": NOTHING, "remove": NOTHING}
    elif tokens.rules == "unicode":
        rules |= unicode_rules(tokens.cjk == "pairs")
    else:
        rules |= python_rules(tokens.cjk == "pairs", tokens.marks)
    return rules | {"stop_words": list(tokens.stop_words)}


def python_rules(pairs: bool, marks: bool) -> JsonObject:
    """Return letters, digits and underscores as words; of marks, whether they belong to their letter."""
    unspaced = characters(CJK) if pairs else ""
    letter = f"(?![{unspaced}])[{WORD}]" if pairs else f"[{WORD}]"
    cluster = f"(?=[{WORD}])[{unspaced}]" + f"{MARK}*" * marks if pairs else NOTHING
    word = f"{letter}(?:{letter}|{MARK})+" if marks else f"(?:{letter}){{2,}}"
    return {"pattern": f"((?:{cluster})+)|{word}", "cluster": cluster, "remove": NOTHING}


def unicode_rules(pairs: bool) -> JsonObject:
    """Return words with their marks and joiners, emoji, and letters of scripts without spaces."""
    unspaced, clusters = characters(CJK) + characters(UNSPACED), characters(UNSPACED)
    letter = f"(?![{unspaced}])[{WORD}]" if pairs else f"[{WORD}]"
    first = f"(?=[{WORD}])[{unspaced}]"
    below = f"[{STACKERS}](?:{JOINER}*(?=[{WORD}])[{clusters}])?"
    cluster = f"{first}(?:{below}|{MARK}|[{AM}]|{JOINER}+(?={MARK}|{first}))*" if pairs else NOTHING
    sign = f"(?:[{characters(EMOJI)}]|(?:\u2139|(?![{WORD}\\p{{M}}\\s\u200c\u200d])[\u0080-\u3299])(?=\ufe0f))"
    more = f"[\\p{{M}}{characters('1F3FB-1F3FF E0020-E007F')}]*"
    emoji = f"{sign}{more}(?:\u200d(?:{sign}|[\u2194\u2195]){more})*"
    flag, key = f"[{characters('1F1E6-1F1FF')}]{{2}}", f"[0-9#*](?={KEYCAP}){more}"
    # A word has two characters or more, not counting joiners and selectors; the digit of a keycap is not one.
    next_letter = f"(?![0-9]{KEYCAP}){letter}"
    second = f"(?:{JOINER}|{SELECTORS})*(?:{next_letter}|(?!{SELECTORS}){MARK})"
    word = f"{letter}(?={second})(?:{next_letter}|{MARK}|{JOINER}+(?={MARK}|{letter}))*"
    pattern = f"((?:{cluster})+)|{emoji}|{flag}|{key}|{word}"
    return {"pattern": pattern, "cluster": cluster, "remove": SELECTORS}
