"""Texts become tokens as the plain reference and Unicode say: every character, every option, any number of threads."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naively as nv
from naively import _kernels
from naively.errors import InvalidInput, InvalidSetting
from naively.text import TextReader, Tokens

from .text_reference import CURRENT, TABLE, column_of, comparable, tokens_of

checked = settings(deadline=None, max_examples=60)

ODD = [
    *("Σ", "σς", "ΑΣ", "Σ.", "'", "\u00ad", "İ", "I", "ı", "ǅ", "ß", "ẞ", "Ⱥ", "ŉ", "\u0307", "\u0345", "Ⓐ", "ª"),
    *(
        "北",
        "京",
        "々",
        "〇",
        "あ",
        "ア",
        "ー",
        "ｱ",
        "゛",
        "\u3099",
        "𠀀",
        "한국",
        "हि",
        "न्दी",
        "ไทย",
        "עִברית",
        "٣",
        "²",
        "½",
        "Ⅷ",
    ),
    *(" ", "  ", "\t", "\n", "\x00", "\u3000", "\u2028", "\x1c", "_", "-", "0", "a", "b", "The", "the", "new", "york"),
    *("👍", "🏽", "🇩", "🇪", "❤", "#", "*", "7", "©", "Ⓜ", "ℹ", "↔", "\u20e3", "\u200c", "\u200d", "\U000e0067"),
    *("น้ำ", "ำ", "\u0e33", "ខ្មែរ", "\u17d2", "မြန်", "\u1039", "๗", "\ufe00", "\u0301"),
    *("😀", "👩\u200d🚀", "\ufe0f", "\ud800", "\udfff", "\U0010ffff", "a" * 16, "é" * 9, "word" * 10),
]
texts = st.lists(st.one_of(st.sampled_from(ODD), st.characters(exclude_categories=())), max_size=30).map("".join)
texts = texts.filter(comparable)
manners = st.fixed_dictionaries(
    {
        "unit": st.sampled_from(["words", "words", "characters", "inside"]),
        "ngram_range": st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 3), (2, 4)]),
        "lowercase": st.booleans(),
        "cjk": st.sampled_from(["pairs", "words"]),
        "marks": st.booleans(),
        "rules": st.sampled_from(["python", "unicode"]),
    }
)


def rows_of(reader: TextReader, rows, names=None) -> list[Counter]:
    """Return the tokens of each row by name, or by column."""
    starts, columns, counts = rows.matrix(None)
    names = reader.names() if names is None else names
    return [
        Counter({names[columns[i]]: int(counts[i]) for i in range(starts[row], starts[row + 1])})
        for row in range(len(rows))
    ]


def read(given, **manner) -> list[Counter]:
    reader = TextReader(Tokens(**manner), threads=1)
    return rows_of(reader, reader.read(given, learn=True))


@checked
@given(st.lists(texts, max_size=5), manners)
def test_tokens_are_those_of_the_reference(given, manner):
    assert read(given, **manner) == [tokens_of(text, **manner) for text in given]


@checked
@given(st.lists(texts, max_size=4), manners)
def test_the_hash_is_the_one_that_is_described(given, manner):
    reader = TextReader(Tokens(hash_width=1009, **manner), threads=1)
    columns = rows_of(reader, reader.read(given), names=range(1009))
    expected = [Counter() for _ in given]
    for row, text in zip(expected, given, strict=True):
        for token, n in tokens_of(text, **manner).items():
            row[column_of(token, 1009, sequence=manner["unit"] == "words")] += n

    assert len(reader) == 1009
    assert columns == expected


def test_every_character_is_what_python_says_it_is():
    """Each one alone, between letters, beside a sigma: with all that the table knows of it."""
    signs = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) != "Cn"]
    signs = [sign for sign in signs if comparable(sign)]
    texts = [f"xA{sign}Bc {sign}{sign} {sign}Σ A{sign}Σ AΣ{sign}" for sign in signs]

    reader = TextReader(Tokens(cjk="words"))
    starts, columns, counts = reader.read(texts, learn=True).matrix(None)
    names, pattern = reader.names(), re.compile(r"(?u)\b\w\w+\b")

    assert CURRENT or len(signs) > 90_000
    for row, text in enumerate(texts):
        part = slice(starts[row], starts[row + 1])
        found = {names[column]: n for column, n in zip(columns[part].tolist(), counts[part].tolist(), strict=True)}
        assert found == Counter(pattern.findall(text.lower())), f"U+{ord(signs[row]):04X}"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("To be, or not to be!", {"to": 2, "be": 2, "or": 1, "not": 1}),
        ("我在北京", {"我": 1, "我在": 1, "在": 1, "在北": 1, "北": 1, "北京": 1, "京": 1}),
        ("iPhone手机x2", {"iphone": 1, "手": 1, "手机": 1, "机": 1, "x2": 1}),
        ("カラー", {"カ": 1, "カラ": 1, "ラ": 1, "ラー": 1, "ー": 1}),
        ("한국어 텍스트", {"한국어": 1, "텍스트": 1}),
        ("ΟΔΟΣ ΣΑΣ", {"οδος": 1, "σας": 1}),
        ("İstanbul", {"stanbul": 1}),
        ("a\x00bc\x00de", {"bc": 1, "de": 1}),
        ("", {}),
        ("\ud800ab\udfffcd", {"ab": 1, "cd": 1}),
        ("👩‍🚀 x", {}),
    ],
)
def test_texts_by_hand(text, tokens):
    assert read([text]) == [tokens]


@pytest.mark.parametrize(
    "manner", [{}, {"ngram_range": (1, 3)}, {"ngram_range": (2, 3)}, {"unit": "characters", "ngram_range": (1, 2)}]
)
def test_threads_make_no_difference(manner):
    """Neither to what is found nor to the numbers of the words."""
    rng = np.random.default_rng(0)
    pool = [*ODD, *(f"w{i}" for i in range(3000))]
    given = [" ".join(rng.choice(pool, rng.integers(0, 200))) for _ in range(400)]
    readers = [TextReader(Tokens(**manner), threads=threads) for threads in (1, 2, 5)]
    rows = [reader.read(given, learn=True) for reader in readers]

    for reader, found in zip(readers[1:], rows[1:], strict=True):
        assert reader.names() == readers[0].names()
        for ours, theirs in zip(found.matrix(None), rows[0].matrix(None), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@checked
@given(st.lists(texts, min_size=1, max_size=5), st.lists(texts, max_size=5), manners)
def test_reading_without_learning_knows_what_was_learned_and_no_more(learned, asked, manner):
    reader = TextReader(Tokens(**manner), threads=1)
    reader.read(learned, learn=True)
    names = set(reader.names())
    found = rows_of(reader, reader.read(asked))

    assert len(reader) == len(names)
    assert found == [
        Counter({name: n for name, n in tokens_of(text, **manner).items() if name in names}) for text in asked
    ]


@checked
@given(texts, manners)
def test_spans_are_where_the_tokens_lie(text, manner):
    """What lies there, read alone, is the token; each token of the reference has its spans."""
    reader = TextReader(Tokens(**manner), threads=1)
    reader.read([text], learn=True)
    names, spans = reader.names(), reader.spans(text)

    assert Counter(names[span.number] for span in spans) == tokens_of(text, **manner)
    if manner["unit"] == "words" and "Σ" not in text and manner["ngram_range"] == (1, 1):
        for span in spans:
            assert names[span.number] in (read([text[span.begin : span.end]], **manner)[0] if text else {})


# -- Counting class by class is the same as summing rows of the matrix. --

GIVEN = ("the cat", "the dog 北京 the", "", "cat cat dog", "the the the the", None)
CLASSES = np.array([0, 1, 2, 0, 1, 2], np.int32)
WEIGHTS = np.array([1.0, 0.5, 2.0, 0.25, 3.0, 1.0])


@pytest.mark.parametrize("times", ["all", "once", "log"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize(
    "tokens", [Tokens(), Tokens(ngram_range=(1, 2)), Tokens(tokenizer=str.split), Tokens(hash_width=7)]
)
def test_tables(times, weights, tokens):
    reader = TextReader(tokens, threads=2)
    sums = reader.count(list(GIVEN), CLASSES, 3, weights, times=times)
    counts, rows = sums.tables(3, len(reader))

    starts, columns, values = reader.read(list(GIVEN), allow_missing=True).matrix(None, times)
    expected, present = np.zeros((3, len(reader))), np.zeros((3, len(reader)))
    for row, of_class in enumerate(CLASSES):
        weight = 1.0 if weights is None else weights[row]
        for i in range(starts[row], starts[row + 1]):
            expected[of_class, columns[i]] += weight * values[i]
            present[of_class, columns[i]] += weight
    np.testing.assert_allclose(counts, expected, rtol=1e-12)
    np.testing.assert_allclose(rows, present, rtol=1e-12)


@pytest.mark.parametrize("tokens", [Tokens(), Tokens(ngram_range=(1, 2)), Tokens(tokenizer=str.split)])
def test_scores(tokens):
    reader = TextReader(tokens)
    matrix = reader.read(list(GIVEN), learn=True, allow_missing=True).matrix(None)
    table = np.random.default_rng(0).random((len(reader), 3))
    dense = np.zeros((6, len(reader)))
    for row in range(6):
        dense[row, matrix[1][matrix[0][row] : matrix[0][row + 1]]] = matrix[2][matrix[0][row] : matrix[0][row + 1]]

    lengths = np.random.default_rng(1).random(len(reader))
    scores, squares = reader.score(list(GIVEN), table, lengths=lengths)
    np.testing.assert_allclose(scores, dense @ table, rtol=1e-12)
    np.testing.assert_allclose(squares, dense**2 @ lengths, rtol=1e-12)
    np.testing.assert_array_equal(reader.score(list(GIVEN), table)[0], scores)
    assert reader.score([], table)[0].shape == (0, 3)
    np.testing.assert_allclose(reader.score(["the new word"], table)[0], reader.score(["the"], table)[0])


# -- Large, empty, broken: right, or one clear error. --


def test_a_document_of_fifty_megabytes():
    text = "Some words of a long text, and 北京. " * 1_300_000
    assert len(text.encode()) > 50_000_000
    assert read([text, "short"], ngram_range=(1, 2))[0]["some words"] == 1_300_000


@pytest.mark.parametrize(
    ("data", "byte"),
    [
        (b"ab\xff", 2),
        (b"\xc0\x80", 0),
        (b"a\xe0\x80\x80", 1),
        (b"abc\xed\xa0\x80", 3),
        (b"\xf4\x90\x80\x80", 0),
        (b"x" * 20 + b"\xe4\xba", 20),
    ],
)
def test_invalid_utf8_is_refused_with_its_row_and_byte(data, byte):
    given = pa.array([b"good"] * 3 + [data, b"\xff"])
    reader = TextReader(Tokens())
    with pytest.raises(InvalidInput, match=rf"Row 3 is no valid UTF-8: byte {byte} cannot be read. Decode"):
        reader.read(given, learn=True)
    assert len(reader) == 0
    with pytest.raises(InvalidInput, match=rf"Row 3 is no valid UTF-8: byte {byte} cannot be read. Decode"):
        TextReader(Tokens(tokenizer=str.split)).read(given, learn=True)


@pytest.mark.parametrize(
    ("manner", "message"),
    [
        ({"unit": "letters"}, "unit='letters' is not known"),
        ({"cjk": "no"}, "cjk='no' is not known"),
        ({"ngram_range": (2, 1)}, r"ngram_range=\(2, 1\) is no range"),
        ({"ngram_range": 2}, "ngram_range=2 is no range"),
        ({"hash_width": 0}, "hash_width=0 is no number of columns"),
        ({"unit": "characters", "stop_words": ("a",)}, "stop_words are words"),
        ({"unit": "inside", "tokenizer": str.split}, "tokenizer finds words"),
    ],
)
def test_settings_that_mean_nothing_are_refused(manner, message):
    with pytest.raises(InvalidSetting, match=message):
        Tokens(**manner)


def test_buffers_that_lie_are_refused():
    data = np.frombuffer(b"abc", np.uint8)
    for starts in ([0, 4], [-1, 2], [2, 1]):
        with pytest.raises(ValueError, match="outside its buffer"):
            _kernels.TextColumn.buffer(np.array(starts, np.int32), data, None, 0)
    view = np.array([20, 0, 0, 0], np.int32).view(np.uint8)
    with pytest.raises(ValueError, match="outside its buffer"):
        _kernels.TextColumn.views(view, [data], None, 0)


# -- tokens by the rules of unicode ------------------------------------------------------------------------------------


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


def test_threads_make_no_difference_to_the_last_bit():
    rng = np.random.default_rng(1)
    given = [" ".join(f"w{i}" for i in rng.zipf(1.5, 60) % 500) for _ in range(3000)]
    y, weights = rng.integers(4, size=3000).astype(np.int32), rng.random(3000)
    found = []
    for threads in (1, 3):
        reader = TextReader(Tokens(), threads=threads)
        sums = reader.count(given, y, 4, weights, times="log")
        found.append((reader.names(), *(table.tobytes() for table in sums.tables(4, len(reader)))))
    assert found[0] == found[1]
