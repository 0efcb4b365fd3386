"""The dictionary of texts against Python's own, for every way in which Arrow lays texts out."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import _kernels
from naively.data.column import Column
from naively.data.encoder import Coder, encode_texts
from naively.data.values import ColumnValues

from .strategies import checked

# Short ones, those around the 15 bytes that are kept as they are, long ones with a common beginning or end.
TEXTS = st.one_of(
    st.text(max_size=4),
    st.text(min_size=10, max_size=20),
    st.integers(0, 20).map(lambda n: "x" * n),
    st.integers(0, 9).map(lambda n: f"{n}-a rather long text that goes on and on"),
    st.integers(0, 9).map(lambda n: f"a rather long text that goes on and on-{n}"),
    st.sampled_from(["", "\0", "\0\0", "a\0", "a", "文", "文" * 5, "文" * 6]),
)
KINDS = [pa.string(), pa.large_string(), pa.string_view()]
MISSING, UNSEEN = -7, -9


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(texts=st.lists(st.none() | TEXTS, max_size=60), begin=st.integers(0, 9))
@checked
def test_new_texts_get_the_next_codes(kind, texts, begin):
    """Codes are handed out in the order of first appearance, and missing texts have one of their own."""
    array = pa.array(texts, type=kind).slice(begin)
    codes, out = _kernels.TextCodes(), np.empty(len(array), np.int32)
    met = encode_texts(codes, array, MISSING, _kernels.NEW_CODE, out)

    places = {text: at for at, text in enumerate(dict.fromkeys(t for t in texts[begin:] if t is not None))}
    assert out.tolist() == [MISSING if text is None else places[text] for text in texts[begin:]]
    assert [array[row].as_py() for row in met] == list(places)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(known=st.lists(TEXTS, unique=True, max_size=80), texts=st.lists(st.none() | TEXTS, max_size=40))
@checked
def test_known_texts_keep_their_codes(kind, known, texts):
    """What is in the dictionary has its code, whatever is not is unseen, and nothing is added."""
    codes = _kernels.TextCodes()
    codes.add(known, [3 * at for at in range(len(known))])
    for _ in range(2):
        out = np.empty(len(texts), np.int32)
        assert encode_texts(codes, pa.array(texts, type=kind), MISSING, UNSEEN, out) == []
        places = {text: 3 * at for at, text in enumerate(known)}
        assert out.tolist() == [MISSING if text is None else places.get(text, UNSEEN) for text in texts]


def test_a_dictionary_grows():
    texts = [f"{n}" if n % 2 else f"number {n} of a hundred thousand" for n in range(100_000)]
    codes, out = _kernels.TextCodes(), np.empty(len(texts), np.int32)
    assert len(encode_texts(codes, pa.array(texts), MISSING, _kernels.NEW_CODE, out)) == len(texts)
    assert np.array_equal(out, np.arange(len(texts)))


def test_a_code_given_first_stays():
    codes, out = _kernels.TextCodes(), np.empty(1, np.int32)
    codes.add(["a"], [5])
    codes.add(["a"], [6])
    encode_texts(codes, pa.array(["a"]), MISSING, UNSEEN, out)
    assert out[0] == 5


def test_every_other_place_of_an_array_can_be_filled():
    out = np.full(6, 99, np.int32)
    encode_texts(_kernels.TextCodes(), pa.array(["a", None, "b"]), MISSING, _kernels.NEW_CODE, out[::2])
    assert out.tolist() == [0, 99, MISSING, 99, 1, 99]


@pytest.mark.parametrize("views_last", [False, True])
def test_nothing_behind_a_buffer_is_read(views_last):
    """A text that ends with its buffer, wherever in memory the views lie; the sanitizers watch."""
    texts = [b"x" * n for n in (13, 14, 15, 16)]
    for text in texts * 20:
        buffer = np.frombuffer(text, np.uint8).copy() if views_last else None
        view = np.array([len(text), 0, 0, 0], np.int32).view(np.uint8)
        buffer = np.frombuffer(text, np.uint8).copy() if buffer is None else buffer
        codes, out = _kernels.TextCodes(), np.empty(1, np.int32)
        codes.add([text.decode()], [5])
        codes.encode_views(view, [buffer], None, 0, MISSING, UNSEEN, out)
        assert out[0] == 5


def test_texts_outside_their_buffer_are_refused():
    codes, out, data = _kernels.TextCodes(), np.empty(2, np.int32), np.zeros(3, np.uint8)
    for starts in ([0, 2, 4], [2, 1, 3], [-1, 0, 1], [0, 1]):
        with pytest.raises(ValueError, match=r"outside its buffer|do not fit"):
            codes.encode(np.array(starts, np.int32), data, None, 0, MISSING, UNSEEN, out)
    with pytest.raises(ValueError, match="a bit for each row"):
        codes.encode(np.zeros(3, np.int32), data, np.zeros(0, np.uint8), 0, MISSING, UNSEEN, out)
    view = np.array([13, 0, 0, 99], np.int32).view(np.uint8)
    for buffers in ([], [np.zeros(20, np.uint8)]):
        with pytest.raises(ValueError, match="outside its buffer"):
            codes.encode_views(view, buffers, None, 0, MISSING, UNSEEN, out[:1])
    with pytest.raises(ValueError, match="a view for each row"):
        codes.encode_views(view, [], None, 0, MISSING, UNSEEN, out)


@given(batches=st.lists(st.lists(st.none() | st.sampled_from(["a", "b", "c", "d" * 20]), max_size=8), max_size=5))
@checked
def test_a_coder_agrees_with_its_dict(batches):
    """New labels are returned for the dict to take in; block after block the codes are the dict's."""
    places = {None: 0}
    coder = Coder(Column("x", "text"), places, 0)
    for batch in batches:
        out = np.empty(len(batch), np.int32)
        for label in coder.fill(ColumnValues("x", pa.array(batch, pa.string())), 0, len(batch), out):
            places[label] = len(places)
        assert out.tolist() == [places[label] for label in batch]
