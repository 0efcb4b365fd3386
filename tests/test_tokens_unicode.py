"""Tokens by the rules of Unicode: marks stay in their words, emoji are words; models of texts read so by default."""

from __future__ import annotations

import sys
import unicodedata
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings

import naively as nv
from naively.data.schema import Schema
from naively.text import TextReader, Tokens

from .test_tokens import read, texts
from .text_reference import CURRENT, TABLE, comparable, tokens_of

OLD = ["हिन्दी में cheap 😀 pills", "see you at lunch", "cheap pills now", "lunch with you in 北京"]


def unicode(text: str, **manner) -> Counter:
    return read([text], rules="unicode", **manner)[0]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("हिन्दी में लिखना", ["हिन्दी", "में", "लिखना"]),
        ("Cafe\u0301 noe\u0308l", ["cafe\u0301", "noe\u0308l"]),
        ("عَرَبِيّ עִברית", ["عَرَبِيّ", "עִברית"]),
        ("தமிழ் తెలుగు ಕನ್ನಡ മലയാളം বাংলা", ["தமிழ்", "తెలుగు", "ಕನ್ನಡ", "മലയാളം", "বাংলা"]),
        ("می\u200cخواهم क्\u200dष", ["می\u200cخواهم", "क्\u200dष"]),
        ("ab\u200d cd\u200c, \u200def", ["ab", "cd", "ef"]),
        ("İstanbul", ["i\u0307stanbul"]),
        ("x é a", []),
    ],
)
def test_marks_and_joiners_between_letters_belong_to_their_word(text, tokens):
    assert unicode(text) == Counter(tokens)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("great😀movie 😀😀", ["great", "😀", "movie", "😀", "😀"]),
        ("👩\u200d🚀👨\u200d👩\u200d👧\u200d👦", ["👩\u200d🚀", "👨\u200d👩\u200d👧\u200d👦"]),
        ("👍🏽👍 🏽", ["👍🏽", "👍", "🏽"]),
        ("🇩🇪🇫🇷 🇩", ["🇩🇪", "🇫🇷"]),
        ("1️⃣2⃣ #️⃣ *️⃣ a15️⃣", ["1⃣", "2⃣", "#⃣", "*⃣", "a1", "5⃣"]),
        ("❤️ ❤ ❤\ufe0e", ["❤"] * 3),
        ("🏳️\u200d🌈 🙂\u200d↔️ 🙂\u200d↔", ["🏳\u200d🌈", "🙂\u200d↔", "🙂\u200d↔"]),
        (f"🏴{''.join(chr(0xE0000 + ord(c)) for c in 'gbsct')}\U000e007f", None),
        ("© ™ ↔ ☆ 10 € ©️ ™️ ↔️ ℹ️ Ⓜ️", ["10", "©", "™", "↔", "ℹ", "ⓜ"]),
        ("☺ ♥ ☎ ✔ ⭐", ["☺", "♥", "☎", "✔", "⭐"]),
    ],
)
def test_an_emoji_is_one_token_however_it_is_made(text, tokens):
    assert unicode(text) == Counter([text] if tokens is None else tokens)


@pytest.mark.parametrize(
    ("text", "clusters"),
    [
        ("สวัสดี", ["ส", "วั", "ส", "ดี"]),
        ("น้ำใจ", ["น้ำ", "ใ", "จ"]),
        ("ສະບາຍດີ", ["ສ", "ະ", "ບ", "າ", "ຍ", "ດີ"]),
        ("ខ្មែរ", ["ខ្មែ", "រ"]),
        ("မြန်မာ", ["မြ", "န်", "မာ"]),
        ("か\u3099く", ["か\u3099", "く"]),
        ("北\ufe00京", ["北", "京"]),
    ],
)
def test_scripts_without_spaces_become_clusters_and_pairs_of_them(text, clusters):
    pairs = map("".join, pairwise(clusters))
    assert unicode(text) == Counter([*clusters, *pairs])
    whole = unicode(text, cjk="words")
    assert whole == Counter(["".join(clusters)])


def test_every_mark_emoji_and_cluster_is_read_as_the_reference_reads_it():
    """Each one behind a letter, before one, twice, beside a selector and joined; of other characters some."""
    odd = [c for c in map(chr, range(sys.maxunicode + 1)) if of_interest(c) and comparable(c)]
    given = [f"xA{c}Bc {c}{c} {c}\ufe0f\u200d{c} 7{c} ไ{c}ท" for c in odd]
    assert len(odd) > (4_000 if CURRENT else 1_000)
    assert read(given, rules="unicode") == [tokens_of(text, rules="unicode") for text in given]


def of_interest(c: str) -> bool:
    if unicodedata.category(c) in ("Cn", "Cs"):
        return False
    marked = unicodedata.category(c)[0] == "M" or unicodedata.category(c) in ("Cf", "Sk")
    return marked or c in TABLE.EMOJI_SIGNS or c in TABLE.UNSPACED_SIGNS or ord(c) % 97 == 0


@settings(deadline=None, max_examples=60)
@given(texts)
def test_spans_cover_all_of_a_token_and_never_cut_one(text):
    """What lies between the ends of a token, without selectors, is the token."""
    text = text.encode("utf-8", "ignore").decode()
    reader = TextReader(Tokens(rules="unicode", lowercase=False), threads=1)
    reader.read([text], learn=True)
    names = reader.names()
    for token in reader.spans(text):
        lain = text[token.begin : token.end]
        kept = "".join(c for c in lain if not ("\ufe00" <= c <= "\ufe0f" or "\U000e0100" <= c <= "\U000e01ef"))
        assert kept == names[token.number]


def test_models_of_texts_know_emoji_and_words_with_vowel_signs():
    given = ["यह अच्छी फ़िल्म है 😀", "बुरी फ़िल्म 😡", "अच्छी कहानी 😀", "बुरी कहानी 😡"] * 3
    nb = nv.NaiveBayes(model="textbook").fit(given, ["good", "bad"] * 6)
    found = set(nb.counts_.columns["text"].lexicon.names())

    assert {"😀", "😡", "अच्छी", "फ़िल्म", "है"} <= found
    assert nb.predict(["😀", "😡"]).tolist() == ["good", "bad"]
    assert nb.schema_["text"].family == nv.Words()


def test_a_coloured_explanation_covers_the_whole_emoji():
    given = ["👩🏽\u200d🚀 हिन्दी", "dull day"] * 6
    nb = nv.NaiveBayes(model="textbook").fit(given, ["good", "bad"] * 6)
    page = nb.explain(["हिन्दी 👩🏽\u200d🚀️!"])._repr_html_()
    assert ">👩🏽\u200d🚀️</mark>!" in page
    assert ">हिन्दी</span>" in page


def test_rules_are_saved_with_the_model(tmp_path):
    for rules in ("python", "unicode"):
        nb = nv.NaiveBayes(families={"text": nv.Words(rules=rules)}).fit(OLD * 4, ["a", "b", "a", "b"] * 4)
        nb.save(tmp_path / "m.parquet")
        again = nv.load(tmp_path / "m.parquet")
        assert again.schema_ == nb.schema_
        assert again.counts_ == nb.counts_
        assert Schema.from_json(nb.schema_.to_json()) == nb.schema_
        assert ("😀" in again.counts_.columns["text"].lexicon.names()) == (rules == "unicode")
