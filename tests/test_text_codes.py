"""The dictionary of texts against Python's own, for every way in which Arrow lays texts out."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import _kernels
from naively.data.column import Column
from naively.data.encoding import Coder, block_codes, text_task
from naively.data.frame import Frame
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


def encode_texts(codes, texts, missing, unseen, out, threads=1) -> list[int]:
    """Fill in the codes of one column; return the rows in which new texts occur first."""
    ((first, _),) = _kernels.encode_texts([text_task(codes, texts, missing, unseen, out)], threads)
    return first


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


def encode_plain(codes, starts, data, out) -> None:
    """Fill in the codes of texts in one buffer."""
    _kernels.encode_texts([_kernels.plain_texts(codes, starts, data, None, 0, MISSING, UNSEEN, out)], 1)


def test_texts_outside_their_buffer_are_refused():
    codes, out, data = _kernels.TextCodes(), np.empty(2, np.int32), np.zeros(3, np.uint8)
    for starts in ([0, 2, 4], [2, 1, 3], [-1, 0, 1], [0, 1]):
        with pytest.raises(ValueError, match=r"outside its buffer|do not fit"):
            encode_plain(codes, np.array(starts, np.int32), data, out)
    with pytest.raises(ValueError, match="a bit for each row"):
        _kernels.plain_texts(codes, np.zeros(3, np.int32), data, np.zeros(0, np.uint8), 0, MISSING, UNSEEN, out)
    view = np.array([13, 0, 0, 99], np.int32).view(np.uint8)
    for buffers in ([], [np.zeros(20, np.uint8)]):
        task = _kernels.viewed_texts(codes, view, buffers, None, 0, MISSING, UNSEEN, out[:1])
        with pytest.raises(ValueError, match="outside its buffer"):
            _kernels.encode_texts([task], 1)
    with pytest.raises(ValueError, match="a view for each row"):
        _kernels.viewed_texts(codes, view, [], None, 0, MISSING, UNSEEN, out)


@given(batches=st.lists(st.lists(st.none() | st.sampled_from(["a", "b", "c", "d" * 20]), max_size=8), max_size=5))
@checked
def test_a_coder_agrees_with_its_dict(batches):
    """New labels are returned for the dict to take in; block after block the codes are the dict's."""
    places = {None: 0}
    coder = Coder(Column("x", "text"), places, 0)
    for batch in batches:
        frame = Frame({"x": ColumnValues("x", pa.array(batch, pa.string()))}, len(batch))
        out, (new,) = block_codes(frame, [coder], 0, len(batch), 1)
        for label in new:
            places[label] = len(places)
        assert out[:, 0].tolist() == [places[label] for label in batch]


def test_a_coder_starts_anew_after_labels_that_were_not_taken_in():
    """An error between encoding and taking labels in leaves them unknown: they get the next codes later."""
    places = {None: 0}
    coder = Coder(Column("x", "text"), places, 0)
    frame = Frame({"x": ColumnValues("x", pa.array(["a", "b"]))}, 2)
    block_codes(frame, [coder], 0, 2, 1)  # nobody takes "a" and "b" in
    codes, (new,) = block_codes(frame, [coder], 1, 2, 1)
    assert (codes[:, 0].tolist(), new) == ([1], ["b"])
